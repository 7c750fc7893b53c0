//! Exercise 14, size S, after stage 08: a budget.
//!
//! A task whose socket is always ready never waits, and no other task has a turn on its thread. So
//! a source of messages gives at most `BUDGET` of them in one poll of the task. Then it answers
//! `Pending`, and wakes the task at once, so that the task goes to the end of the queue. `reset` is
//! called before each poll of a task.

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

    // A task with two sources. It asks the second one although the first was pending.
    reset();
    let mut second_is_ready = false;
    let mut task = Box::pin(poll_fn(|context| {
        while poll_message(context).is_ready() {}
        second_is_ready = poll_message(context).is_ready();
        Poll::<()>::Pending
    }));
    let _ = poll(&mut task, &wakeups);
    drop(task);
    let message = "a task that has used its budget up got a message from its second source";
    expect(!second_is_ready, message);
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
// ```
