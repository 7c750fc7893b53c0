//! Waits for tasks without keeping their outputs.

use super::local_set::{LocalJoinHandle, LocalSet, spawn_local};
use crate::sync::Notify;
use arc::runtime::Handle;
use arc::task::JoinHandle;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// The flag in `state`: the tracker is closed.
const CLOSED: usize = 1;
/// What one task adds to `state`.
const TASK: usize = 2;

/// Counts tasks, and lets others wait until it is closed and all its tasks have ended.
///
/// It is made for shutting down, together with a
/// [`CancellationToken`](crate::sync::CancellationToken). Unlike a [`JoinSet`](super::JoinSet),
/// it keeps no outputs, so it does not grow with the number of tasks that have ended; it can be
/// cloned; and dropping it aborts nothing. Names and meaning are tokio-util's.
///
/// # Examples
///
/// ```
/// use arc_util::task::TaskTracker;
/// # #[arc::main]
/// # async fn main() {
/// let tracker = TaskTracker::new();
/// for _ in 0..10 {
///     tracker.spawn(async { arc::task::yield_now().await });
/// }
/// tracker.close();
/// tracker.wait().await;
/// assert!(tracker.is_empty());
/// # }
/// ```
#[derive(Clone)]
pub struct TaskTracker {
    inner: Arc<Inner>,
}

struct Inner {
    /// The number of tasks times `TASK`, plus `CLOSED` if closed. AcqRel, wherever `state` is
    /// changed: a thread that finds no tasks sees all that the tasks did.
    state: AtomicUsize,
    /// Notified when the tracker is closed and has no tasks.
    ended: Notify,
}

impl Inner {
    fn notify_if(&self, state: usize) {
        if state == CLOSED {
            self.ended.notify_waiters();
        }
    }
}

impl TaskTracker {
    /// Creates an open tracker without tasks. It needs no runtime.
    pub fn new() -> Self {
        let inner = Inner { state: AtomicUsize::new(0), ended: Notify::new() };
        let inner = Arc::new(inner);
        Self { inner }
    }

    /// Waits until the tracker is closed and all its tasks have ended.
    ///
    /// It is enough if that was so for a moment since the future was made, even if the tracker was
    /// reopened or got new tasks after that.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub fn wait(&self) -> impl Future<Output = ()> {
        // Made before the check, so that an end after the check is not missed.
        let ended = self.inner.ended.notified();
        let must_wait = self.state() != CLOSED;
        async move {
            if must_wait {
                ended.await;
            }
        }
    }

    fn state(&self) -> usize {
        self.inner.state.load(Ordering::Acquire)
    }

    /// Closes the tracker: [`wait`](Self::wait) completes when all tasks have ended. Tasks can
    /// still be added. Returns true if the tracker was open.
    pub fn close(&self) -> bool {
        let before = self.inner.state.fetch_or(CLOSED, Ordering::AcqRel);
        self.inner.notify_if(before | CLOSED);
        before & CLOSED == 0
    }

    /// Reverts [`close`](Self::close). Returns true if the tracker was closed.
    pub fn reopen(&self) -> bool {
        self.inner.state.fetch_and(!CLOSED, Ordering::AcqRel) & CLOSED != 0
    }

    /// Returns whether the tracker is closed.
    pub fn is_closed(&self) -> bool {
        self.state() & CLOSED != 0
    }

    /// Returns the number of tasks that have not ended.
    pub fn len(&self) -> usize {
        self.state() / TASK
    }

    /// Returns whether there are no such tasks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Spawns a future as a task of the current runtime, and counts the task until it has ended
    /// in any way.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        boxed_if_large!(future, arc::spawn(self.track_future(future)))
    }

    /// Spawns and counts a task like [`spawn`](Self::spawn), in the given runtime.
    #[track_caller]
    pub fn spawn_on<F>(&self, future: F, handle: &Handle) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        boxed_if_large!(future, handle.spawn(self.track_future(future)))
    }

    /// Runs a function that blocks on a thread of its own, and counts it until it has ended in
    /// any way, or was aborted before it began.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn_blocking<R: Send + 'static>(
        &self,
        function: impl FnOnce() -> R + Send + 'static,
    ) -> JoinHandle<R> {
        let token = self.token();
        arc::task::spawn_blocking(move || {
            let _token = token;
            function()
        })
    }

    /// Spawns a future that need not be `Send` as a task of the current [`LocalSet`], and counts
    /// the task until it has ended in any way.
    ///
    /// # Panics
    ///
    /// Panics outside a `LocalSet`.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> LocalJoinHandle<F::Output>
    where
        F: Future + 'static,
    {
        boxed_if_large!(future, spawn_local(self.track_future(future)))
    }

    /// Does the same as [`spawn_local`](Self::spawn_local) in the given set of local tasks.
    pub fn spawn_local_on<F>(&self, future: F, local_set: &LocalSet) -> LocalJoinHandle<F::Output>
    where
        F: Future + 'static,
    {
        boxed_if_large!(future, local_set.spawn_local(self.track_future(future)))
    }

    /// Counts a future as a task, from now until it is dropped.
    pub fn track_future<F: Future>(&self, future: F) -> TrackedFuture<F> {
        let token = self.token();
        TrackedFuture { future, token }
    }

    /// Returns a token, which counts as a task until it is dropped.
    pub fn token(&self) -> TaskTrackerToken {
        self.inner.state.fetch_add(TASK, Ordering::AcqRel);
        TaskTrackerToken { tracker: self.clone() }
    }

    /// Returns whether both are clones of one tracker.
    pub fn ptr_eq(left: &Self, right: &Self) -> bool {
        Arc::ptr_eq(&left.inner, &right.inner)
    }
}

impl Default for TaskTracker {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TaskTracker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tasks, closed) = (self.len(), self.is_closed());
        write!(formatter, "TaskTracker({tasks} tasks, closed: {closed})")
    }
}

/// Counts as a task of a [`TaskTracker`] until it is dropped; made by [`TaskTracker::token`].
#[derive(Debug)]
pub struct TaskTrackerToken {
    tracker: TaskTracker,
}

impl TaskTrackerToken {
    /// Returns the tracker that counts this token.
    pub fn task_tracker(&self) -> &TaskTracker {
        &self.tracker
    }
}

impl Clone for TaskTrackerToken {
    fn clone(&self) -> Self {
        self.tracker.token()
    }
}

impl Drop for TaskTrackerToken {
    fn drop(&mut self) {
        let inner = &self.tracker.inner;
        let before = inner.state.fetch_sub(TASK, Ordering::AcqRel);
        inner.notify_if(before - TASK);
    }
}

pin_project! {
    /// A future that a [`TaskTracker`] counts as a task; made by [`TaskTracker::track_future`].
    ///
    /// When this is dropped, the inner future is dropped first, and then no longer counted.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct TrackedFuture<F> {
        #[pin]
        future: F,
        token: TaskTrackerToken,
    }
}

impl<F: Future> Future for TrackedFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(context)
    }
}
