//! A set of tasks that are awaited in the order in which they end.

use super::builder::Builder;
use super::local_set::{LocalAbortHandle, LocalJoinHandle, LocalSet, spawn_local};
use crate::sync::told::{AsksOf, Joins, Told, What};
use crate::wake::wake_all;
use arc::runtime::Handle;
use arc::task::{AbortHandle, Id, JoinError, JoinHandle, with_budget};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A set of tasks with outputs of one type, which are awaited in the order in which they end.
///
/// Dropping the set aborts all tasks that are in it. Names and meaning are tokio's.
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
pub struct JoinSet<T: 'static> {
    /// The tasks that have not been joined yet, whether they have ended or not.
    tasks: FuturesUnordered<Joining<T>>,
    /// The waker of the last call of `poll_join_next`, if it was pending. Tasks that are
    /// spawned later must wake it, too.
    waker: Option<Waker>,
    told: Told,
}

/// A panic of a task is a result here, and a panic of a waker leaves every task in the set.
impl<T: 'static> UnwindSafe for JoinSet<T> {}
impl<T: 'static> RefUnwindSafe for JoinSet<T> {}

impl<T: 'static> JoinSet<T> {
    /// Creates a set without tasks. It needs no runtime.
    #[track_caller]
    pub fn new() -> Self {
        Self { tasks: FuturesUnordered::new(), waker: None, told: Told::new(What::JoinSet) }
    }

    /// Returns the number of tasks that have not been joined yet, including those that have
    /// ended.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns whether all tasks have been joined.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns a builder that spawns a task with a name.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::task::JoinSet;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut set = JoinSet::new();
    /// set.build_task().name("waiter").spawn(std::future::pending::<()>())?;
    /// let tasks = arc_util::runtime::Handle::current().tasks();
    /// assert_eq!(tasks[0].name.as_deref(), Some("waiter"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn build_task(&mut self) -> JoinSetBuilder<'_, T> {
        JoinSetBuilder { set: self, builder: Builder::new() }
    }

    /// Spawns a future that need not be `Send` as a task of the current [`LocalSet`], and adds it
    /// to the set.
    ///
    /// # Panics
    ///
    /// Panics outside a `LocalSet`.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::task::{JoinSet, LocalSet};
    /// use std::rc::Rc;
    /// # #[arc::main]
    /// # async fn main() {
    /// let mut set = JoinSet::new();
    /// let local = LocalSet::new();
    /// local.run_until(async {
    ///     set.spawn_local(async { Rc::new(42) });
    ///     assert_eq!(*set.join_next().await.unwrap().unwrap(), 42);
    /// })
    /// .await;
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&mut self, future: F) -> LocalAbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        boxed_if_large!(future, self.insert_local(spawn_local(future)))
    }

    /// Does the same as [`spawn_local`](Self::spawn_local) in the given set of local tasks.
    pub fn spawn_local_on<F>(&mut self, future: F, local_set: &LocalSet) -> LocalAbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        boxed_if_large!(future, self.insert_local(local_set.spawn_local(future)))
    }

    fn insert_local(&mut self, handle: LocalJoinHandle<T>) -> LocalAbortHandle {
        let abort = handle.abort_handle();
        // Nothing is told of a local task: who joins it may go on all the same.
        self.told.grows(1);
        self.push(Joining::Local(handle));
        abort
    }

    fn push(&mut self, task: Joining<T>) {
        self.tasks.push(task);

        // Those that have ended wait for somebody who joins them.
        let tasks = &self.tasks;
        let count_ended = || tasks.iter().filter(|task| task.is_finished()).count();
        self.told.piles(tasks.len(), count_ended);

        // Whoever waits for the next task looks at this one, too.
        wake_all(self.waker.take());
    }

    /// Waits until one of the tasks ends, removes it from the set, and returns its output.
    ///
    /// Returns `None` when the set is empty.
    ///
    /// # Errors
    ///
    /// Fails when the task panicked or was cancelled.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: a wait that is dropped removes no task.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.join_next_with_id().await.map(without_id)
    }

    /// Waits for a task like [`join_next`](Self::join_next), and also returns the task's id. An
    /// error has the id, too.
    ///
    /// # Errors
    ///
    /// Same as `join_next`.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        // The tasks that are left are not awaited after it.
        let _joins = Joins;

        let mut asks = AsksOf::new();
        poll_fn(|context| {
            let joined = self.poll_next(context);
            asks.tell(&self.told, joined.is_pending());
            joined
        })
        .await
    }

    /// Removes a task that has ended and returns its output. Does not wait.
    ///
    /// Returns `None` when no task has ended. A task that has just ended on another worker may be
    /// found here a moment after its [`AbortHandle`] says that it has finished. A call takes
    /// nothing of the calling task's budget.
    ///
    /// # Errors
    ///
    /// Same as [`join_next`](Self::join_next).
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_join_next_with_id().map(without_id)
    }

    /// Does the same as [`try_join_next`](Self::try_join_next), and also returns the task's id.
    ///
    /// # Errors
    ///
    /// Same as `join_next`.
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        // This poll replaces the waker inside `tasks`: keep the one of the last pending poll.
        let waker = self.waker.clone().unwrap_or_else(|| Waker::noop().clone());
        let mut context = Context::from_waker(&waker);

        // With a budget of its own: a caller that finds nothing has no way to wait for budget.
        match with_budget(|| self.poll_next(&mut context)) {
            Poll::Ready(joined) => joined,
            Poll::Pending => None,
        }
    }

    /// Polls for the next task that ends, for futures written by hand. See
    /// [`join_next`](Self::join_next).
    ///
    /// # Errors
    ///
    /// Same as `join_next`.
    pub fn poll_join_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, JoinError>>> {
        let joined = self.poll_join_next_with_id(context);
        joined.map(|joined| joined.map(without_id))
    }

    /// Polls like [`poll_join_next`](Self::poll_join_next), and also returns the task's id.
    ///
    /// # Errors
    ///
    /// Same as `join_next`.
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

    /// Waits for all tasks and returns their outputs, in the order in which the tasks end.
    ///
    /// # Panics
    ///
    /// Panics when a task panicked, with the payload of that panic, and when a task was
    /// cancelled. The other tasks are aborted then.
    ///
    /// # Cancellation
    ///
    /// Dropping the future aborts all tasks, like dropping the set.
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            match result.map_err(JoinError::try_into_panic) {
                Ok(output) => outputs.push(output),
                // Either drops the set, which aborts the tasks that are left.
                Err(Ok(payload)) => resume_unwind(payload),
                Err(Err(error)) => panic!("{error}"),
            }
        }
        outputs
    }

    /// Aborts all tasks. They stay in the set until they are joined.
    pub fn abort_all(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }

    /// Removes all tasks from the set without aborting them: they continue to run.
    pub fn detach_all(&mut self) {
        self.tasks.clear();
    }

    /// Aborts all tasks and waits until they have ended.
    ///
    /// # Cancellation
    ///
    /// If the future was polled at least once, all tasks have been aborted. The tasks that it
    /// did not get to join are still in the set.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }
}

/// Spawning tasks that may run on any thread.
impl<T: Send + 'static> JoinSet<T> {
    /// Spawns a future as a task of the current runtime and adds it to the set.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
    {
        boxed_if_large!(future, self.insert(arc::spawn(future)))
    }

    /// Spawns a future as a task of the given runtime and adds it to the set.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, future: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
    {
        boxed_if_large!(future, self.insert(handle.spawn(future)))
    }

    /// Runs a function that blocks on a thread of its own and adds it to the set as a task.
    ///
    /// See [`arc::task::spawn_blocking`]. An abort only has an effect until the function has
    /// begun: after that it runs to its end, and its output is delivered.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn_blocking(&mut self, function: impl FnOnce() -> T + Send + 'static) -> AbortHandle {
        self.insert(arc::task::spawn_blocking(function))
    }

    /// Does the same as [`spawn_blocking`](Self::spawn_blocking) in the given runtime.
    #[track_caller]
    pub fn spawn_blocking_on(
        &mut self,
        function: impl FnOnce() -> T + Send + 'static,
        handle: &Handle,
    ) -> AbortHandle {
        let _guard = handle.enter();
        self.spawn_blocking(function)
    }

    fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        self.push(Joining::Sent(handle));
        abort
    }
}

/// Spawns tasks that have names, and adds them to a set; made by [`JoinSet::build_task`].
///
/// Only the tasks of [`spawn`](Self::spawn) and [`spawn_on`](Self::spawn_on) show their names.
/// Functions that block, and tasks of a [`LocalSet`], are not in the runtime's list of tasks.
///
/// # Errors
///
/// There are none so far. The results are there because tokio's methods return them.
#[must_use = "it spawns nothing by itself"]
pub struct JoinSetBuilder<'a, T: 'static> {
    set: &'a mut JoinSet<T>,
    builder: Builder<'a>,
}

impl<'a, T: 'static> JoinSetBuilder<'a, T> {
    /// Sets the name of the task. Names need not be unique.
    pub fn name(self, name: &'a str) -> Self {
        Self { builder: self.builder.name(name), ..self }
    }

    /// Does the same as [`JoinSet::spawn_local`].
    ///
    /// # Panics
    ///
    /// Panics outside a `LocalSet`.
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<LocalAbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        boxed_if_large!(future, Ok(self.set.spawn_local(future)))
    }

    /// Does the same as [`JoinSet::spawn_local_on`].
    pub fn spawn_local_on<F>(self, future: F, local_set: &LocalSet) -> io::Result<LocalAbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        boxed_if_large!(future, Ok(self.set.spawn_local_on(future, local_set)))
    }
}

/// Spawning tasks that may run on any thread.
impl<T: Send + 'static> JoinSetBuilder<'_, T> {
    /// Does the same as [`JoinSet::spawn`], and gives the task its name.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
    {
        boxed_if_large!(future, Ok(self.set.insert(self.builder.spawn(future)?)))
    }

    /// Does the same as [`JoinSet::spawn_on`], and gives the task its name.
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
    {
        boxed_if_large!(future, Ok(self.set.insert(self.builder.spawn_on(future, handle)?)))
    }

    /// Does the same as [`JoinSet::spawn_blocking`].
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn_blocking(
        self,
        function: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<AbortHandle> {
        Ok(self.set.spawn_blocking(function))
    }

    /// Does the same as [`JoinSet::spawn_blocking_on`].
    #[track_caller]
    pub fn spawn_blocking_on(
        self,
        function: impl FnOnce() -> T + Send + 'static,
        handle: &Handle,
    ) -> io::Result<AbortHandle> {
        Ok(self.set.spawn_blocking_on(function, handle))
    }
}

impl<T> fmt::Debug for JoinSetBuilder<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "JoinSetBuilder({:?})", self.builder)
    }
}

/// Waits for one task and returns its id with its output. Dropping this detaches the task.
enum Joining<T> {
    /// A task that may run on any thread.
    Sent(JoinHandle<T>),
    /// A task of a `LocalSet`.
    Local(LocalJoinHandle<T>),
}

impl<T> Joining<T> {
    fn abort(&self) {
        match self {
            Self::Sent(task) => task.abort(),
            Self::Local(task) => task.abort(),
        }
    }

    fn is_finished(&self) -> bool {
        match self {
            Self::Sent(task) => task.is_finished(),
            Self::Local(task) => task.is_finished(),
        }
    }
}

impl<T> Future for Joining<T> {
    type Output = (Id, Result<T, JoinError>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Sent(task) => {
                let id = task.id();
                Pin::new(task).poll(context).map(|result| (id, result))
            }
            Self::Local(task) => {
                let id = task.id();
                Pin::new(task).poll(context).map(|result| (id, result))
            }
        }
    }
}

fn without_id<T>(joined: Result<(Id, T), JoinError>) -> Result<T, JoinError> {
    joined.map(|(_, output)| output)
}

impl<T: 'static> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl<T: 'static> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: 'static> fmt::Debug for JoinSet<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "JoinSet({} tasks)", self.len())
    }
}

/// Spawns every future as a task of the current runtime. Panics outside a runtime.
impl<T: Send + 'static, F: Future<Output = T> + Send + 'static> FromIterator<F> for JoinSet<T> {
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let mut set = Self::new();
        set.extend(futures);
        set
    }
}

/// Spawns every future as a task of the current runtime. Panics outside a runtime.
impl<T: Send + 'static, F: Future<Output = T> + Send + 'static> Extend<F> for JoinSet<T> {
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        for future in futures {
            self.spawn(future);
        }
    }
}
