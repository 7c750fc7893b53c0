//! Channels with several senders and one receiver.
//!
//! Names and meaning are tokio's; below them is async-channel. Sending and receiving take
//! part in arc's budget: whoever finds values for ever still lets others run.
//!
//! # Examples
//!
//! ```
//! use arc_util::sync::mpsc;
//! # #[arc::main]
//! # async fn main() {
//! let (sender, mut receiver) = mpsc::channel(1);
//! for number in 1..=3 {
//!     let sender = sender.clone();
//!     drop(arc::spawn(async move { sender.send(number).await }));
//! }
//! // The receiver sees the end when there are no senders any more.
//! drop(sender);
//! let mut sum = 0;
//! while let Some(number) = receiver.recv().await {
//!     sum += number;
//! }
//! assert_eq!(sum, 6);
//! # }
//! ```

pub mod error;

use crate::task::cooperative;
use error::{SendError, TryRecvError, TrySendError};
use std::fmt;

/// The largest `buffer` of a [`channel`], whose memory is allocated at once. For more,
/// there is the [`unbounded_channel`].
pub const MAX_BUFFER: usize = 1 << 24;

/// A channel in which at most `buffer` values wait. The memory for them is allocated at
/// once; as with a `Vec`, the process aborts if there is not as much.
///
/// # Panics
///
/// When `buffer` is 0, or more than [`MAX_BUFFER`].
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    assert!(buffer <= MAX_BUFFER, "a channel holds at most {MAX_BUFFER} values, not {buffer}");
    let (sender, receiver) = async_channel::bounded(buffer);
    (Sender(sender), Receiver(receiver))
}

/// A channel in which any number of values wait.
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (sender, receiver) = async_channel::unbounded();
    (UnboundedSender(sender), UnboundedReceiver(receiver))
}

#[track_caller]
fn may_block(what: &str) {
    assert!(
        arc::runtime::may_block(),
        "{what} was called inside a task or `block_on`, where it would block a worker: await \
         instead, or move the call into `arc::task::spawn_blocking`"
    );
}

/// Sends into a [`channel`]; clone it for more senders.
pub struct Sender<T>(async_channel::Sender<T>);

impl<T> Sender<T> {
    /// Waits for room, in the order of the calls, and sends.
    ///
    /// # Errors
    ///
    /// When the receiver is closed or gone; the error has the value.
    ///
    /// # Cancellation
    ///
    /// The value was either sent or is dropped, and the place in the line is lost.
    pub async fn send(&self, value: T) -> Result<(), SendError<T>> {
        cooperative(self.0.send(value)).await.map_err(|error| SendError(error.0))
    }

    /// Sends if there is room.
    ///
    /// # Errors
    ///
    /// When there is none, or the receiver is closed or gone; the error has the value.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.0.try_send(value).map_err(TrySendError::from)
    }

    /// As [`send`](Self::send), on a thread that may block, such as one of
    /// [`spawn_blocking`](arc::task::spawn_blocking).
    ///
    /// # Errors
    ///
    /// As `send`.
    ///
    /// # Panics
    ///
    /// Inside a task or `block_on`, where it would block a worker.
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        may_block("blocking_send");
        self.0.send_blocking(value).map_err(|error| SendError(error.0))
    }

    /// For how many values there is room now.
    pub fn capacity(&self) -> usize {
        self.max_capacity() - self.0.len()
    }

    /// For how many values there is room when none waits.
    pub fn max_capacity(&self) -> usize {
        // It was given one.
        self.0.capacity().unwrap_or(usize::MAX)
    }
}

/// Sends into an [`unbounded_channel`]; clone it for more senders.
pub struct UnboundedSender<T>(async_channel::Sender<T>);

impl<T> UnboundedSender<T> {
    /// Sends, without waiting.
    ///
    /// # Errors
    ///
    /// When the receiver is closed or gone; the error has the value.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.try_send(value).map_err(|error| SendError(error.into_inner()))
    }
}

/// Receives from a [`channel`]. Dropping it closes the channel, and drops what waits in
/// it.
pub struct Receiver<T>(async_channel::Receiver<T>);

/// Receives from an [`unbounded_channel`]; otherwise as [`Receiver`].
pub struct UnboundedReceiver<T>(async_channel::Receiver<T>);

/// What both kinds of senders have.
macro_rules! sender {
    ($name:ident) => {
        /// What does not depend on how much room there is.
        impl<T> $name<T> {
            /// Waits until the receiver is closed or gone.
            ///
            /// # Cancellation
            ///
            /// Nothing is lost.
            pub async fn closed(&self) {
                self.0.closed().await
            }

            /// Whether the receiver is closed or gone.
            pub fn is_closed(&self) -> bool {
                self.0.is_closed()
            }

            /// Whether both send into one channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                self.0.same_channel(&other.0)
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(stringify!($name))
            }
        }
    };
}

/// What both kinds of receivers have.
macro_rules! receiver {
    ($name:ident) => {
        /// What does not depend on how much room there is.
        impl<T> $name<T> {
            /// Waits for the next value; `None` when there are no senders any more, or it
            /// was [closed](Self::close), and nothing is left.
            ///
            /// # Cancellation
            ///
            /// Cancel safe: no value is lost.
            pub async fn recv(&mut self) -> Option<T> {
                cooperative(self.0.recv()).await.ok()
            }

            /// The next value, if there is one already.
            ///
            /// # Errors
            ///
            /// When there is none now, or there never will be.
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                self.0.try_recv().map_err(TryRecvError::from)
            }

            /// As [`recv`](Self::recv), on a thread that may block, such as one of
            /// [`spawn_blocking`](arc::task::spawn_blocking).
            ///
            /// # Panics
            ///
            /// Inside a task or `block_on`, where it would block a worker.
            #[track_caller]
            pub fn blocking_recv(&mut self) -> Option<T> {
                may_block("blocking_recv");
                self.0.recv_blocking().ok()
            }

            /// Lets nobody send any more; what was sent can still be received.
            pub fn close(&mut self) {
                self.0.close();
            }

            /// Whether nobody can send any more.
            pub fn is_closed(&self) -> bool {
                self.0.is_closed()
            }

            /// How many values wait.
            pub fn len(&self) -> usize {
                self.0.len()
            }

            /// Whether none waits.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl<T> Drop for $name<T> {
            fn drop(&mut self) {
                self.0.close();
                // Senders may live on: what nobody will receive shall not.
                while self.0.try_recv().is_ok() {}
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(stringify!($name))
            }
        }
    };
}

sender!(Sender);
sender!(UnboundedSender);
receiver!(Receiver);
receiver!(UnboundedReceiver);
