//! Places of a channel that are reserved for values to come.

use super::Sender;
use std::fmt;
use std::iter::FusedIterator;
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
        self.0.0.release_reserved(1);
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Permit")
    }
}

/// Several places in a channel, as an iterator of permits; made by [`Sender::reserve_many`].
///
/// Dropping the iterator frees the places of the permits that it has not returned.
#[must_use = "places that are not used are freed"]
pub struct PermitIterator<'a, T> {
    pub(super) sender: &'a Sender<T>,
    pub(super) count: usize,
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.count = self.count.checked_sub(1)?;
        Some(Permit(self.sender))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}

impl<T> FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.sender.0.release_reserved(self.count);
        }
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PermitIterator({} permits)", self.count)
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
        sender.0.release_reserved(1);
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
            sender.0.release_reserved(1);
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OwnedPermit")
    }
}
