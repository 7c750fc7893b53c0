//! Build a runtime, run futures on it, shut it down.

use crate::blocking::start_thread;
use crate::context;
use crate::guest;
use crate::monitor;
use crate::scheduler::{Config, Hook, Shared};
use crate::task::{Destination, JoinHandle, spawn_on};
use crate::worker;
use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How many workers a runtime may have.
const WORKERS_MAX: usize = 1 << 15;

/// Configures and builds a [`Runtime`].
///
/// # Examples
///
/// ```
/// let runtime = arc::runtime::Builder::new_multi_thread()
///     .workers(2)
///     .thread_name("server")
///     .build()?;
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// # std::io::Result::Ok(())
/// ```
#[must_use = "nothing is built before `build`"]
pub struct Builder {
    workers: Option<usize>,
    thread_name: String,
    thread_stack_size: Option<usize>,
    event_interval: u32,
    max_blocking_threads: usize,
    thread_keep_alive: Duration,
    on_thread_start: Option<Hook>,
    on_thread_stop: Option<Hook>,
}

impl Builder {
    /// A runtime with one worker per core.
    pub fn new_multi_thread() -> Self {
        Self {
            workers: None,
            thread_name: "arc".to_owned(),
            thread_stack_size: None,
            event_interval: 61,
            max_blocking_threads: 512,
            thread_keep_alive: Duration::from_secs(10),
            on_thread_start: None,
            on_thread_stop: None,
        }
    }

    /// A runtime with one worker, which is run by the thread in
    /// [`block_on`](Runtime::block_on) while there is one.
    ///
    /// Unlike tokio's it goes on when no thread is in `block_on`: the worker
    /// has a thread of its own for that.
    pub fn new_current_thread() -> Self {
        Self::new_multi_thread().workers(1)
    }

    /// How many workers run tasks at once; by default as many as the process
    /// may use cores.
    ///
    /// A thread in [`block_on`](Runtime::block_on) runs one of them.
    ///
    /// # Panics
    ///
    /// When it is 0 or more than 32,768.
    #[track_caller]
    pub fn workers(mut self, workers: usize) -> Self {
        assert!(
            (1..=WORKERS_MAX).contains(&workers),
            "workers must be from 1 to {WORKERS_MAX}, not {workers}"
        );
        self.workers = Some(workers);
        self
    }

    /// tokio's name for [`workers`](Self::workers).
    ///
    /// # Panics
    ///
    /// As `workers`.
    #[track_caller]
    pub fn worker_threads(self, workers: usize) -> Self {
        self.workers(workers)
    }

    /// What the names of the runtime's threads begin with; "arc" by default.
    ///
    /// # Panics
    ///
    /// When it contains a null byte, which the system does not take.
    #[track_caller]
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.thread_name = name.into();
        assert!(
            !self.thread_name.contains('\0'),
            "thread_name must not contain null bytes"
        );
        self
    }

    /// The stack size of the runtime's threads, in bytes; std's by default
    /// (2 MiB).
    ///
    /// # Panics
    ///
    /// When it is 0.
    #[track_caller]
    pub fn thread_stack_size(mut self, bytes: usize) -> Self {
        assert!(bytes > 0, "thread_stack_size must not be 0 bytes");
        self.thread_stack_size = Some(bytes);
        self
    }

    /// After how many polls a busy worker looks at sockets, timers and tasks
    /// from outside; 61 by default. Less favours them, more favours the tasks
    /// that are queued already.
    ///
    /// # Panics
    ///
    /// When it is 0.
    #[track_caller]
    pub fn event_interval(mut self, polls: u32) -> Self {
        assert!(polls > 0, "event_interval must not be 0 polls");
        self.event_interval = polls;
        self
    }

    /// How many threads [`spawn_blocking`](crate::task::spawn_blocking) may
    /// use at once; 512 by default.
    ///
    /// # Panics
    ///
    /// When it is 0.
    #[track_caller]
    pub fn max_blocking_threads(mut self, threads: usize) -> Self {
        assert!(threads > 0, "max_blocking_threads must not be 0");
        self.max_blocking_threads = threads;
        self
    }

    /// How long an idle thread of `spawn_blocking` is kept; 10 s by default.
    pub fn thread_keep_alive(mut self, duration: Duration) -> Self {
        self.thread_keep_alive = duration;
        self
    }

    /// Called by each thread of the runtime when it starts. A panic in it is
    /// printed and otherwise ignored.
    pub fn on_thread_start(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_thread_start = Some(Box::new(hook));
        self
    }

    /// Called by each thread of the runtime before it ends. A panic in it is
    /// printed and otherwise ignored.
    pub fn on_thread_stop(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_thread_stop = Some(Box::new(hook));
        self
    }

    /// For programs written for tokio: arc always has sockets and timers.
    pub fn enable_all(self) -> Self {
        self
    }

    /// Builds the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// When the system has no descriptors left for the reactor, or does not
    /// start the threads; the error says which. What was begun is undone.
    pub fn build(self) -> io::Result<Runtime> {
        let workers = self.workers.unwrap_or_else(|| {
            thread::available_parallelism().map_or(1, |cores| cores.get().min(WORKERS_MAX))
        });
        let shared = Shared::new(Config {
            workers,
            event_interval: self.event_interval,
            thread_name: self.thread_name,
            thread_stack_size: self.thread_stack_size,
            max_blocking_threads: self.max_blocking_threads,
            thread_keep_alive: self.thread_keep_alive,
            on_thread_start: self.on_thread_start,
            on_thread_stop: self.on_thread_stop,
        });
        let shared = shared.map_err(|error| explain("create the reactor", &error))?;
        // Dropped on an error, it ends the threads that were started.
        let mut runtime = Runtime {
            handle: Handle {
                shared: Arc::new(shared),
            },
            threads: vec![],
        };
        runtime.start_threads()?;
        Ok(runtime)
    }
}

fn explain(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("the arc runtime could not {what}: {error}"),
    )
}

impl fmt::Debug for Builder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Builder")
            .field("workers", &self.workers)
            .field("thread_name", &self.thread_name)
            .field("event_interval", &self.event_interval)
            .finish_non_exhaustive()
    }
}

/// Workers, reactor, timers, and the tasks they run.
///
/// Most programs have one and never see it: [`#[arc::main]`](crate::main)
/// builds it. Dropping it ends it, as [`shutdown_timeout`](Self::shutdown_timeout)
/// without a limit: every task's future is dropped at its next await point, all
/// threads end, and jobs of `spawn_blocking` that have begun are waited for.
///
/// # Panics
///
/// Dropping a runtime inside a task or `block_on` panics, because waiting for
/// its threads would block a worker. The runtime ends all the same, in the
/// background. Use [`shutdown_background`](Self::shutdown_background) there.
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

    fn start_threads(&mut self) -> io::Result<()> {
        let shared = &self.handle.shared;
        let workers = shared.config.workers;
        let alive = Arc::new(());
        for index in 0..workers {
            let (runtime, alive) = (shared.clone(), alive.clone());
            let started = start_thread(shared, &format!("worker-{index}"), move || {
                worker::main(runtime.clone(), index);
                // The last of them all leaves nothing behind.
                if Arc::into_inner(alive).is_some() {
                    runtime.drain();
                }
            });
            let what = || format!("start worker thread {} of {workers}", index + 1);
            let thread = started.map_err(|error| explain(&what(), &error))?;
            shared.remotes[index].set_thread(Some(thread.thread().clone()));
            self.threads.push(thread);
        }
        drop(alive);
        let runtime = shared.clone();
        let started = start_thread(shared, "monitor", move || monitor::main(runtime));
        let thread = started.map_err(|error| explain("start its monitor thread", &error))?;
        shared
            .monitor
            .thread
            .get_or_init(|| thread.thread().clone());
        self.threads.push(thread);
        Ok(())
    }

    /// A handle to spawn and enter with, from any thread.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Runs a future to its end on the calling thread, which works as a worker
    /// meanwhile. See [`Handle::block_on`].
    ///
    /// # Panics
    ///
    /// Inside a task or another `block_on`; and with the future's own panic.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }

    /// Spawns a task, also from outside the runtime. See [`crate::spawn`].
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Runs a blocking function on a thread of its own, also from outside the
    /// runtime. See [`spawn_blocking`](crate::task::spawn_blocking).
    pub fn spawn_blocking<F, R>(&self, function: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(function)
    }

    /// Makes this the current runtime of the thread while the guard lives. See
    /// [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Ends the runtime: drops every task's future at its next await point, ends
    /// the workers, and waits at most so long for the jobs of `spawn_blocking`
    /// that have begun. Those that go on after it are left to themselves.
    ///
    /// A task in the midst of a poll is waited for, however long the poll.
    ///
    /// # Errors
    ///
    /// When jobs were still running at the end of the limit; the error says how
    /// many.
    ///
    /// # Panics
    ///
    /// Inside a task or `block_on`.
    pub fn shutdown_timeout(mut self, limit: Duration) -> Result<(), ShutdownError> {
        // A limit beyond what the clock can express is none.
        self.shut_down(Instant::now().checked_add(limit))
    }

    /// Ends the runtime without waiting, also from inside one of its tasks.
    pub fn shutdown_background(mut self) {
        self.handle.shared.shut_down();
        self.threads.clear();
    }

    fn shut_down(&mut self, deadline: Option<Instant>) -> Result<(), ShutdownError> {
        let shared = &self.handle.shared;
        shared.shut_down();
        let threads = std::mem::take(&mut self.threads);
        // One of the runtime's own blocking jobs would wait for itself.
        let own = context::with_runtime(|current| {
            current.is_some_and(|current| Arc::ptr_eq(current, shared))
        });
        if context::is_asynchronous() {
            assert!(
                threads.is_empty() || thread::panicking(),
                "a Runtime was dropped inside a task or block_on, where waiting for its threads \
                 would block a worker: it ends in the background. Use \
                 `Runtime::shutdown_background`, or drop it elsewhere"
            );
            return Ok(());
        }
        for thread in threads {
            // The threads keep panics of tasks to themselves; a panic of arc's
            // own has been printed.
            let _ = thread.join();
        }
        let deadline = if own { Some(Instant::now()) } else { deadline };
        let still_running = shared.blocking.join(deadline);
        still_running.map_err(|blocking_jobs| ShutdownError { blocking_jobs })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Without a deadline there is nothing to report, except where nothing
        // may be waited for.
        let _ = self.shut_down(None);
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Runtime")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

/// Jobs of `spawn_blocking` were still running when the runtime's time to shut
/// down was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownError {
    blocking_jobs: usize,
}

impl ShutdownError {
    /// How many jobs were still running.
    pub fn blocking_jobs(&self) -> usize {
        self.blocking_jobs
    }
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jobs = self.blocking_jobs;
        write!(
            formatter,
            "{jobs} blocking jobs were still running when the runtime was shut down"
        )
    }
}

impl std::error::Error for ShutdownError {}

/// Refers to a runtime, from any thread. Cheap to clone; does not keep the
/// runtime running.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Handle {
    /// The runtime this thread is in.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn current() -> Self {
        Self {
            shared: context::runtime("Handle::current"),
        }
    }

    /// The runtime this thread is in.
    ///
    /// # Errors
    ///
    /// Outside a runtime.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        let shared = context::with_runtime(|runtime| runtime.cloned());
        shared
            .map(|shared| Self { shared })
            .ok_or(TryCurrentError(()))
    }

    /// Spawns a task, also from outside the runtime. See [`crate::spawn`].
    ///
    /// When the runtime has ended the future is dropped, and the handle says
    /// that it was cancelled.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn_on(&self.shared, future, Destination::Workers)
    }

    /// Runs a blocking function on a thread of its own, also from outside the
    /// runtime. See [`spawn_blocking`](crate::task::spawn_blocking).
    pub fn spawn_blocking<F, R>(&self, function: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        spawn_on(&self.shared, async { function() }, Destination::Blocking)
    }

    /// Runs a future to its end on the calling thread.
    ///
    /// If a worker sleeps, the thread works as that worker meanwhile: it runs
    /// tasks and waits for the kernel like any other. Several threads may be in
    /// `block_on` at once. Tasks that were spawned go on after it returns.
    ///
    /// If the runtime ends meanwhile, the future goes on, but its tasks are
    /// cancelled, its sockets fail, and its timers panic.
    ///
    /// # Panics
    ///
    /// Inside a task or another `block_on`; and with the future's own panic.
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
    /// last one counts; drop them in the reverse order.
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
        let guard = context::enter(self.shared.clone());
        EnterGuard {
            _guard: guard,
            _handle: PhantomData,
        }
    }

    /// How many workers run tasks at once.
    pub fn workers(&self) -> usize {
        self.shared.config.workers
    }

    /// How many tasks there are that have not ended.
    pub fn alive_tasks(&self) -> usize {
        self.shared.registry.len()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Handle")
            .field("workers", &self.workers())
            .finish_non_exhaustive()
    }
}

/// Restores the thread's previous runtime when dropped.
#[must_use = "the runtime is current only while the guard lives"]
pub struct EnterGuard<'a> {
    _guard: context::Guard,
    // Not Send: it belongs to this thread.
    _handle: PhantomData<(&'a Handle, *const ())>,
}

impl fmt::Debug for EnterGuard<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EnterGuard").finish_non_exhaustive()
    }
}

/// There is no runtime on this thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TryCurrentError(());

impl fmt::Display for TryCurrentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("this thread is not in an arc runtime")
    }
}

impl std::error::Error for TryCurrentError {}
