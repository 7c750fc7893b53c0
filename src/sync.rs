//! What threads share, what they wait for, and how they tell the time.
//!
//! The other files take locks, atomics and threads from here and not from std. So the models in
//! `lab/models/` can compile arc as it stands, with another file in the place of this one.

pub use crate::hooks::Instant;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
pub(crate) use std::thread;
pub use std::time::Duration;

/// Locks a mutex, even if a thread has panicked while it held the lock. What the lock guards is
/// whole all the same: no user code runs under a lock of arc's, except the function that names
/// threads, which is called before anything is changed (`scheduler/pool.rs`).
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
