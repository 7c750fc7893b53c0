//! tokio's way to give a task a name.

use arc::runtime::Handle;
use arc::task::JoinHandle;
use std::future::Future;

/// Spawns tasks that have names, which
/// [`Handle::tasks`](arc::runtime::Handle::tasks) and reports tell.
///
/// # Examples
///
/// ```
/// use arc_util::task::Builder;
/// # #[arc::main]
/// # async fn main() {
/// let task = Builder::new().name("waiter").spawn(std::future::pending::<()>());
/// let tasks = arc::runtime::Handle::current().tasks();
/// assert_eq!(tasks[0].name.as_deref(), Some("waiter"));
/// # task.abort();
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Builder<'a> {
    name: Option<&'a str>,
}

impl<'a> Builder<'a> {
    /// One that gives no name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the task. Names need not be unique.
    #[must_use]
    pub fn name(self, name: &'a str) -> Self {
        Self { name: Some(name) }
    }

    /// As [`arc::spawn`].
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        match self.name {
            Some(name) => arc::task::spawn_named(name, future),
            None => arc::spawn(future),
        }
    }

    /// As [`Handle::spawn`].
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let _guard = handle.enter();
        self.spawn(future)
    }
}
