//! tokio's channel to many receivers, of which each gets every value.
//!
//! To receive takes a unit of the task's budget, so a loop over a receiver that always has a value
//! lets other tasks run. With the feature `trace`, a receiver tells when it waits. All else is
//! tokio's, and is described there: each type stands around tokio's, and gives its other methods.
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
use super::told::{Shared, Told, What};
use arc::task::consume_budget;
use std::future::Future;
use std::panic::Location;
use tokio::sync::broadcast as tokio;

pub use ::tokio::sync::broadcast::error;

/// Sends values to all receivers.
pub struct Sender<T> {
    told: Shared,
    sender: tokio::Sender<T>,
}

/// Becomes a [`Sender`], if there is one still.
pub struct WeakSender<T> {
    told: Shared,
    sender: tokio::WeakSender<T>,
}

/// Gets each value that is sent since it was made.
pub struct Receiver<T> {
    told: Shared,
    receiver: tokio::Receiver<T>,
}

/// Creates a channel that keeps so many values for receivers that are slow.
///
/// # Panics
///
/// As tokio's, when that is 0 or more than half of `usize::MAX`.
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = tokio::channel(capacity);
    let told = Told::shared(What::Broadcast, capacity);
    (Sender { told: told.clone(), sender }, Receiver { told, receiver })
}

impl<T> Sender<T> {
    /// Creates the sender of a channel that has no receivers yet.
    ///
    /// # Panics
    ///
    /// As [`channel`].
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        let told = Told::shared(What::Broadcast, capacity);
        Self { told, sender: tokio::Sender::new(capacity) }
    }

    /// Sends a value, and returns how many receivers there are.
    ///
    /// # Errors
    ///
    /// When there is none. The error has the value.
    pub fn send(&self, value: T) -> Result<usize, error::SendError<T>> {
        self.told.provides();
        self.sender.send(value)
    }

    /// Creates a receiver of what is sent from now on.
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver { told: self.told.clone(), receiver: self.sender.subscribe() }
    }

    /// Creates one that does not keep the channel open.
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender { told: self.told.clone(), sender: self.sender.downgrade() }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { told: self.told.clone(), sender: self.sender.clone() }
    }
}

impl<T> WeakSender<T> {
    /// The sender, if the channel has one still.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        Some(Sender { told: self.told.clone(), sender: self.sender.upgrade()? })
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self { told: self.told.clone(), sender: self.sender.clone() }
    }
}

impl<T: Clone> Receiver<T> {
    /// Waits for the next value.
    ///
    /// # Errors
    ///
    /// When there is no sender, and when values were lost because the receiver is too slow.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no value is lost.
    #[track_caller]
    pub fn recv(&mut self) -> impl Future<Output = Result<T, error::RecvError>> {
        let line = Some(Location::caller());
        async move {
            // Before the value: who is dropped while it waits for budget loses none.
            consume_budget().await;
            let received = self.told.telling(line, self.receiver.recv()).await;

            if let Err(error::RecvError::Lagged(count)) = &received {
                self.told.lags(*count);
            }
            received
        }
    }

    /// Waits for the next value, and blocks the thread until then.
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
        self.receiver.blocking_recv()
    }

    /// tokio's own receiver, for a crate that asks for that.
    pub fn into_tokio(self) -> tokio::Receiver<T> {
        self.receiver
    }

    /// Creates a receiver of what is sent from now on.
    pub fn resubscribe(&self) -> Self {
        Self { told: self.told.clone(), receiver: self.receiver.resubscribe() }
    }
}

tokios_own! { Sender sender WeakSender sender }
tokios_own! { mut Receiver receiver }
