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
    // YOURS: from here
    let _ = (context, LEFT.get()); // there is no budget yet
    Poll::Ready(())
    // to here
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
