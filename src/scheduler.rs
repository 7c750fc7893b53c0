//! Decide which queue a runnable enters, and whom to tell.

use crate::builder::Builder;
use crate::idle::{Doorbell, Idle};
use crate::inspect::{Id, TaskInfo, TaskState};
use crate::registry::{Key, Number, Registry};
use crate::sync::{
    Arc, AtomicBool, AtomicU64, AtomicUsize, Duration, Instant, Mutex, Ordering, PoisonError,
    RwLock, lock, thread::Thread, wake,
};
use crate::{blocking::Jobs, driver::Driver, queue};
use concurrent_queue::ConcurrentQueue;
use std::cell::{Cell, RefCell};
use std::{collections::BTreeMap, task::Waker};

/// The runtimes that run. Only threads that run no worker of a runtime look for it
/// here.
pub(crate) static RUNTIMES: RwLock<BTreeMap<Number, Arc<Shared>>> = RwLock::new(BTreeMap::new());

/// How often the monitor looks at a busy runtime. A look takes some microseconds, and
/// takes them from a worker.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// A task that shall be polled; it carries its key.
pub(crate) type Runnable = async_task::Runnable<Key>;

/// What the threads of a runtime share.
pub(crate) struct Shared {
    pub(crate) number: Number,
    pub(crate) config: Builder,
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
    /// The tasks that had not finished when it ended.
    pub(crate) left: Mutex<Vec<TaskInfo>>,
}

/// What others see of a worker.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Remote {
    pub(crate) local: queue::Local<Runnable>,
    /// It has begun a step since the monitor looked last: it is not stuck.
    pub(crate) stepped: AtomicBool,
    /// The id of the task that it polls, or 0.
    pub(crate) polled: AtomicU64,
    /// For how many ticks of the monitor it has been in one step.
    pub(crate) stuck: AtomicUsize,
    /// A thread in `block_on` runs this worker; its own thread must not. Either sets
    /// it for a moment, to find out whether it may.
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
    /// Steps until the next look at the kernel, the clock and the injector.
    pub(crate) until_look: Cell<u32>,
    /// What waits in the queue, and since when.
    pub(crate) wait: Cell<Wait>,
    /// What a look brought. Empty between two steps.
    pub(crate) wakers: RefCell<Vec<Waker>>,
}

/// One runnable that waits, of all that do: the last one, when it was chosen.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wait {
    /// When it was chosen; None: none waits.
    pub(crate) since: Option<Instant>,
    /// Since when there always was one that waits.
    pub(crate) standing: Option<Instant>,
    /// How many are before it, those in the injector included; 0: it waits no longer.
    pub(crate) ahead: usize,
    /// How many polls there were since it was chosen.
    pub(crate) polls: u32,
    /// What a poll took lately, on the average.
    pub(crate) mean_poll: Duration,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, index: usize, is_guest: bool) -> Self {
        Self {
            until_look: Cell::new(shared.config.event_interval),
            shared,
            index,
            is_guest,
            active: Cell::new(is_guest),
            wait: Cell::default(),
            wakers: RefCell::default(),
        }
    }

    pub(crate) fn remote(&self) -> &Remote {
        &self.shared.remotes[self.index]
    }

    /// Whether what is scheduled on this thread for `runtime` may enter this
    /// worker's queue.
    pub(crate) fn serves(&self, runtime: Number) -> bool {
        self.active.get() && self.shared.number == runtime
    }

    pub(crate) fn push(&self, runnable: Runnable) {
        runnable.metadata().step();
        self.remote().local.push(runnable);
    }
}

impl Shared {
    pub(crate) fn new(config: Builder) -> std::io::Result<Self> {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            number,
            injector: ConcurrentQueue::unbounded(),
            remotes: (0..config.workers).map(|_| Remote::default()).collect(),
            idle: Idle::new(config.workers),
            driver: Driver::new(config.workers)?,
            registry: Registry::new(number, config.workers),
            jobs: Jobs::default(),
            monitor: Doorbell::default(),
            shutdown: AtomicBool::new(false),
            left: Mutex::default(),
            config,
        })
    }

    /// The runtime can be found by its number from now on.
    pub(crate) fn publish(self: &Arc<Self>) {
        let mut runtimes = RUNTIMES.write().unwrap_or_else(PoisonError::into_inner);
        runtimes.insert(self.number, self.clone());
    }

    /// From a thread that runs no worker of this runtime.
    pub(crate) fn inject(&self, runnable: Runnable) {
        runnable.metadata().step();
        queue::push(&self.injector, runnable);
        self.wake_if_all_asleep();
    }

    /// Wakes a worker if nobody else would come to it. A parked one rather than
    /// the one in the seat: that costs less.
    pub(crate) fn wake_if_all_asleep(&self) {
        self.unpark(self.idle.wake_if_all_asleep(self.driver.holder()));
    }

    /// Wakes a sleeping worker to share the load, if there is one.
    pub(crate) fn wake_another(&self) {
        self.unpark(self.idle.wake_one(self.driver.holder()));
    }

    /// This worker's bit was cleared: tell the thread that sleeps on it.
    pub(crate) fn unpark(&self, claimed: Option<usize>) {
        match claimed {
            Some(_) if self.driver.holder() == claimed => self.driver.notify(),
            Some(worker) => self.unpark_thread(worker),
            None => {}
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

    /// Nobody ran a worker for a moment: whatever came then is somebody's now.
    pub(crate) fn look_after(&self) {
        if !self.injector.is_empty() {
            self.wake_if_all_asleep();
        }
        self.watch();
    }

    /// SeqCst: a worker that falls asleep sets its bit before it reads this, and
    /// `shut_down` writes this before it looks at the bits.
    pub(crate) fn is_shutdown(&self) -> bool {
        self.shutdown.load(Ordering::SeqCst)
    }

    /// Tells every thread to end. SeqCst: see `is_shutdown`.
    pub(crate) fn shut_down(&self) {
        self.shutdown.store(true, Ordering::SeqCst);
        for worker in 0..self.config.workers {
            self.unpark(self.idle.wake(worker).then_some(worker));
            self.unpark_thread(worker);
        }
        self.monitor.thread.get().into_iter().for_each(Thread::unpark);
    }

    /// What is known of each unfinished task that `is_wanted`.
    pub(crate) fn tasks(&self, is_wanted: impl Fn(Id) -> bool) -> Vec<TaskInfo> {
        let mut tasks = self.registry.tasks(is_wanted);
        for (worker, remote) in self.remotes.iter().enumerate() {
            let polled = remote.polled.load(Ordering::Relaxed);
            let time = TICK * remote.stuck.load(Ordering::Relaxed) as u32;
            let mut tasks = tasks.iter_mut().take_while(|_| polled != 0);
            let task = tasks.find(|it| it.id.0 == polled && it.state != TaskState::Blocking);
            task.into_iter().for_each(|it| it.state = TaskState::Running { worker, time });
        }
        tasks
    }

    /// The last worker has left: drops every task's future, and fails every
    /// socket and timer that lives on. Woken, a task enters the injector, unless
    /// it is on its way there; once the runtime is withdrawn nothing comes any
    /// more.
    pub(crate) fn drain(&self) {
        *lock(&self.left) = self.tasks(|_| true);
        let mut wakers = self.registry.close();
        self.driver.reactor.close(&mut wakers);
        self.driver.timers.close(&mut wakers);
        wakers.into_iter().for_each(wake);
        RUNTIMES.write().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
        self.remotes.iter().for_each(|remote| remote.local.spill(&self.injector));
        self.injector.try_iter().for_each(drop);
    }
}
