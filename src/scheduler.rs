//! Decide which queue a runnable enters, and whom to tell.

use crate::blocking::Pool;
use crate::context;
use crate::driver::Driver;
use crate::idle::Idle;
use crate::queue::{self, Local};
use crate::registry::Registry;
use crate::sync::{fence, lock, wake};
use async_task::ScheduleInfo;
use concurrent_queue::ConcurrentQueue;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Thread;

/// A task that shall be polled.
pub(crate) type Runnable = async_task::Runnable<Meta>;

/// What a task carries beside its future.
pub(crate) struct Meta {
    pub(crate) runtime: Arc<Shared>,
}

/// What the threads of a runtime share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    /// Runnables for whoever comes first.
    pub(crate) injector: ConcurrentQueue<Runnable>,
    pub(crate) remotes: Box<[Remote]>,
    pub(crate) idle: Idle,
    pub(crate) driver: Driver,
    pub(crate) registry: Registry,
    pub(crate) blocking: Pool,
    pub(crate) monitor: Doorbell,
    /// Threads in `block_on` that found no sleeping worker to run.
    pub(crate) guests: Mutex<Vec<Thread>>,
    /// The runtime ends: no worker polls another task.
    shutdown: AtomicBool,
    /// The last worker has left: what is scheduled now is dropped.
    drained: AtomicBool,
}

pub(crate) type Hook = Box<dyn Fn() + Send + Sync>;

/// What the Builder was told.
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) event_interval: u32,
    pub(crate) thread_name: String,
    pub(crate) thread_stack_size: Option<usize>,
    pub(crate) max_blocking_threads: usize,
    pub(crate) thread_keep_alive: std::time::Duration,
    pub(crate) on_thread_start: Option<Hook>,
    pub(crate) on_thread_stop: Option<Hook>,
}

/// What others see of a worker.
#[repr(align(128))]
pub(crate) struct Remote {
    pub(crate) local: Local<Runnable>,
    /// How many polls it has begun and ended; odd in the midst of one.
    pub(crate) polls: AtomicUsize,
    /// A thread in `block_on` runs this worker; its own thread must not.
    pub(crate) lent: AtomicBool,
    /// The thread to unpark.
    thread: Mutex<Option<Thread>>,
}

impl Remote {
    fn new() -> Self {
        Self {
            local: Local::new(),
            polls: AtomicUsize::new(0),
            lent: AtomicBool::new(false),
            thread: Mutex::new(None),
        }
    }

    pub(crate) fn set_thread(&self, thread: Option<Thread>) -> Option<Thread> {
        std::mem::replace(&mut *lock(&self.thread), thread)
    }
}

/// A thread that sleeps until it is needed.
#[derive(Default)]
pub(crate) struct Doorbell {
    pub(crate) asleep: AtomicBool,
    pub(crate) thread: OnceLock<Thread>,
}

impl Doorbell {
    /// Called by a worker that has woken up, among others.
    pub(crate) fn ring(&self) {
        // Pairs with the fence in `Monitor::sleep`: either the monitor sees the
        // worker awake, or this sees the monitor asleep.
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            if let Some(thread) = self.thread.get() {
                thread.unpark();
            }
        }
    }
}

impl Shared {
    pub(crate) fn new(config: Config) -> std::io::Result<Self> {
        let workers = config.workers;
        Ok(Self {
            injector: ConcurrentQueue::unbounded(),
            remotes: std::iter::repeat_with(Remote::new).take(workers).collect(),
            idle: Idle::new(workers),
            driver: Driver::new(workers)?,
            registry: Registry::new(workers),
            blocking: Pool::new(config.max_blocking_threads),
            monitor: Doorbell::default(),
            guests: Mutex::new(Vec::new()),
            shutdown: AtomicBool::new(false),
            drained: AtomicBool::new(false),
            config,
        })
    }

    /// A task was woken (or has just been spawned): it shall be polled.
    pub(crate) fn schedule(runnable: Runnable, info: ScheduleInfo) {
        let not_mine = context::with_worker(|worker| match worker {
            Some(worker) if worker.serves(&runnable.metadata().runtime) => {
                worker.push(runnable, info.woken_while_running);
                None
            }
            _ => Some(runnable),
        });
        if let Some(runnable) = not_mine {
            let shared = runnable.metadata().runtime.clone();
            queue::push(&shared.injector, runnable);
            shared.work_was_injected();
        }
    }

    /// Something was pushed into the injector.
    pub(crate) fn work_was_injected(&self) {
        if let Some(worker) = self.idle.wake_if_all_asleep(self.driver.holder()) {
            self.unpark(worker);
        }
        // Ordered after the push by the fence in `wake_if_all_asleep`.
        if self.drained.load(Ordering::Relaxed) {
            self.drop_injected();
        }
    }

    /// Wakes a sleeping worker to share the load, if there is one.
    pub(crate) fn wake_another(&self) {
        if let Some(worker) = self.idle.wake_one(self.driver.holder()) {
            self.unpark(worker);
        }
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
        if let Some(thread) = thread {
            thread.unpark();
        }
    }

    /// A sleeping runtime has somebody in the seat as long as there is
    /// something to wait for: called by a thread that ceases to be a worker,
    /// and by those that are none and make something to wait for.
    pub(crate) fn watch(&self) {
        if self.driver.holder().is_none() && self.driver.is_needed() {
            if let Some(worker) = self.idle.wake_if_all_asleep(None) {
                self.unpark(worker);
            }
        }
    }

    pub(crate) fn is_shutdown(&self) -> bool {
        self.shutdown.load(Ordering::SeqCst)
    }

    /// Tells every thread to end. False: that was done already.
    pub(crate) fn shut_down(&self) -> bool {
        // SeqCst: a worker that falls asleep sets its bit before it reads this.
        if self.shutdown.swap(true, Ordering::SeqCst) {
            return false;
        }
        for worker in 0..self.config.workers {
            if !self.wake(worker) {
                self.unpark_thread(worker);
            }
        }
        for guest in lock(&self.guests).drain(..) {
            guest.unpark();
        }
        if let Some(monitor) = self.monitor.thread.get() {
            monitor.unpark();
        }
        self.blocking.close();
        true
    }

    /// The last worker has left: drops every task's future, and fails every
    /// socket and timer that lives on.
    pub(crate) fn drain(&self) {
        let tasks = self.registry.close();
        // Woken, a task enters the injector, unless it is on its way there.
        tasks.into_iter().for_each(wake);
        let mut wakers = Vec::new();
        self.driver.reactor.close(&mut wakers);
        self.driver.timers.close(&mut wakers);
        wakers.into_iter().for_each(wake);
        self.drained.store(true, Ordering::Relaxed);
        // Pairs with the fence in `work_was_injected`: either that sees
        // `drained`, or this sees what was pushed.
        fence(Ordering::SeqCst);
        self.drop_injected();
    }

    fn drop_injected(&self) {
        for remote in &self.remotes {
            remote.local.spill(&self.injector);
        }
        while let Ok(runnable) = self.injector.pop() {
            drop(runnable);
        }
    }
}
