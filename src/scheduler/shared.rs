//! What the threads of a runtime share.

use crate::config::Builder;
use crate::driver::Driver;
use crate::registry::info::{TaskInfo, TaskState};
use crate::registry::{Registry, RuntimeId};
use crate::scheduler::callers::Callers;
use crate::scheduler::idle::{Doorbell, Idle};
use crate::scheduler::pool::Pool;
use crate::scheduler::progress::Progress;
use crate::scheduler::queue::{self, Runnable};
use crate::sync::{Arc, AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, RwLock};
use crate::sync::{PoisonError, lock, thread::Thread};
use concurrent_queue::ConcurrentQueue;
use std::collections::BTreeMap;

/// The runtimes that have not ended. A thread that runs no worker of a runtime finds the runtime
/// here.
///
/// This table is also the gate of the injector: a thread pushes under the read lock. So once a
/// runtime was taken out of the table, nothing more comes into its injector.
pub(crate) static RUNTIMES: RwLock<BTreeMap<RuntimeId, Arc<Shared>>> = RwLock::new(BTreeMap::new());

pub(crate) struct Shared {
    pub(crate) id: RuntimeId,
    pub(crate) config: Builder,
    /// The runnables that were pushed by threads that run no worker. They are for whichever
    /// worker comes first.
    pub(crate) injector: ConcurrentQueue<Runnable>,
    pub(crate) workers: Box<[WorkerShared]>,
    pub(crate) idle: Idle,
    pub(crate) driver: Driver,
    pub(crate) registry: Registry,
    pub(crate) pool: Pool,
    pub(crate) callers: Callers,
    pub(crate) monitor: Doorbell,

    // The state of the end. Only `end.rs` and `threads.rs` change it.
    /// The runtime ends: no worker polls another task.
    pub(crate) ending: AtomicBool,
    /// How many workers have not left their loops.
    pub(crate) running: AtomicUsize,
    /// The tasks that had not finished when the last worker left. None: it has not left yet.
    pub(crate) unfinished: Mutex<Option<Vec<TaskInfo>>>,
    /// How many threads of this runtime have not signed off.
    pub(crate) threads: Mutex<usize>,
    pub(crate) thread_ended: Condvar,
}

/// What others see of a worker.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct WorkerShared {
    pub(crate) queue: queue::Local<Runnable>,
    pub(crate) progress: Progress,
    /// The thread that runs the worker. None: no thread does.
    pub(crate) thread: Mutex<Option<Thread>>,
}

impl Shared {
    pub(crate) fn new(config: Builder) -> std::io::Result<Self> {
        let id = RuntimeId::next();
        Ok(Self {
            id,
            injector: ConcurrentQueue::unbounded(),
            workers: (0..config.workers).map(|_| WorkerShared::default()).collect(),
            idle: Idle::new(config.workers),
            driver: Driver::new(config.workers)?,
            registry: Registry::new(id, config.workers),
            pool: Pool::default(),
            callers: Callers::default(),
            monitor: Doorbell::default(),
            ending: AtomicBool::new(false),
            running: AtomicUsize::new(0),
            unfinished: Mutex::default(),
            threads: Mutex::default(),
            thread_ended: Condvar::default(),
            config,
        })
    }

    /// Lets other threads find the runtime by its id.
    pub(crate) fn publish(self: &Arc<Self>) {
        let mut runtimes = RUNTIMES.write().unwrap_or_else(PoisonError::into_inner);
        runtimes.insert(self.id, self.clone());
    }

    /// Whether the runtime ends. SeqCst pairs with the store in `end::begin`: a worker that falls
    /// asleep sets its bit before it loads this, and the end stores this before it claims the
    /// workers whose bits are set.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// P1 to P3 of the sleep protocol (`idle.rs`), by a thread that runs no worker of this
    /// runtime.
    pub(crate) fn inject(&self, runnable: Runnable) {
        runnable.metadata().count_step();
        queue::push(&self.injector, runnable);
        self.wake_if_all_asleep();
    }

    /// Wakes a worker if none is awake. A parked one costs less than the one in the seat.
    pub(crate) fn wake_if_all_asleep(&self) {
        if let Some(worker) = self.idle.claim_if_all_asleep(self.driver.sleeper()) {
            self.unpark(worker);
        }
    }

    /// Wakes some worker that sleeps, if there is one.
    pub(crate) fn wake_another(&self) {
        if let Some(worker) = self.idle.claim_one(self.driver.sleeper()) {
            self.unpark(worker);
        }
    }

    /// Wakes this worker, if it sleeps.
    pub(crate) fn wake_worker(&self, worker: usize) {
        if self.idle.claim(worker) {
            self.unpark(worker);
        }
    }

    /// Ends the sleep of a worker that was claimed, wherever it sleeps.
    fn unpark(&self, worker: usize) {
        if self.driver.sleeper() == Some(worker) {
            self.driver.notify();
        } else {
            self.unpark_thread(worker);
        }
    }

    pub(crate) fn unpark_thread(&self, worker: usize) {
        if let Some(thread) = &*lock(&self.workers[worker].thread) {
            thread.unpark();
        }
    }

    /// Describes each task that has not ended. This is no snapshot: the tasks go on meanwhile.
    pub(crate) fn tasks(&self) -> Vec<TaskInfo> {
        let mut tasks = self.registry.tasks();
        for (worker, shared) in self.workers.iter().enumerate() {
            let polled = shared.progress.polled();
            if let Some(task) = tasks.iter_mut().find(|task| task.id.0 == polled) {
                task.state = TaskState::Running { worker, time: shared.progress.time() };
            }
        }
        tasks
    }
}
