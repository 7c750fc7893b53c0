//! Keep the panics of foreign code away from arc's own.
//!
//! Futures, their outputs, wakers and hooks are written by users, and each of them may
//! panic when it is called or dropped. Everything of that kind is called through here.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// The value that a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Calls foreign code and catches its panic.
pub(crate) fn contain<R>(call: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Calls foreign code whose panic concerns nobody; the panic hook has printed it.
pub(crate) fn ignore_panic(call: impl FnOnce()) {
    if let Err(payload) = contain(call) {
        // The drop of a payload may panic in turn. That payload is leaked.
        if let Err(second) = contain(|| drop(payload)) {
            std::mem::forget(second);
        }
    }
}

/// Wakes a task. A waker that panics must not keep the rest of its batch from being woken.
pub(crate) fn wake(waker: Waker) {
    ignore_panic(|| waker.wake());
}

/// A foreign value that may never be read: if its drop panics, nobody else unwinds.
pub(crate) struct Unread<T>(Option<T>);

impl<T> Unread<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    pub(crate) fn take(mut self) -> Option<T> {
        self.0.take()
    }
}

impl<T> Drop for Unread<T> {
    fn drop(&mut self) {
        ignore_panic(|| drop(self.0.take()));
    }
}
