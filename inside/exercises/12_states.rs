//! Exercise 12, size M, after stage 05: four states.
//!
//! A task is idle, queued, running, or woken while running. `wake` returns whether its caller must
//! queue the task now, and so does `end_poll`, which is called after a poll. The task must never be
//! in the queue twice, and never while it is running.

use inside::exercises::{expect, solved};
use std::sync::atomic::{AtomicU8, Ordering};

const IDLE: u8 = 0;
const QUEUED: u8 = 1;
const RUNNING: u8 = 2;
const WOKEN: u8 = 3;

struct State(AtomicU8);

impl State {
    /// True: queue the task.
    fn wake(&self) -> bool {
        // YOURS: from here
        // AcqRel pairs with the other two functions: the next poll sees what was done before.
        self.0.swap(QUEUED, Ordering::AcqRel) != QUEUED
        // to here
    }

    /// It was taken out of the queue, and is polled now.
    fn begin_poll(&self) {
        // AcqRel pairs with `wake`.
        self.0.swap(RUNNING, Ordering::AcqRel);
    }

    /// Its poll was pending. True: queue the task.
    fn end_poll(&self) -> bool {
        // YOURS: from here
        // AcqRel pairs with `wake`.
        self.0.swap(IDLE, Ordering::AcqRel) == WOKEN
        // to here
    }
}

fn main() {
    let state = State(AtomicU8::new(IDLE));
    expect(state.wake(), "an idle task was woken, and is not queued");
    expect(!state.wake(), "a queued task was woken, and is queued twice");
    state.begin_poll();
    expect(!state.wake(), "a running task was woken, and another thread can poll it at once");
    expect(!state.wake(), "a running task was woken, and another thread can poll it at once");
    expect(state.end_poll(), "a task was woken while it ran, and is not polled again");
    expect(!state.wake(), "a queued task was woken, and is queued twice");
    state.begin_poll();
    expect(!state.end_poll(), "a task was not woken while it ran, and is polled again");
    expect(state.wake(), "an idle task was woken, and is not queued");
    solved();
}

// Hint 1: draw the picture of stage 05, and write next to each arrow which function takes it.
// Hint 2: what `wake` does depends on what the state is, in one step: `fetch_update`.
// Hint 3: it returns what the state was before. Only from one of the four does `wake` queue, and
// from only one does `end_poll`.
