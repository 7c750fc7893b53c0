//! One value that is changed by some and watched by others, who see the last of it.
//!
//! Names and meaning are tokio's. Waiting takes part in arc's budget: whoever finds changes
//! for ever still lets others run.
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
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A channel that holds one value. The receiver has seen it.
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        value: RwLock::new(Value { value, version: 0 }),
        changed: Notify::new(),
        left: Notify::new(),
        senders: AtomicUsize::new(1),
        receivers: AtomicUsize::new(1),
    });
    let receiver = Receiver { shared: shared.clone(), seen: 0 };
    (Sender { shared }, receiver)
}

struct Shared<T> {
    value: RwLock<Value<T>>,
    /// The value changed, or the last sender left.
    changed: Notify,
    /// The last receiver left.
    left: Notify,
    /// AcqRel when one leaves, before the event is notified; Acquire when read.
    senders: AtomicUsize,
    /// As `senders`.
    receivers: AtomicUsize,
}

struct Value<T> {
    value: T,
    version: u64,
}

impl<T> Shared<T> {
    fn read(&self) -> Ref<'_, T> {
        Ref(self.value.read().unwrap_or_else(PoisonError::into_inner))
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
            let changed = self.changed.notified();
            let is_closed = self.is_closed();
            if self.read().0.version != *seen || is_closed {
                arc::task::consume_budget().await;
                // The last one: while there was no budget there may have been more.
                let before = std::mem::replace(seen, self.read().0.version);
                return if *seen != before { Ok(()) } else { Err(RecvError(())) };
            }
            changed.await;
        }
    }
}

/// A look at the value. As long as it lasts nobody can change the value: keep it short,
/// and not over an await. Another look meanwhile, on the same thread, may wait for ever: for
/// somebody who waits to change the value.
pub struct Ref<'a, T>(RwLockReadGuard<'a, Value<T>>);

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

/// Changes the value.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Changes the value and wakes the receivers.
    ///
    /// # Errors
    ///
    /// When there are no receivers; the error has the value.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.receiver_count() == 0 {
            return Err(SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Changes the value, whether there are receivers or not, and gives the one before.
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|place| std::mem::swap(place, &mut value));
        value
    }

    /// Changes the value in place.
    ///
    /// # Panics
    ///
    /// When the function does; then the value counts as not changed. The function has the
    /// value to itself: it must not use this channel, or it waits for itself for ever.
    pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Changes the value in place; the receivers are woken if the function says so.
    /// Gives what the function gives.
    ///
    /// # Panics
    ///
    /// As [`send_modify`](Self::send_modify).
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        let mut value = self.shared.write();
        if !modify(&mut value.value) {
            return false;
        }
        value.version += 1;
        drop(value);
        self.shared.changed.notify_waiters();
        true
    }

    /// A look at the value.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.shared.read()
    }

    /// Another receiver, which has seen the value as it is.
    pub fn subscribe(&self) -> Receiver<T> {
        self.shared.receivers.fetch_add(1, Ordering::Relaxed);
        let seen = self.shared.read().0.version;
        Receiver { shared: self.shared.clone(), seen }
    }

    /// How many receivers there are.
    pub fn receiver_count(&self) -> usize {
        self.shared.receivers.load(Ordering::Acquire)
    }

    /// Whether there are no receivers.
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
            let left = self.shared.left.notified();
            if !self.is_closed() {
                left.await;
            }
        }
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

/// Watches the value.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version that was seen last.
    seen: u64,
}

impl<T> Receiver<T> {
    /// A look at the value, which does not count as seen.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.shared.read()
    }

    /// A look at the value, which counts as seen.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let value = self.shared.read();
        self.seen = value.0.version;
        value
    }

    /// Whether the value has changed since it was seen.
    ///
    /// # Errors
    ///
    /// When there are no senders.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let has_changed = self.shared.read().0.version != self.seen;
        match self.shared.is_closed() {
            true => Err(RecvError(())),
            false => Ok(has_changed),
        }
    }

    /// Makes the value count as not seen.
    pub fn mark_changed(&mut self) {
        self.seen = self.shared.read().0.version.wrapping_sub(1);
    }

    /// Makes the value count as seen.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.read().0.version;
    }

    /// Waits until the value is another than was seen, which then counts as seen.
    ///
    /// # Errors
    ///
    /// When it is not, and there are no senders any more.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: a change that was not told counts as not seen.
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        self.shared.changed(&mut self.seen).await
    }

    /// Waits until the value is as the function wants it: that value, which counts as
    /// seen.
    ///
    /// # Errors
    ///
    /// When it is not, and there are no senders any more.
    ///
    /// # Panics
    ///
    /// When the function does. It looks at the value as [`borrow`](Self::borrow) does: it
    /// must not use this channel, or it may wait for itself for ever.
    ///
    /// # Cancellation
    ///
    /// Cancel safe. Values that were looked at in vain count as seen.
    pub async fn wait_for(
        &mut self,
        mut is_wanted: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvError> {
        let Self { shared, seen } = self;
        arc::task::consume_budget().await;
        loop {
            {
                let value = shared.read();
                let is_wanted = is_wanted(&value);
                *seen = value.0.version;
                if is_wanted {
                    // This look, and not another: the value may change between two.
                    return Ok(value);
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
            self.shared.left.notify_waiters();
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "watch::Receiver({:?})", self.borrow())
    }
}

/// There are no receivers; it has the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("nobody watches the value")
    }
}

impl<T: fmt::Debug> std::error::Error for SendError<T> {}

/// There are no senders, so the value will not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecvError(());

impl fmt::Display for RecvError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("nobody changes the value any more")
    }
}

impl std::error::Error for RecvError {}
