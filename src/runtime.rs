//! Build a runtime, run futures on it, shut it down.

use crate::idle::WORKERS_MAX;
use crate::scheduler::{Config, Hook, Shared};
use crate::sync::{Arc, contain, discard, lock};
use crate::task::{JoinHandle, spawn_on};
use crate::{blocking, context, guest, monitor, worker};
use std::marker::PhantomData;
use std::time::Duration;
use std::{fmt, io, thread};

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
pub struct Builder(Config);

impl Builder {
    /// A runtime with one worker per core.
    pub fn new_multi_thread() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self(Config {
            workers: cores.min(WORKERS_MAX),
            event_interval: 61,
            thread_name: "arc".to_owned(),
            thread_stack_size: 2 << 20,
            on_thread_start: None,
            on_thread_stop: None,
        })
    }

    /// A runtime with one worker, which is run by the thread in
    /// [`block_on`](Handle::block_on) while there is one.
    ///
    /// Unlike tokio's it goes on when no thread is in `block_on`: the worker
    /// has a thread of its own for that.
    pub fn new_current_thread() -> Self {
        Self::new_multi_thread().workers(1)
    }

    /// What the names of the runtime's threads begin with; "arc" by default. A
    /// null byte in it, which the system does not take, makes `build` panic.
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.0.thread_name = name.into();
        self
    }

    /// Called by each thread of the runtime when it starts. A panic in it is
    /// printed and otherwise ignored.
    pub fn on_thread_start(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.0.on_thread_start = Some(Box::new(hook));
        self
    }

    /// Called by each thread of the runtime before it ends. A panic in it is
    /// printed and otherwise ignored.
    pub fn on_thread_stop(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.0.on_thread_stop = Some(Box::new(hook));
        self
    }

    /// Builds the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// When the system has no descriptors left for the reactor, or does not
    /// start the threads; the error says which. What was begun is undone: the
    /// threads that were started end.
    pub fn build(self) -> io::Result<Runtime> {
        let shared = Shared::new(self.0);
        let shared = Arc::new(shared.map_err(|error| explain("create the reactor", &error))?);
        let mut runtime = Runtime { handle: Handle { shared }, threads: Vec::new() };
        runtime.start_threads()?;
        Ok(runtime)
    }
}

/// The options that are numbers, and what they may be.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $range:expr;)*) => {
        /// Numbers.
        impl Builder {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(mut self, $name: $kind) -> Self {
                let range = $range;
                let what = stringify!($name);
                assert!(range.contains(&$name), "{what} must be in {range:?}, not {}", $name);
                self.0.$name = $name;
                self
            }
        )*}
    };
}

numbers! {
    /// How many workers run tasks at once; by default as many as the process
    /// may use cores, but not more than 64.
    ///
    /// A thread in [`block_on`](Handle::block_on) runs one of them.
    ///
    /// # Panics
    ///
    /// When it is 0 or more than 64.
    workers: usize = 1..=WORKERS_MAX;
    /// The stack size of the runtime's threads, in bytes; 2 MiB by default.
    ///
    /// # Panics
    ///
    /// When it is 0.
    thread_stack_size: usize = 1..=usize::MAX;
    /// After how many polls a busy worker looks at sockets, timers and tasks
    /// from outside; 61 by default. Less favours them, more favours the tasks
    /// that are queued already.
    ///
    /// # Panics
    ///
    /// When it is 0.
    event_interval: u32 = 1..=u32::MAX;
}

fn explain(what: &str, error: &io::Error) -> io::Error {
    let what = format!("the arc runtime could not {what}: {error}");
    io::Error::new(error.kind(), what)
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
        let started = builder.name(name.clone()).spawn(move || {
            call(&shared.config.on_thread_start);
            main(&shared);
            call(&shared.config.on_thread_stop);
        });
        let started = started.map_err(|error| explain(&format!("start thread {name}"), &error))?;
        let thread = started.thread().clone();
        self.threads.push(started);
        Ok(thread)
    }

    /// A handle to spawn and enter with, from any thread.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends the runtime: drops every task's future at its next await point, ends
    /// the workers, and waits at most so long for the jobs of `spawn_blocking`
    /// that have begun. Those that go on after it are left to themselves.
    ///
    /// A task in the midst of a poll is waited for, however long the poll.
    ///
    /// # Errors
    ///
    /// `TimedOut` when jobs were still running at the end of the limit; the error
    /// says how many.
    ///
    /// # Panics
    ///
    /// Inside a task or `block_on`.
    pub fn shutdown_timeout(mut self, limit: Duration) -> io::Result<()> {
        self.shut_down(limit)
    }

    /// Ends the runtime without waiting, also from inside one of its tasks.
    pub fn shutdown_background(mut self) {
        self.shared.shut_down();
        self.threads.clear();
    }

    /// One of the runtime's own blocking jobs would wait for itself, so it does
    /// not wait for jobs. A panic of a thread has been printed; those of tasks
    /// stay with them.
    fn shut_down(&mut self, limit: Duration) -> io::Result<()> {
        let shared = &self.handle.shared;
        shared.shut_down();
        let threads = std::mem::take(&mut self.threads);
        if threads.is_empty() {
            return Ok(());
        }
        let role = context::role();
        let is_own = |current: &Arc<Shared>| Arc::ptr_eq(current, shared);
        let own = context::with_runtime(|current| current.is_some_and(is_own));
        let limit = if own && role == context::Role::RunsJob { Duration::ZERO } else { limit };
        if role == context::Role::Polls {
            assert!(
                thread::panicking(),
                "a Runtime was dropped inside a task or block_on, where waiting for its threads \
                 would block a worker: it ends in the background. Use \
                 `Runtime::shutdown_background`, or drop it elsewhere"
            );
            return Ok(());
        }
        threads.into_iter().for_each(|thread| drop(thread.join()));
        shared.jobs.join(limit).map_err(|jobs| {
            let what = format!("{jobs} blocking jobs still ran when the arc runtime was shut down");
            io::Error::new(io::ErrorKind::TimedOut, what)
        })
    }
}

/// A hook that panics must not take the thread down: the panic is printed, and
/// that is all.
fn call(hook: &Hook) {
    hook.iter().for_each(|hook| contain(hook).unwrap_or_else(discard));
}

impl Drop for Runtime {
    /// Without a limit there is nothing to report.
    fn drop(&mut self) {
        let _ = self.shut_down(Duration::MAX);
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
        let shared = context::runtime("Handle::current");
        Self { shared }
    }

    /// The runtime this thread is in.
    ///
    /// # Errors
    ///
    /// Outside a runtime.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        let shared = context::with_runtime(|runtime| runtime.cloned());
        let shared = shared.ok_or(TryCurrentError(()))?;
        Ok(Self { shared })
    }

    /// Spawns a task, also from outside the runtime. See [`crate::spawn`].
    ///
    /// When the runtime has ended the future is dropped, and the handle says
    /// that it was cancelled.
    pub fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
        &self,
        future: F,
    ) -> JoinHandle<F::Output> {
        spawn_on(&self.shared, future).0
    }

    /// Runs a blocking function on a thread of its own, also from outside the
    /// runtime. See [`spawn_blocking`](crate::task::spawn_blocking).
    pub fn spawn_blocking<F: FnOnce() -> R + Send + 'static, R: Send + 'static>(
        &self,
        function: F,
    ) -> JoinHandle<R> {
        spawn_on(&self.shared, blocking::run(self.shared.clone(), function)).0
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
        EnterGuard(context::enter(self.shared.clone()), PhantomData)
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
