//! What threads share. The models put their own in the place of this.

pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after another thread has panicked while it held the lock: no foreign code
/// runs under a lock, so what the lock guards is whole.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
