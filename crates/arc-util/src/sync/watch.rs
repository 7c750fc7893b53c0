//! tokio's channel that holds one value: senders change it, and receivers see the latest one.
//!
//! To wait takes a unit of the task's budget, so a task that always finds a change lets others run.
//! With the feature `trace`, both ends tell when they wait. All else is tokio's, and is described
//! there: each type stands around tokio's, and gives its other methods.
//!
//! # Examples
//!
//! ```
//! use arc_util::sync::watch;
//! # #[arc::main]
//! # async fn main() {
//! let (sender, mut receiver) = watch::channel("cold");
//! let task = arc::spawn(async move {
//!     receiver.wait_for(|state| *state == "hot").await.map(|state| *state)
//! });
//! sender.send("warm").unwrap();
//! sender.send("hot").unwrap();
//! assert_eq!(task.await.unwrap().unwrap(), "hot");
//! # }
//! ```

use super::told::{Shared, Told, What};
use super::wait::wait;
use std::mem::swap;
use tokio::sync::watch as tokio;

pub use ::tokio::sync::watch::{Ref, error};

/// Creates a channel that holds `value`. The receiver has seen this value.
#[track_caller]
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(value);
    let receiver = sender.subscribe();
    (sender, receiver)
}

/// Changes the value. Clone it for more senders.
pub struct Sender<T> {
    changed: Shared,
    closed: Shared,
    sender: tokio::Sender<T>,
}

impl<T> Sender<T> {
    /// Creates the sender of a channel that has no receivers yet: [`subscribe`](Self::subscribe)
    /// creates them.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let changed = Told::shared(What::Watch, 0);
        let closed = Told::shared(What::Closed, 0);
        Self { changed, closed, sender: tokio::Sender::new(value) }
    }

    /// Replaces the value and wakes the receivers.
    ///
    /// # Errors
    ///
    /// Fails when there are no receivers. The error contains the new value, and the old one
    /// stays.
    pub fn send(&self, value: T) -> Result<(), error::SendError<T>> {
        if self.is_closed() {
            return Err(error::SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Replaces the value, wakes the receivers, and returns the old value. It does so even if
    /// there are no receivers.
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|place| swap(place, &mut value));
        value
    }

    /// Changes the value in place and wakes the receivers.
    ///
    /// # Panics
    ///
    /// Panics when the function does. The receivers then do not count the value as changed. If the
    /// function uses this channel, it deadlocks.
    pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Changes the value in place. Wakes the receivers if the function returns true. Returns
    /// what the function returned.
    ///
    /// # Panics
    ///
    /// Same as [`send_modify`](Self::send_modify).
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        self.sender.send_if_modified(|value| {
            let is_modified = modify(value);
            if is_modified {
                self.changed.sends();
            }
            is_modified
        })
    }

    /// Creates a receiver, which has seen the present value.
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver { changed: self.changed.clone(), receiver: self.sender.subscribe() }
    }

    /// Waits until there are no receivers.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn closed(&self) {
        wait(&self.closed, self.sender.closed()).await
    }
}

impl<T: Default> Default for Sender<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        let (changed, closed) = (self.changed.clone(), self.closed.clone());
        Self { changed, closed, sender: self.sender.clone() }
    }
}

/// Sees changes of the value. Clone it for more receivers.
pub struct Receiver<T> {
    changed: Shared,
    receiver: tokio::Receiver<T>,
}

impl<T> Receiver<T> {
    /// Waits until the value has changed since this receiver saw it last, and marks it as seen.
    ///
    /// # Errors
    ///
    /// Fails when the value has not changed and there are no senders.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: a change that the future did not return is not marked as seen.
    pub async fn changed(&mut self) -> Result<(), error::RecvError> {
        wait(&self.changed, self.receiver.changed()).await?;
        self.changed.receives(1);
        Ok(())
    }

    /// Waits until the function returns true for the value. Returns a borrow of that value, and
    /// marks it as seen.
    ///
    /// # Errors
    ///
    /// Fails when the function returned false for the last value and there are no senders.
    ///
    /// # Panics
    ///
    /// Panics when the function does. If the function uses this channel, it may deadlock.
    ///
    /// # Cancellation
    ///
    /// Cancel safe. Values for which the function returned false are marked as seen.
    pub async fn wait_for(
        &mut self,
        is_wanted: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, error::RecvError> {
        wait(&self.changed, self.receiver.wait_for(is_wanted)).await
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self { changed: self.changed.clone(), receiver: self.receiver.clone() }
    }
}

tokios_own! { Sender sender }
tokios_own! { mut Receiver receiver }
