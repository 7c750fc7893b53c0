//! Runs code that this crate did not write (wakers, drops, futures), even if it panics.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Calls a function. If the function panics, returns the payload of the panic as the error.
pub(crate) fn contain<R>(call: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Drops a value whose drop may panic. Dropping the payload of that panic may panic again: that
/// second payload is leaked.
pub(crate) fn discard<T>(value: T) {
    if let Err(payload) = contain(|| drop(value)) {
        contain(|| drop(payload)).unwrap_or_else(std::mem::forget);
    }
}

/// Wakes all wakers, even if some of them panic.
///
/// A waker that panics must not keep the others asleep, and must not unwind into the caller,
/// which may be a drop.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        contain(|| waker.wake()).unwrap_or_else(discard);
    }
}
