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
//
// first-waker: the task that polls now is another one, and is not woken
//     - let (mut a_output, mut b_output) = (None, None);
//     - poll_fn(|context| {
//     + let (mut a_output, mut b_output) = (None, None);
//     + let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
//     + poll_fn(move |_| {
//     + let context = &mut std::task::Context::from_waker(&waker);
//     you see: not yet: a future was polled with a context that is not the one of `join`'s poll
//
// wakes-itself: it is polled again and again, for nothing
//     - (a_output, b_output) = (a, b);
//     + (a_output, b_output) = (a, b);
//     + context.waker().wake_by_ref();
//     you see: not yet: it has woken its own task, and neither future has asked for that
//
// waits-in-the-poll: no other task has a turn until both are done
//     - match (a_output.take(), b_output.take()) {
//     - (Some(a), Some(b)) => Poll::Ready((a, b)),
//     - (a, b) => {
//     - (a_output, b_output) = (a, b);
//     - Poll::Pending
//     - }
//     - }
//     + while a_output.is_none() || b_output.is_none() {
//     + std::thread::yield_now();
//     + }
//     + Poll::Ready((a_output.take().unwrap(), b_output.take().unwrap()))
//     you see: not yet: it does not come to its end
//
// twice-to-be-sure: the first future is asked again after the second
//     - match (a_output.take(), b_output.take()) {
//     + if a_output.is_none()
//     + && let Poll::Ready(output) = a.as_mut().poll(context)
//     + {
//     + a_output = Some(output);
//     + }
//     + match (a_output.take(), b_output.take()) {
//     you see: not yet: a future was polled twice in one poll
//
// in-turn: each poll asks one of the two
//     - let (mut a_output, mut b_output) = (None, None);
//     - poll_fn(|context| {
//     - if a_output.is_none()
//     + let (mut a_output, mut b_output) = (None, None);
//     + let mut is_turn_of_a = false;
//     + poll_fn(|context| {
//     + is_turn_of_a = !is_turn_of_a;
//     + if a_output.is_none() && is_turn_of_a
//     - if b_output.is_none()
//     + if b_output.is_none() && !is_turn_of_a
//     you see: not yet: the second future was not polled while the first was pending
//
// done-when-one-is: the other one is waited for without the task
//     - (a, b) => {
//     - (a_output, b_output) = (a, b);
//     - Poll::Pending
//     - }
//     + (None, None) => Poll::Pending,
//     + (a, b) => {
//     + (a_output, b_output) = (a, b);
//     + panic!("one of them is not done")
//     + }
//     you see: not yet: it panics
// ```

// RIGHT
//
// ```text
// looks-at-both: two variables say what is done
//     - match (a_output.take(), b_output.take()) {
//     - (Some(a), Some(b)) => Poll::Ready((a, b)),
//     - (a, b) => {
//     - (a_output, b_output) = (a, b);
//     - Poll::Pending
//     - }
//     - }
//     + if a_output.is_some() && b_output.is_some() {
//     + return Poll::Ready((a_output.take().unwrap(), b_output.take().unwrap()));
//     + }
//     + Poll::Pending
//     you see: solved
//
// boxed: pinned on the heap, and the second one first
//     - let (mut a, mut b) = (pin!(a), pin!(b));
//     - ...
//     - .await
//     + let (mut a, mut b) = (Box::pin(a), Box::pin(b));
//     + let (mut x, mut y) = (None, None);
//     + poll_fn(|context| {
//     + if y.is_none() && let Poll::Ready(output) = b.as_mut().poll(context) {
//     + y = Some(output);
//     + }
//     + if x.is_none() && let Poll::Ready(output) = a.as_mut().poll(context) {
//     + x = Some(output);
//     + }
//     + if x.is_none() || y.is_none() { Poll::Pending } else { Poll::Ready(()) }
//     + })
//     + .await;
//     + (x.unwrap(), y.unwrap())
//     you see: solved
// ```
