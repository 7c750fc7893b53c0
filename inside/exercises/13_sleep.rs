//! Exercise 13, size M, after stage 09: repair a broken sleep.
//!
//! A worker goes to sleep while another thread brings a task. Both write, wait until their write
//! can be seen by the other (`Fence`), and look. Here the steps of both are in a wrong order. Put
//! them right, so that the wake-up is never lost, however the steps of the two threads are mixed.
//! The program tries every way to mix them.

use inside::exercises::{expect, solved};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// The worker sets its bit; the other thread queues a task. Nobody else sees it yet.
    Write,
    /// What was written can be seen from now on.
    Fence,
    /// The worker looks for a task; the other thread looks for the bit.
    Look,
}
use Step::{Fence, Look, Write};

// YOURS: from here
const WORKER: [Step; 3] = [Look, Write, Fence];
const OTHER: [Step; 3] = [Write, Look, Fence];
// to here

#[derive(Clone, Default)]
struct Side {
    steps: usize,
    is_seen: bool,
    has_seen_the_other: bool,
}

/// Takes all steps that are left, in every order. `order` tells those that were taken.
fn explore(worker: Side, other: Side, order: &str) {
    if worker.steps == WORKER.len() && other.steps == OTHER.len() {
        let lost = !worker.has_seen_the_other && !other.has_seen_the_other;
        expect(!lost, &format!("a task is queued and all sleep, in the order{order}"));
    }
    if let Some(step) = WORKER.get(worker.steps) {
        let next = take(*step, &worker, &other);
        explore(next, other.clone(), &format!("{order} worker:{step:?}"));
    }
    if let Some(step) = OTHER.get(other.steps) {
        let next = take(*step, &other, &worker);
        explore(worker, next, &format!("{order} other:{step:?}"));
    }
}

fn take(step: Step, side: &Side, opposite: &Side) -> Side {
    let mut side = side.clone();
    side.steps += 1;
    match step {
        Write => {}
        Fence => side.is_seen = true,
        Look => side.has_seen_the_other = opposite.is_seen,
    }
    side
}

fn main() {
    for steps in [&WORKER[..], &OTHER] {
        let each = [Write, Fence, Look].iter().all(|step| steps.contains(step));
        expect(each, "each side takes each of the three steps");
        let place = |step| steps.iter().position(|it| *it == step);
        expect(place(Write) < place(Fence), "a fence before the write waits for nothing");
    }
    explore(Side::default(), Side::default(), "");
    solved();
}

// Hint 1: read the order that it prints, and ask of each `Look` what it could have seen.
// Hint 2: `09_steps` is the same machine, with the steps in the right order.
// Hint 3: if both looks come after both writes can be seen, at least ... which side sees the
// other?
