//! Why a task gave no output.

use super::info::Id;
use std::any::Any;
use std::sync::{Mutex, PoisonError};
use std::{fmt, io};

/// The value that a panic carries.
type Payload = Box<dyn Any + Send>;

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
        #[cfg(feature = "trace")]
        arc_trace::tell::panicked(id.0);
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
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
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
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, Self> {
        match self.payload {
            Some(payload) => Ok(payload.into_inner().unwrap_or_else(PoisonError::into_inner)),
            None => Err(self),
        }
    }

    /// The id of the task.
    pub fn id(&self) -> Id {
        self.id
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(payload) = &self.payload else {
            return write!(formatter, "task {} was cancelled", self.id);
        };

        // The text is copied, because a formatter is foreign code: it must not run under a lock.
        let payload = payload.lock().unwrap_or_else(PoisonError::into_inner);
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("(no text)").to_owned();
        drop(payload);
        write!(formatter, "task {} panicked: {text}", self.id)
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
