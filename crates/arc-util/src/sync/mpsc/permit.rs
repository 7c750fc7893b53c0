//! Places of a channel that are reserved for values to come.

use super::error::{SendError, TrySendError};
use super::sender::Sender;
use super::tolds::Tolds;
use crate::sync::told::End;
use crate::sync::wait::wait;
use std::fmt;
use std::iter::FusedIterator;
use tokio::sync::mpsc as tokio;

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
        let permit = wait(&self.told.room, self.sender.reserve()).await?;
        self.end.is_used();
        Ok(Permit { told: &self.told, permit })
    }

    /// Reserves a place for one value without waiting.
    ///
    /// # Errors
    ///
    /// Same as [`try_send`](Self::try_send), without a value.
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        Ok(Permit { told: &self.told, permit: self.sender.try_reserve()? })
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
    /// As [`reserve`](Self::reserve).
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
        let permits = wait(&self.told.room, self.sender.reserve_many(count)).await?;
        Ok(PermitIterator { told: &self.told, permits })
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
        let permits = self.sender.try_reserve_many(count)?;
        Ok(PermitIterator { told: &self.told, permits })
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
    pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
        let Self { told, end, sender } = self;
        let permit = wait(&told.room, sender.reserve_owned()).await?;
        end.is_used();
        Ok(OwnedPermit { told, end, permit })
    }

    /// Does the same as [`try_reserve`](Self::try_reserve), for a permit that owns the sender.
    ///
    /// # Errors
    ///
    /// Same as `try_reserve`. The error contains the sender.
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        let Self { told, end, sender } = self;
        // tokio's error has tokio's sender. The caller gets back what it had.
        match sender.try_reserve_owned() {
            Ok(permit) => Ok(OwnedPermit { told, end, permit }),
            Err(TrySendError::Full(sender)) => Err(TrySendError::Full(Self { told, end, sender })),
            Err(TrySendError::Closed(sender)) => {
                Err(TrySendError::Closed(Self { told, end, sender }))
            }
        }
    }
}

/// A place in a channel, reserved for one value; made by [`Sender::reserve`].
///
/// The value can be sent even if the receiver was closed meanwhile: a closed receiver waits for
/// all permits that are out. Dropping the permit frees the place.
#[must_use = "a place that is not used is freed"]
pub struct Permit<'a, T> {
    told: &'a Tolds,
    permit: tokio::Permit<'a, T>,
}

impl<T> Permit<'_, T> {
    /// Sends a value to the place. A value that nobody can receive is dropped with the channel.
    pub fn send(self, value: T) {
        self.told.value.sends();
        self.permit.send(value);
    }
}

/// Several places in a channel, as an iterator of permits; made by [`Sender::reserve_many`].
///
/// Dropping the iterator frees the places of the permits that it has not returned.
#[must_use = "places that are not used are freed"]
pub struct PermitIterator<'a, T> {
    told: &'a Tolds,
    permits: tokio::PermitIterator<'a, T>,
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        Some(Permit { told: self.told, permit: self.permits.next()? })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.permits.size_hint()
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}

impl<T> FusedIterator for PermitIterator<'_, T> {}

/// A place in a channel, like [`Permit`], that owns the sender; made by
/// [`Sender::reserve_owned`].
#[must_use = "a place that is not used is freed"]
pub struct OwnedPermit<T> {
    told: Tolds,
    end: End,
    permit: tokio::OwnedPermit<T>,
}

impl<T> OwnedPermit<T> {
    /// Sends a value to the place, and returns the sender. A value that nobody can receive is
    /// dropped with the channel.
    pub fn send(self, value: T) -> Sender<T> {
        self.told.value.sends();
        self.end.is_used();
        Sender { told: self.told, end: self.end, sender: self.permit.send(value) }
    }

    /// Frees the place, and returns the sender.
    pub fn release(self) -> Sender<T> {
        Sender { told: self.told, end: self.end, sender: self.permit.release() }
    }

    /// Returns whether both are permits of one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.permit.same_channel(&other.permit)
    }

    /// Returns whether the sender sends into the channel of this permit.
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        self.permit.same_channel_as_sender(&sender.sender)
    }
}

// tokio's, which ask nothing of `T`.
impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.permit.fmt(formatter)
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.permits.fmt(formatter)
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.permit.fmt(formatter)
    }
}
