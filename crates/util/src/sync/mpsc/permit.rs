//! Places of a channel that are reserved for values to come.

use super::Sender;
use std::fmt;
use std::mem;
use std::sync::Arc;

/// A place in a channel, reserved for one value; made by [`Sender::reserve`].
///
/// The value can be sent even if the receiver was closed meanwhile: a closed receiver waits for
/// all permits that are out. Dropping the permit frees the place.
#[must_use = "a place that is not used is freed"]
pub struct Permit<'a, T>(pub(super) &'a Sender<T>);

impl<T> Permit<'_, T> {
    /// Sends a value to the place. A value that nobody can receive is dropped.
    pub fn send(self, value: T) {
        let sender = self.0;
        mem::forget(self);
        sender.0.push_reserved(value);
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.0.0.release_reserved();
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Permit")
    }
}

/// A place in a channel, like [`Permit`], that owns the sender; made by
/// [`Sender::reserve_owned`].
#[must_use = "a place that is not used is freed"]
pub struct OwnedPermit<T>(pub(super) Option<Sender<T>>);

impl<T> OwnedPermit<T> {
    fn sender(&self) -> &Sender<T> {
        self.0.as_ref().expect("a permit has its sender until it is used")
    }

    /// Sends a value to the place, and returns the sender. A value that nobody can receive is
    /// dropped.
    pub fn send(mut self, value: T) -> Sender<T> {
        let sender = self.0.take().expect("a permit has its sender until it is used");
        sender.0.push_reserved(value);
        sender
    }

    /// Frees the place, and returns the sender.
    pub fn release(mut self) -> Sender<T> {
        let sender = self.0.take().expect("a permit has its sender until it is used");
        sender.0.release_reserved();
        sender
    }

    /// Returns whether both are permits of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.same_channel_as_sender(other.sender())
    }

    /// Returns whether the sender sends into the channel of this permit.
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        Arc::ptr_eq(&self.sender().0, &sender.0)
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            sender.0.release_reserved();
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OwnedPermit")
    }
}
