//! tokio's `Mutex`, which tells who waits for it, who has it, and by which lines: with the feature
//! `trace` only. Without it, `locks.rs` has the type.
//!
//! All methods are tokio's, and are described there. One thing is missing: a `Mutex` of a type
//! without a known size, such as `Mutex<dyn Trait>`.

use super::guard::{Guard, Late, map, nothing};
use super::told::{Told, What};
use arc::task::consume_budget;
use std::convert::identity;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use tokio::TryLockError;
use tokio::sync as tokio;

/// An asynchronous lock: tokio's `Mutex`, which also tells the timeline and the dump of itself.
///
/// # Examples
///
/// ```
/// use arc_util::sync::Mutex;
/// # #[arc::main]
/// # async fn main() {
/// let count = Mutex::new(1);
/// *count.lock().await += 1;
/// assert_eq!(count.into_inner(), 2);
/// # }
/// ```
pub struct Mutex<T> {
    told: Told,
    lock: Late<tokio::Mutex<T>>,
}

/// Has the lock of a [`Mutex`] until it is dropped.
pub type MutexGuard<'a, T> = Guard<tokio::MutexGuard<'a, T>, &'a Mutex<T>>;

/// Has the lock of a [`Mutex`] until it is dropped, and keeps the lock alive.
pub type OwnedMutexGuard<T> = Guard<tokio::OwnedMutexGuard<T>, Arc<Mutex<T>>>;

/// A guard of a part of what a [`Mutex`] guards; made by `MutexGuard::map`.
pub type MappedMutexGuard<'a, T> = Guard<tokio::MappedMutexGuard<'a, T>>;

/// A guard of a part of what a [`Mutex`] guards; made by `OwnedMutexGuard::map`.
pub type OwnedMappedMutexGuard<T, U> = Guard<tokio::OwnedMappedMutexGuard<T, U>, Arc<Mutex<T>>>;

impl<T> Mutex<T> {
    /// Creates an unlocked one.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { told: Told::new(What::Mutex), lock: Late::new(tokio::Mutex::const_new(value)) }
    }

    /// Creates an unlocked one, for a `static`.
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        let told = Told::new(What::Mutex).in_static();
        Self { told, lock: Late::new(tokio::Mutex::const_new(value)) }
    }

    /// Waits until the caller has the lock.
    ///
    /// # Cancellation
    ///
    /// The place in line is lost.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        let line = Some(Location::caller());
        async move {
            let guard = self.told.telling(line, self.lock.get().lock()).await;
            let guard = Guard { held: self.told.holds_since(line, false), guard, lock: self };
            consume_budget().await;
            guard
        }
    }

    /// Waits until the caller has the lock. The guard keeps the lock alive.
    ///
    /// # Cancellation
    ///
    /// The place in line is lost.
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>> {
        let line = Some(Location::caller());
        async move {
            let guard = self.told.telling(line, self.lock.get().clone().lock_owned()).await;
            let guard = Guard { held: self.told.holds_since(line, true), guard, lock: self };
            consume_budget().await;
            guard
        }
    }

    /// Blocks the thread until it has the lock.
    ///
    /// # Panics
    ///
    /// As tokio's, inside a runtime of tokio's.
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        let line = Some(Location::caller());
        let guard = self.lock.get().blocking_lock();
        Guard { held: self.told.holds_since(line, false), guard, lock: self }
    }

    /// Blocks the thread until it has the lock. The guard keeps the lock alive.
    ///
    /// # Panics
    ///
    /// As tokio's, inside a runtime of tokio's.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        let line = Some(Location::caller());
        let guard = self.lock.get().clone().blocking_lock_owned();
        Guard { held: self.told.holds_since(line, true), guard, lock: self }
    }

    /// Locks without waiting.
    ///
    /// # Errors
    ///
    /// When somebody else has the lock.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        let line = Some(Location::caller());
        let guard = self.lock.get().try_lock()?;
        Ok(Guard { held: self.told.holds_since(line, false), guard, lock: self })
    }

    /// Locks without waiting. The guard keeps the lock alive.
    ///
    /// # Errors
    ///
    /// When somebody else has the lock.
    #[track_caller]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        let line = Some(Location::caller());
        let guard = self.lock.get().clone().try_lock_owned()?;
        Ok(Guard { held: self.told.holds_since(line, true), guard, lock: self })
    }

    /// The value, which nobody else can have now.
    ///
    /// # Panics
    ///
    /// While what [`into_tokio`](Self::into_tokio) gave is there. So does `into_inner`.
    pub fn get_mut(&mut self) -> &mut T {
        self.lock.get_mut().get_mut()
    }

    /// Returns the value.
    ///
    /// # Panics
    ///
    /// As `get_mut`.
    pub fn into_inner(self) -> T {
        self.lock.into_inner().into_inner()
    }

    /// Gives tokio's own type, for a crate that asks for an `Arc` of it. It is the same lock. Who
    /// locks it by way of that type is not told.
    pub fn into_tokio(self: Arc<Self>) -> Arc<tokio::Mutex<T>> {
        self.lock.get().clone()
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

tokios_own! { Mutex lock }

map! {
    ['a, T] tokio::MutexGuard<'a, T>, &'a Mutex<T>, T, [mut]
    => [U: ?Sized] map, try_map, MappedMutexGuard<'a, U>, nothing
}
map! {
    [T] tokio::OwnedMutexGuard<T>, Arc<Mutex<T>>, T, [mut]
    => [U: ?Sized] map, try_map, OwnedMappedMutexGuard<T, U>, identity
}
map! {
    ['a, T: ?Sized] tokio::MappedMutexGuard<'a, T>, (), T, [mut]
    => [U] map, try_map, MappedMutexGuard<'a, U>, identity
}
map! {
    [T, V: ?Sized] tokio::OwnedMappedMutexGuard<T, V>, Arc<Mutex<T>>, V, [mut]
    => [U] map, try_map, OwnedMappedMutexGuard<T, U>, identity
}

impl<'a, T> MutexGuard<'a, T> {
    /// The lock that it is of.
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.lock
    }
}

impl<T> OwnedMutexGuard<T> {
    /// The lock that it is of.
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.lock
    }
}
