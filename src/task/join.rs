//! Wait for a task, or abort it, and hear why it gave no output.

use crate::hooks::tell;
use crate::panic::{Payload, Unread};
use crate::registry::Id;
use crate::scheduler::budget;
use crate::scheduler::shared::Record;
use crate::sync::Arc;
use async_task::FallibleTask;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::{fmt, io};

/// What async-task gives for a task.
type Task<T> = FallibleTask<Unread<Result<T, JoinError>>, Arc<Record>>;

/// Waits for a task's output: `.await` gives `Result<T, JoinError>`.
///
/// Dropping the handle detaches the task, which goes on without it.
///
/// # Panics
///
/// When the handle is polled again after it has given the output. So a loop over `select!` needs a
/// precondition, such as `, if !is_done`.
///
/// # Cancellation
///
/// Cancel safe. A handle that is awaited as `&mut handle` and dropped in between loses nothing.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let handle = arc::spawn(async { 6 * 7 });
/// assert_eq!(handle.await.unwrap(), 42);
///
/// let handle = arc::spawn(async { panic!("oh") });
/// let error: arc::task::JoinError = handle.await.unwrap_err();
/// assert!(error.is_panic());
/// # let _: () = ();
/// # }
/// ```
#[derive(Debug)]
pub struct JoinHandle<T> {
    /// `None` after the output was given. It is unwind safe whatever the output is, because that is
    /// moved out whole.
    pub(crate) task: Option<AssertUnwindSafe<Task<T>>>,
    pub(crate) record: Arc<Record>,
}

impl<T> JoinHandle<T> {
    /// Aborts the task: it ends at its next await point, and its future is dropped.
    ///
    /// This has no effect on a task that has finished, or on a job of
    /// [`spawn_blocking`](crate::task::spawn_blocking) that has begun. The handle can still be
    /// awaited: it is ready when the task has ended, and says whether the task was cancelled or
    /// had finished before.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[arc::main]
    /// # async fn main() {
    /// let handle = arc::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(handle.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn abort(&self) {
        self.record.abort();
    }

    /// Returns a handle that can only abort the task, and does not keep its output.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(self.record.clone())
    }

    /// Whether the task has ended: it finished, panicked, or was aborted and dropped. This is also
    /// true while the task is being dropped with its runtime.
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(|task| task.is_finished())
    }

    /// The task's id, which stays valid after the task has ended.
    pub fn id(&self) -> Id {
        self.record.id
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(budget::poll_proceed(context));

        // The handle's own waker is left with the task.
        let task = self.task.as_mut().expect("JoinHandle polled after completion");
        let Poll::Ready(output) = Pin::new(task).poll(context) else {
            tell!(waits_for_task(self.record.id.0));
            return Poll::Pending;
        };

        // It gives its output once.
        self.task = None;
        tell!(no_longer_waits_for_task(self.record.id.0));
        budget::made_progress();

        // There is no result if the future was dropped because the runtime has ended.
        let result = output.and_then(|mut unread| unread.0.take());
        Poll::Ready(result.unwrap_or_else(|| Err(JoinError::cancelled(self.record.id))))
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            tell!(no_longer_waits_for_task(self.record.id.0));
            task.0.detach();
        }
    }
}

/// Aborts a task, from anywhere. Dropping the handle has no effect on the task.
///
/// As a [`JoinHandle`] does, it keeps the descriptors of the task's runtime, also of one that has
/// ended. So drop what you need no more.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let handle = arc::spawn(std::future::pending::<()>());
/// let abort = handle.abort_handle();
/// abort.abort();
/// assert!(handle.await.unwrap_err().is_cancelled());
/// assert!(abort.is_finished());
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct AbortHandle(Arc<Record>);

impl AbortHandle {
    /// Aborts the task, as [`JoinHandle::abort`] does.
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Whether the task has ended: it finished, panicked, or was aborted and dropped. This is also
    /// true when the task is about to be dropped with its runtime.
    pub fn is_finished(&self) -> bool {
        self.0.has_ended()
    }

    /// The task's id, which stays valid after the task has ended.
    pub fn id(&self) -> Id {
        self.0.id
    }
}

/// Why a task gave no output: it panicked, or it was cancelled (aborted, or its runtime ended).
pub struct JoinError {
    /// `None` if the task was cancelled. The lock makes the error `Sync`, which `dyn Error + Send +
    /// Sync` needs.
    payload: Option<Mutex<Payload>>,
    id: Id,
}

impl JoinError {
    /// The error of a task that was aborted, or whose runtime ended.
    #[doc(hidden)]
    pub fn cancelled(id: Id) -> Self {
        Self { payload: None, id }
    }

    /// The error of a task whose future panicked.
    #[doc(hidden)]
    pub fn panicked(id: Id, payload: Payload) -> Self {
        tell!(panicked(id.0));
        Self { payload: Some(Mutex::new(payload)), id }
    }

    /// Whether the task was aborted, or its runtime ended first.
    pub fn is_cancelled(&self) -> bool {
        self.payload.is_none()
    }

    /// Whether the task's future panicked, when it was polled or when it was dropped.
    pub fn is_panic(&self) -> bool {
        self.payload.is_some()
    }

    /// Returns what the panic carried, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    ///
    /// When the task did not panic. See [`try_into_panic`](Self::try_into_panic).
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn std::any::Any + Send + 'static> {
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(error) => panic!("{error} and did not panic"),
        }
    }

    /// Returns what the panic carried.
    ///
    /// # Errors
    ///
    /// The error itself, when the task did not panic.
    pub fn try_into_panic(self) -> Result<Box<dyn std::any::Any + Send + 'static>, Self> {
        match self.payload {
            Some(payload) => Ok(payload.into_inner().unwrap_or_else(PoisonError::into_inner)),
            None => Err(self),
        }
    }

    /// The id of the task.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns what the panic said, if that is a text. It is a copy, because a formatter is
    /// user code, which must not run under a lock.
    fn text(&self) -> Option<String> {
        let payload = self.payload.as_ref()?;
        let payload = payload.lock().unwrap_or_else(PoisonError::into_inner);

        // `panic!` with arguments gives a `String`, and without any a `&str`.
        match payload.downcast_ref::<&str>() {
            Some(text) => Some((*text).to_owned()),
            None => payload.downcast_ref::<String>().cloned(),
        }
    }
}

/// The texts are tokio's.
impl fmt::Display for JoinError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        // A payload that is no text is not shown.
        match self.text() {
            _ if self.is_cancelled() => write!(formatter, "task {id} was cancelled"),
            Some(text) => write!(formatter, "task {id} panicked with message {text:?}"),
            None => write!(formatter, "task {id} panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        io::Error::other(error.to_string())
    }
}
