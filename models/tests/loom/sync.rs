//! Stands for src/sync.rs, over loom.

pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use loom::thread;
pub(crate) use std::sync::{Mutex, OnceLock};
pub(crate) use std::time::{Duration, Instant};

use std::sync::{MutexGuard, TryLockError};

/// All threads of a model run on one of the system's, which must not block.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    loop {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
}
