//! Exercise 04, size M, after stage 03: a thousand tasks, one ring.
//!
//! The executor of stage 03 notifies its thread whenever it pushes a task. That may cost a call
//! into the kernel each time, and is for nothing if the thread was notified already. The `Inbox`
//! below has a bell instead. The thread waits until it rings (`hear`), and then takes at most
//! `MOST` tasks at once (`take`): it has other things to do as well, and then waits for the bell
//! again. Decide when to ring. A task must never lie in the inbox while nobody has rung for it. And
//! nobody rings while a ring is not heard yet, or for an empty inbox.
//!
//! You may add to `State` what you need, and write `push` and `take`. Ring after the lock is
//! released: the thread that hears it wants the lock. (Tasks are numbers here. `Mutex` is std's,
//! with one addition: the exercise can let another thread act whenever you release the lock. `lock`
//! gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{AtomicUsize, Mutex, Ordering, holds_a_lock, meanwhile};
use inside::exercises::{expect, solved};
use std::collections::VecDeque;

/// How many tasks are taken at once.
const MOST: usize = 3;

#[derive(Default)]
struct State {
    tasks: VecDeque<u32>,
    // SOLUTION
    /// The bell has rung, or is about to, for tasks that are still here.
    is_rung: bool,
    // INSTEAD
    // END
}

#[derive(Default)]
struct Inbox {
    state: Mutex<State>,
    bell: Bell,
}

impl Inbox {
    /// Any thread brings a task.
    fn push(&self, task: u32) {
        // SOLUTION
        let mut state = self.state.lock();
        state.tasks.push_back(task);
        let was_rung = std::mem::replace(&mut state.is_rung, true);
        drop(state);
        if !was_rung {
            self.bell.ring();
        }
        // INSTEAD
        //~ self.state.lock().tasks.push_back(task);
        //~ self.bell.ring();
        // END
    }

    /// The thread has heard the bell. It takes the oldest tasks, at most `MOST`.
    fn take(&self) -> Vec<u32> {
        // SOLUTION
        let mut state = self.state.lock();
        let count = state.tasks.len().min(MOST);
        let taken = state.tasks.drain(..count).collect();
        state.is_rung = !state.tasks.is_empty();
        let rings_again = state.is_rung;
        drop(state);

        if rings_again {
            self.bell.ring();
        }
        taken
        // INSTEAD
        //~ let mut state = self.state.lock();
        //~ let count = state.tasks.len().min(MOST);
        //~ state.tasks.drain(..count).collect()
        // END
    }
}

/// Remembers a ring that nobody has heard yet, as `unpark` does.
#[derive(Default)]
struct Bell {
    unheard: AtomicUsize,
}

impl Bell {
    /// Ends the wait of the thread, or its next one.
    fn ring(&self) {
        let message = "it rings while the lock is held: the thread that hears it wants that lock";
        expect(!holds_a_lock(), message);
        let unheard = self.unheard.fetch_add(1, Ordering::Relaxed);
        expect(unheard == 0, "it rings, and the last ring is not heard yet: one is enough");
    }

    /// False: it has not rung, and the thread would wait.
    fn hear(&self) -> bool {
        self.unheard.swap(0, Ordering::Relaxed) > 0
    }
}

impl Inbox {
    /// Does what the thread does when the bell has rung.
    fn hear_and_take(&self) -> Vec<u32> {
        if !self.bell.hear() {
            return Vec::new();
        }
        let taken = self.take();
        expect(!taken.is_empty(), "it has rung for an empty inbox");
        expect(taken.len() <= MOST, &format!("it has taken {} tasks at once", taken.len()));
        taken
    }

    /// Takes tasks as long as it rings. Expects all of those that were brought, and adds those that
    /// were `taken` before.
    fn expect_all(&self, brought: std::ops::Range<u32>, mut taken: Vec<u32>) {
        loop {
            let more = self.hear_and_take();
            if more.is_empty() {
                break;
            }
            taken.extend(more);
        }
        let left = self.state.lock().tasks.len();
        expect(left == 0, &format!("tasks lie in the inbox, and nobody has rung for them: {left}"));
        taken.sort_unstable();
        expect(taken.into_iter().eq(brought), "a task was lost, or it was taken twice");
    }
}

fn main() {
    let inbox = Inbox::default();
    expect(!inbox.bell.hear(), "it has rung, and nobody has brought anything");
    for _ in ["at first", "in a second round"] {
        (0..1000).for_each(|task| inbox.push(task));
        let first = inbox.hear_and_take();
        expect(!first.is_empty(), "a thousand tasks are there, and it has not rung");
        expect(first == [0, 1, 2], "the first tasks that are taken are not the three oldest ones");

        // One more comes while it has rung for the rest.
        inbox.push(1000);
        inbox.expect_all(0..1001, first);
    }

    // Another thread acts after each step, with some tasks in the inbox already.
    for step in 1..=6 {
        for before in [0, 1, 3, 4] {
            let inbox_of = || {
                let inbox = Inbox::default();
                (0..before).for_each(|task| inbox.push(task));
                inbox
            };
            let inbox = inbox_of();
            meanwhile(step, || inbox.push(before), || inbox.push(before + 1));
            inbox.expect_all(0..before + 2, Vec::new());

            let inbox = inbox_of();
            let ((), taken) = meanwhile(step, || inbox.push(before), || inbox.hear_and_take());
            inbox.expect_all(0..before + 1, taken);

            let inbox = inbox_of();
            let (taken, ()) = meanwhile(step, || inbox.hear_and_take(), || inbox.push(before));
            inbox.expect_all(0..before + 1, taken);
        }
    }
    solved();
}

// Hint 1: it is the flag `queued` of stage 03, for all tasks together: has somebody rung for what
// lies here?
// Hint 2: whoever looks at that must change it under the same lock under which the tasks are put
// in, or taken out.
// Hint 3: `take` may leave tasks behind. Who rings for these?

// WRONG
//
// ```text
// rings-for-the-first-only: what `take` leaves behind lies there until the next push
//     - if rings_again {
//     - self.bell.ring();
//     - }
//     + let _ = rings_again;
//     you see: not yet: tasks lie in the inbox, and nobody has rung for them
//
// flag-is-cleared: it rings again, and so does the next push
//     - state.is_rung = !state.tasks.is_empty();
//     - let rings_again = state.is_rung;
//     + state.is_rung = false;
//     + let rings_again = !state.tasks.is_empty();
//     you see: not yet: it rings, and the last ring is not heard yet
//
// never-cleared: it rings once, and never again
//     - state.is_rung = !state.tasks.is_empty();
//     - let rings_again = state.is_rung;
//     + let rings_again = !state.tasks.is_empty();
//     you see: not yet: a thousand tasks are there, and it has not rung
//
// cleared-afterwards: a push comes between the two locks, and does not ring
//     - state.is_rung = !state.tasks.is_empty();
//     - let rings_again = state.is_rung;
//     - drop(state);
//     + let rings_again = !state.tasks.is_empty();
//     + drop(state);
//     + self.state.lock().is_rung = rings_again;
//     you see: not yet: tasks lie in the inbox, and nobody has rung for them
//
// cleared-before: a push comes between the two locks, and rings for what is taken
//     - let mut state = self.state.lock();
//     - let count = state.tasks.len().min(MOST);
//     + self.state.lock().is_rung = false;
//     + let mut state = self.state.lock();
//     + let count = state.tasks.len().min(MOST);
//     you see: not yet: it
//
// flag-before-the-task: the thread hears it before the task is there
//     - let mut state = self.state.lock();
//     - state.tasks.push_back(task);
//     - let was_rung = std::mem::replace(&mut state.is_rung, true);
//     - drop(state);
//     - if !was_rung {
//     - self.bell.ring();
//     - }
//     + let was_rung = std::mem::replace(&mut self.state.lock().is_rung, true);
//     + if !was_rung {
//     + self.bell.ring();
//     + }
//     + self.state.lock().tasks.push_back(task);
//     you see: not yet: tasks lie in the inbox, and nobody has rung for them
//
// task-before-the-flag: two locks, and the thread may have taken the task in between
//     - let mut state = self.state.lock();
//     - state.tasks.push_back(task);
//     - let was_rung = std::mem::replace(&mut state.is_rung, true);
//     - drop(state);
//     + self.state.lock().tasks.push_back(task);
//     + let was_rung = std::mem::replace(&mut self.state.lock().is_rung, true);
//     you see: not yet: it has rung for an empty inbox
//
// rings-under-the-lock: the thread that hears it has to wait at once
//     - drop(state);
//     - if !was_rung {
//     + if !was_rung {
//     you see: not yet: it rings while the lock is held
//
// looks-first: two threads both see that the inbox is empty
//     - let mut state = self.state.lock();
//     - state.tasks.push_back(task);
//     - let was_rung = std::mem::replace(&mut state.is_rung, true);
//     - drop(state);
//     + let was_rung = !self.state.lock().tasks.is_empty();
//     + self.state.lock().tasks.push_back(task);
//     you see: not yet: it
//
// rings-for-each: that is what the bell is there to save
//     - if !was_rung {
//     - self.bell.ring();
//     - }
//     + let _ = was_rung;
//     + self.bell.ring();
//     you see: not yet: it rings, and the last ring is not heard yet
//
// takes-all: other things have to wait
//     - let count = state.tasks.len().min(MOST);
//     + let count = state.tasks.len();
//     you see: not yet: it has taken 1000 tasks at once
//
// drops-the-rest: `drain` removes what nobody takes, too
//     - let taken = state.tasks.drain(..count).collect();
//     + let taken = state.tasks.drain(..).take(count).collect();
//     you see: not yet: a task was lost
//
// newest-first: the oldest tasks have waited the longest
//     - let taken = state.tasks.drain(..count).collect();
//     + let rest = state.tasks.len() - count;
//     + let taken = state.tasks.drain(rest..).collect();
//     you see: not yet: the first tasks that are taken are not the three oldest ones
// ```

// RIGHT
//
// ```text
// no-flag: if the inbox was not empty, somebody has rung for it
//     - let was_rung = std::mem::replace(&mut state.is_rung, true);
//     + let was_rung = state.tasks.len() > 1;
//     - state.is_rung = !state.tasks.is_empty();
//     - let rings_again = state.is_rung;
//     + let rings_again = !state.tasks.is_empty();
//     you see: solved
//
// counts: how many there were says the same
//     - let mut state = self.state.lock();
//     - state.tasks.push_back(task);
//     - let was_rung = std::mem::replace(&mut state.is_rung, true);
//     - drop(state);
//     - if !was_rung {
//     + let there = {
//     + let mut state = self.state.lock();
//     + state.is_rung = true;
//     + state.tasks.push_back(task);
//     + state.tasks.len()
//     + };
//     + if there == 1 {
//     you see: solved
// ```
