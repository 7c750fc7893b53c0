//! What threads share, wait for and tell the time by, all in one place: the models
//! (`models/`) are arc with another file instead of this one. And what keeps foreign
//! code's panics from doing harm.

pub(crate) use ::blocking::unblock;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
pub(crate) use std::thread;
pub use std::time::{Duration, Instant};

/// What a panic carries.
pub(crate) type Payload = Box<dyn std::any::Any + Send>;

/// Locks, also after a panic elsewhere: no lock of arc is held while foreign
/// code runs, so what it guards is whole.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls foreign code whose panic must stay here.
pub(crate) fn contain<R>(call: impl FnOnce() -> R) -> Result<R, Payload> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(call))
}

/// Foreign data that may never be read: a panic of its drop stays here.
pub(crate) struct Unread<T>(pub(crate) Option<T>);

impl<T> Drop for Unread<T> {
    fn drop(&mut self) {
        contain(|| drop(self.0.take())).unwrap_or_else(discard);
    }
}

/// Drops what a panic carried, which may panic in turn.
pub(crate) fn discard(payload: Payload) {
    contain(|| drop(payload)).unwrap_or_else(std::mem::forget);
}

/// Wakes, whatever the waker does: one that panics must not keep the rest of
/// its batch from being woken.
pub(crate) fn wake(waker: std::task::Waker) {
    contain(|| waker.wake()).unwrap_or_else(discard);
}
