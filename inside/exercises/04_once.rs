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

use inside::exercises::threads::{
    AtomicUsize, Mutex, Ordering, by_turns, holds_a_lock, meanwhile, orders,
};
use inside::exercises::{expect, set_alarm, solved};
use std::collections::VecDeque;

/// How many tasks are taken at once.
const MOST: usize = 3;

#[derive(Default)]
struct State {
    tasks: VecDeque<u32>,
    // YOURS: from here
    // to here
}

#[derive(Default)]
struct Inbox {
    state: Mutex<State>,
    bell: Bell,
}

impl Inbox {
    /// Any thread brings a task.
    fn push(&self, task: u32) {
        // YOURS: from here
        self.state.lock().tasks.push_back(task);
        self.bell.ring();
        // to here
    }

    /// The thread has heard the bell. It takes the oldest tasks, at most `MOST`.
    fn take(&self) -> Vec<u32> {
        // YOURS: from here
        let mut state = self.state.lock();
        let count = state.tasks.len().min(MOST);
        state.tasks.drain(..count).collect()
        // to here
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
    // If it panics or does not come to its end, the exercise says so.
    set_alarm();
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

    // Each of the two is stopped in the middle, and the other one goes on.
    for turns in orders(4) {
        for before in [0, 1, 3, 4] {
            let inbox = Inbox::default();
            (0..before).for_each(|task| inbox.push(task));
            let two = || (before + 1..before + 3).for_each(|task| inbox.push(task));
            by_turns(&turns, || inbox.push(before), two);
            let more = || inbox.push(before + 3);
            let (taken, ()) = by_turns(&turns, || inbox.hear_and_take(), more);
            inbox.expect_all(0..before + 4, taken);
        }
    }
    solved();
}

// Hint 1: it is the flag `queued` of stage 03, for all tasks together: has somebody rung for what
// lies here?
// Hint 2: whoever looks at that must change it under the same lock under which the tasks are put
// in, or taken out.
// Hint 3: `take` may leave tasks behind. Who rings for these?
