//! The guards of tokio's locks, which tell that somebody has the lock: with the feature `trace`.

use super::told::Held;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A guard of tokio's, and that a task has the lock.
#[must_use = "the lock is given back when the guard is dropped"]
pub struct Guard<G, L = ()> {
    /// Dropped first: nobody else can have the lock before that was told.
    pub(super) held: Held,
    pub(super) guard: G,
    /// The lock, for a guard that keeps it alive or returns it.
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

/// A lock that is shared when it is first used. A `static` can be no `Arc`, which owned guards
/// need.
pub(super) struct Late<L> {
    first: Mutex<Option<L>>,
    shared: OnceLock<Arc<L>>,
}

impl<L> Late<L> {
    pub(super) const fn new(lock: L) -> Self {
        Self { first: Mutex::new(Some(lock)), shared: OnceLock::new() }
    }

    pub(super) fn get(&self) -> &Arc<L> {
        self.shared.get_or_init(|| {
            let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
            Arc::new(first.expect("it is there until it is shared"))
        })
    }

    /// What nobody else can have now: an owned guard keeps all of this alive.
    pub(super) fn get_mut(&mut self) -> &mut L {
        self.get();
        self.shared.get_mut().and_then(Arc::get_mut).expect("no guard has it")
    }

    pub(super) fn into_inner(self) -> L {
        self.get();
        self.shared.into_inner().and_then(Arc::into_inner).expect("no guard has it")
    }
}

impl<L> Deref for Late<L> {
    type Target = L;

    fn deref(&self) -> &L {
        self.get()
    }
}
