//! tokio's `broadcast` channel, whose receivers tell when they wait: with the feature `trace` only.
//! Without it, tokio's own module is re-exported.
//!
//! Each type stands around tokio's, and gives all of its other methods.

use super::told::{Told, What};
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::Arc;
use tokio::sync::broadcast as tokio;

pub use ::tokio::sync::broadcast::error;

/// Sends values to all receivers.
#[derive(Debug)]
pub struct Sender<T> {
    told: Arc<Told>,
    sender: tokio::Sender<T>,
}

/// Becomes a [`Sender`], if there is one still.
#[derive(Debug)]
pub struct WeakSender<T> {
    told: Arc<Told>,
    sender: tokio::WeakSender<T>,
}

/// Gets each value that is sent since it was made.
#[derive(Debug)]
pub struct Receiver<T> {
    told: Arc<Told>,
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
    let told = Arc::new(Told::new(What::Broadcast));
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
        Self { told: Arc::new(Told::new(What::Broadcast)), sender: tokio::Sender::new(capacity) }
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

impl<T> Deref for Sender<T> {
    type Target = tokio::Sender<T>;

    fn deref(&self) -> &tokio::Sender<T> {
        &self.sender
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

impl<T> Deref for WeakSender<T> {
    type Target = tokio::WeakSender<T>;

    fn deref(&self) -> &tokio::WeakSender<T> {
        &self.sender
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
        async move { self.told.telling(line, self.receiver.recv()).await }
    }

    /// Creates a receiver of what is sent from now on.
    pub fn resubscribe(&self) -> Self {
        Self { told: self.told.clone(), receiver: self.receiver.resubscribe() }
    }
}

impl<T> Deref for Receiver<T> {
    type Target = tokio::Receiver<T>;

    fn deref(&self) -> &tokio::Receiver<T> {
        &self.receiver
    }
}

impl<T> DerefMut for Receiver<T> {
    fn deref_mut(&mut self) -> &mut tokio::Receiver<T> {
        &mut self.receiver
    }
}
