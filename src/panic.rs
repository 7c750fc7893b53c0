//! Keep the panics of user code away from arc's own, and end loudly where arc cannot go on.
//!
//! Futures, their outputs, wakers and hooks are written by users, and each of them may panic when
//! it is called or dropped. Where such a panic would unwind through arc's own threads or through
//! another task, the call goes through here.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// The value that a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Calls user code and catches its panic.
pub(crate) fn contain<R>(call: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Calls user code and drops its panic, which the panic hook has printed.
pub(crate) fn ignore_panic(call: impl FnOnce()) {
    if let Err(payload) = contain(call) {
        // The drop of a payload may panic, too. What that panic carries is leaked.
        if let Err(another) = contain(|| drop(payload)) {
            std::mem::forget(another);
        }
    }
}

/// Wakes a task. A waker that panics must not keep the rest of its batch from being woken.
pub(crate) fn wake(waker: Waker) {
    ignore_panic(|| waker.wake());
}

/// Holds a user's value that may never be read. A panic of its drop is ignored.
pub(crate) struct Unread<T>(pub(crate) Option<T>);

impl<T> Drop for Unread<T> {
    fn drop(&mut self) {
        ignore_panic(|| drop(self.0.take()));
    }
}

/// Ends the process, after an error of the kernel that would leave a thread asleep for ever. A hang
/// would be worse, because nobody is told of it.
pub(crate) fn give_up(what: &str, error: &std::io::Error) -> ! {
    eprintln!("arc: {what} failed: {error}. The process ends, because its tasks would hang");
    std::process::abort();
}
