//! Exercise 06, size M, after stage 04: abort a future from outside.
//!
//! `Abortable` gives None when it was aborted. That must also happen to a future that waits for
//! something that never comes. And the future inside must be dropped as soon as this is known. Wake
//! a waker, or drop one, or poll, only while no lock is held: that runs code which is not yours.
//!
//! `Mutex` is std's, with one addition: here, the exercise can let another thread act whenever you
//! release the lock. (`lock` gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{Mutex, meanwhile};
use inside::exercises::{Wakeups, expect, poll, solved};
use std::future::{pending, poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
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
        let mut state = self.0.lock();
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
        let aborted = self.handle.0.lock().aborted;
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

fn abortable<F>(future: F) -> (Pin<Box<Abortable<F>>>, AbortHandle) {
    let handle = AbortHandle::default();
    (Box::pin(Abortable { future: Some(Box::pin(future)), handle: handle.clone() }), handle)
}

fn main() {
    let held = Arc::new(());
    let inside = held.clone();
    let (mut task, handle) = abortable(async move {
        pending::<()>().await;
        drop(inside);
    });
    let (first, second) = (Wakeups::new(), Wakeups::new());
    for wakeups in [&first, &second] {
        expect(poll(&mut task, wakeups).is_pending(), "nobody has aborted it, and it has ended");
    }
    handle.abort();
    let message = "it was aborted while it waited, and nobody has woken it";
    expect(first.count() + second.count() > 0, message);
    expect(second.count() == 1, "it was aborted, and a task was woken that does not wait any more");
    expect(poll(&mut task, &second) == Poll::Ready(None), "it was aborted, and goes on");
    expect(Arc::strong_count(&held) == 1, "it was aborted, and its future is still there");

    let (mut task, _handle) = abortable(ready(7));
    expect(poll(&mut task, &second) == Poll::Ready(Some(7)), "its output is lost");

    // It is aborted in the middle of a poll: by another thread, and by the future inside.
    for step in 1..=3 {
        let (mut task, handle) = abortable(pending::<()>());
        let wakeups = Wakeups::new();
        let ((), polled) = meanwhile(step, || handle.abort(), || poll(&mut task, &wakeups));
        let message = "it was aborted during its poll, and nobody has woken it";
        expect(polled.is_ready() || wakeups.count() > 0, message);
    }
    let to_abort = AbortHandle::default();
    let handle = to_abort.clone();
    let future = Box::pin(poll_fn(move |_| {
        to_abort.abort();
        Poll::<()>::Pending
    }));
    let mut task = Box::pin(Abortable { future: Some(future), handle });
    let wakeups = Wakeups::new();
    let polled = poll(&mut task, &wakeups);
    let message = "its own future has aborted it, and nobody has woken it";
    expect(polled.is_ready() || wakeups.count() > 0, message);
    solved();
}

// Hint 1: the future inside waits for something else. Who wakes the task when that never comes?
// Hint 2: a waker can be left in two places: the future inside has one, and the handle gets
// another.
// Hint 3: leave it before you poll the future inside, and look at `aborted` under the same lock.
