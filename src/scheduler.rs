//! Decide which queue a runnable enters, and whom to tell.

use crate::blocking::Jobs;
use crate::driver::{Driver, Turn};
use crate::idle::{Doorbell, Idle};
use crate::queue::{self, Local};
use crate::registry::Registry;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering, fence, lock, wake};
use concurrent_queue::ConcurrentQueue;
use std::cell::{Cell, RefCell};
use std::thread::Thread;
use std::time::Instant;

/// A task that shall be polled; it carries its runtime.
pub(crate) type Runnable = async_task::Runnable<Arc<Shared>>;

/// What the threads of a runtime share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    /// Runnables for whoever comes first.
    pub(crate) injector: ConcurrentQueue<Runnable>,
    pub(crate) remotes: Box<[Remote]>,
    pub(crate) idle: Idle,
    pub(crate) driver: Driver,
    pub(crate) registry: Registry,
    pub(crate) jobs: Jobs,
    pub(crate) monitor: Doorbell,
    /// The runtime ends: no worker polls another task.
    shutdown: AtomicBool,
    /// The last worker has left: what is scheduled now is dropped.
    drained: AtomicBool,
}

pub(crate) type Hook = Option<Box<dyn Fn() + Send + Sync>>;

/// What the Builder was told.
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) event_interval: u32,
    pub(crate) thread_name: String,
    pub(crate) thread_stack_size: usize,
    pub(crate) on_thread_start: Hook,
    pub(crate) on_thread_stop: Hook,
}

/// What others see of a worker.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Remote {
    pub(crate) local: Local<Runnable>,
    /// How many polls it has begun.
    pub(crate) polls: AtomicUsize,
    /// A thread in `block_on` runs this worker; its own thread must not.
    pub(crate) lent: AtomicBool,
    /// The thread to unpark.
    pub(crate) thread: Mutex<Option<Thread>>,
}

/// A worker, as the thread knows it that runs it. The loop is in `worker.rs`.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: usize,
    /// Run by a thread in `block_on`, not by the worker's own.
    pub(crate) is_guest: bool,
    /// This thread owns the worker now. Otherwise what it schedules goes to the
    /// injector, as from any other thread.
    pub(crate) active: Cell<bool>,
    /// What is woken now was woken by the kernel or the clock: first come,
    /// first served.
    pub(crate) dispatching: Cell<bool>,
    /// Polls until the next look at the kernel, the clock and the injector.
    pub(crate) until_look: Cell<u32>,
    pub(crate) slot_streak: Cell<u32>,
    /// Since when the queue has not been empty, as far as somebody cares.
    pub(crate) standing_since: Cell<Option<Instant>>,
    /// Polls since the queue was last empty.
    pub(crate) polls_standing: Cell<u32>,
    pub(crate) turn: RefCell<Turn>,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, index: usize, is_guest: bool) -> Self {
        Self {
            index,
            is_guest,
            active: Cell::new(is_guest),
            dispatching: Cell::new(false),
            until_look: Cell::new(shared.config.event_interval),
            slot_streak: Cell::new(0),
            standing_since: Cell::new(None),
            polls_standing: Cell::new(0),
            turn: RefCell::new(Turn::new()),
            shared,
        }
    }

    pub(crate) fn remote(&self) -> &Remote {
        &self.shared.remotes[self.index]
    }

    /// Whether what is scheduled on this thread for `runtime` may enter this
    /// worker's queue.
    pub(crate) fn serves(&self, runtime: &Arc<Shared>) -> bool {
        self.active.get() && Arc::ptr_eq(&self.shared, runtime)
    }

    pub(crate) fn push(&self, runnable: Runnable, yielded: bool) {
        let (local, injector) = (&self.remote().local, &self.shared.injector);
        if yielded || self.dispatching.get() {
            local.push_back(runnable, injector);
        } else {
            local.push_slot(runnable, injector);
        }
    }
}

impl Shared {
    pub(crate) fn new(config: Config) -> std::io::Result<Self> {
        let workers = config.workers;
        Ok(Self {
            config,
            injector: ConcurrentQueue::unbounded(),
            remotes: std::iter::repeat_with(Remote::default)
                .take(workers)
                .collect(),
            idle: Idle::new(workers),
            driver: Driver::new(workers)?,
            registry: Registry::new(workers),
            jobs: Jobs::default(),
            monitor: Doorbell::default(),
            shutdown: AtomicBool::new(false),
            drained: AtomicBool::new(false),
        })
    }

    /// From a thread that runs no worker of this runtime.
    pub(crate) fn inject(&self, runnable: Runnable) {
        queue::push(&self.injector, runnable);
        self.work_was_injected();
    }

    /// Something was pushed into the injector.
    pub(crate) fn work_was_injected(&self) {
        self.wake_if_all_asleep();
        // Ordered after the push by the fence in `wake_if_all_asleep`.
        if self.drained.load(Ordering::Relaxed) {
            self.drop_injected();
        }
    }

    /// Wakes a worker if nobody else would come to it. A parked one rather than
    /// the one in the seat: that costs less.
    pub(crate) fn wake_if_all_asleep(&self) {
        let claimed = self.idle.wake_if_all_asleep(self.driver.holder());
        claimed.into_iter().for_each(|worker| self.unpark(worker));
    }

    /// Wakes a sleeping worker to share the load, if there is one.
    pub(crate) fn wake_another(&self) {
        let claimed = self.idle.wake_one(self.driver.holder());
        claimed.into_iter().for_each(|worker| self.unpark(worker));
    }

    /// Wakes this worker, if it sleeps.
    pub(crate) fn wake(&self, worker: usize) -> bool {
        let slept = self.idle.wake(worker);
        if slept {
            self.unpark(worker);
        }
        slept
    }

    /// The worker's bit was cleared: tell the thread that sleeps on it.
    pub(crate) fn unpark(&self, worker: usize) {
        if self.driver.holder() == Some(worker) {
            self.driver.notify();
        } else {
            self.unpark_thread(worker);
        }
    }

    pub(crate) fn unpark_thread(&self, worker: usize) {
        let thread = lock(&self.remotes[worker].thread).clone();
        thread.iter().for_each(Thread::unpark);
    }

    /// A sleeping runtime has somebody in the seat as long as there is
    /// something to wait for: called by a thread that ceases to be a worker,
    /// and by those that are none and make something to wait for.
    pub(crate) fn watch(&self) {
        if self.driver.holder().is_none() && self.driver.is_needed() {
            self.wake_if_all_asleep();
        }
    }

    pub(crate) fn is_shutdown(&self) -> bool {
        // SeqCst: a worker that falls asleep sets its bit before it reads this,
        // and `shut_down` writes this before it looks at the bits.
        self.shutdown.load(Ordering::SeqCst)
    }

    /// Tells every thread to end.
    pub(crate) fn shut_down(&self) {
        // SeqCst: see `is_shutdown`.
        self.shutdown.store(true, Ordering::SeqCst);
        for worker in 0..self.config.workers {
            if !self.wake(worker) {
                self.unpark_thread(worker);
            }
        }
        self.monitor.unpark();
    }

    /// The last worker has left: drops every task's future, and fails every
    /// socket and timer that lives on.
    pub(crate) fn drain(&self) {
        // Woken, a task enters the injector, unless it is on its way there.
        let mut wakers = self.registry.close();
        self.driver.reactor.close(&mut wakers);
        self.driver.timers.close(&mut wakers);
        wakers.into_iter().for_each(wake);
        self.drained.store(true, Ordering::Relaxed);
        // Pairs with the fence in `wake_if_all_asleep`: either the one who
        // pushed sees `drained`, or this sees what was pushed.
        fence(Ordering::SeqCst);
        self.drop_injected();
    }

    fn drop_injected(&self) {
        for remote in &self.remotes {
            remote.local.spill(&self.injector);
        }
        self.injector.try_iter().for_each(drop);
    }
}
