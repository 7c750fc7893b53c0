//! Waiting on threads that may block.

use arc::task::with_budget;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Panics where the thread must not block: inside a task or `block_on`.
#[track_caller]
pub(super) fn may_block(what: &str) {
    assert!(
        arc::runtime::may_block(),
        "{what} was called inside a task or `block_on`, where it would block a worker: await \
         instead, or move the call into `arc::task::spawn_blocking`"
    );
}

/// Polls a future on this thread, which may block, until it is ready. The thread polls nothing
/// else, so each poll has a budget of its own.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unparks(Thread);
    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match with_budget(|| future.as_mut().poll(&mut context)) {
            Poll::Ready(output) => return output,
            // If it was woken since the poll began, this returns at once.
            Poll::Pending => thread::park(),
        }
    }
}
