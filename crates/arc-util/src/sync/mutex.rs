//! tokio's `Mutex`, within the task's budget. With the feature `trace` it tells who waits for it,
//! who has it, and by which lines.
//!
//! The unit of the budget is taken after the lock. So a task without budget gets its place in line,
//! and may have the lock until its next turn: nobody who comes later overtakes it. (As on tokio
//! since 1.54.)

use super::guard::{Guard, borrow, map, nothing};
use super::told::{Told, What};
use arc::task::consume_budget;
use std::convert::identity;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use tokio::TryLockError;
use tokio::sync as tokio;

/// An asynchronous lock: tokio's `Mutex`, within the task's budget.
///
/// To lock takes a unit of the budget, so that a loop over a lock that nobody else has lets other
/// tasks run. All else is tokio's, and is described there. A `&Mutex` is taken where a
/// `&tokio::sync::Mutex` is asked for. For a crate that asks for an `Arc` of one, make that:
/// tokio's locks work on arc, too.
///
/// With the feature `trace` it also tells the timeline and the dump of itself.
///
/// # Panics
///
/// `blocking_lock` and `blocking_lock_owned` panic inside a runtime of tokio's. In a task of arc's
/// they do not: they block its worker for as long as they wait. Call them on a thread of
/// [`spawn_blocking`](arc::task::spawn_blocking).
///
/// # Cancellation
///
/// A future that is dropped before it has the lock loses its place in line, and nothing else.
///
/// # Examples
///
/// ```
/// use arc_util::sync::Mutex;
/// use arc_util::time::{Duration, timeout};
/// # #[arc::main]
/// # async fn main() {
/// static COUNT: Mutex<u64> = Mutex::const_new(0);
/// let endless = async {
///     loop {
///         *COUNT.lock().await += 1;
///     }
/// };
/// // It never waits, and can be ended.
/// let ended: Result<(), _> = timeout(Duration::from_millis(1), endless).await;
/// assert!(ended.is_err());
/// assert!(*COUNT.lock().await > 0);
/// # }
/// ```
///
/// The value may be one of which only a trait is known.
///
/// ```
/// use arc_util::sync::Mutex;
/// use std::fmt::Display;
/// use std::sync::Arc;
/// # #[arc::main]
/// # async fn main() {
/// let text: Arc<Mutex<dyn Display + Send>> = Arc::new(Mutex::new("a text"));
/// let guard = text.lock_owned().await;
/// assert_eq!(guard.to_string(), "a text");
/// # }
/// ```
pub struct Mutex<T: ?Sized> {
    told: Told,
    lock: tokio::Mutex<T>,
}

/// Has the lock of a [`Mutex`] until it is dropped.
pub type MutexGuard<'a, T> = Guard<tokio::MutexGuard<'a, T>, &'a Mutex<T>>;

/// Has the lock of a [`Mutex`] until it is dropped, and keeps the lock alive.
pub type OwnedMutexGuard<T> = Guard<tokio::MutexGuard<'static, T>, Arc<Mutex<T>>>;

/// A guard of a part of what a [`Mutex`] guards; made by `MutexGuard::map`.
pub type MappedMutexGuard<'a, T> = Guard<tokio::MappedMutexGuard<'a, T>>;

/// A guard of a part of what a [`Mutex`] guards; made by `OwnedMutexGuard::map`.
pub type OwnedMappedMutexGuard<T, U> = Guard<tokio::MappedMutexGuard<'static, U>, Arc<Mutex<T>>>;

impl<T> Mutex<T> {
    /// Creates an unlocked one.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { told: Told::new(What::Mutex), ..Self::const_new(value) }
    }

    /// Creates an unlocked one, for a `static`.
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        let told = Told::new(What::Mutex).in_static();
        Self { told, lock: tokio::Mutex::const_new(value) }
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.lock.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the caller has the lock.
    ///
    /// # Cancellation
    ///
    /// The place in line is lost.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        let line = Some(Location::caller());
        async move {
            let guard = self.told.telling(line, self.lock.lock()).await;
            let held = self.told.holds_since(line, false);
            let guard = Guard { held, guard, lock: self };

            // After the lock: who waits for budget has lost no place in line.
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
        let guard = self.lock.blocking_lock();
        Guard { held: self.told.holds_since(line, false), guard, lock: self }
    }

    /// Locks without waiting.
    ///
    /// # Errors
    ///
    /// When somebody else has the lock.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        let line = Some(Location::caller());
        let guard = self.lock.try_lock()?;
        Ok(Guard { held: self.told.holds_since(line, false), guard, lock: self })
    }
}

/// The ways to get a guard that keeps the lock alive.
impl<T: ?Sized + 'static> Mutex<T> {
    /// Waits until the caller has the lock. The guard keeps the lock alive.
    ///
    /// # Cancellation
    ///
    /// The place in line is lost.
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>> {
        let line = Some(Location::caller());
        async move {
            let guard = self.told.telling(line, borrow!(&self).lock.lock()).await;
            let held = self.told.holds_since(line, true);
            let guard = Guard { held, guard, lock: self };

            // After the lock: who waits for budget has lost no place in line.
            consume_budget().await;
            guard
        }
    }

    /// Blocks the thread until it has the lock. The guard keeps the lock alive.
    ///
    /// # Panics
    ///
    /// As tokio's, inside a runtime of tokio's.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        let line = Some(Location::caller());
        let guard = borrow!(&self).lock.blocking_lock();
        Guard { held: self.told.holds_since(line, true), guard, lock: self }
    }

    /// Locks without waiting. The guard keeps the lock alive.
    ///
    /// # Errors
    ///
    /// When somebody else has the lock.
    #[track_caller]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        let line = Some(Location::caller());
        let guard = borrow!(&self).lock.try_lock()?;
        Ok(Guard { held: self.told.holds_since(line, true), guard, lock: self })
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

tokios_own! { mut Mutex lock ?Sized }

map! {
    ['a, T: ?Sized] tokio::MutexGuard<'a, T>, &'a Mutex<T>, T, [mut]
    => [U: ?Sized] map, try_map, MappedMutexGuard<'a, U>, nothing
}
map! {
    [T: ?Sized + 'static] tokio::MutexGuard<'static, T>, Arc<Mutex<T>>, T, [mut]
    => [U: ?Sized + 'static] map, try_map, OwnedMappedMutexGuard<T, U>, identity
}
map! {
    ['a, T: ?Sized] tokio::MappedMutexGuard<'a, T>, (), T, [mut]
    => [U] map, try_map, MappedMutexGuard<'a, U>, identity
}
map! {
    [T: ?Sized, V: ?Sized + 'static] tokio::MappedMutexGuard<'static, V>, Arc<Mutex<T>>, V, [mut]
    => [U: 'static] map, try_map, OwnedMappedMutexGuard<T, U>, identity
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The lock that it is of.
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.lock
    }
}

impl<T: ?Sized + 'static> OwnedMutexGuard<T> {
    /// The lock that it is of.
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.lock
    }
}
