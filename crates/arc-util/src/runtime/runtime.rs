//! A runtime that is watched, and what its end tells.

use super::builder::Builder;
use super::handle::{EnterGuard, Handle};
use super::metrics::RuntimeMetrics;
use super::panics::UnhandledPanic;
use super::watch::{Watched, know_printed_panics, observer};
use crate::task::TaskInfo;
use crate::tokio_rt::{self, Context};
use arc::runtime as core;
use arc::task::JoinHandle;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io, slice, vec};

/// A runtime: the workers, the reactor, the timers, and the tasks.
///
/// Most programs have one and never see it, because [`#[arc::main]`](arc::main) builds it. It can
/// do everything that its [`Handle`] can.
///
/// Dropping a runtime ends it, as [`shutdown`](Self::shutdown) does without a limit. The page of
/// the core's [`Runtime`](core::Runtime), which this one is around, says what becomes of tasks,
/// jobs and threads then.
///
/// # Panics
///
/// When it is dropped inside a task or `block_on`, because waiting for its threads would block a
/// worker. The runtime ends all the same, in the background. Use
/// [`shutdown_background`](Self::shutdown_background) there.
#[derive(Debug)]
pub struct Runtime {
    /// The fields are dropped in this order: before the end it is known that nobody asks for a
    /// report.
    reader: Reader,
    core: Core,
    handle: Handle,
}

/// The runtime, which ends in tokio's context: tasks may be dropped on the thread that ends it. It
/// is `None` once somebody has taken it out.
#[derive(Debug)]
struct Core(Option<core::Runtime>);

impl Core {
    fn take(&mut self) -> core::Runtime {
        self.0.take().expect("it is taken out once, by whoever owns it")
    }
}

impl Deref for Core {
    type Target = core::Runtime;

    fn deref(&self) -> &core::Runtime {
        self.0.as_ref().expect("only its owner takes it out")
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            let _tokio = Context::enter();
            drop(runtime);
        }
    }
}

/// Who may ask what a shutdown has ended. Once this is dropped, nobody does.
struct Reader(Arc<Watched>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.needs_no_list();
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Reader")
    }
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

    /// Spawns a task. See [`Handle::spawn`].
    #[track_caller]
    pub fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
        &self,
        future: F,
    ) -> JoinHandle<F::Output> {
        self.core.spawn(future)
    }

    /// Runs a function that blocks on a thread of its own. See
    /// [`spawn_blocking`](arc::task::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F: FnOnce() -> R + Send + 'static, R: Send + 'static>(
        &self,
        function: F,
    ) -> JoinHandle<R> {
        self.handle.spawn_blocking(function)
    }

    /// Runs a future to its end on the calling thread. See [`Handle::block_on`].
    ///
    /// # Panics
    ///
    /// As [`Handle::block_on`].
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }

    /// Makes this runtime the current one of the thread while the guard lives. See
    /// [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Returns a view of the runtime's numbers.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
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
    /// those whose poll (`Running`) or job (`Blocking`) still goes on. Jobs that had not begun are
    /// given up, and are not in the list.
    ///
    /// # Panics
    ///
    /// Inside a task or `block_on`, unless the limit is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// let runtime = arc_util::runtime::Runtime::new()?;
    /// let _ = runtime.spawn(std::future::pending::<()>());
    /// let unfinished = runtime.shutdown(Duration::from_secs(10));
    /// eprintln!("{unfinished}"); // 1 task had not finished: ...
    /// for task in unfinished {
    ///     assert_eq!(task.location.file(), file!());
    /// }
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn shutdown(self, limit: Duration) -> Unfinished {
        let Self { reader, mut core, handle: _handle } = self;
        let _tokio = Context::enter();
        core.take().shutdown(limit);
        Unfinished(reader.0.unfinished())
    }

    /// Ends the runtime, as [`shutdown`](Self::shutdown) does, and lists nothing.
    ///
    /// # Panics
    ///
    /// Inside a task or `block_on`, unless the limit is zero.
    #[track_caller]
    pub fn shutdown_timeout(mut self, limit: Duration) {
        self.reader.0.needs_no_list();
        let _tokio = Context::enter();
        self.core.take().shutdown(limit);
    }

    /// Ends the runtime without waiting. This may be called inside a task, even one of its own.
    ///
    /// If no thread is in `block_on` of a current-thread runtime, this one drops the futures.
    pub fn shutdown_background(mut self) {
        self.reader.0.needs_no_list();
        let _tokio = Context::enter();
        self.core.take().shutdown_background();
    }
}

impl Builder {
    /// Builds the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// The system's, with its number: it has no descriptors left for the reactor ("Too many open
    /// files"), or does not start a thread ("Resource temporarily unavailable"). The threads that
    /// were started already have ended when this returns.
    ///
    /// With the feature `tokio-rt`, the first call starts tokio's runtime, and returns the same
    /// errors for it. But tokio's own builder panics if the system does not start its thread. The
    /// panic is printed, and is an error without a number here. In a program that was built with
    /// `panic = "abort"` it ends the process.
    pub fn build(&mut self) -> io::Result<Runtime> {
        tokio_rt::prepare()?;
        observer::attach();
        #[cfg(feature = "trace")]
        arc_trace::attach();
        if self.reports.are_wanted() {
            know_printed_panics();
        }
        let runtime = Runtime::from(self.core.build()?);
        let ends_by_panic = self.unhandled_panic == UnhandledPanic::ShutdownRuntime;
        runtime.reader.0.configure(self.reports.clone(), ends_by_panic);
        Ok(runtime)
    }
}

/// A runtime can do everything that its handle can.
impl Deref for Runtime {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

/// It is watched from now on, if a [`Builder`] of this crate has built any runtime: its tasks are
/// listed, and a shutdown tells what it has ended. Its long polls are not reported, and what its
/// workers do is counted from the time at which they begin.
impl From<core::Runtime> for Runtime {
    fn from(core: core::Runtime) -> Self {
        let watched = Watched::of(core.handle());
        let core = Core(Some(core));
        Self { reader: Reader(watched.clone()), core, handle: Handle::new(watched) }
    }
}

/// The core's runtime is not watched: it reports no long polls, and no panic ends it.
impl From<Runtime> for core::Runtime {
    fn from(mut runtime: Runtime) -> Self {
        runtime.reader.0.forget_policy();
        runtime.core.take()
    }
}

/// The tasks that had not finished when a runtime was shut down; made by [`Runtime::shutdown`].
///
/// It is a list of [`TaskInfo`]. Its `Display` has a line for each, under one that counts them.
#[derive(Clone, Debug, Default)]
pub struct Unfinished(Vec<TaskInfo>);

impl Deref for Unfinished {
    type Target = [TaskInfo];

    fn deref(&self) -> &[TaskInfo] {
        &self.0
    }
}

impl From<Unfinished> for Vec<TaskInfo> {
    fn from(Unfinished(tasks): Unfinished) -> Self {
        tasks
    }
}

impl IntoIterator for Unfinished {
    type Item = TaskInfo;
    type IntoIter = vec::IntoIter<TaskInfo>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Unfinished {
    type Item = &'a TaskInfo;
    type IntoIter = slice::Iter<'a, TaskInfo>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len() {
            0 => return formatter.write_str("all tasks had finished"),
            1 => formatter.write_str("1 task had not finished:")?,
            tasks => write!(formatter, "{tasks} tasks had not finished:")?,
        }
        self.iter().try_for_each(|task| write!(formatter, "\n  {task}"))
    }
}
