//! Why a task gave no output.

use crate::hooks::tell;
use crate::panic::Payload;
use crate::registry::info::Id;
use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

/// Why a task gave no output: it panicked, or it was cancelled (aborted, or its runtime ended).
pub struct JoinError {
    /// None: the task was cancelled. The lock makes the error `Sync`, which `dyn Error + Send +
    /// Sync` asks for.
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

    /// What the panic said, if that is a text. It is copied, because a formatter is code of the
    /// user's: it must not run under a lock.
    fn text(&self) -> Option<String> {
        // A task that was cancelled says nothing.
        let payload = self.payload.as_ref()?;
        let payload = payload.lock().unwrap_or_else(PoisonError::into_inner);

        // `panic!` with arguments gives a `String`, and without any a `&str`.
        if let Some(text) = payload.downcast_ref::<String>() {
            return Some(text.clone());
        }
        payload.downcast_ref::<&str>().map(|text| (*text).to_owned())
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
        let id = self.id;
        // Likewise, with the names that tokio's enum would have.
        match self.text() {
            _ if self.is_cancelled() => write!(formatter, "JoinError::Cancelled({id:?})"),
            Some(text) => write!(formatter, "JoinError::Panic({id:?}, {text:?}, ...)"),
            None => write!(formatter, "JoinError::Panic({id:?}, ...)"),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        io::Error::other(error.to_string())
    }
}
