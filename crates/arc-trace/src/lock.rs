//! How this crate takes its locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. Nothing foreign runs under the locks of this crate, so what they guard is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
