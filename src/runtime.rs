//! Build a runtime, run futures on it, shut it down.

use crate::context::{self, Role};
use crate::inspect::{Origin, TaskInfo, TaskState};
use crate::net::explain;
use crate::scheduler::Shared;
use crate::sync::{Arc, Duration, contain, discard, lock, thread};
use crate::task::{JoinHandle, spawn_on};
use crate::{blocking, guest, monitor, worker};
use std::marker::PhantomData;
use std::{fmt, io};

pub use crate::{builder::Builder, builder::UnhandledPanic, context::may_block};

impl Builder {
    /// Builds the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// When the system has no descriptors left for the reactor, or does not
    /// start the threads; the error says which. What was begun is undone: the
    /// threads that were started end.
    pub fn build(self) -> io::Result<Runtime> {
        let failed = |error| explain("starting an arc runtime:", &"the reactor", &error);
        let shared = Arc::new(Shared::new(self).map_err(failed)?);
        let mut runtime = Runtime { handle: Handle { shared }, threads: Vec::new() };
        let started = runtime.start_threads();
        if started.is_err() {
            runtime.shared.shut_down();
            runtime.threads.drain(..).for_each(|thread| drop(thread.join()));
        }
        started.map(|()| runtime)
    }
}

/// Workers, reactor, timers, and the tasks they run.
///
/// Most programs have one and never see it: [`#[arc::main]`](crate::main)
/// builds it. Dropping it ends it, as [`shutdown`](Self::shutdown)
/// without a limit: every task's future is dropped at its next await point, all
/// threads end, and jobs of `spawn_blocking` that have begun are waited for. (A worker that
/// is just about to take a task may still poll it once. A task that another thread wakes at
/// that very moment may be dropped a little later, by a thread for blocking jobs.)
///
/// # Panics
///
/// Dropping a runtime inside a task or `block_on` panics, because waiting for
/// its threads would block a worker. The runtime ends all the same, in the
/// background. Use [`shutdown_background`](Self::shutdown_background) there. One that a
/// task holds until its own runtime ends is dropped then: that neither panics nor waits for
/// jobs.
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Runtime {
    /// A runtime with one worker per core; see [`Builder`] for more.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn new() -> io::Result<Self> {
        Builder::new_multi_thread().build()
    }

    /// The last worker that ends leaves nothing behind.
    fn start_threads(&mut self) -> io::Result<()> {
        let alive = Arc::new(());
        for index in 0..self.workers() {
            let alive = alive.clone();
            let thread = self.start_thread(&format!("worker-{index}"), move |shared| {
                worker::main(shared.clone(), index);
                if Arc::into_inner(alive).is_some() {
                    let role = Role::Drains(shared.number);
                    let _context = context::enter_as(role, shared.clone(), None);
                    shared.drain();
                }
            })?;
            *lock(&self.shared.remotes[index].thread) = Some(thread);
        }
        let thread = self.start_thread("monitor", |shared| monitor::main(shared.clone()))?;
        self.shared.monitor.thread.get_or_init(|| thread);
        self.shared.publish();
        Ok(())
    }

    fn start_thread<F: FnOnce(&Arc<Shared>) + Send + 'static>(
        &mut self,
        role: &str,
        main: F,
    ) -> io::Result<thread::Thread> {
        let shared = self.shared.clone();
        let name = format!("{}-{role}", shared.config.thread_name);
        let builder = thread::Builder::new().stack_size(shared.config.thread_stack_size);
        let job = blocking::Job::new(shared.clone(), None);
        let started = builder.name(name.clone()).spawn(move || {
            contain(&shared.config.on_thread_start).unwrap_or_else(discard);
            main(&shared);
            contain(&shared.config.on_thread_stop).unwrap_or_else(discard);
            drop(job);
        });
        let started =
            started.map_err(|error| explain("starting an arc runtime: thread", &name, &error))?;
        let thread = started.thread().clone();
        self.threads.push(started);
        Ok(thread)
    }

    /// A handle to spawn and enter with, from any thread.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends the runtime: drops every task's future at its next await point, and waits
    /// at most so long for the polls and the jobs of `spawn_blocking` that have begun.
    /// Those that go on after it are left to themselves; the futures are dropped when the
    /// last poll has ended.
    ///
    /// The tasks that had not finished are returned: those that were dropped where they
    /// waited, and those whose poll (`Running`, for as long as when the shutdown began) or
    /// job (`Blocking`) still goes on. Jobs that had not begun are given up, and not told.
    ///
    /// # Panics
    ///
    /// Inside a task or `block_on`.
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
        self.shut_down(limit)
    }

    /// Ends the runtime without waiting, also from inside one of its tasks.
    pub fn shutdown_background(mut self) {
        self.shared.shut_down();
        self.threads.clear();
    }

    /// One of the runtime's own jobs, or a thread that calls a hook, does not wait for
    /// itself, and one that drops what the tasks left does not wait at all. A panic of a
    /// thread has been printed; those of tasks stay with them.
    fn shut_down(&mut self, limit: Duration) -> Vec<TaskInfo> {
        let shared = &self.handle.shared;
        shared.shut_down();
        let threads = std::mem::take(&mut self.threads);
        let role = context::role();
        if threads.is_empty() || role == Role::Polls {
            assert!(
                threads.is_empty() || thread::panicking(),
                "a Runtime was dropped inside a task or block_on, where waiting for its threads \
                 would block a worker: it ends in the background. Use \
                 `Runtime::shutdown_background`, or drop it elsewhere"
            );
            return Vec::new();
        }
        let is_own = threads.iter().any(|own| own.thread().id() == thread::current().id());
        let is_own = is_own || role == Role::RunsJob(shared.number);
        let limit = if matches!(role, Role::Drains(_)) { Duration::ZERO } else { limit };
        let jobs = shared.jobs.join(limit, usize::from(is_own));
        let live = shared.tasks(|_| true);
        let mut left = std::mem::take(&mut *lock(&shared.left));
        left = if left.is_empty() { live } else { left };
        if jobs.iter().all(Option::is_some) {
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        left.retain(|task| task.state != TaskState::Blocking);
        left.extend(jobs.into_iter().flatten());
        left
    }
}

impl Drop for Runtime {
    /// Without a limit there is nothing to report.
    fn drop(&mut self) {
        self.shut_down(Duration::MAX);
    }
}

/// A runtime can do all that its handle can.
impl std::ops::Deref for Runtime {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

/// Refers to a runtime, from any thread. Cheap to clone; does not keep the
/// runtime running.
#[derive(Clone)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
}

impl Handle {
    /// The runtime this thread is in.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn current() -> Self {
        Self { shared: context::runtime("Handle::current") }
    }

    /// The runtime this thread is in.
    ///
    /// # Errors
    ///
    /// Outside a runtime.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        let shared = context::with_runtime(|runtime| runtime.cloned());
        shared.map(|shared| Self { shared }).ok_or(TryCurrentError(()))
    }

    /// Spawns a task, also from outside the runtime. See [`crate::spawn`].
    ///
    /// When the runtime has ended the future is dropped, and the handle says
    /// that it was cancelled.
    #[track_caller]
    pub fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
        &self,
        future: F,
    ) -> JoinHandle<F::Output> {
        spawn_on(&self.shared, Origin::new(None, false), future).0
    }

    /// Runs a blocking function on a thread of its own, also from outside the
    /// runtime. See [`spawn_blocking`](crate::task::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F: FnOnce() -> R + Send + 'static, R: Send + 'static>(
        &self,
        function: F,
    ) -> JoinHandle<R> {
        let origin = Origin::new(None, true);
        let job = blocking::run(self.shared.clone(), origin.clone(), function);
        spawn_on(&self.shared, origin, job).0
    }

    /// Runs a future to its end on the calling thread.
    ///
    /// If a worker sleeps, the thread works as that worker meanwhile: it runs
    /// tasks and waits for the kernel like any other. Several threads may be in
    /// `block_on` at once. Tasks that were spawned go on after it returns.
    ///
    /// If the runtime ends meanwhile, the future goes on, but its tasks are
    /// cancelled, its sockets fail, and its timers panic. (With
    /// [`UnhandledPanic::ShutdownRuntime`], `block_on` panics instead.)
    ///
    /// # Panics
    ///
    /// Inside a task or another `block_on`, and in what is dropped when a runtime ends; with
    /// the future's own panic; and when the runtime ends and its policy is `ShutdownRuntime`.
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
        guest::block_on(&self.shared, future)
    }

    /// Makes this the current runtime of the thread while the guard lives:
    /// `arc::spawn`, sockets and timers find it. When guards are nested the
    /// last one counts; drop them in the reverse order. In another order, the thread is
    /// left in one of these runtimes when all are dropped. Keep none over an await, or
    /// beyond the future in `block_on` that made it: other tasks are run with it, and the
    /// thread takes itself for a worker after it.
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
        EnterGuard(context::enter(self.shared.clone()), PhantomData)
    }

    /// How many workers run tasks at once.
    pub fn workers(&self) -> usize {
        self.shared.config.workers
    }

    /// What is known of each task that has not ended, in no order. It is no snapshot: what
    /// was running may have moved on, and what is spawned meanwhile may not be there.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::task::TaskState;
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
        self.shared.tasks(|_| true)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Handle({} workers)", self.workers())
    }
}

/// Restores the thread's previous runtime when dropped.
#[must_use = "the runtime is current only while the guard lives"]
pub struct EnterGuard<'a>(
    #[expect(dead_code, reason = "it acts when it is dropped")] context::Guard,
    PhantomData<&'a Handle>,
);

/// There is no runtime on this thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TryCurrentError(());

impl fmt::Display for TryCurrentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("this thread is not in an arc runtime")
    }
}

impl std::error::Error for TryCurrentError {}
