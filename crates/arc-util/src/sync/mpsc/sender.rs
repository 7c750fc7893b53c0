//! The sending ends of channels.

use super::error::{SendError, SendTimeoutError, TrySendError};
use super::tolds::Tolds;
use crate::sync::blocking::{block_on, may_block};
use crate::sync::told::End;
use crate::sync::wait::wait;
use crate::time::timeout;
use std::time::Duration;
use tokio::sync::mpsc as tokio;

/// The sending end of a [`channel`](super::channel()). Clone it for more senders.
pub struct Sender<T> {
    pub(super) told: Tolds,
    pub(super) end: End,
    pub(super) sender: tokio::Sender<T>,
}

impl<T> Sender<T> {
    /// Waits for room and sends a value. The sender that has waited longest gets the next free
    /// place.
    ///
    /// # Errors
    ///
    /// Fails when the receiver is closed or dropped. The error contains the value.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, the value has either been sent or is dropped, and the place in
    /// line is lost.
    pub async fn send(&self, value: T) -> Result<(), SendError<T>> {
        match self.reserve().await {
            Ok(permit) => permit.send(value),
            Err(_) => return Err(SendError(value)),
        }
        Ok(())
    }

    /// Sends a value without waiting.
    ///
    /// # Errors
    ///
    /// Fails when there is no room, when other senders wait for room, and when the receiver is
    /// closed or dropped. The error contains the value.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match self.try_reserve() {
            Ok(permit) => permit.send(value),
            Err(TrySendError::Full(())) => return Err(TrySendError::Full(value)),
            Err(TrySendError::Closed(())) => return Err(TrySendError::Closed(value)),
        }
        Ok(())
    }

    /// Does the same as [`send`](Self::send), but waits for room no longer than `limit`.
    ///
    /// # Errors
    ///
    /// Fails when the limit is over, and when the receiver is closed or dropped. The error contains
    /// the value.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime.
    ///
    /// # Cancellation
    ///
    /// Same as `send`.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::sync::mpsc::{self, error::SendTimeoutError};
    /// use std::time::Duration;
    /// # #[arc::main]
    /// # async fn main() {
    /// let (sender, _receiver) = mpsc::channel(1);
    /// let limit = Duration::from_millis(10);
    /// assert_eq!(sender.send_timeout("first", limit).await, Ok(()));
    /// let sent = sender.send_timeout("second", limit).await;
    /// assert_eq!(sent, Err(SendTimeoutError::Timeout("second")));
    /// # }
    /// ```
    pub async fn send_timeout(&self, value: T, limit: Duration) -> Result<(), SendTimeoutError<T>> {
        // What waits is a place, and not the value: so the error can give that back.
        match timeout(limit, self.reserve()).await {
            Ok(Ok(permit)) => permit.send(value),
            Ok(Err(_)) => return Err(SendTimeoutError::Closed(value)),
            Err(_) => return Err(SendTimeoutError::Timeout(value)),
        }
        Ok(())
    }

    /// Does the same as [`send`](Self::send), on a thread that may block, such as one of
    /// [`spawn_blocking`](arc::task::spawn_blocking).
    ///
    /// # Errors
    ///
    /// Same as `send`.
    ///
    /// # Panics
    ///
    /// Panics inside a task or `block_on`: it would block a thread that polls futures.
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        may_block("blocking_send");

        // Without waiting, if there is room: a budget of the caller's does not matter then.
        match self.try_send(value) {
            Err(TrySendError::Full(value)) => block_on(self.send(value)),
            sent => sent.map_err(|error| SendError(error.into_inner())),
        }
    }
}

/// The sending end of an [`unbounded_channel`](super::unbounded_channel). Clone it for more
/// senders.
pub struct UnboundedSender<T> {
    pub(super) told: Tolds,
    pub(super) end: End,
    pub(super) sender: tokio::UnboundedSender<T>,
}

impl<T> UnboundedSender<T> {
    /// Sends a value without waiting.
    ///
    /// # Errors
    ///
    /// Fails when the receiver is closed or dropped. The error contains the value.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        // A value that nobody receives is not told of.
        if self.sender.is_closed() {
            return Err(SendError(value));
        }
        // Told first: the receiver may have the value sooner than this function returns.
        self.told.value.sends_without_limit();
        self.end.is_used();
        self.sender.send(value)
    }
}

/// Defines what both kinds of senders have.
macro_rules! sender {
    ($name:ident, $weak:ident) => {
        impl<T> $name<T> {
            /// Waits until the receiver is closed or dropped.
            ///
            /// # Cancellation
            ///
            /// Cancel safe.
            pub async fn closed(&self) {
                wait(&self.told.closed, self.sender.closed()).await
            }

            /// Returns a sender that does not keep the channel open.
            #[must_use]
            pub fn downgrade(&self) -> $weak<T> {
                $weak { told: self.told.clone(), sender: self.sender.downgrade() }
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                let (told, end) = (self.told.clone(), self.end.clone());
                Self { told, end, sender: self.sender.clone() }
            }
        }

        /// A sender that does not keep the channel open. To send,
        /// [upgrade](Self::upgrade) it.
        pub struct $weak<T> {
            told: Tolds,
            sender: tokio::$weak<T>,
        }

        impl<T> $weak<T> {
            /// Returns a sender, unless all senders were dropped.
            pub fn upgrade(&self) -> Option<$name<T>> {
                let sender = self.sender.upgrade()?;
                let end = self.told.value.sender();
                Some($name { told: self.told.clone(), end, sender })
            }
        }

        impl<T> Clone for $weak<T> {
            fn clone(&self) -> Self {
                Self { told: self.told.clone(), sender: self.sender.clone() }
            }
        }

        tokios_own! { $name sender $weak sender }
    };
}

sender!(Sender, WeakSender);
sender!(UnboundedSender, WeakUnboundedSender);
