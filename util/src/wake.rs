//! Wakes, whatever the wakers do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Wakes them all: one that panics must not keep the others from being woken, nor end
/// whoever wakes it, which may be a drop.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        let woken = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        if let Err(payload) = woken {
            // What the panic carried may panic in turn when it is dropped.
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            dropped.unwrap_or_else(std::mem::forget);
        }
    }
}
