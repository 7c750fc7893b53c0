//! Keep the panics of foreign code away from arc's own.
//!
//! Futures, their outputs, wakers and hooks are written by users, and each of them may panic when
//! it is called or dropped. Where such a panic would unwind through arc's own threads or through
//! another task, the call goes through here. (Inside a poll it need not: the panic ends that task
//! alone.)

use std::{any::Any, panic::AssertUnwindSafe, panic::catch_unwind, task::Waker};

/// Calls foreign code and catches its panic. The error is the value that the panic carries.
pub fn contain<R>(call: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Calls foreign code whose panic concerns nobody; the panic hook has printed it.
pub fn ignore_panic(call: impl FnOnce()) {
    if let Err(payload) = contain(call) {
        // The drop of a payload may panic in turn. What that panic carries is leaked.
        contain(|| drop(payload)).unwrap_or_else(std::mem::forget);
    }
}

/// Wakes a task. A waker that panics must not keep the rest of its batch from being woken.
pub fn wake(waker: Waker) {
    ignore_panic(|| waker.wake());
}

/// A foreign value that may never be read: if its drop panics, nobody else unwinds.
pub struct Unread<T>(pub Option<T>);

impl<T> Drop for Unread<T> {
    fn drop(&mut self) {
        ignore_panic(|| drop(self.0.take()));
    }
}
