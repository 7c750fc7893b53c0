//! The sending ends of channels.

use super::channel::Channel;
use super::error::{SendError, SendTimeoutError, TrySendError};
use crate::sync::TryAcquireError;
use crate::sync::blocking::{block_on, may_block};
use crate::sync::semaphore::Acquire;
use arc::time::timeout;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The sending end of a [`channel`](super::channel()). Clone it for more senders.
pub struct Sender<T>(pub(super) Arc<Channel<T>>);

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
        if Acquire::new(&self.0.places, 1).await.is_err() {
            return Err(SendError(value));
        }
        self.0.push_to_place(value).map_err(SendError)
    }

    /// Sends a value without waiting.
    ///
    /// # Errors
    ///
    /// Fails when there is no room, when other senders wait for room, and when the receiver is
    /// closed or dropped. The error contains the value.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match self.try_take_places(1) {
            Ok(()) => self.0.push_to_place(value).map_err(TrySendError::Closed),
            Err(error) => Err(error.map(|()| value)),
        }
    }

    /// Takes places without waiting.
    #[inline]
    pub(super) fn try_take_places(&self, count: usize) -> Result<(), TrySendError<()>> {
        match self.0.places.try_take(count) {
            Ok(()) => Ok(()),
            // Closing closes the channel before the semaphore. In between, a lack of permits means
            // that the channel is closed, and not that it is full.
            Err(TryAcquireError::NoPermits) if !self.is_closed() => Err(TrySendError::Full(())),
            Err(_) => Err(TrySendError::Closed(())),
        }
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
        match timeout(limit, Acquire::new(&self.0.places, 1)).await {
            Ok(Ok(())) => self.0.push_to_place(value).map_err(SendTimeoutError::Closed),
            Ok(Err(_)) => Err(SendTimeoutError::Closed(value)),
            Err(_) => Err(SendTimeoutError::Timeout(value)),
        }
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
        match self.try_send(value) {
            Err(TrySendError::Full(value)) => block_on(self.send(value)),
            sent => sent.map_err(|error| SendError(error.into_inner())),
        }
    }

    /// Returns the number of places that are free now.
    pub fn capacity(&self) -> usize {
        self.0.places.available_permits()
    }

    /// Returns the number of places in the channel, free or not.
    pub fn max_capacity(&self) -> usize {
        self.0.max_capacity
    }
}

/// The sending end of an [`unbounded_channel`](super::unbounded_channel). Clone it for more
/// senders.
pub struct UnboundedSender<T>(pub(super) Arc<Channel<T>>);

impl<T> UnboundedSender<T> {
    /// Sends a value without waiting.
    ///
    /// # Errors
    ///
    /// Fails when the receiver is closed or dropped. The error contains the value.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.push(value).map_err(SendError)
    }
}

/// Defines what both kinds of senders have.
macro_rules! sender {
    ($name:ident, $weak:ident, $create:literal) => {
        /// Methods that both kinds of channels have.
        impl<T> $name<T> {
            /// Waits until the receiver is closed or dropped.
            ///
            /// # Cancellation
            ///
            /// Cancel safe.
            pub async fn closed(&self) {
                self.0.closed().await
            }

            /// Returns whether the receiver is closed or dropped.
            pub fn is_closed(&self) -> bool {
                self.0.is_closed()
            }

            /// Returns whether both send into one channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.0, &other.0)
            }

            /// Returns a sender that does not keep the channel open.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let (sender, receiver) = arc_util::sync::mpsc::", $create, ";")]
            /// let weak = sender.downgrade();
            /// assert_eq!((sender.strong_count(), sender.weak_count()), (1, 1));
            /// drop(sender);
            /// assert!(weak.upgrade().is_none());
            /// assert!(receiver.is_closed());
            /// ```
            #[must_use]
            pub fn downgrade(&self) -> $weak<T> {
                $weak(Arc::downgrade(&self.0))
            }

            /// Returns the number of senders that keep the channel open.
            pub fn strong_count(&self) -> usize {
                self.0.senders()
            }

            /// Returns the number of senders that do not keep the channel open.
            pub fn weak_count(&self) -> usize {
                Arc::weak_count(&self.0)
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                self.0.add_sender();
                Self(self.0.clone())
            }
        }

        impl<T> Drop for $name<T> {
            fn drop(&mut self) {
                self.0.remove_sender();
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(stringify!($name))
            }
        }

        /// A sender that does not keep the channel open. To send,
        /// [upgrade](Self::upgrade) it.
        pub struct $weak<T>(Weak<Channel<T>>);

        impl<T> $weak<T> {
            /// Returns a sender, unless all senders were dropped.
            pub fn upgrade(&self) -> Option<$name<T>> {
                let channel = self.0.upgrade()?;
                channel.try_add_sender().then(|| $name(channel))
            }

            /// Returns the number of senders that keep the channel open.
            pub fn strong_count(&self) -> usize {
                self.0.upgrade().map_or(0, |channel| channel.senders())
            }

            /// Returns the number of senders that do not keep the channel open.
            pub fn weak_count(&self) -> usize {
                self.0.weak_count()
            }
        }

        impl<T> Clone for $weak<T> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl<T> fmt::Debug for $weak<T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(stringify!($weak))
            }
        }
    };
}

sender!(Sender, WeakSender, "channel::<u8>(1)");
sender!(UnboundedSender, WeakUnboundedSender, "unbounded_channel::<u8>()");
