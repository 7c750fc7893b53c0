//! Stands for src/sync.rs, over loom.

pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use loom::thread;
pub(crate) use std::sync::{Mutex, OnceLock};
pub(crate) use std::time::{Duration, Instant};

use std::cell::Cell;
use std::sync::{MutexGuard, TryLockError};

std::thread_local! {
    /// In the models of what locks alone guard.
    pub(crate) static LOCKS_COUNT: Cell<bool> = const { Cell::new(false) };
}

loom::lazy_static! {
    static ref LOCKS: AtomicUsize = AtomicUsize::new(0);
}

/// A lock that is held.
pub(crate) struct Guard<'a, T: ?Sized>(MutexGuard<'a, T>);

/// All threads of a model run on one of the system's, which must not block. As loom knows
/// nothing of std's locks, each can be made a place where it may switch, and one that is
/// ordered after what went on under all locks before.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> Guard<'_, T> {
    let guard = loop {
        match mutex.try_lock() {
            Ok(guard) => break guard,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    };
    if LOCKS_COUNT.get() {
        LOCKS.fetch_add(1, Ordering::Acquire);
    }
    Guard(guard)
}

impl<T: ?Sized> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if LOCKS_COUNT.get() {
            LOCKS.fetch_add(1, Ordering::Release);
        }
    }
}

impl<T: ?Sized> std::ops::Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> std::ops::DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
