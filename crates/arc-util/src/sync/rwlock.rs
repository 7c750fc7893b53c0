//! tokio's `RwLock`, which tells who waits for it, who has it, and by which lines: with the feature
//! `trace` only. Without it, `locks.rs` has the type.
//!
//! All methods are tokio's, and are described there. Two things are missing: a `RwLock` of a type
//! without a known size, and `rwlock` of the owned guards.

use super::guard::{Guard, Late, map};
use super::told::{Told, What};
use arc::task::consume_budget;
use std::convert::identity;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use tokio::TryLockError;
use tokio::sync as tokio;

/// A lock for many readers or one writer: tokio's `RwLock`, which also tells the timeline and the
/// dump of itself.
///
/// # Examples
///
/// ```
/// use arc_util::sync::RwLock;
/// # #[arc::main]
/// # async fn main() {
/// let count = RwLock::new(1);
/// *count.write().await += 1;
/// assert_eq!(*count.read().await, 2);
/// # }
/// ```
pub struct RwLock<T> {
    told: Told,
    lock: Late<tokio::RwLock<T>>,
}

/// Reads what a [`RwLock`] guards until it is dropped.
pub type RwLockReadGuard<'a, T> = Guard<tokio::RwLockReadGuard<'a, T>>;

/// Writes what a [`RwLock`] guards until it is dropped.
pub type RwLockWriteGuard<'a, T> = Guard<tokio::RwLockWriteGuard<'a, T>>;

/// Writes a part of what a [`RwLock`] guards; made by `RwLockWriteGuard::map`.
pub type RwLockMappedWriteGuard<'a, T> = Guard<tokio::RwLockMappedWriteGuard<'a, T>>;

/// Reads what a [`RwLock`] guards until it is dropped, and keeps the lock alive.
pub type OwnedRwLockReadGuard<T, U = T> = Guard<tokio::OwnedRwLockReadGuard<T, U>, Arc<RwLock<T>>>;

/// Writes what a [`RwLock`] guards until it is dropped, and keeps the lock alive.
pub type OwnedRwLockWriteGuard<T> = Guard<tokio::OwnedRwLockWriteGuard<T>, Arc<RwLock<T>>>;

/// Writes a part of what a [`RwLock`] guards; made by `OwnedRwLockWriteGuard::map`.
pub type OwnedRwLockMappedWriteGuard<T, U = T> =
    Guard<tokio::OwnedRwLockMappedWriteGuard<T, U>, Arc<RwLock<T>>>;

/// Defines the ways to get one kind of guard.
macro_rules! ways {
    (
        $wait:ident, $blocking:ident, $try:ident -> $guard:ident;
        $wait_owned:ident, $try_owned:ident -> $owned:ident
    ) => {
        impl<T> RwLock<T> {
            /// Waits until the caller has the lock.
            ///
            /// # Cancellation
            ///
            /// The place in line is lost.
            #[track_caller]
            pub fn $wait(&self) -> impl Future<Output = $guard<'_, T>> {
                let line = Some(Location::caller());
                async move {
                    let guard = self.told.telling(line, self.lock.get().$wait()).await;
                    let guard = Guard { held: self.told.holds_since(line, false), guard, lock: () };
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
            pub fn $wait_owned(self: Arc<Self>) -> impl Future<Output = $owned<T>> {
                let line = Some(Location::caller());
                async move {
                    let future = self.lock.get().clone().$wait_owned();
                    let guard = self.told.telling(line, future).await;
                    let guard =
                        Guard { held: self.told.holds_since(line, true), guard, lock: self };
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
            pub fn $blocking(&self) -> $guard<'_, T> {
                let line = Some(Location::caller());
                let guard = self.lock.get().$blocking();
                Guard { held: self.told.holds_since(line, false), guard, lock: () }
            }

            /// Locks without waiting.
            ///
            /// # Errors
            ///
            /// When somebody else is in the way.
            #[track_caller]
            pub fn $try(&self) -> Result<$guard<'_, T>, TryLockError> {
                let line = Some(Location::caller());
                let guard = self.lock.get().$try()?;
                Ok(Guard { held: self.told.holds_since(line, false), guard, lock: () })
            }

            /// Locks without waiting. The guard keeps the lock alive.
            ///
            /// # Errors
            ///
            /// When somebody else is in the way.
            #[track_caller]
            pub fn $try_owned(self: Arc<Self>) -> Result<$owned<T>, TryLockError> {
                let line = Some(Location::caller());
                let guard = self.lock.get().clone().$try_owned()?;
                Ok(Guard { held: self.told.holds_since(line, true), guard, lock: self })
            }
        }
    };
}

ways! {
    read, blocking_read, try_read -> RwLockReadGuard;
    read_owned, try_read_owned -> OwnedRwLockReadGuard
}
ways! {
    write, blocking_write, try_write -> RwLockWriteGuard;
    write_owned, try_write_owned -> OwnedRwLockWriteGuard
}

impl<T> RwLock<T> {
    /// Creates an unlocked one.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self { told: Told::new(What::RwLock), lock: Late::new(tokio::RwLock::const_new(value)) }
    }

    /// Creates an unlocked one, for a `static`.
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        let told = Told::new(What::RwLock).in_static();
        Self { told, lock: Late::new(tokio::RwLock::const_new(value)) }
    }

    /// Creates an unlocked one for so many readers at a time.
    ///
    /// # Panics
    ///
    /// As tokio's, with more than 2^29 - 1 readers.
    #[track_caller]
    pub fn with_max_readers(value: T, readers: u32) -> Self {
        let lock = tokio::RwLock::with_max_readers(value, readers);
        Self { told: Told::new(What::RwLock), lock: Late::new(lock) }
    }

    /// Creates an unlocked one for so many readers at a time, for a `static`.
    #[track_caller]
    pub const fn const_with_max_readers(value: T, readers: u32) -> Self {
        let lock = tokio::RwLock::const_with_max_readers(value, readers);
        Self { told: Told::new(What::RwLock).in_static(), lock: Late::new(lock) }
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
    pub fn into_tokio(self: Arc<Self>) -> Arc<tokio::RwLock<T>> {
        self.lock.get().clone()
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

tokios_own! { RwLock lock }

map! {
    ['a, T: ?Sized] tokio::RwLockReadGuard<'a, T>, (), T, []
    => [U: ?Sized] map, try_map, RwLockReadGuard<'a, U>, identity
}
map! {
    ['a, T: ?Sized] tokio::RwLockWriteGuard<'a, T>, (), T, [mut]
    => [U: ?Sized] map, try_map, RwLockMappedWriteGuard<'a, U>, identity
}
map! {
    ['a, T: ?Sized] tokio::RwLockWriteGuard<'a, T>, (), T, []
    => [U: ?Sized] downgrade_map, try_downgrade_map, RwLockReadGuard<'a, U>, identity
}
map! {
    ['a, T: ?Sized] tokio::RwLockMappedWriteGuard<'a, T>, (), T, [mut]
    => [U: ?Sized] map, try_map, RwLockMappedWriteGuard<'a, U>, identity
}
map! {
    [T, V: ?Sized] tokio::OwnedRwLockReadGuard<T, V>, Arc<RwLock<T>>, V, []
    => [U: ?Sized] map, try_map, OwnedRwLockReadGuard<T, U>, identity
}
map! {
    [T] tokio::OwnedRwLockWriteGuard<T>, Arc<RwLock<T>>, T, [mut]
    => [U: ?Sized] map, try_map, OwnedRwLockMappedWriteGuard<T, U>, identity
}
map! {
    [T] tokio::OwnedRwLockWriteGuard<T>, Arc<RwLock<T>>, T, []
    => [U: ?Sized] downgrade_map, try_downgrade_map, OwnedRwLockReadGuard<T, U>, identity
}
map! {
    [T, V: ?Sized] tokio::OwnedRwLockMappedWriteGuard<T, V>, Arc<RwLock<T>>, V, [mut]
    => [U: ?Sized] map, try_map, OwnedRwLockMappedWriteGuard<T, U>, identity
}

/// Defines what a guard that writes can become.
macro_rules! becomes {
    ([$($params:tt)*] $guard:ident, $from:ty => $read:ty, $mapped:ty) => {
        impl<$($params)*> $from {
            /// Goes on as a reader, without letting a writer in between.
            pub fn downgrade(self) -> $read {
                Guard { held: self.held, guard: self.guard.downgrade(), lock: self.lock }
            }

            /// The same guard, as one of a part that is the whole.
            pub fn into_mapped(this: Self) -> $mapped {
                let Self { held, guard, lock } = this;
                Guard { held, guard: tokio::$guard::into_mapped(guard), lock }
            }
        }
    };
}

becomes! {
    ['a, T] RwLockWriteGuard, RwLockWriteGuard<'a, T>
    => RwLockReadGuard<'a, T>, RwLockMappedWriteGuard<'a, T>
}
becomes! {
    [T] OwnedRwLockWriteGuard, OwnedRwLockWriteGuard<T>
    => OwnedRwLockReadGuard<T>, OwnedRwLockMappedWriteGuard<T>
}
