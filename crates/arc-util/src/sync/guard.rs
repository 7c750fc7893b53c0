//! The guards of tokio's locks, which tell that somebody has the lock.
//!
//! tokio's guards that own their lock have an `Arc` of tokio's type, and what is told of a lock
//! stands beside that type. So a guard that owns its lock is one of tokio's that borrow, beside the
//! `Arc` that it borrows from. That takes the only `unsafe` of this crate.

use super::told::Held;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// A guard of tokio's, and that a task has the lock.
#[must_use = "the lock is given back when the guard is dropped"]
pub struct Guard<G, L = ()> {
    /// Dropped first: nobody else can have the lock before that was told.
    pub(super) held: Held,
    pub(super) guard: G,
    /// The lock, for a guard that keeps it alive or returns it. Dropped after the guard, which may
    /// borrow from it.
    pub(super) lock: L,
}

impl<G: Deref, L> Deref for Guard<G, L> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut, L> DerefMut for Guard<G, L> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

impl<G: Deref<Target: fmt::Debug>, L> fmt::Debug for Guard<G, L> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}

impl<G: Deref<Target: fmt::Display>, L> fmt::Display for Guard<G, L> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, formatter)
    }
}

/// Defines `map` and `try_map` of a guard, or functions like them. The last argument says what
/// becomes of the field `lock`.
macro_rules! map {
    (
        [$($params:tt)*] $from:ty, $lock:ty, $value:ty, [$($mutable:tt)*]
        => [$($part:tt)*] $map:ident, $try_map:ident, $to:ty, $keep:expr
    ) => {
        impl<$($params)*> Guard<$from, $lock> {
            /// Makes a guard of a part of the value.
            pub fn $map<$($part)*, F>(this: Self, part: F) -> $to
            where
                F: FnOnce(&$($mutable)* $value) -> &$($mutable)* U,
            {
                let guard = <$from>::$map(this.guard, part);
                Guard { held: this.held, guard, lock: $keep(this.lock) }
            }

            /// Makes a guard of a part of the value, if it has that part.
            ///
            /// # Errors
            ///
            /// The guard itself, when it has not.
            pub fn $try_map<$($part)*, F>(this: Self, part: F) -> Result<$to, Self>
            where
                F: FnOnce(&$($mutable)* $value) -> Option<&$($mutable)* U>,
            {
                let Self { held, guard, lock } = this;
                match <$from>::$try_map(guard, part) {
                    Ok(guard) => Ok(Guard { held, guard, lock: $keep(lock) }),
                    Err(guard) => Err(Guard { held, guard, lock }),
                }
            }
        }
    };
}
pub(super) use map;

/// Of the lock nothing is kept.
pub(super) fn nothing<L>(_lock: L) {}

/// Gives what an `Arc` has, for a guard that is to stand beside that `Arc`.
macro_rules! borrow {
    ($lock:expr) => {{
        let lock: *const _ = Arc::as_ptr($lock);
        // SAFETY: the `Arc` keeps the value alive and where it is, whereto it is moved itself. A
        // guard that borrows from the value is dropped before the `Arc`: as a field of `Guard` or
        // `Waiter` it stands before it, and in a future that has not come so far it is in a local
        // variable, while the `Arc` is an argument. Nobody else gets at the guard: what `Guard`
        // gives of it lives no longer than a borrow of the `Guard`.
        #[expect(unsafe_code, reason = "without it no guard would own a lock of a `dyn` value")]
        let lock: &'static _ = unsafe { &*lock };
        lock
    }};
}
pub(super) use borrow;
