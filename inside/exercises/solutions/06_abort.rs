//! Exercise 06, size M, after stage 04: abort a future from outside.
//!
//! `Abortable` gives None when it was aborted. That must also happen to a future that waits for
//! something that never comes. And the future inside must be dropped as soon as this is known. Wake
//! a waker, or drop one, or poll, only while no lock is held: that runs code which is not yours.
//!
//! `Mutex` is std's, with one addition: here, the exercise can let another thread act whenever you
//! release the lock. (`lock` gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{Mutex, holds_a_lock, meanwhile};
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

const NO_END: &str = "nobody has aborted it, and it has ended";

fn main() {
    let held = Arc::new(());
    let inside = held.clone();
    let (mut task, handle) = abortable(async move {
        pending::<()>().await;
        drop(inside);
    });
    let (first, second) = (Wakeups::new(), Wakeups::new());
    for wakeups in [&first, &second] {
        expect(poll(&mut task, wakeups).is_pending(), NO_END);
        let message = "nobody has aborted it, and it has woken its own task: it is polled again \
                       and again for nothing";
        expect(wakeups.count() == 0, message);
    }
    handle.abort();
    let message = "it was aborted while it waited, and nobody has woken it";
    expect(first.count() + second.count() > 0, message);
    let message = "it was aborted, and a task was woken that does not wait any more";
    expect(first.count() == 0, message);
    expect(second.count() == 1, "it was aborted once, and its task was woken more than once");
    expect(poll(&mut task, &second) == Poll::Ready(None), "it was aborted, and goes on");
    expect(Arc::strong_count(&held) == 1, "it was aborted, and its future is still there");
    handle.abort();
    expect(second.count() <= 2, "it is aborted a second time, and woken again and again");
    drop((task, handle));
    first.expect_no_waker_left(LOST);
    second.expect_no_waker_left(LOST);

    let (mut task, _handle) = abortable(ready(7));
    expect(poll(&mut task, &second) == Poll::Ready(Some(7)), "its output is lost");

    // It is aborted before its first poll.
    let (mut task, handle) = abortable(poll_fn(|_| -> Poll<()> {
        expect(false, "it was aborted, and its future is polled all the same");
        Poll::Pending
    }));
    handle.abort();
    expect(poll(&mut task, &second) == Poll::Ready(None), "it was aborted, and goes on");

    aborted_in_its_poll();
    its_future_aborts();
    solved();
}

const LOST: &str = "it is over, and a waker was lost without being dropped: the task that it \
                    belongs to stays in memory";

/// It is aborted in the middle of a poll: the first one, or one by another task.
fn aborted_in_its_poll() {
    for step in 1..=4 {
        for is_first_poll in [true, false] {
            let (mut task, handle) = abortable(pending::<()>());
            let (earlier, wakeups) = (Wakeups::new(), Wakeups::new());
            if !is_first_poll {
                expect(poll(&mut task, &earlier).is_pending(), NO_END);
            }
            let ((), polled) = meanwhile(step, || handle.abort(), || poll(&mut task, &wakeups));
            let message = "it was aborted during its poll, and nobody has woken it";
            expect(polled.is_ready() || wakeups.count() > 0, message);
            let ended = polled.is_ready() || poll(&mut task, &wakeups).is_ready();
            expect(ended, "it was aborted during its poll, and the next one is pending");
        }
    }
}

/// The future inside aborts the task: in its poll, and when it is dropped.
fn its_future_aborts() {
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

    struct AbortsAtItsEnd(AbortHandle);
    impl Drop for AbortsAtItsEnd {
        fn drop(&mut self) {
            let message = "the future is dropped while a lock is held: what it runs may want that \
                           lock";
            expect(!holds_a_lock(), message);
            self.0.abort();
        }
    }
    let handle = AbortHandle::default();
    let at_its_end = AbortsAtItsEnd(handle.clone());
    let future = Box::pin(async move {
        let _at_its_end = at_its_end;
        pending::<()>().await;
    });
    let mut task = Box::pin(Abortable { future: Some(future), handle: handle.clone() });
    expect(poll(&mut task, &wakeups).is_pending(), NO_END);
    handle.abort();
    expect(poll(&mut task, &wakeups) == Poll::Ready(None), "it was aborted, and goes on");
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
//     - let aborted = state.aborted;
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + let handle = self.handle.clone();
//     + let old;
//     + let mut state = handle.0.lock();
//     + let aborted = state.aborted;
//     + old = state.waker.replace(waker);
//     + let _ = &old;
//     you see: not yet: it waits for a lock that it holds itself
//
// future-is-kept: what it holds stays there as long as the task does
//     - self.future = None;
//     you see: not yet: it was aborted, and its future is still there
//
// looks-last: the future is polled although it was aborted long ago
//     - if aborted {
//     - self.future = None;
//     - return Poll::Ready(None);
//     - }
//     - let future = self.future.as_mut().expect("it is not polled after its end");
//     - future.as_mut().poll(context).map(Some)
//     + let future = self.future.as_mut().expect("it is not polled after its end");
//     + let polled = future.as_mut().poll(context).map(Some);
//     + if aborted {
//     + self.future = None;
//     + return Poll::Ready(None);
//     + }
//     + polled
//     you see: not yet: it was aborted, and its future is polled all the same
//
// asks-again: it wakes itself in each poll, and looks whether it was aborted
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + drop(state);
//     + waker.wake();
//     you see: not yet: nobody has aborted it, and it has woken its own task
//
// dropped-with-the-lock: the future's end may abort the task
//     - let aborted = state.aborted;
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + let aborted = state.aborted;
//     + let old = state.waker.replace(waker);
//     + let handle = self.handle.clone();
//     + drop(state);
//     + drop(old);
//     + let state = handle.0.lock();
//     - self.future = None;
//     + self.future = None;
//     + drop(state);
//     - let future = self.future.as_mut().expect("it is not polled after its end");
//     + drop(state);
//     + let future = self.future.as_mut().expect("it is not polled after its end");
//     you see: not yet: the future is dropped while a lock is held
//
// future-is-forgotten: it is taken out, and never dropped
//     - self.future = None;
//     + std::mem::forget(self.future.take());
//     you see: not yet: it was aborted, and its future is still there
//
// waker-is-forgotten: so is the waker of the task that polled before
//     - drop(state);
//     - drop(old);
//     + drop(state);
//     + std::mem::forget(old);
//     you see: not yet: it is over, and a waker was lost
//
// woken-twice: once is enough
//     - waker.wake();
//     + waker.wake_by_ref();
//     + waker.wake();
//     you see: not yet: it was aborted once, and its task was woken more than once
//
// nobody-is-woken: the waker is taken, and dropped
//     - waker.wake();
//     + drop(waker);
//     you see: not yet: it was aborted while it waited, and nobody has woken it
// ```

// RIGHT
//
// ```text
// dropped-by-the-way: the future is taken out, and dropped at the end of the statement
//     - self.future = None;
//     + drop(self.future.take());
//     you see: solved
//
// a-block: the guard ends with it, and what was there comes out
//     - let mut state = self.handle.0.lock();
//     - let aborted = state.aborted;
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + let (aborted, _old) = {
//     + let mut state = self.handle.0.lock();
//     + (state.aborted, state.waker.replace(waker))
//     + };
//     you see: solved
//
// leaves-none-when-aborted: nobody needs a waker then
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + let old = if aborted { state.waker.take() } else { state.waker.replace(waker) };
//     + drop(state);
//     + drop(old);
//     you see: solved
// ```
