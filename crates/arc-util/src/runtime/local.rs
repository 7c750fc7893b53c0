//! A runtime whose tasks need not be `Send`.

use super::builder::Builder;
use super::handle::{EnterGuard, Handle};
use super::metrics::RuntimeMetrics;
use super::runtime::Runtime;
use crate::task::boxed_if_large;
use crate::task::{LocalJoinHandle, LocalSet};
use arc::runtime as core;
use arc::task::JoinHandle;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// A runtime that stays on one thread, so that its tasks need not be `Send`.
///
/// It is a current-thread runtime together with a [`LocalSet`]: the future in
/// [`block_on`](Self::block_on), and all local tasks, may call
/// [`spawn_local`](crate::task::spawn_local). Tasks of `arc::spawn` run on the same thread, but may
/// not call it. Local tasks run only during `block_on`. The runtime cannot be sent to another
/// thread. Names and meaning are tokio's.
///
/// # Examples
///
/// ```
/// use arc_util::runtime::LocalRuntime;
/// use arc_util::task::spawn_local;
/// use std::rc::Rc;
///
/// let runtime = LocalRuntime::new()?;
/// let shared = Rc::new(20);
/// let sum = runtime.block_on(async {
///     let other = shared.clone();
///     let task = spawn_local(async move { *other + 1 });
///     *shared + task.await.unwrap()
/// });
/// assert_eq!(sum, 41);
/// # std::io::Result::Ok(())
/// ```
pub struct LocalRuntime {
    /// The fields are dropped in this order: local tasks end before their runtime does.
    tasks: Tasks,
    runtime: Runtime,
}

/// The panic of a task breaks nothing in here, as in a [`Runtime`].
impl UnwindSafe for LocalRuntime {}
impl RefUnwindSafe for LocalRuntime {}

/// Local tasks, which are dropped inside their runtime: what they hold may spawn, or make a timer,
/// while it is dropped.
struct Tasks {
    handle: Handle,
    /// `None` once they are dropped.
    set: Option<LocalSet>,
}

impl Tasks {
    fn set(&self) -> &LocalSet {
        self.set.as_ref().expect("only the drop takes the set out")
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        let _entered = self.handle.enter();
        drop(self.set.take());
    }
}

/// Options of a [`LocalRuntime`]. There are none so far, as in tokio.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct LocalOptions {}

impl Builder {
    /// Builds a runtime for tasks that need not be `Send`.
    ///
    /// Call it on a builder of [`new_current_thread`](Self::new_current_thread). tokio panics for
    /// other builders. Here the tasks that are `Send` then run on the workers.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn build_local(&mut self, _options: LocalOptions) -> io::Result<LocalRuntime> {
        LocalRuntime::build(self)
    }
}

impl LocalSet {
    /// Runs the future and the set's tasks in the runtime's `block_on`. See
    /// [`run_until`](Self::run_until).
    ///
    /// # Panics
    ///
    /// Panics when the future does, and where `block_on` does.
    #[track_caller]
    pub fn block_on<F: Future>(&self, runtime: &core::Handle, future: F) -> F::Output {
        // It panics if the panic of a task ends its runtime, which the core's does not.
        let runtime = Handle::from(runtime.clone());
        boxed_if_large!(future, runtime.block_on(self.run_until(future)))
    }
}

impl LocalRuntime {
    /// Creates a runtime with the default options.
    ///
    /// # Errors
    ///
    /// Fails when the system has no descriptors or threads left.
    pub fn new() -> io::Result<Self> {
        Self::build(&mut Builder::new_current_thread())
    }

    fn build(builder: &mut Builder) -> io::Result<Self> {
        let runtime = builder.build()?;
        let tasks = Tasks { handle: runtime.handle().clone(), set: Some(LocalSet::new()) };
        Ok(Self { tasks, runtime })
    }

    /// Returns a handle of the runtime, which spawns tasks that are `Send`.
    pub fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Spawns a future that need not be `Send` as a task. It runs during
    /// [`block_on`](Self::block_on).
    pub fn spawn_local<F: Future + 'static>(&self, future: F) -> LocalJoinHandle<F::Output> {
        boxed_if_large!(future, self.tasks.set().spawn_local(future))
    }

    /// Runs a function that blocks on a thread of its own. See
    /// [`spawn_blocking`](arc::task::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, function: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.runtime.spawn_blocking(function)
    }

    /// Runs a future, and all tasks, until the future has ended. Returns its output.
    ///
    /// # Panics
    ///
    /// * When the future panics. A panic of a task is in its handle.
    /// * Inside a task or another `block_on`.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        boxed_if_large!(future, self.tasks.set().block_on(&self.runtime, future))
    }

    /// Makes this runtime the current one of the thread while the guard lives. Inside it, sockets
    /// and timers can be made, but [`spawn_local`](crate::task::spawn_local) needs a future in
    /// [`block_on`](Self::block_on).
    pub fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }

    /// Drops all local tasks, and ends the runtime. Waits for jobs of `spawn_blocking` for no
    /// longer than `limit`.
    pub fn shutdown_timeout(self, limit: Duration) {
        drop(self.tasks);
        self.runtime.shutdown_timeout(limit);
    }

    /// Drops all local tasks, and ends the runtime without waiting.
    pub fn shutdown_background(self) {
        drop(self.tasks);
        self.runtime.shutdown_background();
    }

    /// Returns a view of the runtime's numbers, without its local tasks.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle().metrics()
    }
}

impl fmt::Debug for LocalRuntime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "LocalRuntime({:?})", self.tasks.set())
    }
}
