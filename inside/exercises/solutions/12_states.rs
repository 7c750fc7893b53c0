//! Exercise 12, size M, after stage 05: four states.
//!
//! A task is idle, queued, running, or woken while running. `wake` returns whether its caller must
//! queue the task now, and so does `end_poll`, which is called after a poll. The task must never be
//! in the queue twice, and never while it is running. And whatever came before a wake-up, the next
//! poll must see it.
//!
//! `AtomicU8` is std's, with one addition: here, the exercise can let another thread act between
//! two of your steps, and it knows what your orderings make certain.

use inside::exercises::threads::{AtomicU8, Note, Ordering, meanwhile, other_thread};
use inside::exercises::{expect, solved};

const IDLE: u8 = 0;
const QUEUED: u8 = 1;
const RUNNING: u8 = 2;
const WOKEN: u8 = 3;

struct State(AtomicU8);

impl State {
    /// True: queue the task.
    fn wake(&self) -> bool {
        // SOLUTION
        let next = |state| match state {
            IDLE => Some(QUEUED),
            RUNNING => Some(WOKEN),
            // The same state is written again: that publishes what came before this wake-up, for
            // the poll that is to come.
            _ => Some(state),
        };
        // AcqRel pairs with the other two functions: the next poll sees what was done before.
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE)
        // INSTEAD
        //~ // AcqRel pairs with the other two functions: the next poll sees what was done before.
        //~ self.0.swap(QUEUED, Ordering::AcqRel) != QUEUED
        // END
    }

    /// It was taken out of the queue, and is polled now.
    fn begin_poll(&self) {
        // AcqRel pairs with `wake`.
        self.0.swap(RUNNING, Ordering::AcqRel);
    }

    /// Its poll was pending. True: queue the task.
    fn end_poll(&self) -> bool {
        // SOLUTION
        let next = |state| Some(if state == WOKEN { QUEUED } else { IDLE });
        // AcqRel pairs with `wake`.
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN)
        // INSTEAD
        //~ // AcqRel pairs with `wake`.
        //~ self.0.swap(IDLE, Ordering::AcqRel) == WOKEN
        // END
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
    the_next_poll_sees_it();
    (1..=4).for_each(at_once);
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

// Hint 1: draw the picture of stage 05, and write next to each arrow which function takes it.
// Hint 2: what `wake` does depends on what the state is, in one step: `fetch_update`.
// Hint 3: it returns what the state was before. Only from one of the four does `wake` queue, and
// from only one does `end_poll`.

// WRONG
//
// ```text
// look-then-store: two threads have both seen that it is idle
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE)
//     + let state = self.0.load(Ordering::Acquire);
//     + self.0.store(next(state).unwrap_or(state), Ordering::Release);
//     + state == IDLE
//     you see: not yet: two threads wake an idle task at once, and it is not queued once
//
// end-looks-then-stores: the wake-up comes between the two
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN)
//     + let state = self.0.load(Ordering::Acquire);
//     + self.0.store(next(state).unwrap_or(state), Ordering::Release);
//     + state == WOKEN
//     you see: not yet: a task is woken just when its poll ends, and it is not queued once
//
// queued-is-left-alone: what came before this wake-up is not published
//     - _ => Some(state),
//     + _ => None,
//     you see: not yet: a task is woken after something has happened, and its poll may not see
//
// exchanges-once: if the state has changed since the look, the wake-up is lost
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE)
//     + let _ = next;
//     + let (set, seen) = (Ordering::AcqRel, Ordering::Acquire);
//     + match self.0.load(seen) {
//     + IDLE => return self.0.compare_exchange(IDLE, QUEUED, set, seen).is_ok(),
//     + RUNNING => _ = self.0.compare_exchange(RUNNING, WOKEN, set, seen),
//     + state => _ = self.0.compare_exchange(state, state, set, seen),
//     + }
//     + false
//     you see: not yet: a task is woken just when its poll ends, and it is not queued once
//
// publishes-too-late: the poll has begun, and this wake-up is lost
//     - _ => Some(state),
//     + _ => None,
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE)
//     + let old = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
//     + if let Err(state) = old {
//     + let _ = self.0.compare_exchange(state, state, Ordering::AcqRel, Ordering::Acquire);
//     + }
//     + old == Ok(IDLE)
//     you see: not yet: a task is woken just when its poll begins, and is not polled again
//
// relaxed-wake: the state is right, and orders nothing
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE)
//     + self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) == Ok(IDLE)
//     you see: not yet: a task is woken after something has happened, and its poll may not see
//
// relaxed-end: what the poll has written is not published
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN)
//     + self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) == Ok(WOKEN)
//     you see: not yet: a poll may not see what the poll before it has written
//
// running-is-queued: the end of the poll cannot tell that it was woken
//     - RUNNING => Some(WOKEN),
//     + RUNNING => Some(QUEUED),
//     you see: not yet: a task was woken while it ran, and is not polled again
//
// end-forgets: it is in the queue, and counts as idle
//     - let next = |state| Some(if state == WOKEN { QUEUED } else { IDLE });
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN)
//     + self.0.swap(IDLE, Ordering::AcqRel) == WOKEN
//     you see: not yet: a queued task was woken, and is queued twice
//
// running-is-left-alone: a wake-up of a running task is lost
//     - RUNNING => Some(WOKEN),
//     + RUNNING => Some(RUNNING),
//     you see: not yet: a task was woken while it ran, and is not polled again
//
// end-exchanges-then-stores: the store wipes out what a wake-up between the two has published
//     - let next = |state| Some(if state == WOKEN { QUEUED } else { IDLE });
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN)
//     + let (set, seen) = (Ordering::AcqRel, Ordering::Acquire);
//     + if self.0.compare_exchange(RUNNING, IDLE, set, seen).is_ok() {
//     + return false;
//     + }
//     + self.0.store(QUEUED, Ordering::Release);
//     + true
//     you see: not yet: a task is woken after something has happened, and its poll may not see
//
// exchange-in-two-steps: the state may change between the two exchanges
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE)
//     + let _ = next;
//     + let (set, seen) = (Ordering::AcqRel, Ordering::Acquire);
//     + if self.0.compare_exchange(RUNNING, WOKEN, set, seen).is_ok() {
//     + return false;
//     + }
//     + self.0.compare_exchange(IDLE, QUEUED, set, seen).is_ok()
//     you see: not yet: a task is woken after something has happened, and its poll may not see
//
// woken-is-queued: a third wake-up makes the end of the poll forget the second
//     - RUNNING => Some(WOKEN),
//     + RUNNING => Some(WOKEN),
//     + WOKEN => Some(QUEUED),
//     you see: not yet: a task was woken while it ran, and is not polled again
//
// queues-unless-queued: a running task is queued, and another thread polls it
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE)
//     + self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) != Ok(QUEUED)
//     you see: not yet: a running task was woken, and another thread can poll it at once
//
// end-queues-always: it is polled again and again
//     - let next = |state| Some(if state == WOKEN { QUEUED } else { IDLE });
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN)
//     + self.0.swap(QUEUED, Ordering::AcqRel);
//     + true
//     you see: not yet: a task was not woken while it ran, and is polled again
//
// end-reads-backwards: queued when it was not woken, and not when it was
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN)
//     + self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(RUNNING)
//     you see: not yet: a task was woken while it ran, and is not polled again
//
// acquire-wake: it learns, and does not publish
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE)
//     + self.0.fetch_update(Ordering::Acquire, Ordering::Acquire, next) == Ok(IDLE)
//     you see: not yet: a task is woken after something has happened, and its poll may not see
//
// end-stores: whatever was published before it is wiped out
//     - let next = |state| Some(if state == WOKEN { QUEUED } else { IDLE });
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN)
//     + if self.0.load(Ordering::Acquire) == WOKEN {
//     + self.0.store(QUEUED, Ordering::Release);
//     + return true;
//     + }
//     + let (set, seen) = (Ordering::AcqRel, Ordering::Acquire);
//     + if self.0.compare_exchange(RUNNING, IDLE, set, seen).is_ok() {
//     + return false;
//     + }
//     + self.0.store(QUEUED, Ordering::Relaxed);
//     + true
//     you see: not yet: a task is woken after something has happened, and its poll may not see
// ```

// RIGHT
//
// ```text
// bits: with these numbers, a wake-up sets the lowest bit, and the end of a poll keeps it
//     - let next = |state| match state {
//     - ...
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE)
//     + self.0.fetch_or(1, Ordering::AcqRel) == IDLE
//     - let next = |state| Some(if state == WOKEN { QUEUED } else { IDLE });
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN)
//     + self.0.fetch_and(1, Ordering::AcqRel) == WOKEN
//     you see: solved
//
// release-only: the poll that begins learns, so these two need only publish
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE)
//     + self.0.fetch_update(Ordering::Release, Ordering::Relaxed, next) == Ok(IDLE)
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN)
//     + self.0.fetch_update(Ordering::Release, Ordering::Relaxed, next) == Ok(WOKEN)
//     you see: solved
//
// exchanges-in-a-loop: what `fetch_update` does, by hand
//     - self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(WOKEN)
//     + let mut state = RUNNING;
//     + loop {
//     + let new = next(state).unwrap_or(IDLE);
//     + match self.0.compare_exchange(state, new, Ordering::AcqRel, Ordering::Acquire) {
//     + Ok(old) => return old == WOKEN,
//     + Err(now) => state = now,
//     + }
//     + }
//     you see: solved
// ```
