//! Exercise 07, size S, after stage 06: a time limit.
//!
//! `timeout` gives the output of the future, or None when the limit is over first. If both are
//! ready in the same poll, the output counts: it was there in time.

use inside::exercises::{Wakeups, expect, poll, solved};
use std::future::{pending, poll_fn, ready};
use std::pin::pin;
use std::task::Poll;

async fn timeout<F: Future>(future: F, limit: impl Future<Output = ()>) -> Option<F::Output> {
    // SOLUTION
    let (mut future, mut limit) = (pin!(future), pin!(limit));
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        limit.as_mut().poll(context).map(|()| None)
    })
    .await
    // INSTEAD
    //~ let _ = (poll_fn(|_| Poll::Ready(())), pin!(limit)); // you may need these two
    //~ Some(future.await)
    // END
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

// WRONG
//
// ```text
// future-polled-once: it is asked at first, and then only the limit is
//     - poll_fn(|context| {
//     - if let Poll::Ready(output) = future.as_mut().poll(context) {
//     - return Poll::Ready(Some(output));
//     - }
//     + let first = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
//     + if let Poll::Ready(output) = first {
//     + return Some(output);
//     + }
//     + poll_fn(|context| {
//     you see: not yet: the output came in the second poll, and is lost
//
// limit-polled-once: it is asked at first, and then only the future is
//     - poll_fn(|context| {
//     - if let Poll::Ready(output) = future.as_mut().poll(context) {
//     - return Poll::Ready(Some(output));
//     - }
//     - limit.as_mut().poll(context).map(|()| None)
//     + let mut is_first = true;
//     + poll_fn(|context| {
//     + if let Poll::Ready(output) = future.as_mut().poll(context) {
//     + return Poll::Ready(Some(output));
//     + }
//     + if !std::mem::take(&mut is_first) {
//     + return Poll::Pending;
//     + }
//     + limit.as_mut().poll(context).map(|()| None)
//     you see: not yet: the limit was over in the second poll, and did not count
//
// limit-first: an output that is there in time is dropped
//     - if let Poll::Ready(output) = future.as_mut().poll(context) {
//     - return Poll::Ready(Some(output));
//     - }
//     - limit.as_mut().poll(context).map(|()| None)
//     + if limit.as_mut().poll(context).is_ready() {
//     + return Poll::Ready(None);
//     + }
//     + future.as_mut().poll(context).map(Some)
//     you see: not yet: the output was there in time, and did not count
//
// other-context: the limit wakes nobody
//     - limit.as_mut().poll(context).map(|()| None)
//     + let mut context = std::task::Context::from_waker(std::task::Waker::noop());
//     + limit.as_mut().poll(&mut context).map(|()| None)
//     you see: not yet: the limit does not know which task to wake
// ```
