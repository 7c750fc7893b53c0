//! Tasks that are awaited in the order in which they end.

use crate::wake::wake_all;
use arc::runtime::Handle;
use arc::task::{AbortHandle, Id, JoinError, JoinHandle};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Tasks with outputs of one type, awaited in the order in which they end.
///
/// Dropping the set aborts all that are in it. (The names and their meanings are
/// tokio's.)
///
/// # Examples
///
/// ```
/// use arc_util::task::JoinSet;
/// # #[arc::main]
/// # async fn main() {
/// let mut set = JoinSet::new();
/// for number in 0..10 {
///     set.spawn(async move { number * number });
/// }
/// let mut sum = 0;
/// while let Some(result) = set.join_next().await {
///     sum += result.unwrap();
/// }
/// assert_eq!(sum, 285);
/// # }
/// ```
pub struct JoinSet<T: Send + 'static> {
    /// Those not yet joined, finished ones among them.
    tasks: FuturesUnordered<Joining<T>>,
    /// Of whoever polled last without awaiting, and has to know of later tasks as well.
    waker: Option<Waker>,
}

impl<T: Send + 'static> JoinSet<T> {
    /// A set without tasks. It needs no runtime.
    pub fn new() -> Self {
        Self { tasks: FuturesUnordered::new(), waker: None }
    }

    /// How many tasks have not been joined yet, those that have ended included.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether all tasks have been joined.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Spawns a future as a task of the current runtime, and of this set.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn spawn(&mut self, future: impl Future<Output = T> + Send + 'static) -> AbortHandle {
        self.insert(arc::spawn(future))
    }

    /// Spawns a future as a task of a given runtime, and of this set.
    #[track_caller]
    pub fn spawn_on(
        &mut self,
        future: impl Future<Output = T> + Send + 'static,
        handle: &Handle,
    ) -> AbortHandle {
        self.insert(handle.spawn(future))
    }

    /// Runs a function that blocks on a thread of its own; see
    /// [`arc::task::spawn_blocking`]. It can be aborted until it has begun.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn spawn_blocking(&mut self, function: impl FnOnce() -> T + Send + 'static) -> AbortHandle {
        self.insert(arc::task::spawn_blocking(function))
    }

    /// As [`spawn_blocking`](Self::spawn_blocking), for a given runtime.
    #[track_caller]
    pub fn spawn_blocking_on(
        &mut self,
        function: impl FnOnce() -> T + Send + 'static,
        handle: &Handle,
    ) -> AbortHandle {
        self.insert(handle.spawn_blocking(function))
    }

    fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        self.tasks.push(Joining(handle));
        wake_all(self.waker.take());
        abort
    }

    /// Waits until one of the tasks ends, and takes it out. None: the set is empty.
    ///
    /// # Errors
    ///
    /// The task panicked, or was cancelled.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no task is taken out.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.join_next_with_id().await.map(without_id)
    }

    /// As [`join_next`](Self::join_next), with the task's id. An error has it too.
    ///
    /// # Errors
    ///
    /// As `join_next`.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Takes out a task that has ended, if there is one, without waiting.
    ///
    /// A task's budget counts here as everywhere: when it is used up, no task seems to
    /// have ended, until the caller has let others run.
    ///
    /// # Errors
    ///
    /// As [`join_next`](Self::join_next).
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_join_next_with_id().map(without_id)
    }

    /// As [`try_join_next`](Self::try_join_next), with the task's id.
    ///
    /// # Errors
    ///
    /// As `join_next`.
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        // Whoever has polled is still to be woken.
        let waker = self.waker.clone().unwrap_or_else(|| Waker::noop().clone());
        match self.poll_next(&mut Context::from_waker(&waker)) {
            Poll::Ready(joined) => joined,
            Poll::Pending => None,
        }
    }

    /// What [`join_next`](Self::join_next) does, for futures written by hand.
    ///
    /// # Errors
    ///
    /// As `join_next`.
    pub fn poll_join_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, JoinError>>> {
        let joined = self.poll_join_next_with_id(context);
        joined.map(|joined| joined.map(without_id))
    }

    /// What [`join_next_with_id`](Self::join_next_with_id) does, for futures written by
    /// hand.
    ///
    /// # Errors
    ///
    /// As `join_next`.
    pub fn poll_join_next_with_id(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        let joined = self.poll_next(context);
        self.waker = joined.is_pending().then(|| context.waker().clone());
        joined
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<(Id, T), JoinError>>> {
        let joined = self.tasks.poll_next_unpin(context);
        joined.map(|joined| joined.map(|(id, result)| result.map(|output| (id, output))))
    }

    /// Waits for all tasks and gives their outputs, in the order in which they end.
    ///
    /// # Panics
    ///
    /// When a task panicked, with what it panicked with, or was cancelled. The others
    /// are aborted then.
    ///
    /// # Cancellation
    ///
    /// All tasks are aborted, as when the set is dropped.
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            match result.map_err(JoinError::try_into_panic) {
                Ok(output) => outputs.push(output),
                Err(Ok(payload)) => resume_unwind(payload),
                Err(Err(error)) => panic!("{error}"),
            }
        }
        outputs
    }

    /// Aborts all tasks. They stay in the set until they are joined.
    pub fn abort_all(&mut self) {
        for task in &self.tasks {
            task.0.abort();
        }
    }

    /// Takes all tasks out; they go on by themselves.
    pub fn detach_all(&mut self) {
        self.tasks.clear();
    }

    /// Aborts all tasks, and waits until they have ended.
    ///
    /// # Cancellation
    ///
    /// All have been aborted if it was polled; those not yet joined are still in the set.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }
}

/// Awaits a task, and tells which it was. Dropping it detaches the task.
struct Joining<T>(JoinHandle<T>);

impl<T> Future for Joining<T> {
    type Output = (Id, Result<T, JoinError>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let id = self.0.id();
        Pin::new(&mut self.0).poll(context).map(|result| (id, result))
    }
}

fn without_id<T>(joined: Result<(Id, T), JoinError>) -> Result<T, JoinError> {
    joined.map(|(_, output)| output)
}

impl<T: Send + 'static> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl<T: Send + 'static> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + 'static> fmt::Debug for JoinSet<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "JoinSet({} tasks)", self.len())
    }
}

/// Spawns all futures as tasks of the current runtime; panics outside one.
impl<T: Send + 'static, F: Future<Output = T> + Send + 'static> FromIterator<F> for JoinSet<T> {
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let mut set = Self::new();
        set.extend(futures);
        set
    }
}

/// Spawns all futures as tasks of the current runtime; panics outside one.
impl<T: Send + 'static, F: Future<Output = T> + Send + 'static> Extend<F> for JoinSet<T> {
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        for future in futures {
            self.spawn(future);
        }
    }
}
