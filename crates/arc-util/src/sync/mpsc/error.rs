//! The errors of sending to a channel and of receiving from it: tokio's, but for the one that
//! tokio has only together with its timers.

pub use tokio::sync::mpsc::error::{SendError, TryRecvError, TrySendError};

use std::error::Error;
use std::fmt;

/// Why a value was not sent in time. Contains the value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The channel was full for that long.
    Timeout(T),
    /// The receiver is closed or dropped.
    Closed(T),
}

impl<T> SendTimeoutError<T> {
    /// Returns the value.
    pub fn into_inner(self) -> T {
        match self {
            Self::Timeout(value) | Self::Closed(value) => value,
        }
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Timeout(_) => "timed out waiting on send operation",
            Self::Closed(_) => "channel closed",
        })
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Timeout(_) => "Timeout(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> Error for SendTimeoutError<T> {}
