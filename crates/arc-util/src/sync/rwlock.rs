//! tokio's `RwLock`, within the task's budget. With the feature `trace` it tells who waits for it,
//! who has it, and by which lines. (`mutex.rs` says when the budget is taken.)

use super::guard::{Guard, borrow, map};
use super::told::{Told, What};
use arc::task::consume_budget;
use std::convert::identity;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use tokio::TryLockError;
use tokio::sync as tokio;

/// A lock for many readers or one writer: tokio's `RwLock`, within the task's budget.
///
/// To lock takes a unit of the budget, so that a loop over a lock that nobody else has lets other
/// tasks run. All else is tokio's, and is described there. A `&RwLock` is taken where a
/// `&tokio::sync::RwLock` is asked for. For a crate that asks for an `Arc` of one, make that:
/// tokio's locks work on arc, too.
///
/// With the feature `trace` it also tells the timeline and the dump of itself.
///
/// # Panics
///
/// `blocking_read` and `blocking_write` panic inside a runtime of tokio's. In a task of arc's they
/// do not: they block its worker for as long as they wait. Call them on a thread of
/// [`spawn_blocking`](arc::task::spawn_blocking).
///
/// # Cancellation
///
/// A future that is dropped before it has the lock loses its place in line, and nothing else.
///
/// # Examples
///
/// ```
/// use arc_util::sync::RwLock;
/// use std::sync::Arc;
/// # #[arc::main]
/// # async fn main() {
/// let names: Arc<RwLock<Vec<&str>>> = Arc::default();
/// names.write().await.push("anna");
/// let (one, other) = (names.read().await, names.clone().read_owned().await);
/// assert_eq!(*one, *other);
/// assert!(names.try_write().is_err());
///
/// let text: Arc<RwLock<dyn ToString + Send + Sync>> = Arc::new(RwLock::new("a text"));
/// assert_eq!(text.read().await.to_string(), "a text");
/// # }
/// ```
pub struct RwLock<T: ?Sized> {
    told: Told,
    lock: tokio::RwLock<T>,
}

/// Reads what a [`RwLock`] guards until it is dropped.
pub type RwLockReadGuard<'a, T> = Guard<tokio::RwLockReadGuard<'a, T>>;

/// Writes what a [`RwLock`] guards until it is dropped.
pub type RwLockWriteGuard<'a, T> = Guard<tokio::RwLockWriteGuard<'a, T>>;

/// Writes a part of what a [`RwLock`] guards; made by `RwLockWriteGuard::map`.
pub type RwLockMappedWriteGuard<'a, T> = Guard<tokio::RwLockMappedWriteGuard<'a, T>>;

/// Reads what a [`RwLock`] guards until it is dropped, and keeps the lock alive.
pub type OwnedRwLockReadGuard<T, U = T> = Guard<tokio::RwLockReadGuard<'static, U>, Arc<RwLock<T>>>;

/// Writes what a [`RwLock`] guards until it is dropped, and keeps the lock alive.
pub type OwnedRwLockWriteGuard<T> = Guard<tokio::RwLockWriteGuard<'static, T>, Arc<RwLock<T>>>;

/// Writes a part of what a [`RwLock`] guards; made by `OwnedRwLockWriteGuard::map`.
pub type OwnedRwLockMappedWriteGuard<T, U = T> =
    Guard<tokio::RwLockMappedWriteGuard<'static, U>, Arc<RwLock<T>>>;

/// Defines the ways to get one kind of guard.
macro_rules! ways {
    (
        $wait:ident, $blocking:ident, $try:ident -> $guard:ident;
        $wait_owned:ident, $try_owned:ident -> $owned:ident
    ) => {
        impl<T: ?Sized> RwLock<T> {
            /// Waits until the caller has the lock.
            ///
            /// # Cancellation
            ///
            /// The place in line is lost.
            #[track_caller]
            pub fn $wait(&self) -> impl Future<Output = $guard<'_, T>> {
                let line = Some(Location::caller());
                async move {
                    let guard = self.told.telling(line, self.lock.$wait()).await;
                    let held = self.told.holds_since(line, false);
                    let guard = Guard { held, guard, lock: () };
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
                let guard = self.lock.$blocking();
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
                let guard = self.lock.$try()?;
                Ok(Guard { held: self.told.holds_since(line, false), guard, lock: () })
            }
        }

        impl<T: ?Sized + 'static> RwLock<T> {
            /// Waits until the caller has the lock. The guard keeps the lock alive.
            ///
            /// # Cancellation
            ///
            /// The place in line is lost.
            #[track_caller]
            pub fn $wait_owned(self: Arc<Self>) -> impl Future<Output = $owned<T>> {
                let line = Some(Location::caller());
                async move {
                    let future = borrow!(&self).lock.$wait();
                    let guard = self.told.telling(line, future).await;
                    let held = self.told.holds_since(line, true);
                    let guard = Guard { held, guard, lock: self };
                    consume_budget().await;
                    guard
                }
            }

            /// Locks without waiting. The guard keeps the lock alive.
            ///
            /// # Errors
            ///
            /// When somebody else is in the way.
            #[track_caller]
            pub fn $try_owned(self: Arc<Self>) -> Result<$owned<T>, TryLockError> {
                let line = Some(Location::caller());
                let guard = borrow!(&self).lock.$try()?;
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
        Self { told: Told::new(What::RwLock), ..Self::const_new(value) }
    }

    /// Creates an unlocked one, for a `static`.
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        let told = Told::new(What::RwLock).in_static();
        Self { told, lock: tokio::RwLock::const_new(value) }
    }

    /// Creates an unlocked one for so many readers at a time.
    ///
    /// # Panics
    ///
    /// As tokio's, with more than 2^29 - 1 readers.
    #[track_caller]
    pub fn with_max_readers(value: T, readers: u32) -> Self {
        let lock = tokio::RwLock::with_max_readers(value, readers);
        Self { told: Told::new(What::RwLock), lock }
    }

    /// Creates an unlocked one for so many readers at a time, for a `static`.
    #[track_caller]
    pub const fn const_with_max_readers(value: T, readers: u32) -> Self {
        let lock = tokio::RwLock::const_with_max_readers(value, readers);
        Self { told: Told::new(What::RwLock).in_static(), lock }
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.lock.into_inner()
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

tokios_own! { mut RwLock lock ?Sized }

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
    [T: ?Sized, V: ?Sized + 'static] tokio::RwLockReadGuard<'static, V>, Arc<RwLock<T>>, V, []
    => [U: ?Sized + 'static] map, try_map, OwnedRwLockReadGuard<T, U>, identity
}
map! {
    [T: ?Sized + 'static] tokio::RwLockWriteGuard<'static, T>, Arc<RwLock<T>>, T, [mut]
    => [U: ?Sized + 'static] map, try_map, OwnedRwLockMappedWriteGuard<T, U>, identity
}
map! {
    [T: ?Sized + 'static] tokio::RwLockWriteGuard<'static, T>, Arc<RwLock<T>>, T, []
    => [U: ?Sized + 'static] downgrade_map, try_downgrade_map, OwnedRwLockReadGuard<T, U>, identity
}
map! {
    [T: ?Sized, V: ?Sized + 'static]
    tokio::RwLockMappedWriteGuard<'static, V>, Arc<RwLock<T>>, V, [mut]
    => [U: ?Sized + 'static] map, try_map, OwnedRwLockMappedWriteGuard<T, U>, identity
}

/// What a guard that keeps its lock alive is of.
impl<G, T: ?Sized> Guard<G, Arc<RwLock<T>>> {
    /// The lock that it is of.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.lock
    }
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
    ['a, T: ?Sized] RwLockWriteGuard, RwLockWriteGuard<'a, T>
    => RwLockReadGuard<'a, T>, RwLockMappedWriteGuard<'a, T>
}
becomes! {
    [T: ?Sized + 'static] RwLockWriteGuard, OwnedRwLockWriteGuard<T>
    => OwnedRwLockReadGuard<T>, OwnedRwLockMappedWriteGuard<T>
}
