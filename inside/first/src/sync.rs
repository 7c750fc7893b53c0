//! Threads, locks, atomics and the clock: std's.
//!
//! Every stage takes them from here and not from std, so that the checking command can swap them.
//! With the feature `shuttle` they are shuttle's, which chooses after each step which thread goes
//! on (`shuttled.rs`). arc's own `src/sync.rs` exists for the same reason.

#[cfg(not(feature = "shuttle"))]
pub use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};

#[cfg(feature = "shuttle")]
pub use crate::shuttled::sync::*;

/// Locks a mutex, also if another thread has panicked while it held the lock.
#[cfg(not(feature = "shuttle"))]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Releases the lock and sleeps, in one step: until `condvar` is notified, or `timeout` is over.
/// None is for ever. It may also wake up for no reason, so look again what has changed.
#[cfg(not(feature = "shuttle"))]
pub fn wait<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    timeout: Option<Duration>,
) -> MutexGuard<'a, T> {
    use std::sync::PoisonError;
    match timeout {
        None => condvar.wait(guard).unwrap_or_else(PoisonError::into_inner),
        Some(time) => condvar.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0,
    }
}
