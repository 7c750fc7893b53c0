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
        // SOLUTION
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        // INSTEAD
        //~ let _ = &state.waker; // nobody uses it yet
        // END
    }
}

struct Abortable<F> {
    future: Option<Pin<Box<F>>>,
    handle: AbortHandle,
}

impl<F: Future> Future for Abortable<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SOLUTION
        let waker = context.waker().clone();
        let mut state = self.handle.0.lock();
        let aborted = state.aborted;
        let old = state.waker.replace(waker);
        drop(state);
        drop(old);
        // INSTEAD
        //~ let aborted = self.handle.0.lock().aborted;
        // END
        if aborted {
            // SOLUTION
            self.future = None;
            // INSTEAD
            // END
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

// WRONG
//
// ```text
// look-then-leave: it is aborted between the look and the leaving
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     + drop(state);
//     + let old = self.handle.0.lock().waker.replace(waker);
//     you see: not yet: it was aborted during its poll, and nobody has woken it
//
// leaves-after-the-poll: the look is long ago then
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + drop(state);
//     - let future = self.future.as_mut().expect("it is not polled after its end");
//     - future.as_mut().poll(context).map(Some)
//     + let future = self.future.as_mut().expect("it is not polled after its end");
//     + let polled = future.as_mut().poll(context).map(Some);
//     + let old = self.handle.0.lock().waker.replace(waker);
//     + drop(old);
//     + polled
//     you see: not yet: it was aborted during its poll, and nobody has woken it
//
// oldest-waker: the future has moved to another task, which is not woken
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + state.waker.get_or_insert(waker);
//     + drop(state);
//     you see: not yet: it was aborted, and a task was woken that does not wait any more
//
// woken-under-the-lock: the waker may run code that wants the lock
//     - drop(state);
//     - if let Some(waker) = waker {
//     + if let Some(waker) = waker {
//     you see: not yet: a waker is woken while a lock is held
//
// dropped-under-the-lock: an assignment drops what was there
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + state.waker = Some(waker);
//     + drop(state);
//     you see: not yet: a waker is dropped while a lock is held
//
// polled-under-the-lock: the future inside may abort its task
//     - let mut state = self.handle.0.lock();
//     + let handle = self.handle.clone();
//     + let mut state = handle.0.lock();
//     - drop(state);
//     - drop(old);
//     + std::mem::forget(old);
//     you see: not yet: it waits for a lock that it holds itself
//
// future-is-kept: what it holds stays there as long as the task does
//     - self.future = None;
//     you see: not yet: it was aborted, and its future is still there
// ```
