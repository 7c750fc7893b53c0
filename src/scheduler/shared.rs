//! What the threads of a runtime share.

use crate::builder::Builder;
use crate::driver::Driver;
use crate::hooks::tell;
use crate::registry::{RuntimeId, TaskInfo, TaskList, TaskState};
use crate::scheduler::lease::{Mains, Sighting};
use crate::scheduler::policy::MeanPoll;
use crate::scheduler::pool::Pool;
use crate::scheduler::queue::{self, Runnable};
use crate::scheduler::sleep::{Doorbell, Sleepers};
use crate::sync::{Arc, AtomicBool, AtomicU64, Condvar, Mutex, Ordering, RwLock};
use concurrent_queue::ConcurrentQueue;
use std::collections::BTreeMap;
use std::panic::RefUnwindSafe;
use std::sync::atomic::AtomicU64 as Count;

/// The runtimes that are not closed yet. A thread that runs no worker of a runtime finds the
/// runtime here.
///
/// This table is also the gate of the injector: a thread that runs no worker pushes under the read
/// lock. So once a runtime was taken out of the table, no thread can push into its injector. A
/// worker pushes without the lock, but all workers have left their loops by then.
pub(crate) static RUNTIMES: RwLock<BTreeMap<RuntimeId, Arc<Shared>>> = RwLock::new(BTreeMap::new());

pub(crate) struct Shared {
    pub(crate) id: RuntimeId,
    pub(crate) config: Builder,
    /// The runnables that were pushed by threads that run no worker and, while polls are long, by
    /// all threads. They are for whichever worker comes first.
    pub(crate) injector: ConcurrentQueue<Runnable>,
    pub(crate) workers: Box<[WorkerShared]>,
    pub(crate) sleepers: Sleepers,
    pub(crate) mean_poll: MeanPoll,
    /// A worker was called to share the load of another one, and none has woken up since.
    pub(crate) helper_is_coming: AtomicBool,
    /// Some worker is stuck, as the last tick of the monitor has seen it.
    pub(crate) any_stuck: AtomicBool,
    pub(crate) driver: Driver,
    /// The tasks that have not ended.
    pub(crate) tasks: TaskList,
    /// The futures that are in `block_on`, and the lease of a current-thread runtime.
    pub(crate) mains: Mains,
    pub(crate) monitor: Doorbell,
    /// The jobs of `spawn_blocking` that have not begun, and the threads that run jobs.
    pub(crate) pool: Pool,
    /// The runtime ends: each worker polls at most one more task. This and what follows is the
    /// state of the end. Only `end.rs`, `threads.rs` and the drop of a `Runtime` change it.
    pub(crate) ending: AtomicBool,
    /// The workers that have not left their loops, a bit each. The end counts a worker that it has
    /// claimed where it slept as one that has left.
    pub(crate) in_loop: AtomicU64,
    /// The tasks that had not finished when the last worker left. It is `None` until then, and an
    /// empty list from the beginning if nobody reads it.
    pub(crate) unfinished: Mutex<Option<Vec<TaskInfo>>>,
    /// How many threads of this runtime have not signed off.
    pub(crate) threads: Mutex<usize>,
    pub(crate) thread_ended: Condvar,
}

/// A panic breaks nothing in here: code of the user's runs outside of all locks. So what holds a
/// runtime (handles, sockets, guards) may pass `catch_unwind`. Without this, the hooks would forbid
/// it.
impl RefUnwindSafe for Shared {}

/// What others see of a worker.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct WorkerShared {
    pub(crate) queue: queue::Local<Runnable>,
    /// How many turns of its loop the worker has begun. Only the worker changes it.
    pub(crate) turn: AtomicU64,
    pub(crate) sighting: Sighting,
    /// The id of the task that is being polled, or 0.
    pub(crate) polled: AtomicU64,
    /// What [`WorkerCounts`](crate::runtime::WorkerCounts) says. Only the worker counts.
    pub(crate) polls: Count,
    pub(crate) steals: Count,
    pub(crate) parks: Count,
}

/// Counts for a thread that is the only one to change the counter. So no step is lost between the
/// load and the store, and no core waits for another one.
pub(crate) fn count(counter: &Count, more: usize) {
    counter.store(counter.load(Ordering::Relaxed) + more as u64, Ordering::Relaxed);
}

impl WorkerShared {
    /// Whether two ticks of the monitor have found the worker in the same turn, and awake.
    pub(crate) fn is_stuck(&self) -> bool {
        !self.sighting.time().is_zero()
    }
}

impl Shared {
    pub(crate) fn new(config: Builder) -> std::io::Result<Self> {
        let workers = config.workers;
        let sleepers = Sleepers::new(workers);
        Ok(Self {
            id: RuntimeId::next(),
            injector: ConcurrentQueue::unbounded(),
            workers: (0..workers).map(|_| WorkerShared::default()).collect(),
            mean_poll: MeanPoll::new(),
            helper_is_coming: AtomicBool::new(false),
            any_stuck: AtomicBool::new(false),
            // This alone can fail: it needs descriptors.
            driver: Driver::new(workers)?,
            tasks: TaskList::new(workers),
            mains: Mains::default(),
            monitor: Doorbell::default(),
            pool: Pool::default(),
            ending: AtomicBool::new(false),
            // Each bit is cleared once. Who clears the last one takes the runtime apart.
            in_loop: AtomicU64::new(sleepers.all),
            sleepers,
            unfinished: Mutex::default(),
            threads: Mutex::default(),
            thread_ended: Condvar::default(),
            config,
        })
    }

    /// Whether the runtime ends. SeqCst pairs with the store in `end::begin`: a worker that falls
    /// asleep sets its bit before it loads this, and the end stores this before it claims those who
    /// sleep.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// P1 to P3 of the sleep protocol (`sleep.rs`), by a thread that runs no worker of this
    /// runtime, or by a worker in the poll of another task, while polls are long.
    pub(crate) fn inject(&self, runnable: Runnable) {
        // P1
        queue::push(&self.injector, runnable);

        // P2 and P3
        if self.sleepers.all_asleep() {
            self.wake_one();
        } else if self.mean_poll.is_long() || self.any_stuck.load(Ordering::Relaxed) {
            // A worker that is awake may not come by for a long time.
            self.call_helper();
        }
    }

    /// Wakes a worker that sleeps. Returns `false` if there was none.
    pub(crate) fn wake_one(&self) -> bool {
        let claimed = self.sleepers.claim_one();
        if let Some(worker) = claimed {
            self.rouse(worker);
        }
        claimed.is_some()
    }

    /// Wakes one particular worker, if it sleeps.
    pub(crate) fn wake_worker(&self, worker: usize) {
        if self.sleepers.claim(worker) {
            self.rouse(worker);
        }
    }

    /// Ends the sleep of a worker that the caller has claimed.
    pub(crate) fn rouse(&self, worker: usize) {
        tell!(wakes(self.id.0, worker));
        self.sleepers.rouse(worker, || self.driver.notify());
    }

    /// Rules 1 and 2: wakes a worker, if one sleeps and none is on its way. It shares the load. If
    /// it finds no task, it falls asleep again and takes the seat, if that is free.
    ///
    /// Because of the flag a helper may be missing, but never the one that a task needs. A thread
    /// that injects passes a fence before it comes here, and the helper one in `Doorbell::ring`,
    /// after it has cleared the flag: so either the flag is seen to be clear, or the helper sees
    /// what was injected. What waits in a worker's own queue needs no helper. SeqCst pairs with the
    /// store in `Worker::sleep`.
    pub(crate) fn call_helper(&self) {
        if !self.sleepers.any_asleep() || self.helper_is_coming.swap(true, Ordering::SeqCst) {
            return;
        }

        // Others have claimed all of them meanwhile: nobody was called, and nobody clears the flag.
        // Who has found it set meanwhile may have to wait for the monitor's next tick.
        if !self.wake_one() {
            self.helper_is_coming.store(false, Ordering::Relaxed);
        }
    }

    /// Describes each task that has not ended. This is no snapshot: the tasks go on meanwhile.
    pub(crate) fn describe_tasks(&self) -> Vec<TaskInfo> {
        let mut tasks = self.tasks.describe();

        // Each worker knows which task it polls.
        for (worker, this) in self.workers.iter().enumerate() {
            let polled = this.polled.load(Ordering::Relaxed);
            if let Some(task) = tasks.iter_mut().find(|task| task.id.0 == polled) {
                task.state = TaskState::Running { worker, time: this.sighting.time() };
            }
        }
        tasks
    }
}
