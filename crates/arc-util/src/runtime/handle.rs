//! What can be asked of a runtime. `dump` and `metrics` stand with what they make, in `dump.rs` and
//! `metrics.rs`.

use super::panics::InBlockOn;
use super::watch::Watched;
use crate::task::TaskInfo;
use crate::tokio_rt::Context;
use arc::runtime as core;
use arc::runtime::RuntimeFlavor;
use arc::task::JoinHandle;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Refers to a runtime, from any thread. A handle is cheap to clone, and does not keep the runtime
/// running.
///
/// It is around the [handle](core::Handle) of arc's core, and can do everything that that one can.
/// A function that takes a `&Handle` of the core takes one of these as well.
#[derive(Clone)]
pub struct Handle {
    watched: Arc<Watched>,
}

impl Handle {
    pub(super) fn new(watched: Arc<Watched>) -> Self {
        Self { watched }
    }

    /// The runtime that this thread is in.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn current() -> Self {
        core::Handle::current().into()
    }

    /// The runtime that this thread is in.
    ///
    /// # Errors
    ///
    /// Outside a runtime.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        core::Handle::try_current().map(Self::from).ok_or(TryCurrentError(()))
    }

    /// Spawns a task, also from outside the runtime. See [`arc::spawn`].
    ///
    /// When the runtime has ended, the future is dropped, and the handle says that it was
    /// cancelled.
    #[track_caller]
    pub fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
        &self,
        future: F,
    ) -> JoinHandle<F::Output> {
        self.watched.handle.spawn(future)
    }

    /// Runs a function that blocks on a thread of its own, also from outside the runtime. See
    /// [`spawn_blocking`](arc::task::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F: FnOnce() -> R + Send + 'static, R: Send + 'static>(
        &self,
        function: F,
    ) -> JoinHandle<R> {
        let _guard = self.enter();
        arc::task::spawn_blocking(function)
    }

    /// Runs a future to its end on the calling thread. The tasks of a current-thread runtime run
    /// there meanwhile, and those of a multi-thread runtime on the workers. See
    /// [`block_on`](core::Handle::block_on) of the core for what several threads do, and for the
    /// end of the runtime.
    ///
    /// # Panics
    ///
    /// * Inside a task or another `block_on`, and in what is dropped when a runtime ends.
    /// * When the future panics.
    /// * When the runtime ends and its policy is
    ///   [`ShutdownRuntime`](super::UnhandledPanic::ShutdownRuntime).
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _tokio = Context::enter();
        let future = InBlockOn { future, watched: &self.watched };
        self.watched.handle.block_on(future)
    }

    /// Makes this runtime the current one of the thread while the guard lives: `arc::spawn`,
    /// sockets and timers use it. See [`enter`](core::Handle::enter) of the core for the order in
    /// which guards are dropped. With the feature `tokio-rt`, to drop them in another order panics.
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard { _tokio: Context::enter(), _arc: self.watched.handle.enter() }
    }

    /// Identifies the runtime. No two runtimes of a process have the same id.
    pub fn id(&self) -> core::Id {
        self.watched.handle.id()
    }

    /// Which threads run the tasks.
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        self.watched.handle.runtime_flavor()
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
    /// let tasks = arc_util::runtime::Handle::current().tasks();
    /// assert_eq!(tasks[0].name.as_deref(), Some("waiter"));
    /// assert_eq!(tasks[0].id, task.id());
    /// assert!(tasks.iter().all(|task| task.location.line() > 0));
    /// # }
    /// ```
    pub fn tasks(&self) -> Vec<TaskInfo> {
        self.watched.tasks()
    }

    /// What a worker has done so far, in numbers. Workers are numbered from 0.
    ///
    /// Each worker counts for itself, so that it costs next to nothing. The numbers are read one
    /// after the other, while the worker goes on. Nobody counts what a runtime does that the core's
    /// own [builder](core::Builder) has built before the first one of this crate.
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = arc_util::runtime::Runtime::new()?;
    /// runtime.block_on(runtime.spawn(async {}))?;
    /// let polls = (0..runtime.workers()).map(|worker| runtime.worker_counts(worker).polls);
    /// assert_eq!(polls.sum::<u64>(), 1);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn worker_counts(&self, worker: usize) -> WorkerCounts {
        // The worker goes on meanwhile, so these numbers may not agree.
        let counts = self.watched.worker(worker);
        WorkerCounts {
            polls: counts.polls(),
            steals: counts.steals(),
            parks: counts.parks(),
            queued: self.worker_queue_depth(worker),
        }
    }
}

/// Keeps a runtime the current one of its thread; made by [`Handle::enter`].
#[must_use = "the thread leaves the runtime when it is dropped"]
pub struct EnterGuard<'a> {
    _tokio: Context,
    _arc: core::EnterGuard<'a>,
}

/// What it cannot do itself, arc's core does.
impl Deref for Handle {
    type Target = core::Handle;

    fn deref(&self) -> &core::Handle {
        &self.watched.handle
    }
}

impl From<core::Handle> for Handle {
    fn from(core: core::Handle) -> Self {
        Self::new(Watched::of(&core))
    }
}

impl From<Handle> for core::Handle {
    fn from(handle: Handle) -> Self {
        handle.watched.handle.clone()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.watched.handle.fmt(formatter)
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
    /// belongs to all workers: [`global_queue_depth`](core::Handle::global_queue_depth).
    pub queued: usize,
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
