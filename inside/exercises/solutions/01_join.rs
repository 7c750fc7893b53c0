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
use std::rc::Rc;
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

/// Is done when `open` says so, and counts its polls.
async fn gate(open: Rc<Cell<bool>>, polls: Rc<Cell<usize>>) {
    poll_fn(|_| {
        polls.set(polls.get() + 1);
        if open.get() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn main() {
    let [a_open, b_open] = [(); 2].map(|()| Rc::new(Cell::new(false)));
    let [a_polls, b_polls] = [(); 2].map(|()| Rc::new(Cell::new(0)));
    let a = gate(a_open.clone(), a_polls.clone());
    let b = gate(b_open.clone(), b_polls.clone());
    let mut both = Box::pin(join(a, b));
    let wakeups = Wakeups::new();

    expect(poll(&mut both, &wakeups).is_pending(), "it is done, and neither future is");
    expect(a_polls.get() == 1, "the first future was not polled");
    expect(b_polls.get() == 1, "the second future was not polled while the first was pending");

    b_open.set(true);
    expect(poll(&mut both, &wakeups).is_pending(), "it is done, and one future is not");
    expect(poll(&mut both, &wakeups).is_pending(), "it is done, and one future is not");
    expect(b_polls.get() == 2, "a future was polled after its end");
    a_open.set(true);
    expect(poll(&mut both, &wakeups).is_ready(), "it is not done, and both futures are");
    solved();
}

// Hint 1: `poll_fn` gives you the context. Both futures get the same one.
// Hint 2: what is done first has to keep its output somewhere until the other is done as well.
// Hint 3: two variables of type `Option`, outside of the closure, that are None until the output
// is there. Poll a future only while its variable is None.
