//! tokio's way to name a task.

use arc::runtime::Handle;
use arc::task::JoinHandle;
use std::future::Future;
use std::io::Result;

/// Spawns tasks that have names.
///
/// [`Handle::tasks`](crate::runtime::Handle::tasks) and the runtime's reports show the names.
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
/// let tasks = arc_util::runtime::Handle::current().tasks();
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
        Ok(boxed_if_large!(
            future,
            match self.name {
                // Lists show a name in quotes, and nothing where there is none.
                Some(name) => arc::task::spawn_named(name, future),
                None => arc::spawn(future),
            }
        ))
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
        boxed_if_large!(future, {
            // A task is spawned in the runtime that this thread is in.
            let _guard = handle.enter();
            self.spawn(future)
        })
    }
}
