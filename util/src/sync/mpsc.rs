//! Channels with several senders and one receiver.
//!
//! Names and meaning are tokio's; below them are async-channel and, for who may send next,
//! a [`Semaphore`]. Sending and receiving take part in arc's budget: whoever finds values for
//! ever still lets others run.
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

use super::{Semaphore, TryAcquireError};
use crate::task::cooperative;
use crate::wake::{contain, discard};
use arc::task::with_budget;
use error::{SendError, TryRecvError, TrySendError};
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// A channel in which at most `buffer` values wait.
///
/// # Panics
///
/// When `buffer` is 0, or more than [`Semaphore::MAX_PERMITS`].
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    const MAX: usize = Semaphore::MAX_PERMITS;
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    assert!(buffer <= MAX, "a channel holds at most {MAX} values, not {buffer}");
    let (sender, receiver) = async_channel::unbounded();
    let room = Arc::new(Room { free: Semaphore::new(buffer), all: buffer });
    (Sender(sender, room.clone()), Receiver(receiver, room))
}

/// For how many values there is room: a sender takes a permit for each, which the receiver
/// gives back.
struct Room {
    free: Semaphore,
    all: usize,
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

/// Polls a future on this thread, which may block, until it is ready. Nobody but the future
/// polls here, so it has a budget of its own.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unparks(Thread);
    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match with_budget(|| future.as_mut().poll(&mut context)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Sends into a [`channel`]; clone it for more senders.
pub struct Sender<T>(async_channel::Sender<T>, Arc<Room>);

impl<T> Sender<T> {
    /// Waits for room and sends: who has waited longest is the next to have some.
    ///
    /// # Errors
    ///
    /// When the receiver is closed or gone; the error has the value.
    ///
    /// # Cancellation
    ///
    /// The value was either sent or is dropped, and the place in the line is lost.
    pub async fn send(&self, value: T) -> Result<(), SendError<T>> {
        let Ok(permit) = self.1.free.acquire().await else {
            return Err(SendError(value));
        };
        permit.forget();
        self.0.try_send(value).map_err(|error| SendError(error.into_inner()))
    }

    /// Sends if there is room that nobody waits for.
    ///
    /// # Errors
    ///
    /// When there is none, or the receiver is closed or gone; the error has the value.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match self.1.free.try_acquire() {
            Ok(permit) => permit.forget(),
            // While it is being closed it may not look so yet.
            Err(TryAcquireError::NoPermits) if !self.is_closed() => {
                return Err(TrySendError::Full(value));
            }
            Err(_) => return Err(TrySendError::Closed(value)),
        }
        self.0.try_send(value).map_err(|error| TrySendError::Closed(error.into_inner()))
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
        match self.try_send(value) {
            Err(TrySendError::Full(value)) => block_on(self.send(value)),
            sent => sent.map_err(|error| SendError(error.into_inner())),
        }
    }

    /// For how many values there is room now that nobody waits for.
    pub fn capacity(&self) -> usize {
        self.1.free.available_permits()
    }

    /// For how many values there is room when none waits.
    pub fn max_capacity(&self) -> usize {
        self.1.all
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
pub struct Receiver<T>(async_channel::Receiver<T>, Arc<Room>);

impl<T> Receiver<T> {
    fn received(&self, value: T) -> T {
        self.1.free.add_permits(1);
        value
    }

    /// Lets nobody send any more; what was sent can still be received.
    pub fn close(&mut self) {
        close(|| self.0.close());
        self.1.free.close();
    }
}

/// Receives from an [`unbounded_channel`]; otherwise as [`Receiver`].
pub struct UnboundedReceiver<T>(async_channel::Receiver<T>);

impl<T> UnboundedReceiver<T> {
    fn received(&self, value: T) -> T {
        value
    }

    /// Lets nobody send any more; what was sent can still be received.
    pub fn close(&mut self) {
        close(|| self.0.close());
    }
}

/// Closes a channel, whatever those do who are woken by it.
fn close(channel: impl FnOnce() -> bool) {
    contain(channel).map_or_else(discard, drop);
}

/// What both kinds of senders have.
macro_rules! sender {
    ($name:ident, [$($part:tt)+]) => {
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
                Self($(self.$part.clone()),+)
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
                let received = cooperative(self.0.recv()).await;
                received.ok().map(|value| self.received(value))
            }

            /// The next value, if there is one already.
            ///
            /// # Errors
            ///
            /// When there is none now, or there never will be.
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                Ok(self.received(self.0.try_recv()?))
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
                self.0.recv_blocking().ok().map(|value| self.received(value))
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
                self.close();
                // Senders may live on: what nobody will receive shall not, whatever the drop
                // of one of them does.
                while let Ok(value) = self.0.try_recv() {
                    discard(value);
                }
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(stringify!($name))
            }
        }
    };
}

sender!(Sender, [0 1]);
sender!(UnboundedSender, [0]);
receiver!(Receiver);
receiver!(UnboundedReceiver);
