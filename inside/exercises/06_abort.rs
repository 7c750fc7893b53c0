//! Exercise 06, size M, after stage 04: abort a future from outside.
//!
//! `Abortable` gives None when it was aborted. That must also happen to a future that waits for
//! something that never comes. And the future inside must be dropped as soon as this is known. Wake
//! a waker, or drop one, or poll, only while no lock is held: that runs code which is not yours.
//!
//! `Mutex` is std's, with one addition: here, the exercise can let another thread act whenever you
//! release the lock. (`lock` gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{Mutex, by_turns, holds_a_lock, meanwhile, orders};
use inside::exercises::{Counted, Wakeups, counted, expect, poll, solved};
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

/// (The future inside is counted, in every exercise that is given one: it must be dropped.)
fn abortable<F: Future>(future: F) -> (Pin<Box<Abortable<Counted<F>>>>, AbortHandle) {
    let handle = AbortHandle::default();
    let future = Some(Box::pin(counted(future)));
    (Box::pin(Abortable { future, handle: handle.clone() }), handle)
}

const NO_END: &str = "nobody has aborted it, and it has ended";

fn main() {
    check();
    aborted_in_its_poll();
    orders(3).for_each(|turns| aborted_at_once(&turns));
    its_future_aborts();
    // Of all that was polled, nothing may be left.
    solved();
}

fn check() {
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
    let message = "it was aborted, and its task was woken: a waker of it stays in the handle";
    second.expect_no_waker_left(message);
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

/// It is aborted twice, while another task polls it. Each side is stopped in the middle.
fn aborted_at_once(turns: &[usize]) {
    let (mut task, handle) = abortable(pending::<()>());
    let (earlier, wakeups) = (Wakeups::new(), Wakeups::new());
    expect(poll(&mut task, &earlier).is_pending(), NO_END);
    let abort = || {
        handle.abort();
        handle.abort();
    };
    let (polled, ()) = by_turns(turns, || poll(&mut task, &wakeups), abort);
    let message = "it was aborted during its poll, and nobody has woken it";
    expect(polled.is_ready() || wakeups.count() > 0, message);
    let ended = polled.is_ready() || poll(&mut task, &wakeups).is_ready();
    expect(ended, "it was aborted during its poll, and the next one is pending");
    let message = "it was aborted, and a waker of a task that does not wait any more is kept";
    earlier.expect_no_waker_left(message);
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
