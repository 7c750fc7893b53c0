//! tokio's way to name a task.

use super::join_set::JoinSet;
use super::local_set::{LocalAbortHandle, LocalSet};
use arc::runtime::Handle;
use arc::task::{AbortHandle, JoinHandle};
use std::fmt;
use std::future::Future;
use std::io::Result;

/// Spawns tasks that have names.
///
/// [`Handle::tasks`](arc::runtime::Handle::tasks) and the runtime's reports show the names.
///
/// # Errors
///
/// There are none so far. The results are there because tokio's methods return them.
///
/// # Examples
///
/// ```
/// use arc_util::task::Builder;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let task = Builder::new().name("waiter").spawn(std::future::pending::<()>())?;
/// let tasks = arc::runtime::Handle::current().tasks();
/// assert_eq!(tasks[0].name.as_deref(), Some("waiter"));
/// # task.abort();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Builder<'a> {
    name: Option<&'a str>,
}

impl<'a> Builder<'a> {
    /// Creates a builder that gives tasks no name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name of the task. Names need not be unique.
    #[must_use]
    pub fn name(self, name: &'a str) -> Self {
        Self { name: Some(name) }
    }

    /// Spawns a future as a task of the current runtime, like [`arc::spawn`].
    ///
    /// # Errors
    ///
    /// None so far.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> Result<JoinHandle<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        Ok(match self.name {
            Some(name) => arc::task::spawn_named(name, future),
            None => arc::spawn(future),
        })
    }

    /// Spawns a future as a task of the given runtime, like [`Handle::spawn`].
    ///
    /// # Errors
    ///
    /// None so far.
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> Result<JoinHandle<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let _guard = handle.enter();
        self.spawn(future)
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
    pub(super) fn new(set: &'a mut JoinSet<T>) -> Self {
        Self { set, builder: Builder::new() }
    }

    /// Sets the name of the task. Names need not be unique.
    pub fn name(self, name: &'a str) -> Self {
        Self { builder: self.builder.name(name), ..self }
    }

    /// Does the same as [`JoinSet::spawn_local`].
    ///
    /// # Errors
    ///
    /// None so far.
    ///
    /// # Panics
    ///
    /// Panics outside a `LocalSet`.
    #[track_caller]
    pub fn spawn_local(
        self,
        future: impl Future<Output = T> + 'static,
    ) -> Result<LocalAbortHandle> {
        Ok(self.set.spawn_local(future))
    }

    /// Does the same as [`JoinSet::spawn_local_on`].
    ///
    /// # Errors
    ///
    /// None so far.
    pub fn spawn_local_on(
        self,
        future: impl Future<Output = T> + 'static,
        local_set: &LocalSet,
    ) -> Result<LocalAbortHandle> {
        Ok(self.set.spawn_local_on(future, local_set))
    }
}

/// Spawning tasks that may run on any thread.
impl<T: Send + 'static> JoinSetBuilder<'_, T> {
    /// Does the same as [`JoinSet::spawn`], and gives the task its name.
    ///
    /// # Errors
    ///
    /// None so far.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn(self, future: impl Future<Output = T> + Send + 'static) -> Result<AbortHandle> {
        Ok(self.set.insert(self.builder.spawn(future)?))
    }

    /// Does the same as [`JoinSet::spawn_on`], and gives the task its name.
    ///
    /// # Errors
    ///
    /// None so far.
    #[track_caller]
    pub fn spawn_on(
        self,
        future: impl Future<Output = T> + Send + 'static,
        handle: &Handle,
    ) -> Result<AbortHandle> {
        Ok(self.set.insert(self.builder.spawn_on(future, handle)?))
    }

    /// Does the same as [`JoinSet::spawn_blocking`].
    ///
    /// # Errors
    ///
    /// None so far.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn_blocking(
        self,
        function: impl FnOnce() -> T + Send + 'static,
    ) -> Result<AbortHandle> {
        Ok(self.set.spawn_blocking(function))
    }

    /// Does the same as [`JoinSet::spawn_blocking_on`].
    ///
    /// # Errors
    ///
    /// None so far.
    #[track_caller]
    pub fn spawn_blocking_on(
        self,
        function: impl FnOnce() -> T + Send + 'static,
        handle: &Handle,
    ) -> Result<AbortHandle> {
        Ok(self.set.spawn_blocking_on(function, handle))
    }
}

impl<T> fmt::Debug for JoinSetBuilder<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "JoinSetBuilder({:?})", self.builder.name)
    }
}
