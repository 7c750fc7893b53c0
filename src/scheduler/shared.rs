//! What the threads of a runtime share.

use crate::registry::{Count, Registry, RuntimeId, Stuck, TaskInfo, TaskState};
use crate::scheduler::share::MeanPoll;
use crate::scheduler::{idle::Doorbell, idle::Idle, lease::Lease, queue, queue::Runnable};
use crate::sync::{Arc, AtomicBool, AtomicU64, Condvar, Duration, Mutex};
use crate::sync::{Ordering, RwLock, lock, tell, thread::Thread};
use crate::{config::Builder, driver::Driver, pool::Pool};
use concurrent_queue::ConcurrentQueue;
use std::{collections::BTreeMap, panic::RefUnwindSafe};

/// The runtimes that have not ended. A thread that runs no worker of a runtime finds the runtime
/// here.
///
/// This table is also the gate of the injector: a thread that runs no worker pushes under the read
/// lock. So once a runtime was taken out of the table, no thread can push into its injector. (A
/// worker pushes without it, but all workers have left their loops by then.)
pub(crate) static RUNTIMES: RwLock<BTreeMap<RuntimeId, Arc<Shared>>> = RwLock::new(BTreeMap::new());

/// How often the monitor looks at a busy runtime, unless nobody needs it (`BUSY_TICK` there). A
/// look takes some microseconds of a core that a worker could use.
pub(crate) const TICK: Duration = Duration::from_millis(1);

pub(crate) struct Shared {
    pub(crate) id: RuntimeId,
    pub(crate) config: Builder,
    /// The runnables that were pushed by threads that run no worker and, while polls are long, by
    /// all threads. They are for whichever worker comes first.
    pub(crate) injector: ConcurrentQueue<Runnable>,
    pub(crate) workers: Box<[WorkerShared]>,
    pub(crate) idle: Idle,
    pub(crate) mean_poll: MeanPoll,
    /// A worker was called to share the load of another one, and none has woken up since.
    pub(crate) helper_is_coming: AtomicBool,
    pub(crate) driver: Driver,
    /// The tasks that have not ended.
    pub(crate) registry: Registry,
    /// The futures that are in `block_on`. They are no tasks, but are watched and woken likewise.
    pub(crate) mains: Registry,
    pub(crate) lease: Lease,
    pub(crate) monitor: Doorbell,
    /// The jobs of `spawn_blocking` that have not begun, and the threads that run jobs.
    pub(crate) pool: Pool<Runnable>,
    /// The runtime ends: no worker polls another task. This and what follows is the state of the
    /// end. Only `end.rs` and `threads.rs` change it.
    pub(crate) ending: AtomicBool,
    /// The tasks that had not finished when the last worker left. None: it has not left yet. The
    /// list is empty from the beginning if nobody reads it.
    pub(crate) unfinished: Mutex<Option<Vec<TaskInfo>>>,
    /// How many threads of this runtime have not signed off.
    pub(crate) threads: Mutex<usize>,
    pub(crate) thread_ended: Condvar,
}

/// A panic breaks nothing in here: foreign code runs outside of all locks. So what holds a runtime
/// (handles, sockets, guards) may pass `catch_unwind`. Without this, the hooks would forbid it.
impl RefUnwindSafe for Shared {}

/// What others see of a worker.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct WorkerShared {
    pub(crate) queue: queue::Local<Runnable>,
    /// The thread that runs the worker. None: no thread does.
    pub(crate) thread: Mutex<Option<Thread>>,
    /// For how long the current turn of the worker's loop has lasted, as the monitor sees it.
    pub(crate) stuck: Stuck,
    /// The id of the task that is being polled, or 0.
    pub(crate) polled: AtomicU64,
    /// What [`WorkerCounts`](crate::runtime::WorkerCounts) says.
    pub(crate) polls: Count,
    pub(crate) steals: Count,
    pub(crate) parks: Count,
}

impl Shared {
    pub(crate) fn new(config: Builder) -> std::io::Result<Self> {
        let id = RuntimeId::next();
        Ok(Self {
            id,
            injector: ConcurrentQueue::unbounded(),
            workers: (0..config.workers).map(|_| WorkerShared::default()).collect(),
            idle: Idle::new(config.workers),
            mean_poll: MeanPoll::new(),
            helper_is_coming: AtomicBool::new(false),
            driver: Driver::new(config.workers)?,
            registry: Registry::new(id, config.workers),
            mains: Registry::new(id, 1),
            lease: Lease::default(),
            monitor: Doorbell::default(),
            pool: Pool::default(),
            ending: AtomicBool::new(false),
            unfinished: Mutex::default(),
            threads: Mutex::default(),
            thread_ended: Condvar::default(),
            config,
        })
    }

    /// Whether the runtime ends. SeqCst pairs with the store in `end::begin`: a worker that falls
    /// asleep sets its bit before it loads this, and the end stores this before it claims
    /// those who are parked and notifies those who sit.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// P1 to P3 of the sleep protocol (`idle.rs`), by a thread that runs no worker of this runtime,
    /// or by a worker in the poll of another task, while polls are long.
    pub(crate) fn inject(&self, runnable: Runnable) {
        queue::push(&self.injector, runnable);
        let is_woken = self.idle.all_asleep() && self.wake_one();
        if !is_woken && self.mean_poll.is_long() {
            self.call_helper(); // a worker that is awake may not come by for a long time
        }
    }

    /// Wakes a worker that sleeps: a parked one if there is any, as that costs less. False: there
    /// was none.
    fn wake_one(&self) -> bool {
        let parked = self.idle.claim_one().inspect(|&worker| self.unpark(worker));
        parked.is_some() || self.notify_if_seated()
    }

    /// Wakes one of the workers that sit, whichever it is. False: none sits.
    pub(crate) fn notify_if_seated(&self) -> bool {
        self.idle.any_seated().then(|| self.driver.notify()).is_some()
    }

    /// Wakes a worker to share the load of others, if one sleeps and no helper is on its way.
    ///
    /// Because of the flag a helper may be missing, but never the one that a task needs. A thread
    /// that injects passes a fence before it comes here, and the helper one in `Doorbell::ring`,
    /// after it has cleared the flag: so either the flag is seen to be clear, or the helper sees
    /// what was injected. What waits in a worker's own queue needs no helper. (`fetch_and` does not
    /// set a flag again that the helper has cleared meanwhile. SeqCst pairs with the store in
    /// `Worker::sleep`.)
    pub(crate) fn call_helper(&self) {
        if self.idle.asleep() != 0 && !self.helper_is_coming.swap(true, Ordering::SeqCst) {
            self.helper_is_coming.fetch_and(self.wake_one(), Ordering::Relaxed);
        }
    }

    /// Ends the sleep of a parked worker, which the caller has claimed.
    pub(crate) fn unpark(&self, worker: usize) {
        tell!(wakes(self.id.0, worker));
        lock(&self.workers[worker].thread).iter().for_each(Thread::unpark);
    }

    /// Describes each task that has not ended. This is no snapshot: the tasks go on meanwhile.
    pub(crate) fn tasks(&self) -> Vec<TaskInfo> {
        let mut tasks = self.registry.tasks();
        for (worker, this) in self.workers.iter().enumerate() {
            let polled = this.polled.load(Ordering::Relaxed);
            if let Some(task) = tasks.iter_mut().find(|task| task.id.0 == polled) {
                task.state = TaskState::Running { worker, time: this.stuck.time() };
            }
        }
        tasks
    }
}
