//! tokio's `Mutex` and `RwLock`, within the task's budget. They are used without the feature
//! `trace`. With it, `mutex.rs` and `rwlock.rs` have them.
//!
//! A lock here has tokio's as its only field. The guards are tokio's own. The unit of the budget is
//! taken after the lock. So a task without budget gets its place in line, and may have the lock
//! until its next turn: nobody who comes later overtakes it. (As on tokio since 1.54.)
//!
//! `lock_owned` is called with an `Arc` of the type here, and tokio's guard keeps an `Arc` of
//! tokio's. So the one is made of the other, by the only `unsafe` of this crate. Without it,
//! one of three things is missing. A lock with an `Arc` in it has no `const_new`. A lock that is
//! shared at its first use, as with `trace`, has no `dyn` values. A lock that does neither has no
//! owned guards.

use arc::task::consume_budget;
use std::sync::Arc;
use tokio::TryLockError;
use tokio::sync as tokio;

/// An asynchronous lock: tokio's `Mutex`, within the task's budget.
///
/// To lock takes a unit of the budget, so that a loop over a lock that nobody else has lets other
/// tasks run. All else is tokio's, and is described there: this gives tokio's other methods, and
/// its guards are tokio's. A `&Mutex` is taken where a `&tokio::sync::Mutex` is asked for; for an
/// `Arc` of it see [`into_tokio`](Self::into_tokio).
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
#[repr(transparent)]
pub struct Mutex<T: ?Sized> {
    lock: tokio::Mutex<T>,
}

/// A lock for many readers or one writer: tokio's `RwLock`, within the task's budget.
///
/// To lock takes a unit of the budget, so that a loop over a lock that nobody else has lets other
/// tasks run. All else is tokio's, and is described there: this gives tokio's other methods, and
/// its guards are tokio's. A `&RwLock` is taken where a `&tokio::sync::RwLock` is asked for; for an
/// `Arc` of it see [`into_tokio`](Self::into_tokio).
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
/// # }
/// ```
#[repr(transparent)]
pub struct RwLock<T: ?Sized> {
    lock: tokio::RwLock<T>,
}

tokios_own! { mut Mutex lock ?Sized RwLock lock ?Sized }

/// Defines what the locks have in common, and the ways to get their guards.
macro_rules! lock {
    ($name:ident: $(
        $wait:ident -> $guard:ident;
        $wait_owned:ident $try_owned:ident -> $owned:ident;
    )*) => {
        impl<T> $name<T> {
            /// Creates an unlocked one.
            pub fn new(value: T) -> Self {
                Self { lock: tokio::$name::new(value) }
            }

            /// Creates an unlocked one, for a `static`.
            pub const fn const_new(value: T) -> Self {
                Self { lock: tokio::$name::const_new(value) }
            }

            /// Returns the value.
            pub fn into_inner(self) -> T {
                self.lock.into_inner()
            }
        }

        impl<T: ?Sized> $name<T> {
            /// Gives tokio's own type, for a crate that asks for an `Arc` of it. It is the same
            /// lock: others who have it keep theirs.
            #[expect(unsafe_code, reason = "the head of this file says what it buys")]
            pub fn into_tokio(self: Arc<Self>) -> Arc<tokio::$name<T>> {
                let lock = Arc::into_raw(self) as *const tokio::$name<T>;
                // SAFETY: `from_raw` asks for a pointer of `Arc::<U>::into_raw`, where `U` "must
                // have the same size and alignment" as the new type, and if it is unsized, so must
                // "its data pointer". The type here is `repr(transparent)` around the new one, so
                // both have the same size, alignment and fields for each `T`. For a `T` without a
                // size the pointer also has a length or a vtable: that of `T` for both types, as
                // `T` is the end of both, and the cast keeps it. The value is "only dropped once",
                // as `into_raw` gave its share to the pointer, and each share is given back once.
                // Whoever gives back the last one drops the same: the type here has neither a
                // `Drop` nor another field.
                unsafe { Arc::from_raw(lock) }
            }

            $(
                /// Waits until the caller has the lock.
                ///
                /// # Cancellation
                ///
                /// The place in line is lost.
                pub async fn $wait(&self) -> tokio::$guard<'_, T> {
                    let guard = self.lock.$wait().await;
                    consume_budget().await;
                    guard
                }

                /// Waits until the caller has the lock. The guard keeps the lock alive.
                ///
                /// # Cancellation
                ///
                /// The place in line is lost.
                pub async fn $wait_owned(self: Arc<Self>) -> tokio::$owned<T> {
                    let guard = self.into_tokio().$wait_owned().await;
                    consume_budget().await;
                    guard
                }

                /// Locks without waiting. The guard keeps the lock alive.
                ///
                /// # Errors
                ///
                /// When somebody else is in the way.
                pub fn $try_owned(self: Arc<Self>) -> Result<tokio::$owned<T>, TryLockError> {
                    self.into_tokio().$try_owned()
                }
            )*
        }

        impl<T> From<T> for $name<T> {
            fn from(value: T) -> Self {
                Self::new(value)
            }
        }

        impl<T: Default> Default for $name<T> {
            fn default() -> Self {
                Self::new(T::default())
            }
        }
    };
}

lock! {
    Mutex:
    lock -> MutexGuard;
    lock_owned try_lock_owned -> OwnedMutexGuard;
}

lock! {
    RwLock:
    read -> RwLockReadGuard;
    read_owned try_read_owned -> OwnedRwLockReadGuard;
    write -> RwLockWriteGuard;
    write_owned try_write_owned -> OwnedRwLockWriteGuard;
}

impl<T: ?Sized> Mutex<T> {
    /// Blocks the thread until it has the lock. The guard keeps the lock alive.
    ///
    /// # Panics
    ///
    /// As tokio's, inside a runtime of tokio's.
    pub fn blocking_lock_owned(self: Arc<Self>) -> tokio::OwnedMutexGuard<T> {
        self.into_tokio().blocking_lock_owned()
    }
}

impl<T> RwLock<T> {
    /// Creates an unlocked one for so many readers at a time.
    ///
    /// # Panics
    ///
    /// As tokio's, with more than 2^29 - 1 readers.
    #[track_caller]
    pub fn with_max_readers(value: T, readers: u32) -> Self {
        Self { lock: tokio::RwLock::with_max_readers(value, readers) }
    }

    /// Does the same, for a `static`.
    ///
    /// # Panics
    ///
    /// As `with_max_readers`.
    #[track_caller]
    pub const fn const_with_max_readers(value: T, readers: u32) -> Self {
        Self { lock: tokio::RwLock::const_with_max_readers(value, readers) }
    }
}
