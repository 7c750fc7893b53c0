//! Places of a channel that are reserved for values to come.

use super::error::{SendError, TrySendError};
use super::sender::Sender;
use crate::sync::semaphore::Acquire;
use std::fmt;
use std::iter::FusedIterator;
use std::mem;
use std::sync::Arc;

impl<T> Sender<T> {
    /// Waits for room, and reserves a place for one value. Dropping the permit frees the place.
    ///
    /// # Errors
    ///
    /// Fails when the receiver is closed or dropped.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no place is lost. A future that is dropped loses its place in line.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::sync::mpsc;
    /// # #[arc::main]
    /// # async fn main() {
    /// let (sender, mut receiver) = mpsc::channel(1);
    /// let permit = sender.reserve().await.unwrap();
    /// assert!(sender.try_send("no room").is_err());
    /// permit.send("value");
    /// assert_eq!(receiver.recv().await, Some("value"));
    /// # }
    /// ```
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        match Acquire::new(&self.0.places, 1).await {
            Ok(()) if self.0.reserve(1) => Ok(Permit(self)),
            _ => Err(SendError(())),
        }
    }

    /// Reserves a place for one value without waiting.
    ///
    /// # Errors
    ///
    /// Same as [`try_send`](Self::try_send), without a value.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::sync::mpsc::{self, error::TrySendError};
    /// let (sender, mut receiver) = mpsc::channel(1);
    /// let permit = sender.try_reserve().unwrap();
    /// assert_eq!(sender.try_reserve().err(), Some(TrySendError::Full(())));
    /// permit.send("value");
    /// assert_eq!(receiver.try_recv(), Ok("value"));
    /// ```
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        self.try_take_places(1)?;
        if self.0.reserve(1) { Ok(Permit(self)) } else { Err(TrySendError::Closed(())) }
    }

    /// Waits for room, and reserves places for `count` values at once. Dropping the iterator frees
    /// the places that are left.
    ///
    /// # Errors
    ///
    /// Fails when the receiver is closed or dropped, and when the channel has fewer places than
    /// that.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no place is lost. A future that is dropped loses its place in line.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::sync::mpsc;
    /// # #[arc::main]
    /// # async fn main() {
    /// let (sender, mut receiver) = mpsc::channel(3);
    /// for (number, permit) in sender.reserve_many(2).await.unwrap().enumerate() {
    ///     permit.send(number);
    /// }
    /// assert_eq!((receiver.recv().await, receiver.recv().await), (Some(0), Some(1)));
    /// # }
    /// ```
    pub async fn reserve_many(&self, count: usize) -> Result<PermitIterator<'_, T>, SendError<()>> {
        if count > self.0.max_capacity {
            return Err(SendError(()));
        }
        match Acquire::new(&self.0.places, count).await {
            Ok(()) if self.0.reserve(count) => Ok(PermitIterator { sender: self, count }),
            _ => Err(SendError(())),
        }
    }

    /// Reserves places for `count` values without waiting.
    ///
    /// # Errors
    ///
    /// Fails when there is no room for all of them, also because the channel has fewer places, when
    /// other senders wait for room, and when the receiver is closed or dropped.
    pub fn try_reserve_many(
        &self,
        count: usize,
    ) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        if count > self.0.max_capacity {
            return Err(TrySendError::Full(()));
        }
        self.try_take_places(count)?;
        if self.0.reserve(count) {
            Ok(PermitIterator { sender: self, count })
        } else {
            Err(TrySendError::Closed(()))
        }
    }

    /// Does the same as [`reserve`](Self::reserve), for a permit that owns the sender.
    ///
    /// # Errors
    ///
    /// Same as `reserve`. The sender is dropped.
    ///
    /// # Cancellation
    ///
    /// Same as `reserve`. The sender is dropped with the future: clone it to keep one.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::sync::mpsc;
    /// # #[arc::main]
    /// # async fn main() {
    /// let (sender, mut receiver) = mpsc::channel(2);
    /// let permit = sender.reserve_owned().await.unwrap();
    /// let sender = permit.send("first");
    /// sender.send("second").await.unwrap();
    /// assert_eq!(receiver.recv().await, Some("first"));
    /// assert_eq!(receiver.recv().await, Some("second"));
    /// # }
    /// ```
    pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
        mem::forget(self.reserve().await?);
        Ok(OwnedPermit(Some(self)))
    }

    /// Does the same as [`try_reserve`](Self::try_reserve), for a permit that owns the sender.
    ///
    /// # Errors
    ///
    /// Same as `try_reserve`. The error contains the sender.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::sync::mpsc::{self, error::TrySendError};
    /// let (sender, _receiver) = mpsc::channel::<u8>(1);
    /// let permit = sender.clone().try_reserve_owned().unwrap();
    /// let error = sender.try_reserve_owned().unwrap_err();
    /// assert!(matches!(error, TrySendError::Full(sender) if sender.capacity() == 0));
    /// # drop(permit);
    /// ```
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.try_reserve().map(mem::forget) {
            Ok(()) => Ok(OwnedPermit(Some(self))),
            Err(error) => Err(error.map(|()| self)),
        }
    }
}

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
