//! Exercise 07, size S, after stage 06: a time limit.
//!
//! `timeout` gives the output of the future, or None when the limit is over first. If both are
//! ready in the same poll, the output counts: it was there in time.

use inside::exercises::{Wakeups, counted, expect, poll, solved};
use std::future::{pending, poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

async fn timeout<F: Future>(future: F, limit: impl Future<Output = ()>) -> Option<F::Output> {
    // YOURS: from here
    let _ = (poll_fn(|_| Poll::Ready(())), pin!(limit)); // you may need these two
    Some(future.await)
    // to here
}

/// Is pending as often as it says, and wakes the task each time. Then it is ready.
fn later<T: Copy>(mut times: usize, output: T) -> impl Future<Output = T> {
    let mut is_over = false;
    counted(poll_fn(move |context| {
        expect(!is_over, "a future was polled after its end");
        if times == 0 {
            is_over = true;
            return Poll::Ready(output);
        }
        times -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }))
}

const NO_END: &str = "neither is ready, and it has ended";

/// One of the two is asked with a waker of this many wake-ups, of which one is its own.
fn expect_one_wakeup(count: usize, who: &str) {
    expect(count >= 1, &format!("{who} does not know which task to wake"));
    let message = "it has woken its own task, and nobody has asked for that: it is polled again \
                   and again for nothing";
    expect(count == 1, message);
}

fn main() {
    check();
    // The same, after one poll or more, each by another task.
    for times in 1..=3 {
        later_on(times);
    }
    // Of all that was polled, nothing may be left.
    solved();
}

fn check() {
    let wakeups = Wakeups::new();
    let mut both_wait = Box::pin(timeout(counted(pending::<u8>()), counted(pending())));
    expect(poll(&mut both_wait, &wakeups).is_pending(), NO_END);
    let message = "both wait, and it has woken its own task: it is polled again and again for \
                   nothing";
    expect(wakeups.count() == 0, message);

    let mut too_late = Box::pin(timeout(counted(pending::<u8>()), counted(ready(()))));
    let ended = poll(&mut too_late, &wakeups);
    expect(ended == Poll::Ready(None), "the limit is over, and the future goes on");

    let mut in_time = Box::pin(timeout(counted(ready(7)), counted(pending())));
    expect(poll(&mut in_time, &wakeups) == Poll::Ready(Some(7)), "the output is lost");

    let mut at_once = Box::pin(timeout(counted(ready(7)), counted(ready(()))));
    let ended = poll(&mut at_once, &wakeups);
    expect(ended == Poll::Ready(Some(7)), "the output was there in time, and did not count");

    // What it was given is dropped with it.
    let held = Arc::new(());
    let (future_has, limit_has) = (held.clone(), held.clone());
    let future = async move {
        pending::<()>().await;
        drop(future_has);
    };
    let limit = async move {
        ready(()).await;
        drop(limit_has);
    };
    let mut task = Box::pin(timeout(future, limit));
    expect(poll(&mut task, &wakeups) == Poll::Ready(None), "the limit is over, and it goes on");
    expect(Arc::strong_count(&held) == 1, "the limit is over, and the future is still there");
}

fn later_on(times: usize) {
    let mut too_late = Box::pin(timeout(counted(pending::<u8>()), later(times, ())));
    for _ in 0..times {
        let wakeups = Wakeups::new();
        expect(poll(&mut too_late, &wakeups).is_pending(), NO_END);
        expect_one_wakeup(wakeups.count(), "the limit");
    }
    let ended = poll(&mut too_late, &Wakeups::new());
    expect(ended == Poll::Ready(None), "the limit was over in a later poll, and did not count");

    let mut in_time = Box::pin(timeout(later(times, 7), counted(pending())));
    for _ in 0..times {
        let wakeups = Wakeups::new();
        expect(poll(&mut in_time, &wakeups).is_pending(), NO_END);
        expect_one_wakeup(wakeups.count(), "the future");
    }
    let ended = poll(&mut in_time, &Wakeups::new());
    expect(ended == Poll::Ready(Some(7)), "the output came in a later poll, and is lost");

    let mut at_once = Box::pin(timeout(later(times, 7), later(times, ())));
    for _ in 0..times {
        expect(poll(&mut at_once, &Wakeups::new()).is_pending(), NO_END);
    }
    let ended = poll(&mut at_once, &Wakeups::new());
    expect(ended == Poll::Ready(Some(7)), "the output was there in time, and did not count");
}

// Hint 1: it is `join` of exercise 01, but the first of the two ends it.
// Hint 2: both must be polled in each poll, or nobody leaves a waker with the other one.
// Hint 3: poll the future first, and the limit only if it is pending.
