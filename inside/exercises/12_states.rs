//! Exercise 12, size M, after stage 05: four states.
//!
//! A task is idle, queued, running, or woken while running. `wake` returns whether its caller must
//! queue the task now, and so does `end_poll`, which is called after a poll. The task must never be
//! in the queue twice, and never while it is running. And whatever came before a wake-up, the next
//! poll must see it.
//!
//! `AtomicU8` is std's, with one addition: here, the exercise can let another thread act between
//! two of your steps, and it knows what your orderings make certain.

use inside::exercises::threads::{
    AtomicU8, Note, Ordering, by_turns, meanwhile, orders, other_thread,
};
use inside::exercises::{expect, set_alarm, solved};

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
    // If it panics or does not come to its end, the exercise says so.
    set_alarm();
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
    the_next_poll_sees_it();
    (1..=4).for_each(at_once);
    orders(4).for_each(|turns| both_are_stopped(&turns));
    solved();
}

/// What came before a wake-up, whatever the state was then, and what the last poll has written.
fn the_next_poll_sees_it() {
    for before in [IDLE, QUEUED, RUNNING, WOKEN] {
        let state = State(AtomicU8::new(before));
        let note = Note::new();
        other_thread(|| {
            note.write();
            state.wake();
        });
        if matches!(before, RUNNING | WOKEN) {
            other_thread(|| state.end_poll());
        }
        state.begin_poll();
        note.read();
    }

    let state = State(AtomicU8::new(RUNNING));
    let note = Note::new();
    other_thread(|| {
        note.write();
        state.end_poll();
    });
    other_thread(|| state.wake());
    state.begin_poll();
    expect(note.is_seen(), "a poll may not see what the poll before it has written");
}

/// Another thread acts right after this step of a function.
fn at_once(step: usize) {
    let state = State(AtomicU8::new(IDLE));
    let (one, other) = meanwhile(step, || state.wake(), || state.wake());
    expect(one != other, "two threads wake an idle task at once, and it is not queued once");

    let message = "a task is woken just when its poll ends, and it is not queued once";
    for before in [RUNNING, WOKEN] {
        let state = State(AtomicU8::new(before));
        let (one, other) = meanwhile(step, || state.end_poll(), || state.wake());
        expect(one != other && !state.wake(), message);

        let state = State(AtomicU8::new(before));
        let note = Note::new();
        let wake = || {
            note.write();
            state.wake()
        };
        let (one, other) = meanwhile(step, wake, || state.end_poll());
        expect(one != other && !state.wake(), message);
        state.begin_poll();
        note.read();
    }

    // A poll begins in the middle of a wake-up. It sees the note, or another poll follows.
    let state = State(AtomicU8::new(QUEUED));
    let note = Note::new();
    let begin = || {
        state.begin_poll();
        note.is_seen()
    };
    let wake = || {
        note.write();
        state.wake()
    };
    let (is_seen, is_queued) = meanwhile(step, begin, wake);
    expect(!is_queued, "a running task was woken, and another thread can poll it at once");
    let message = "a task is woken just when its poll begins, and is not polled again";
    expect(is_seen || state.end_poll(), message);
}

/// A task is woken twice in a row while its poll ends, or while another thread wakes it. Each of
/// the two threads is stopped in the middle, and the other one goes on.
fn both_are_stopped(turns: &[usize]) {
    for before in [RUNNING, WOKEN, IDLE] {
        let state = State(AtomicU8::new(before));
        let notes = [Note::new(), Note::new()];
        let first = || {
            if before == IDLE { state.wake() } else { state.end_poll() }
        };
        let wakes = || {
            notes.map(|note| {
                note.write();
                state.wake()
            })
        };
        let (first, [second, third]) = by_turns(turns, first, wakes);
        let queued = [first, second, third].into_iter().filter(|it| *it).count();
        expect(queued == 1, "two threads act on a task at once, and it is not queued once");
        expect(!state.wake(), "a queued task was woken, and is queued twice");
        state.begin_poll();
        notes.iter().for_each(|note| note.read());
        expect(!state.end_poll(), "a task was not woken while it ran, and is polled again");
    }
}

// Hint 1: draw the picture of stage 05, and write next to each arrow which function takes it.
// Hint 2: what `wake` does depends on what the state is, in one step: `fetch_update`.
// Hint 3: it returns what the state was before. Only from one of the four does `wake` queue, and
// from only one does `end_poll`.
