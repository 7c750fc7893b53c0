//! The files of src/scheduler that loom can compile as they stand, and stand-ins for those that
//! they name.

#[path = "../../../../src/scheduler/end.rs"]
pub(crate) mod end;
#[path = "../../../../src/scheduler/idle.rs"]
pub(crate) mod idle;
#[path = "../../../../src/scheduler/lease.rs"]
pub(crate) mod lease;
#[path = "../../../../src/scheduler/threads.rs"]
pub(crate) mod threads;

/// Stands for src/scheduler/context.rs: every thread is one of the program's own.
pub(crate) mod context {
    use crate::registry::{Id, RuntimeId};
    use crate::scheduler::shared::Shared;
    use crate::sync::Arc;
    use std::convert::Infallible;

    #[derive(Clone, Copy, PartialEq)]
    pub(crate) enum Role {
        Outside,
        OwnThread(RuntimeId, Option<Id>),
        Ending,
    }

    pub(crate) fn role() -> Role {
        Role::Outside
    }

    pub(crate) struct Guard(());

    pub(crate) fn enter_as(_: Role, _: Arc<Shared>, _: Option<Infallible>) -> Guard {
        Guard(())
    }
}

/// Stands for src/scheduler/shared.rs: the fields that the end uses, and tasks that only wait.
pub(crate) mod shared {
    use crate::config::RuntimeFlavor;
    use crate::pool::Pool;
    use crate::registry::{RuntimeId, TaskInfo};
    use crate::scheduler::idle::{Doorbell, Idle};
    use crate::scheduler::lease::Lease;
    use crate::sync::{Arc, AtomicBool, Condvar, Guard, Mutex, Ordering, PoisonError};
    use crate::sync::{lock, thread};
    use loom::cell::UnsafeCell;
    use std::collections::BTreeMap;
    use std::task::{Wake, Waker};

    /// A mutex does for the read-write lock: nobody reads for long.
    pub(crate) struct Table(Mutex<BTreeMap<RuntimeId, Arc<Shared>>>);
    type Locked<'a> = Guard<'a, BTreeMap<RuntimeId, Arc<Shared>>>;

    impl Table {
        pub(crate) fn write(&self) -> Result<Locked<'_>, PoisonError<Locked<'_>>> {
            Ok(lock(&self.0))
        }
    }

    loom::lazy_static! {
        pub(crate) static ref RUNTIMES: Table = Table(Mutex::default());
    }

    pub(crate) struct Config {
        pub(crate) flavor: RuntimeFlavor,
        pub(crate) thread_name: String,
        pub(crate) thread_name_fn: Option<Box<dyn Fn() -> String + Send + Sync>>,
        pub(crate) thread_stack_size: usize,
        pub(crate) on_thread_start: Box<dyn Fn() + Send + Sync>,
        pub(crate) on_thread_stop: Box<dyn Fn() + Send + Sync>,
    }

    impl Config {
        fn new(flavor: RuntimeFlavor) -> Self {
            Self {
                flavor,
                thread_name: String::new(),
                thread_name_fn: None,
                thread_stack_size: 0,
                on_thread_start: Box::new(|| ()),
                on_thread_stop: Box::new(|| ()),
            }
        }
    }

    pub(crate) struct Shared {
        pub(crate) id: RuntimeId,
        pub(crate) config: Config,
        pub(crate) injector: Queue,
        pub(crate) workers: Box<[WorkerShared]>,
        pub(crate) idle: Idle,
        pub(crate) driver: Driver,
        pub(crate) registry: Tasks,
        pub(crate) mains: Mains,
        pub(crate) lease: Lease,
        pub(crate) monitor: Doorbell,
        pub(crate) pool: Pool<Runnable>,
        pub(crate) ending: AtomicBool,
        pub(crate) unfinished: Mutex<Option<Vec<TaskInfo>>>,
        pub(crate) threads: Mutex<usize>,
        pub(crate) thread_ended: Condvar,
    }

    pub(crate) struct WorkerShared {
        pub(crate) queue: Queue,
        pub(crate) thread: Mutex<Option<thread::Thread>>,
        /// What only the thread that runs the worker may touch, and at last the one that closes the
        /// runtime. loom panics if two threads do without an order.
        own: UnsafeCell<usize>,
    }

    // SAFETY: loom checks the accesses to the cells.
    unsafe impl Sync for WorkerShared {}

    impl Shared {
        /// `workers`: 0 stands for a current-thread runtime, which has one.
        pub(crate) fn new(workers: usize, tasks: usize) -> Arc<Self> {
            let id = RuntimeId::next();
            let count = workers.max(1);
            let idle = Idle::new(count + 1);
            idle.fall_asleep(count, true); // it sits, so that the others park
            let worker = |_| WorkerShared {
                queue: Queue::default(),
                thread: Mutex::default(),
                own: UnsafeCell::new(0),
            };
            let shared = Arc::new(Self {
                id,
                config: Config::new(if workers == 0 {
                    RuntimeFlavor::CurrentThread
                } else {
                    RuntimeFlavor::MultiThread
                }),
                injector: Queue::default(),
                workers: (0..count).map(worker).collect(),
                idle,
                driver: Driver::default(),
                registry: Tasks::new(id, tasks),
                mains: Mains::default(),
                lease: Lease::default(),
                monitor: Doorbell::default(),
                pool: Pool::default(),
                ending: AtomicBool::new(false),
                unfinished: Mutex::default(),
                threads: Mutex::default(),
                thread_ended: Condvar::default(),
            });
            lock(&RUNTIMES.0).insert(id, shared.clone());
            shared
        }

        pub(crate) fn is_ending(&self) -> bool {
            self.ending.load(Ordering::SeqCst)
        }

        /// Nobody sits but a worker that no model has.
        pub(crate) fn notify_if_seated(&self) -> bool {
            false
        }

        /// As in src.
        pub(crate) fn unpark(&self, worker: usize) {
            if let Some(thread) = &*lock(&self.workers[worker].thread) {
                thread.unpark();
            }
        }

        /// Runs the worker for a moment.
        pub(crate) fn run(&self, worker: usize) {
            // SAFETY: loom checks it.
            self.workers[worker].own.with_mut(|own| unsafe { *own += 1 });
        }

        /// Called when the runtime is closed for the first time, in place of the list of the tasks.
        pub(crate) fn tasks(&self) -> Vec<TaskInfo> {
            for worker in 0..self.workers.len() {
                self.run(worker);
            }
            Vec::new()
        }

        /// How many times the runtime was closed.
        pub(crate) fn closed(&self) -> usize {
            self.mains.closed.load(Ordering::Relaxed)
        }
    }

    /// No task waits for a socket or a timer.
    #[derive(Default)]
    pub(crate) struct Driver {
        pub(crate) reactor: NobodyWaits,
        pub(crate) timers: NobodyWaits,
    }

    #[derive(Default)]
    pub(crate) struct NobodyWaits;

    impl NobodyWaits {
        pub(crate) fn close(&self, _: &mut Vec<Waker>) {}
    }

    /// The futures in `block_on`: there are none.
    #[derive(Default)]
    pub(crate) struct Mains {
        /// Not loom's: it is there for the checks, and orders nothing.
        closed: std::sync::atomic::AtomicUsize,
    }

    impl Mains {
        pub(crate) fn close(&self) -> Vec<Waker> {
            self.closed.fetch_add(1, Ordering::Relaxed);
            Vec::new()
        }
    }

    /// The tasks, which all wait.
    pub(crate) struct Tasks(pub(crate) Vec<Arc<Task>>);

    impl Tasks {
        fn new(runtime: RuntimeId, tasks: usize) -> Self {
            Self((0..tasks).map(|_| Arc::new(Task::new(runtime))).collect())
        }

        pub(crate) fn close(&self) -> Vec<Waker> {
            self.0.iter().cloned().map(Waker::from).collect()
        }
    }

    pub(crate) struct Task {
        runtime: RuntimeId,
        /// async-task: the thread that sets it schedules the task, which nobody polls.
        scheduled: AtomicBool,
        /// Not loom's: it is there for the checks, and orders nothing.
        dropped: std::sync::atomic::AtomicUsize,
    }

    impl Task {
        fn new(runtime: RuntimeId) -> Self {
            let scheduled = AtomicBool::new(false);
            Self { runtime, scheduled, dropped: std::sync::atomic::AtomicUsize::new(0) }
        }

        /// How many times its future was dropped.
        pub(crate) fn dropped(&self) -> usize {
            self.dropped.load(Ordering::Relaxed)
        }
    }

    impl Wake for Task {
        /// `schedule` and `enqueue` of src/task/spawn.rs, and `hand_to` of context.rs.
        fn wake(self: Arc<Self>) {
            if self.scheduled.swap(true, Ordering::AcqRel) {
                return;
            }
            let runnable = Runnable(self);
            let runtimes = lock(&RUNTIMES.0);
            match runtimes.get(&runnable.0.runtime) {
                Some(runtime) => runtime.injector.push(runnable),
                None => drop(runnable),
            }
        }
    }

    pub(crate) struct Runnable(Arc<Task>);

    impl Drop for Runnable {
        fn drop(&mut self) {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A queue of one step.
    #[derive(Default)]
    pub(crate) struct Queue(std::sync::Mutex<Vec<Runnable>>);

    impl Queue {
        fn push(&self, runnable: Runnable) {
            thread::yield_now();
            self.0.lock().unwrap().push(runnable);
        }

        pub(crate) fn pop(&self) -> Option<Runnable> {
            self.0.lock().unwrap().pop()
        }

        pub(crate) fn try_iter(&self) -> impl Iterator<Item = Runnable> {
            std::iter::from_fn(|| self.pop())
        }
    }
}
