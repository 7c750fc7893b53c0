//! Exercise 06, size M, after stage 04: abort a future from outside.
//!
//! `Abortable` gives None when it was aborted. That must also happen to a future that waits for
//! something that never comes. And the future inside must be dropped as soon as this is known.

use inside::exercises::{Wakeups, expect, poll, solved};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct State {
    aborted: bool,
    waker: Option<Waker>,
}

#[derive(Clone, Default)]
struct AbortHandle(Arc<Mutex<State>>);

impl AbortHandle {
    fn abort(&self) {
        let mut state = self.0.lock().expect("nobody panics");
        state.aborted = true;
        // YOURS: from here
        let _ = &state.waker; // nobody uses it yet
        // to here
    }
}

struct Abortable<F> {
    future: Option<Pin<Box<F>>>,
    handle: AbortHandle,
}

impl<F: Future> Future for Abortable<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // YOURS: from here
        let aborted = self.handle.0.lock().expect("nobody panics").aborted;
        // to here
        if aborted {
            // YOURS: from here
            // to here
            return Poll::Ready(None);
        }
        let future = self.future.as_mut().expect("it is not polled after its end");
        future.as_mut().poll(context).map(Some)
    }
}

fn main() {
    let handle = AbortHandle::default();
    let held = Arc::new(());
    let inside = held.clone();
    let future = Box::pin(async move {
        std::future::pending::<()>().await;
        drop(inside);
    });
    let mut task = Box::pin(Abortable { future: Some(future), handle: handle.clone() });
    let wakeups = Wakeups::new();

    expect(poll(&mut task, &wakeups).is_pending(), "nobody has aborted it, and it has ended");
    handle.abort();
    expect(wakeups.count() == 1, "it was aborted while it waited, and nobody has woken it");
    expect(poll(&mut task, &wakeups) == Poll::Ready(None), "it was aborted, and goes on");
    expect(Arc::strong_count(&held) == 1, "it was aborted, and its future is still there");
    solved();
}

// Hint 1: the future inside waits for something else. Who wakes the task when that never comes?
// Hint 2: a waker can be left in two places: the future inside has one, and the handle gets
// another.
// Hint 3: leave it before you poll the future inside, and look at `aborted` under the same lock.
