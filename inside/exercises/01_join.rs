//! Exercise 01, size S, after stage 01: wait for two futures at once.
//!
//! `join` polls both of its futures whenever it is polled, until both are done. A future that is
//! done must not be polled again. As it is, `join` awaits one after the other.
//!
//! `poll_fn` of std makes a future of a closure, which is called at each poll. A future that was
//! pinned, as by `let mut a = pin!(a)`, is polled by `a.as_mut().poll(context)`.
//!
//! Run the exercise: `cargo run -p arc-inside --example exercise_01`. It says what is not right
//! yet: `main` polls by hand, and looks at what comes of it. Replace what stands between `YOURS:
//! from here` and `to here`, and leave the rest as it is, until the exercise says `solved`. Three
//! hints stand at the end. (All exercises are made like this one.)

use inside::exercises::{Counted, Wakeups, counted, expect, poll, solved};
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    // YOURS: from here
    let _ = (poll_fn(|_| Poll::Ready(())), pin!(())); // you may need these two
    (a.await, b.await)
    // to here
}

/// A gate is passed when it is open. Whoever waits for it is woken at once, to look again.
#[derive(Default)]
struct Gate {
    is_open: Cell<bool>,
    polls: Cell<usize>,
    was_passed: Cell<bool>,
}

impl Gate {
    fn pass(&self, name: &'static str) -> Counted<impl Future<Output = &'static str>> {
        counted(poll_fn(move |context| {
            expect(!self.was_passed.get(), "a future was polled after its end");
            self.polls.set(self.polls.get() + 1);
            if !self.is_open.get() {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.was_passed.set(true);
            Poll::Ready(name)
        }))
    }
}

/// A future that is polled in vain wakes its task at once, and nobody else does.
fn expect_wakeups(count: usize, expected: usize) {
    let message = "a future was polled with a context that is not the one of `join`'s poll, so \
                   that another task is woken, or none";
    expect(count >= expected, message);
    let message = "it has woken its own task, and neither future has asked for that: it is polled \
                   again and again for nothing";
    expect(count == expected, message);
}

fn main() {
    check();
    // Of all that was polled, nothing may be left.
    solved();
}

fn check() {
    // Whichever of the two is done first.
    for [first, last] in [[0, 1], [1, 0]] {
        let gates = [Gate::default(), Gate::default()];
        let mut both = Box::pin(join(gates[0].pass("a"), gates[1].pass("b")));
        let wakeups = Wakeups::new();

        expect(poll(&mut both, &wakeups).is_pending(), "it is done, and neither future is");
        expect(gates[0].polls.get() > 0, "the first future was not polled");
        let message = "the second future was not polled while the first was pending";
        expect(gates[1].polls.get() > 0, message);
        let once = gates.iter().all(|gate| gate.polls.get() == 1);
        expect(once, "a future was polled twice in one poll, and nothing can have come in between");
        expect_wakeups(wakeups.count(), 2);

        // The task is another one now: only its waker counts.
        let wakeups = Wakeups::new();
        gates[first].is_open.set(true);
        for wakes in 1..=2 {
            expect(poll(&mut both, &wakeups).is_pending(), "it is done, and one future is not");
            let message = "a future was not polled while the other was done";
            expect(gates[last].polls.get() > wakes, message);
            let message = "one future is done, and the other was polled twice in one poll";
            expect(gates[last].polls.get() == wakes + 1, message);
            expect_wakeups(wakeups.count(), wakes);
        }

        gates[last].is_open.set(true);
        let message = "it is not done, and both futures are";
        expect(poll(&mut both, &wakeups) == Poll::Ready(("a", "b")), message);
    }

    let gates = [Gate::default(), Gate::default()];
    gates[0].is_open.set(true);
    gates[1].is_open.set(true);
    let mut both = Box::pin(join(gates[0].pass("a"), gates[1].pass("b")));
    let message = "both futures are done at their first poll, and it is not";
    expect(poll(&mut both, &Wakeups::new()) == Poll::Ready(("a", "b")), message);

    // Both become ready between two polls.
    let gates = [Gate::default(), Gate::default()];
    let mut both = Box::pin(join(gates[0].pass("a"), gates[1].pass("b")));
    expect(poll(&mut both, &Wakeups::new()).is_pending(), "it is done, and neither future is");
    gates.iter().for_each(|gate| gate.is_open.set(true));
    let message = "it is not done, and both futures are";
    expect(poll(&mut both, &Wakeups::new()) == Poll::Ready(("a", "b")), message);

    // It is given up while it waits.
    let gates = [Gate::default(), Gate::default()];
    let mut both = Box::pin(join(gates[0].pass("a"), gates[1].pass("b")));
    expect(poll(&mut both, &Wakeups::new()).is_pending(), "it is done, and neither future is");
}

// Hint 1: `poll_fn` gives you the context. Both futures get the same one.
// Hint 2: what is done first has to keep its output somewhere until the other is done as well.
// Hint 3: two variables of type `Option`, outside of the closure, that are None until the output
// is there. Poll a future only while its variable is None.
