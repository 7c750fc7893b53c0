//! Exercise 07, size S, after stage 06: a time limit.
//!
//! `timeout` gives the output of the future, or None when the limit is over first. If both are
//! ready in the same poll, the output counts: it was there in time.

use inside::exercises::{Wakeups, expect, poll, solved};
use std::future::{pending, poll_fn, ready};
use std::pin::pin;
use std::task::Poll;

async fn timeout<F: Future>(future: F, limit: impl Future<Output = ()>) -> Option<F::Output> {
    // YOURS: from here
    let _ = (poll_fn(|_| Poll::Ready(())), pin!(limit)); // you may need these two
    Some(future.await)
    // to here
}

/// Is pending in its first poll, and wakes the task. Is ready in the second.
fn later<T: Copy>(output: T) -> impl Future<Output = T> {
    let mut is_polled = false;
    poll_fn(move |context| {
        if is_polled {
            return Poll::Ready(output);
        }
        is_polled = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

fn main() {
    let wakeups = Wakeups::new();
    let mut both_wait = Box::pin(timeout(pending::<u8>(), pending()));
    expect(poll(&mut both_wait, &wakeups).is_pending(), "neither is ready, and it has ended");

    let mut too_late = Box::pin(timeout(pending::<u8>(), ready(())));
    let ended = poll(&mut too_late, &wakeups);
    expect(ended == Poll::Ready(None), "the limit is over, and the future goes on");

    let mut in_time = Box::pin(timeout(ready(7), pending()));
    expect(poll(&mut in_time, &wakeups) == Poll::Ready(Some(7)), "the output is lost");

    let mut at_once = Box::pin(timeout(ready(7), ready(())));
    let ended = poll(&mut at_once, &wakeups);
    expect(ended == Poll::Ready(Some(7)), "the output was there in time, and did not count");

    // The same three, in a second poll.
    let mut too_late = Box::pin(timeout(pending::<u8>(), later(())));
    expect(poll(&mut too_late, &wakeups).is_pending(), "neither is ready, and it has ended");
    expect(wakeups.count() == 1, "the limit does not know which task to wake");
    let ended = poll(&mut too_late, &wakeups);
    expect(ended == Poll::Ready(None), "the limit was over in the second poll, and did not count");

    let mut in_time = Box::pin(timeout(later(7), pending()));
    expect(poll(&mut in_time, &wakeups).is_pending(), "neither is ready, and it has ended");
    expect(wakeups.count() == 2, "the future does not know which task to wake");
    let ended = poll(&mut in_time, &wakeups);
    expect(ended == Poll::Ready(Some(7)), "the output came in the second poll, and is lost");

    let mut at_once = Box::pin(timeout(later(7), later(())));
    expect(poll(&mut at_once, &wakeups).is_pending(), "neither is ready, and it has ended");
    let ended = poll(&mut at_once, &wakeups);
    expect(ended == Poll::Ready(Some(7)), "the output was there in time, and did not count");
    solved();
}

// Hint 1: it is `join` of exercise 01, but the first of the two ends it.
// Hint 2: both must be polled in each poll, or nobody leaves a waker with the other one.
// Hint 3: poll the future first, and the limit only if it is pending.
