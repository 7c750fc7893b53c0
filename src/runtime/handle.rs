//! A runtime and the handles to it: run futures on a runtime, look at it, and end it.

use crate::builder::{Builder, RuntimeFlavor};
use crate::registry::{RuntimeId, TaskInfo, TaskState};
use crate::runtime::block_on::block_on;
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::{RUNTIMES, Shared};
use crate::scheduler::{end, threads};
use crate::sync::{Arc, Duration, Ordering, PoisonError, lock, thread};
use crate::task::spawn::{Boxed, FUTURE_SIZE_MAX, spawn_on};
use crate::task::{JoinHandle, spawn_blocking};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem::take;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

impl Builder {
    /// Builds the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// The system's, with its number: it has no descriptors left for the reactor ("Too many open
    /// files"), or does not start a thread ("Resource temporarily unavailable"). The threads that
    /// were started already have ended when this returns.
    pub fn build(&mut self) -> io::Result<Runtime> {
        #[cfg(feature = "hint")]
        arc_hint::explain_tokio_panics(); // here, as every program passes here

        let mut config = self.clone();
        if config.flavor == RuntimeFlavor::CurrentThread {
            config.workers = 1;
        }
        let shared = Arc::new(Shared::new(config)?);

        // Other threads find it by its id from now on.
        let mut runtimes = RUNTIMES.write().unwrap_or_else(PoisonError::into_inner);
        runtimes.insert(shared.id, shared.clone());
        drop(runtimes);

        // If a panic ends this function, the drop ends the runtime.
        let handle = Handle { shared: shared.clone() };
        let mut runtime = Runtime { handle, threads: AssertUnwindSafe(Vec::new()) };

        // A thread may not start: then those that did are ended again.
        if let Err(error) = threads::start_all(&shared, &mut runtime.threads) {
            end::begin(&shared, Duration::MAX);
            end::join(&shared, take(&mut *runtime.threads), Duration::MAX);
            return Err(error);
        }
        Ok(runtime)
    }
}

/// A runtime: the workers, the reactor, the timers, and the tasks.
///
/// Most programs have one and never see it, because [`#[arc::main]`](crate::main) builds it.
///
/// Dropping a runtime ends it, as [`shutdown`](Self::shutdown) does without a limit. Every task's
/// future is dropped at its next await point, jobs of `spawn_blocking` that have begun are waited
/// for, and all threads end: those that have run jobs perhaps a little later, as they drop their
/// thread-locals. A worker that is about to take a task may still poll it once. A task that another
/// thread wakes at the same time may be dropped a little later, on a thread of its own.
///
/// On Windows, do not leave the drop of a runtime to a thread-local: it would wait for ever.
/// Windows drops thread-locals under a lock that other
/// threads need in order to end.
///
/// # Panics
///
/// When it is dropped inside a task or `block_on`, because waiting for its threads would block a
/// worker. The runtime ends all the same, in the background. Use
/// [`shutdown_background`](Self::shutdown_background) there. There is one exception: a task may
/// hold another runtime until its own one ends. That runtime is dropped without a panic, and its
/// jobs are not waited for.
#[derive(Debug)]
pub struct Runtime {
    pub(crate) handle: Handle,
    pub(crate) threads: AssertUnwindSafe<Vec<thread::JoinHandle<()>>>,
}

impl Runtime {
    /// Builds a runtime with one worker per core. See [`Builder`] for more.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn new() -> io::Result<Self> {
        Builder::new_multi_thread().build()
    }

    /// A handle to spawn and enter with, from any thread.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends the runtime, and waits for that, but no longer than `limit`.
    ///
    /// Every task's future is dropped at its next await point. The polls and the jobs of
    /// `spawn_blocking` that have begun are waited for. Those that go on after the limit are left
    /// to themselves, and the futures are dropped when the last poll has ended.
    ///
    /// The drops of a current-thread runtime are not limited: if no thread is in `block_on`, this
    /// one drops the futures, and however long that takes, it stays here. The thread-locals of
    /// threads that have nothing else to do are dropped without a limit, too.
    ///
    /// Returns the tasks that had not finished: those that were dropped where they waited, and
    /// those whose poll (`Running`) or job (`Blocking`) still goes on. Jobs that had not begun
    /// are given up, and are not in the list.
    ///
    /// # Panics
    ///
    /// Inside a task or `block_on`, unless the limit is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// let runtime = arc::runtime::Runtime::new()?;
    /// let _ = runtime.spawn(std::future::pending::<()>());
    /// for task in runtime.shutdown(Duration::from_secs(10)) {
    ///     eprintln!("not finished: {task}");
    ///     assert_eq!(task.location.file(), file!());
    /// }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn shutdown(mut self, limit: Duration) -> Vec<TaskInfo> {
        self.shut_down(limit);
        end::report(&self.shared)
    }

    /// Ends the runtime without waiting. This may be called inside a task, even one of its own.
    ///
    /// If no thread is in `block_on` of a current-thread runtime, this one drops the futures.
    pub fn shutdown_background(mut self) {
        // The drop waits for none.
        self.threads.clear();
    }

    fn shut_down(&mut self, limit: Duration) {
        // There are none if `shutdown` or `shutdown_background` was called before the drop.
        let threads = take(&mut *self.threads);
        if threads.is_empty() || context::role() == Role::Polling && !limit.is_zero() {
            end::begin(&self.shared, Duration::ZERO);

            // A second panic while another one unwinds would abort the process.
            assert!(
                threads.is_empty() || thread::panicking(),
                "a Runtime was dropped inside a task or block_on, or shut down there. It ends in \
                 the background, as to wait for its threads would block a worker. Use \
                 `Runtime::shutdown_background`, or drop it elsewhere"
            );
            return;
        }

        // In the drop of what another runtime's tasks left: a task or job of this one may wait for
        // something that is dropped only after this.
        let limit = if context::role() == Role::Ending { Duration::ZERO } else { limit };

        // The threads sign off, and are joined.
        end::begin(&self.shared, limit);
        end::join(&self.shared, threads, limit);
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Nobody reads the report.
        *lock(&self.shared.unfinished) = Some(Vec::new());
        self.shut_down(Duration::MAX);
    }
}

/// A runtime can do everything that its handle can.
impl Deref for Runtime {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

/// Refers to a runtime, from any thread. A handle is cheap to clone, and does not keep the runtime
/// running.
#[derive(Clone)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
}

impl Handle {
    /// The runtime that this thread is in.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn current() -> Self {
        Self { shared: context::current("Handle::current was called").runtime.clone() }
    }

    /// The runtime that this thread is in.
    ///
    /// # Errors
    ///
    /// Outside a runtime.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        let current = context::try_current().ok_or(TryCurrentError(()))?;
        Ok(Self { shared: current.runtime.clone() })
    }

    /// Spawns a task, also from outside the runtime. See [`crate::spawn`].
    ///
    /// When the runtime has ended, the future is dropped, and the handle says that it was
    /// cancelled.
    #[track_caller]
    pub fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
        &self,
        future: F,
    ) -> JoinHandle<F::Output> {
        if const { size_of::<F>() > FUTURE_SIZE_MAX } {
            return self.spawn::<Boxed<F::Output>>(Box::pin(future));
        }
        spawn_on(&self.shared, TaskInfo::new(TaskState::Idle), future)
    }

    /// Runs a function that blocks on a thread of its own, also from outside the runtime. See
    /// [`spawn_blocking`].
    #[track_caller]
    pub fn spawn_blocking<F: FnOnce() -> R + Send + 'static, R: Send + 'static>(
        &self,
        function: F,
    ) -> JoinHandle<R> {
        let _guard = self.enter();
        spawn_blocking(function)
    }

    /// Runs a future to its end on the calling thread.
    ///
    /// On a multi-thread runtime the thread polls this future and nothing else. Tasks that the
    /// future spawns run on the workers. They go on after `block_on` returns. Several threads may
    /// be in `block_on` at once.
    ///
    /// On a current-thread runtime the thread also runs all tasks, and waits for sockets and
    /// timers. If another thread does so already, this one only polls its future, and takes over
    /// when the other one leaves.
    ///
    /// If the runtime ends meanwhile, the future goes on, but its tasks are cancelled, its
    /// sockets fail, and its timers panic. With
    /// [`UnhandledPanic::ShutdownRuntime`](crate::runtime::UnhandledPanic), `block_on` panics
    /// instead.
    ///
    /// # Panics
    ///
    /// * Inside a task or another `block_on`, and in what is dropped when a runtime ends.
    /// * When the future panics.
    /// * When the runtime ends and its policy is `ShutdownRuntime`.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = arc::runtime::Runtime::new()?;
    /// let answer = runtime.block_on(async {
    ///     arc::spawn(async { 42 }).await
    /// });
    /// assert_eq!(answer.unwrap(), 42);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        // The future may be large, and the stack of this thread small.
        if const { size_of::<F>() > FUTURE_SIZE_MAX } {
            let boxed: Pin<Box<dyn Future<Output = F::Output> + '_>> = Box::pin(future);
            return block_on(&self.shared, boxed);
        }
        block_on(&self.shared, future)
    }

    /// Makes this runtime the current one of the thread while the guard lives: `arc::spawn`,
    /// sockets and timers use it.
    ///
    /// Guards may be nested, and the innermost one counts. Drop them in the reverse order: in
    /// another order, the thread is left in one of their runtimes when all are dropped. Do not hold
    /// the guard across an `.await`: other tasks would run under it. Do not let it outlive the
    /// `block_on` that created it.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = arc::runtime::Runtime::new()?;
    /// let task = {
    ///     let _guard = runtime.enter();
    ///     arc::spawn(async { "spawned from outside" })
    /// };
    /// assert_eq!(runtime.block_on(task).unwrap(), "spawned from outside");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        let context = context::enter(self.shared.clone());
        EnterGuard { _context: context, _handle: PhantomData }
    }

    /// Identifies the runtime. No two runtimes of a process have the same id.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::runtime::{Handle, Runtime};
    /// let runtime = Runtime::new()?;
    /// let id = runtime.block_on(async { Handle::current().id() });
    /// assert_eq!(id, runtime.id());
    /// assert_ne!(id, Runtime::new()?.id());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn id(&self) -> RuntimeId {
        self.shared.id
    }

    /// Which threads run the tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::runtime::{Handle, RuntimeFlavor};
    /// # #[arc::main(flavor = "current_thread")]
    /// # async fn main() {
    /// assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::CurrentThread);
    /// # }
    /// ```
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        self.shared.config.flavor
    }

    /// How many workers run tasks at once.
    pub fn workers(&self) -> usize {
        self.shared.config.workers
    }

    /// How many tasks wait in the queue that belongs to all workers. Tasks that are spawned or
    /// woken outside of the workers go there and, while polls are long, all tasks.
    pub fn global_queue_depth(&self) -> usize {
        self.shared.injector.len()
    }

    /// What a worker has done so far, in numbers. Workers are numbered from 0.
    ///
    /// Each worker counts for itself, so that it costs next to nothing. The numbers are read one
    /// after the other, while the worker goes on.
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[arc::main]
    /// # async fn main() {
    /// arc::spawn(async {}).await.unwrap();
    /// let runtime = arc::runtime::Handle::current();
    /// let polls = (0..runtime.workers()).map(|worker| runtime.worker_counts(worker).polls);
    /// assert_eq!(polls.sum::<u64>(), 1);
    /// # }
    /// ```
    pub fn worker_counts(&self, worker: usize) -> WorkerCounts {
        // The worker goes on meanwhile, so these numbers may not agree.
        let worker = &self.shared.workers[worker];
        WorkerCounts {
            polls: worker.polls.load(Ordering::Relaxed),
            steals: worker.steals.load(Ordering::Relaxed),
            parks: worker.parks.load(Ordering::Relaxed),
            queued: worker.queue.len(),
        }
    }

    /// Describes each task that has not ended, in no particular order.
    ///
    /// The list is no snapshot: the tasks go on while it is made. A task that was running may have
    /// stopped since, and a task that was spawned meanwhile may be missing.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[arc::main]
    /// # async fn main() {
    /// let task = arc::task::spawn_named("waiter", std::future::pending::<()>());
    /// let tasks = arc::runtime::Handle::current().tasks();
    /// assert_eq!(tasks[0].name.as_deref(), Some("waiter"));
    /// assert_eq!(tasks[0].id, task.id());
    /// assert!(tasks.iter().all(|task| task.location.line() > 0));
    /// # }
    /// ```
    pub fn tasks(&self) -> Vec<TaskInfo> {
        self.shared.describe_tasks()
    }
}

/// What one worker has done so far; made by [`Handle::worker_counts`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WorkerCounts {
    /// How often it has polled a task.
    pub polls: u64,
    /// How many tasks it has taken from the queues of other workers. Tasks that others took from it
    /// at the same time may be missing.
    pub steals: u64,
    /// How often it has gone to sleep, because it had nothing to do.
    pub parks: u64,
    /// How many tasks wait in its own queue now. While polls are long, tasks wait in the queue that
    /// belongs to all workers: [`Handle::global_queue_depth`].
    pub queued: usize,
}

impl fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Handle({} workers)", self.workers())
    }
}

/// Restores the thread's previous runtime when it is dropped.
#[must_use = "the runtime is current only while the guard lives"]
pub struct EnterGuard<'a> {
    _context: context::Guard,
    _handle: PhantomData<&'a Handle>,
}

/// The calling thread is not in a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TryCurrentError(());

impl fmt::Display for TryCurrentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("this thread is not in an arc runtime")
    }
}

impl std::error::Error for TryCurrentError {}
