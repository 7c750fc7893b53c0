//! Exercise 14, size S, after stage 08: a budget.
//!
//! A task whose socket is always ready never waits, and no other task has a turn on its thread. So
//! in one poll a task gets at most `BUDGET` messages from all its sources together. After that each
//! answers `Pending`, and wakes the task at once, so that the task goes to the end of the queue.
//! `reset` is called before each poll of a task.

use inside::exercises::{Wakeups, expect, poll, solved};
use std::cell::Cell;
use std::future::poll_fn;
use std::task::{Context, Poll};

const BUDGET: usize = 128;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(BUDGET) };
}

fn reset() {
    LEFT.set(BUDGET);
}

/// A message, of which there is always another one.
fn poll_message(context: &mut Context<'_>) -> Poll<()> {
    // SOLUTION
    if LEFT.get() == 0 {
        context.waker().wake_by_ref();
        return Poll::Pending;
    }
    LEFT.set(LEFT.get() - 1);
    Poll::Ready(())
    // INSTEAD
    //~ let _ = (context, LEFT.get()); // there is no budget yet
    //~ Poll::Ready(())
    // END
}

fn main() {
    let received = Cell::new(0);
    let mut task = Box::pin(async {
        for _ in 0..1000 {
            poll_fn(poll_message).await;
            received.set(received.get() + 1);
        }
    });
    let wakeups = Wakeups::new();
    let mut polls = 0;
    loop {
        reset();
        polls += 1;
        let before = received.get();
        let poll = poll(&mut task, &wakeups);
        let taken = received.get() - before;
        expect(
            taken <= BUDGET,
            &format!("one poll took {taken} messages, and {BUDGET} are allowed"),
        );
        if poll.is_ready() {
            break;
        }
        expect(taken == BUDGET, "the poll ended before the budget was used up");
        expect(wakeups.count() >= polls, "the task is pending, and nobody wakes it again");
        expect(wakeups.count() == polls, "the task was woken more often than it was pending");
    }

    // A task with two parts. Each asks with a waker of its own, as the parts of a set of futures
    // do, and asks once more although it was pending.
    reset();
    let (first, second) = (Wakeups::new(), Wakeups::new());
    let drain = |wakeups| {
        let mut part = Box::pin(poll_fn(|context| {
            let mut taken = 0;
            while taken < 2 * BUDGET && poll_message(context).is_ready() {
                taken += 1;
            }
            Poll::Ready(taken)
        }));
        poll(&mut part, wakeups)
    };
    let taken = drain(&first);
    expect(taken == Poll::Ready(BUDGET), "the first part of a task does not get the whole budget");
    let taken = drain(&second);
    let message = "a task that has used its budget up got a message from its second source";
    expect(taken == Poll::Ready(0), message);
    let message = "a part of a task is pending, and its own waker was not used: it waits for ever";
    expect(first.count() == 1 && second.count() == 1, message);
    let _ = drain(&second);
    let message = "a part of a task is pending for the second time, and is not woken again";
    expect(second.count() == 2, message);
    solved();
}

// Hint 1: what is the task waiting for when it says `Pending`? For nothing but its next turn.
// Hint 2: so it must be woken at once, by itself.
// Hint 3: count `LEFT` down. At zero, `wake_by_ref` and `Pending`.

// WRONG
//
// ```text
// nobody-wakes-it: it waits for nothing, for ever
//     - context.waker().wake_by_ref();
//     + let _ = context;
//     you see: not yet: the task is pending, and nobody wakes it again
//
// fills-up-again: the task may ask another source in the same poll
//     - context.waker().wake_by_ref();
//     + context.waker().wake_by_ref();
//     + reset();
//     you see: not yet: a task that has used its budget up got a message from its second source
//
// one-too-few: the last message of the budget is not given
//     - if LEFT.get() == 0 {
//     + if LEFT.get() == 1 {
//     you see: not yet: the poll ended before the budget was used up
//
// wakes-with-each: every message wakes the task
//     - if LEFT.get() == 0 {
//     - context.waker().wake_by_ref();
//     - return Poll::Pending;
//     - }
//     + context.waker().wake_by_ref();
//     + if LEFT.get() == 0 {
//     + return Poll::Pending;
//     + }
//     you see: not yet: the task was woken more often than it was pending
//
// counts-nothing: the budget never ends
//     - LEFT.set(LEFT.get() - 1);
//     you see: not yet: one poll took 1000 messages, and 128 are allowed
//
// wakes-with-the-last: whoever takes it is woken, and whoever asks next waits
//     - if LEFT.get() == 0 {
//     - context.waker().wake_by_ref();
//     - return Poll::Pending;
//     - }
//     + if LEFT.get() == 0 {
//     + return Poll::Pending;
//     + }
//     + if LEFT.get() == 1 {
//     + context.waker().wake_by_ref();
//     + }
//     you see: not yet: a part of a task is pending, and its own waker was not used
//
// below-zero: after zero comes the greatest number of all
//     - if LEFT.get() == 0 {
//     - context.waker().wake_by_ref();
//     - return Poll::Pending;
//     - }
//     - LEFT.set(LEFT.get() - 1);
//     + let left = LEFT.get();
//     + LEFT.set(left.wrapping_sub(1));
//     + if left == 0 {
//     + context.waker().wake_by_ref();
//     + return Poll::Pending;
//     + }
//     you see: not yet: a task that has used its budget up got a message from its second source
//
// wakes-once: a flag remembers that it was woken, and nobody clears it
//     - context.waker().wake_by_ref();
//     + thread_local! {
//     + static IS_WOKEN: Cell<bool> = const { Cell::new(false) };
//     + }
//     + if !IS_WOKEN.replace(true) {
//     + context.waker().wake_by_ref();
//     + }
//     you see: not yet: the task is pending, and nobody wakes it again
//
// wakes-another: the waker of nobody
//     - context.waker().wake_by_ref();
//     + let _ = context;
//     + std::task::Waker::noop().wake_by_ref();
//     you see: not yet: the task is pending, and nobody wakes it again
//
// own-count: a count that `reset` does not know
//     - if LEFT.get() == 0 {
//     + thread_local! {
//     + static MINE: Cell<usize> = const { Cell::new(BUDGET) };
//     + }
//     + MINE.set(MINE.get().saturating_sub(1));
//     + if MINE.get() == 0 || LEFT.get() == 0 {
//     you see: not yet: the poll ended before the budget was used up
//
// half: a budget, and not the one that was agreed upon
//     - if LEFT.get() == 0 {
//     + if LEFT.get() <= BUDGET / 2 {
//     you see: not yet: the poll ended before the budget was used up
// ```

// RIGHT
//
// ```text
// checked: `checked_sub` says when it is used up
//     - if LEFT.get() == 0 {
//     - context.waker().wake_by_ref();
//     - return Poll::Pending;
//     - }
//     - LEFT.set(LEFT.get() - 1);
//     - Poll::Ready(())
//     + match LEFT.get().checked_sub(1) {
//     + Some(left) => {
//     + LEFT.set(left);
//     + Poll::Ready(())
//     + }
//     + None => {
//     + context.waker().wake_by_ref();
//     + Poll::Pending
//     + }
//     + }
//     you see: solved
//
// a-clone: a waker of its own is used up
//     - context.waker().wake_by_ref();
//     + context.waker().clone().wake();
//     you see: solved
// ```
