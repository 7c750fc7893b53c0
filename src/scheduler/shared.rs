//! What the threads of a runtime share.

use crate::builder::Builder;
use crate::driver::Driver;
use crate::hooks::tell;
use crate::registry::{self, Id, TaskList};
use crate::scheduler::crew::Crew;
use crate::scheduler::policy::MeanPoll;
use crate::scheduler::pool::Pool;
use crate::scheduler::queue;
use crate::scheduler::root::Roots;
use crate::scheduler::sleep::{Doorbell, Sleepers};
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use concurrent_queue::{ConcurrentQueue, PushError};
use std::fmt;
use std::panic::RefUnwindSafe;

/// A task that waits to be polled.
pub(crate) type Runnable = queue::Runnable<Shared>;
/// What a task, its handles and the list share.
pub(crate) type Record = registry::Record<Shared>;

pub(crate) struct Shared {
    pub(crate) id: Id,
    pub(crate) config: Builder,
    /// The runnables that were pushed by threads that run no worker and, while polls are long, by
    /// all threads. They are for whichever worker comes first. The end closes it.
    pub(crate) injector: ConcurrentQueue<Runnable>,
    pub(crate) workers: Box<[WorkerShared]>,
    pub(crate) sleepers: Sleepers,
    pub(crate) mean_poll: MeanPoll,
    /// A worker was called to help, and none has woken up since, for whatever reason.
    pub(crate) helper_is_coming: AtomicBool,
    /// Some worker is stuck, as the last tick of the monitor has seen it.
    pub(crate) any_stuck: AtomicBool,
    pub(crate) driver: Driver,
    /// The tasks that have not ended.
    pub(crate) tasks: TaskList<Shared>,
    /// The futures that are in `block_on`.
    pub(crate) roots: Roots<Shared>,
    pub(crate) monitor: Doorbell,
    /// The jobs of `spawn_blocking` that have not begun, and the threads that run jobs.
    pub(crate) pool: Pool<Shared>,
    /// The threads, and how far the end is.
    pub(crate) crew: Crew,
}

/// A panic breaks nothing in here: no user code runs while anything is half changed. So what holds
/// a runtime (handles, sockets, guards) may pass `catch_unwind`. Without this, the hooks would
/// forbid it.
impl RefUnwindSafe for Shared {}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "runtime {} with {} workers", self.id, self.workers.len())
    }
}

/// What others see of a worker.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct WorkerShared {
    pub(crate) queue: queue::Local<Runnable>,
    /// How many turns of its loop the worker has begun. Only the worker changes it.
    pub(crate) turn: AtomicU64,
    /// Two ticks of the monitor have found the worker in the same turn, and the second one awake.
    /// One that has just woken up may be taken for stuck: that costs a wake-up, and lasts for a
    /// tick.
    pub(crate) is_stuck: AtomicBool,
    /// The id of the task that is being polled, or 0.
    pub(crate) polled: AtomicU64,
}

impl Shared {
    pub(crate) fn new(config: Builder) -> std::io::Result<Self> {
        let workers = config.workers;

        Ok(Self {
            id: Id::next(),
            injector: ConcurrentQueue::unbounded(),
            workers: (0..workers).map(|_| WorkerShared::default()).collect(),
            sleepers: Sleepers::new(workers),
            mean_poll: MeanPoll::new(),
            helper_is_coming: AtomicBool::new(false),
            any_stuck: AtomicBool::new(false),
            // This alone can fail: it needs descriptors.
            driver: Driver::new(workers)?,
            tasks: TaskList::new(workers),
            roots: Roots::default(),
            monitor: Doorbell::default(),
            pool: Pool::new(),
            crew: Crew::default(),
            config,
        })
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.crew.is_ending()
    }

    /// P1 to P3 of the sleep protocol (`sleep.rs`), by a thread that runs no worker of this
    /// runtime, or by a worker in the poll of another task, while polls are long.
    ///
    /// If the runtime is closed, the task comes back, to be dropped.
    pub(crate) fn inject(&self, runnable: Runnable) -> Result<(), Runnable> {
        // P1
        self.injector.push(runnable).map_err(PushError::into_inner)?;

        // P2 and P3
        if self.sleepers.all_asleep() {
            self.wake_one();
        } else if self.mean_poll.is_long() || self.any_stuck.load(Ordering::Relaxed) {
            // A worker that is awake may not come by for a long time.
            self.call_helper();
        }
        Ok(())
    }

    /// Wakes a worker that sleeps. Returns `false` if there was none.
    pub(crate) fn wake_one(&self) -> bool {
        let Some(worker) = self.sleepers.claim_one() else { return false };
        self.rouse(worker);
        true
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
    /// The flag may suppress a helper that would be useful, never one that is necessary. A thread
    /// that injects passes a fence before it comes here, and the helper one in `Doorbell::ring`,
    /// after it has cleared the flag: so either the flag is seen to be clear, or the helper sees
    /// what was injected. What waits in a worker's own queue needs no helper. SeqCst pairs with the
    /// store in `Worker::sleep`.
    pub(crate) fn call_helper(&self) {
        if !self.sleepers.any_asleep() {
            return;
        }

        // One helper is on its way already. It calls the next one, if it leaves tasks behind.
        if self.helper_is_coming.swap(true, Ordering::SeqCst) {
            return;
        }

        // Other threads have claimed every sleeper since: no helper comes, so nobody else clears
        // the flag. A thread that found it set may have to wait for the monitor's next tick.
        if !self.wake_one() {
            self.helper_is_coming.store(false, Ordering::Relaxed);
        }
    }
}
