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

use inside::exercises::{Wakeups, expect, poll, solved};
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    // SOLUTION
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut a_output, mut b_output) = (None, None);
    poll_fn(|context| {
        if a_output.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(context)
        {
            a_output = Some(output);
        }
        if b_output.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(context)
        {
            b_output = Some(output);
        }
        match (a_output.take(), b_output.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (a_output, b_output) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
    // INSTEAD
    //~ let _ = (poll_fn(|_| Poll::Ready(())), pin!(())); // you may need these two
    //~ (a.await, b.await)
    // END
}

/// A gate is passed when it is open. Whoever waits for it is woken at once, to look again.
#[derive(Default)]
struct Gate {
    is_open: Cell<bool>,
    polls: Cell<usize>,
    was_passed: Cell<bool>,
}

impl Gate {
    fn pass(&self, name: &'static str) -> impl Future<Output = &'static str> {
        poll_fn(move |context| {
            expect(!self.was_passed.get(), "a future was polled after its end");
            self.polls.set(self.polls.get() + 1);
            if !self.is_open.get() {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.was_passed.set(true);
            Poll::Ready(name)
        })
    }
}

fn main() {
    // Whichever of the two is done first.
    for [first, last] in [[0, 1], [1, 0]] {
        let gates = [Gate::default(), Gate::default()];
        let mut both = Box::pin(join(gates[0].pass("a"), gates[1].pass("b")));
        let wakeups = Wakeups::new();

        expect(poll(&mut both, &wakeups).is_pending(), "it is done, and neither future is");
        expect(gates[0].polls.get() == 1, "the first future was not polled");
        let message = "the second future was not polled while the first was pending";
        expect(gates[1].polls.get() == 1, message);
        let message = "a future was polled with a context that is not the one of `join`'s poll";
        expect(wakeups.count() == 2, message);

        gates[first].is_open.set(true);
        for _ in 0..2 {
            expect(poll(&mut both, &wakeups).is_pending(), "it is done, and one future is not");
        }
        expect(gates[last].polls.get() == 3, "a future was not polled while the other was done");

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
    solved();
}

// Hint 1: `poll_fn` gives you the context. Both futures get the same one.
// Hint 2: what is done first has to keep its output somewhere until the other is done as well.
// Hint 3: two variables of type `Option`, outside of the closure, that are None until the output
// is there. Poll a future only while its variable is None.

// WRONG
//
// ```text
// one-after-the-other: the second future has to wait until the first is done
//     - if b_output.is_none()
//     + if a_output.is_some()
//     + && b_output.is_none()
//     you see: not yet: the second future was not polled while the first was pending
//
// one-in-each-poll: what is done in this poll hides the other one
//     - a_output = Some(output);
//     - }
//     - if b_output.is_none()
//     + a_output = Some(output);
//     + } else if b_output.is_none()
//     you see: not yet: a future was not polled while the other was done
//
// polled-after-its-end: nobody asks whether the first future is done already
//     - if a_output.is_none()
//     - && let Poll::Ready(output) = a.as_mut().poll(context)
//     + if let Poll::Ready(output) = a.as_mut().poll(context)
//     you see: not yet: a future was polled after its end
//
// lost-output: what the first future gave is dropped, and it is polled for it again
//     - (a_output, b_output) = (a, b);
//     + drop((a, b));
//     you see: not yet: a future was polled after its end
//
// one-poll-late: it looks at the outputs before it polls, and not after it
//     - poll_fn(|context| {
//     - if a_output.is_none()
//     + poll_fn(|context| {
//     + if a_output.is_some() && b_output.is_some() {
//     + return Poll::Ready((a_output.take().unwrap(), b_output.take().unwrap()));
//     + }
//     + if a_output.is_none()
//     - match (a_output.take(), b_output.take()) {
//     - (Some(a), Some(b)) => Poll::Ready((a, b)),
//     - (a, b) => {
//     - (a_output, b_output) = (a, b);
//     - Poll::Pending
//     - }
//     - }
//     + Poll::Pending
//     you see: not yet: it is not done, and both futures are
//
// other-context: the second future wakes nobody
//     - && let Poll::Ready(output) = b.as_mut().poll(context)
//     + && let Poll::Ready(output) =
//     + b.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
//     you see: not yet: a future was polled with a context that is not the one of `join`'s poll
// ```
