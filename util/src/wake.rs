//! Runs code of others, whatever it does.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Calls it; a panic is what it gave.
pub(crate) fn contain<R>(call: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Drops what may panic in its drop, as may what that panic carries.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = contain(|| drop(value)) {
        contain(|| drop(payload)).unwrap_or_else(std::mem::forget);
    }
}

/// Wakes them all: one that panics must not keep the others from being woken, nor end
/// whoever wakes it, which may be a drop.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        contain(|| waker.wake()).unwrap_or_else(discard);
    }
}
