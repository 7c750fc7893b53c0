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
    // YOURS: from here
    let _ = (context, LEFT.get()); // there is no budget yet
    Poll::Ready(())
    // to here
}

fn main() {
    check();
    // Of all wakers, none may be left.
    solved();
}

fn check() {
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
}

// Hint 1: what is the task waiting for when it says `Pending`? For nothing but its next turn.
// Hint 2: so it must be woken at once, by itself.
// Hint 3: count `LEFT` down. At zero, `wake_by_ref` and `Pending`.
