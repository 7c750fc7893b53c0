//! A channel that holds one value: senders change it, and receivers see the latest one.
//!
//! Names and meaning are tokio's. Waiting takes part in the task's budget: a task that always
//! finds a change still lets others run.
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
//! assert_eq!(task.await.unwrap(), Ok("hot"));
//! # }
//! ```

use super::Notify;
use super::told::{Told, What};
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Creates a channel that holds `value`. The receiver has seen this value.
#[track_caller]
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(value);
    let receiver = sender.subscribe();
    (sender, receiver)
}

struct Shared<T> {
    value: RwLock<Value<T>>,
    /// Notified when the value changed, or the last sender was dropped.
    changed: Notify,
    /// Notified when the last receiver was dropped.
    abandoned: Notify,
    /// Decremented with AcqRel, before `changed` is notified; read with Acquire.
    senders: AtomicUsize,
    /// Decremented with AcqRel, before `abandoned` is notified; read with Acquire.
    receivers: AtomicUsize,
}

struct Value<T> {
    value: T,
    /// Grows with each change.
    version: u64,
}

impl<T> Shared<T> {
    fn read(&self) -> RwLockReadGuard<'_, Value<T>> {
        self.value.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Value<T>> {
        self.value.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed(&self) -> bool {
        self.senders.load(Ordering::Acquire) == 0
    }

    /// See [`Receiver::changed`].
    async fn changed(&self, seen: &mut u64) -> Result<(), RecvError> {
        loop {
            // Made before the checks, so that a change after them is not missed.
            let changed = self.changed.notified();
            let is_closed = self.is_closed();

            if self.read().version != *seen || is_closed {
                arc::task::consume_budget().await;

                // Read the version again: it may have grown while the task waited for budget.
                let before = std::mem::replace(seen, self.read().version);
                if *seen == before {
                    return Err(RecvError(()));
                }
                self.changed.told.receives(1);
                return Ok(());
            }

            changed.await;
        }
    }
}

/// A borrow of the value. No sender can change the value while it lives.
///
/// Keep it short, and do not hold it across an `.await`. Do not borrow the value a second time
/// on the same thread meanwhile: the second borrow can wait for ever, behind a sender that
/// waits to change the value.
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, Value<T>>,
    has_changed: bool,
}

impl<T> Ref<'_, T> {
    /// Returns whether the value had changed since the receiver saw it last: before this borrow, or
    /// before the call of `wait_for` that gave it. A borrow from a sender has not changed.
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, mut receiver) = arc_util::sync::watch::channel("old");
    /// sender.send_replace("new");
    /// assert!(receiver.borrow_and_update().has_changed());
    /// assert!(!receiver.borrow_and_update().has_changed());
    /// ```
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

/// Changes the value. Clone it for more senders.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Creates the sender of a channel that has no receivers yet: [`subscribe`](Self::subscribe)
    /// creates them.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let shared = Shared {
            value: RwLock::new(Value { value, version: 0 }),
            changed: Notify::told(Told::new(What::Watch)),
            abandoned: Notify::told(Told::new(What::Closed)),
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Replaces the value and wakes the receivers.
    ///
    /// # Errors
    ///
    /// Fails when there are no receivers. The error contains the new value, and the old one
    /// stays.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.receiver_count() == 0 {
            return Err(SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Replaces the value, wakes the receivers, and returns the old value. It does so even if
    /// there are no receivers.
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|place| std::mem::swap(place, &mut value));
        value
    }

    /// Changes the value in place and wakes the receivers.
    ///
    /// The function has exclusive access to the value: it must not use this channel, or it
    /// deadlocks.
    ///
    /// # Panics
    ///
    /// Panics when the function does. The receivers then do not count the value as changed.
    pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Changes the value in place. Wakes the receivers if the function returns true. Returns
    /// what the function returned.
    ///
    /// The function has exclusive access to the value, as in
    /// [`send_modify`](Self::send_modify).
    ///
    /// # Panics
    ///
    /// Same as `send_modify`.
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        let mut value = self.shared.write();
        if !modify(&mut value.value) {
            return false;
        }

        value.version += 1;
        drop(value);
        self.shared.changed.told.sends();
        self.shared.changed.notify_waiters();
        true
    }

    /// Borrows the value.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref { value: self.shared.read(), has_changed: false }
    }

    /// Creates a receiver, which has seen the present value.
    pub fn subscribe(&self) -> Receiver<T> {
        self.shared.receivers.fetch_add(1, Ordering::Relaxed);
        let seen = self.shared.read().version;
        Receiver { shared: self.shared.clone(), seen }
    }

    /// Returns the number of receivers.
    pub fn receiver_count(&self) -> usize {
        self.shared.receivers.load(Ordering::Acquire)
    }

    /// Returns the number of senders, this one included.
    pub fn sender_count(&self) -> usize {
        self.shared.senders.load(Ordering::Acquire)
    }

    /// Returns whether both send into one channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::sync::watch::Sender;
    /// let sender = Sender::new(1);
    /// assert!(sender.same_channel(&sender.clone()));
    /// assert!(!sender.same_channel(&Sender::new(1)));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns whether there are no receivers.
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until there are no receivers.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn closed(&self) {
        while !self.is_closed() {
            let abandoned = self.shared.abandoned.notified();
            if !self.is_closed() {
                abandoned.await;
            }
        }
        arc::task::consume_budget().await;
    }
}

impl<T: Default> Default for Sender<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.senders.fetch_add(1, Ordering::Relaxed);
        Self { shared: self.shared.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.shared.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.changed.notify_waiters();
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "watch::Sender({:?})", self.borrow())
    }
}

/// Sees changes of the value. Clone it for more receivers.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version that this receiver has seen last.
    seen: u64,
}

impl<T> Receiver<T> {
    /// Borrows the value, and does not mark it as seen.
    pub fn borrow(&self) -> Ref<'_, T> {
        let value = self.shared.read();
        let has_changed = value.version != self.seen;
        Ref { value, has_changed }
    }

    /// Borrows the value, and marks it as seen.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let value = self.shared.read();
        let has_changed = value.version != self.seen;
        self.seen = value.version;
        Ref { value, has_changed }
    }

    /// Returns whether the value has changed since this receiver saw it last.
    ///
    /// # Errors
    ///
    /// Fails when there are no senders, even if the last value has not been seen.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let has_changed = self.shared.read().version != self.seen;
        match self.is_closed() {
            true => Err(RecvError(())),
            false => Ok(has_changed),
        }
    }

    /// Returns whether there are no senders: the value does not change any more.
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Returns whether both receive from one channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Marks the value as not seen.
    pub fn mark_changed(&mut self) {
        self.seen = self.shared.read().version.wrapping_sub(1);
    }

    /// Marks the value as seen.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.read().version;
    }

    /// Waits until the value has changed since this receiver saw it last, and marks it as seen.
    ///
    /// # Errors
    ///
    /// Fails when the value has not changed and there are no senders.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: a change that the future did not return is not marked as seen.
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        self.shared.changed(&mut self.seen).await
    }

    /// Waits until the function returns true for the value. Returns a borrow of that value, and
    /// marks it as seen.
    ///
    /// The function looks at the value under a borrow, as [`borrow`](Self::borrow) gives it: it
    /// must not use this channel, or it may deadlock.
    ///
    /// # Errors
    ///
    /// Fails when the function returned false for the last value and there are no senders.
    ///
    /// # Panics
    ///
    /// Panics when the function does.
    ///
    /// # Cancellation
    ///
    /// Cancel safe. Values for which the function returned false are marked as seen.
    pub async fn wait_for(
        &mut self,
        mut is_wanted: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvError> {
        let Self { shared, seen } = self;
        let seen_before = *seen;
        arc::task::consume_budget().await;
        loop {
            // In a block, as the borrow must not be held across the `.await`.
            {
                let value = shared.read();
                // Seen, also if the closure panics.
                *seen = value.version;
                if is_wanted(&value.value) {
                    // Return this borrow: before another one the value may change.
                    let has_changed = value.version != seen_before;
                    return Ok(Ref { value, has_changed });
                }
            }

            shared.changed(seen).await?;
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.receivers.fetch_add(1, Ordering::Relaxed);
        Self { shared: self.shared.clone(), seen: self.seen }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.shared.receivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.abandoned.notify_waiters();
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "watch::Receiver({:?})", self.borrow())
    }
}

/// The error of sending while there are no receivers. Contains the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("nobody watches the value")
    }
}

impl<T: fmt::Debug> std::error::Error for SendError<T> {}

/// The error of waiting while there are no senders: the value will not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecvError(());

impl fmt::Display for RecvError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("nobody changes the value any more")
    }
}

impl std::error::Error for RecvError {}

/// The errors of this module, at tokio's path.
pub mod error {
    pub use super::{RecvError, SendError};
}
