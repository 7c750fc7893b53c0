//! tokio's channel to many receivers, of which each gets every value.
//!
//! To receive takes a unit of the task's budget, so a loop over a receiver that always has a value
//! lets other tasks run. All else is tokio's, and is described there. Each type has tokio's own in
//! its field, for a crate that asks for that.
//!
//! # Examples
//!
//! ```
//! use arc_util::sync::broadcast;
//! # #[arc::main]
//! # async fn main() {
//! let (sender, mut first) = broadcast::channel(8);
//! let mut second = sender.subscribe();
//! sender.send(1).unwrap();
//! assert_eq!((first.recv().await, second.recv().await), (Ok(1), Ok(1)));
//! # }
//! ```

use super::blocking::may_block;
use arc::task::consume_budget;
use std::fmt;
use std::ops::{Deref, DerefMut};
use tokio::sync::broadcast as tokio;

pub use tokio::error;

/// Sends values to all receivers.
pub struct Sender<T>(pub tokio::Sender<T>);

/// Receives what is sent after it was made.
pub struct Receiver<T>(pub tokio::Receiver<T>);

/// A sender that does not keep the channel open.
pub struct WeakSender<T>(pub tokio::WeakSender<T>);

/// Makes a channel that keeps the last `capacity` values, rounded up to a power of two.
///
/// # Panics
///
/// When the capacity is 0, or more than half of `usize::MAX`.
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = tokio::channel(capacity);
    (Sender(sender), Receiver(receiver))
}

impl<T> Sender<T> {
    /// Makes a channel without a receiver.
    ///
    /// # Panics
    ///
    /// As [`channel`].
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Self(tokio::Sender::new(capacity))
    }

    /// Returns a receiver of all that is sent from now on.
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver(self.0.subscribe())
    }

    /// Returns a sender that does not keep the channel open.
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender(self.0.downgrade())
    }
}

impl<T> WeakSender<T> {
    /// Returns a sender, if there is still one.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.0.upgrade().map(Sender)
    }
}

impl<T: Clone> Receiver<T> {
    /// Returns another receiver, of all that is sent from now on.
    pub fn resubscribe(&self) -> Self {
        Self(self.0.resubscribe())
    }

    /// Receives the next value.
    ///
    /// # Errors
    ///
    /// When all senders are gone, and when values were lost because this receiver was slow.
    ///
    /// # Cancellation
    ///
    /// No value is lost.
    pub async fn recv(&mut self) -> Result<T, error::RecvError> {
        consume_budget().await;
        self.0.recv().await
    }

    /// Receives the next value, and blocks the thread until there is one.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Panics
    ///
    /// In a task, or in `block_on`: it would block a worker.
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, error::RecvError> {
        may_block("blocking_recv");
        self.0.blocking_recv()
    }
}

/// The other methods are those of tokio's own type. (Derived traits would ask for those of `T`.)
macro_rules! tokios_own {
    ($($name:ident)*) => {$(
        impl<T> Deref for $name<T> {
            type Target = tokio::$name<T>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    )*};
}

tokios_own! { Sender Receiver WeakSender }

impl<T> DerefMut for Receiver<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
