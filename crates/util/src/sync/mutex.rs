//! tokio's `Mutex`, which tells who waits for it, who has it, and by which lines: with the feature
//! `trace` only. Without it, tokio's own type is re-exported.
//!
//! All methods are tokio's, and are described there. One thing is missing: a `Mutex` of a type
//! without a known size, such as `Mutex<dyn Trait>`.

use super::told::{Held, Told, What};
use std::fmt;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{Arc, OnceLock, PoisonError};
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
    /// The value until the lock is made. It is made late, as a `static` can be no `Arc`.
    first: std::sync::Mutex<Option<T>>,
    /// Shared with the owned guards, whose lives no reference may limit.
    lock: OnceLock<Arc<tokio::Mutex<T>>>,
}

impl<T> Mutex<T> {
    /// Creates an unlocked one.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::const_new(value)
    }

    /// Creates an unlocked one, for a `static`.
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        let first = std::sync::Mutex::new(Some(value));
        Self { told: Told::new(What::Mutex), first, lock: OnceLock::new() }
    }

    fn inner(&self) -> &Arc<tokio::Mutex<T>> {
        self.lock.get_or_init(|| {
            let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
            Arc::new(tokio::Mutex::new(first.expect("it is there until the lock is made")))
        })
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
            let guard = self.told.telling(line, self.inner().lock()).await;
            MutexGuard { held: self.told.holds_since(line), guard, lock: self }
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
            let guard = self.told.telling(line, self.inner().clone().lock_owned()).await;
            OwnedMutexGuard { held: self.told.holds_since(line), guard, lock: self }
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
        let guard = self.inner().blocking_lock();
        MutexGuard { held: self.told.holds_since(line), guard, lock: self }
    }

    /// Blocks the thread until it has the lock. The guard keeps the lock alive.
    ///
    /// # Panics
    ///
    /// As tokio's, inside a runtime of tokio's.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        let line = Some(Location::caller());
        let guard = self.inner().clone().blocking_lock_owned();
        OwnedMutexGuard { held: self.told.holds_since(line), guard, lock: self }
    }

    /// Locks without waiting.
    ///
    /// # Errors
    ///
    /// When somebody else has the lock.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        let line = Some(Location::caller());
        let guard = self.inner().try_lock()?;
        Ok(MutexGuard { held: self.told.holds_since(line), guard, lock: self })
    }

    /// Locks without waiting. The guard keeps the lock alive.
    ///
    /// # Errors
    ///
    /// When somebody else has the lock.
    #[track_caller]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        let line = Some(Location::caller());
        let guard = self.inner().clone().try_lock_owned()?;
        Ok(OwnedMutexGuard { held: self.told.holds_since(line), guard, lock: self })
    }

    /// The value, which nobody else can have now.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner();
        let lock = self.lock.get_mut().and_then(Arc::get_mut);
        lock.expect("an owned guard keeps the whole lock alive").get_mut()
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.inner();
        let lock = self.lock.into_inner().and_then(Arc::into_inner);
        lock.expect("an owned guard keeps the whole lock alive").into_inner()
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

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner().fmt(formatter)
    }
}

/// Defines a guard: a tokio's one, and that somebody has it.
macro_rules! guard {
    (
        $(#[$doc:meta])* $name:ident [$($params:tt)*] [$($args:tt)*]
        $guard:ty, $target:ty, $lock:ty
    ) => {
        $(#[$doc])*
        #[must_use = "the lock is given back when the guard is dropped"]
        pub struct $name<$($params)*> {
            held: Held,
            guard: $guard,
            lock: $lock,
        }

        impl<$($params)*> Deref for $name<$($args)*> {
            type Target = $target;

            fn deref(&self) -> &Self::Target {
                &self.guard
            }
        }

        impl<$($params)*> DerefMut for $name<$($args)*> {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.guard
            }
        }

        impl<$($params)*> fmt::Debug for $name<$($args)*>
        where
            $target: fmt::Debug,
        {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&**self, formatter)
            }
        }

        impl<$($params)*> fmt::Display for $name<$($args)*>
        where
            $target: fmt::Display,
        {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&**self, formatter)
            }
        }
    };
}

/// Defines `map` and `try_map` of a guard.
macro_rules! map {
    (
        [$($params:tt)*] $name:ty, $guard:ident, $target:ty
        => [$($part:tt)*] $mapped:ident [$($args:tt)*]
    ) => {
        impl<$($params)*> $name {
            /// Makes a guard of a part of the value.
            pub fn map<$($part)*, F>(this: Self, part: F) -> $mapped<$($args)* U>
            where
                F: FnOnce(&mut $target) -> &mut U,
            {
                let guard = tokio::$guard::map(this.guard, part);
                $mapped { held: this.held, guard, lock: () }
            }

            /// Makes a guard of a part of the value, if it has that part.
            ///
            /// # Errors
            ///
            /// The guard itself, when it has not.
            pub fn try_map<$($part)*, F>(
                this: Self,
                part: F,
            ) -> Result<$mapped<$($args)* U>, Self>
            where
                F: FnOnce(&mut $target) -> Option<&mut U>,
            {
                let Self { held, guard, lock } = this;
                match tokio::$guard::try_map(guard, part) {
                    Ok(guard) => Ok($mapped { held, guard, lock: () }),
                    Err(guard) => Err(Self { held, guard, lock }),
                }
            }
        }
    };
}

guard! {
    /// Has the lock of a [`Mutex`] until it is dropped.
    MutexGuard['a, T]['a, T] tokio::MutexGuard<'a, T>, T, &'a Mutex<T>
}

guard! {
    /// Has the lock of a [`Mutex`] until it is dropped, and keeps the lock alive.
    OwnedMutexGuard[T][T] tokio::OwnedMutexGuard<T>, T, Arc<Mutex<T>>
}

guard! {
    /// A guard of a part of what a [`Mutex`] guards; made by [`MutexGuard::map`].
    MappedMutexGuard['a, T: ?Sized]['a, T] tokio::MappedMutexGuard<'a, T>, T, ()
}

guard! {
    /// A guard of a part of what a [`Mutex`] guards; made by [`OwnedMutexGuard::map`].
    OwnedMappedMutexGuard[T, U: ?Sized][T, U] tokio::OwnedMappedMutexGuard<T, U>, U, ()
}

map! {
    ['a, T] MutexGuard<'a, T>, MutexGuard, T
    => [U: ?Sized] MappedMutexGuard['a,]
}
map! {
    [T] OwnedMutexGuard<T>, OwnedMutexGuard, T
    => [U: ?Sized] OwnedMappedMutexGuard[T,]
}
map! {
    ['a, T: ?Sized] MappedMutexGuard<'a, T>, MappedMutexGuard, T
    => [U] MappedMutexGuard['a,]
}
map! {
    [T, V: ?Sized] OwnedMappedMutexGuard<T, V>, OwnedMappedMutexGuard, V
    => [U] OwnedMappedMutexGuard[T,]
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
