//! Exercise 11, size S, after stage 08: steal half.
//!
//! A worker that has nothing to do takes half of another's tasks, rounded up: the oldest ones, in
//! their order. It returns the first, to poll it, and queues the others as its own. Never hold
//! both locks at once: two thieves that rob each other would wait for ever.
//!
//! `Mutex` is std's, with one addition: here, the exercise can let another thread act whenever you
//! release a lock. (`lock` gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{Mutex, meanwhile};
use inside::exercises::{expect, solved};
use std::collections::VecDeque;

type Queue = Mutex<VecDeque<u32>>;

fn steal(victim: &Queue, own: &Queue) -> Option<u32> {
    // SOLUTION
    let mut queue = victim.lock();
    let count = queue.len().div_ceil(2);
    let mut half: VecDeque<u32> = queue.drain(..count).collect();
    drop(queue);

    let first = half.pop_front();
    own.lock().append(&mut half);
    first
    // INSTEAD
    //~ let _ = own; // nothing is put there yet
    //~ victim.lock().pop_front()
    // END
}

fn queue_of(tasks: std::ops::Range<u32>) -> Queue {
    Mutex::new(tasks.collect())
}

fn content(queue: &Queue) -> Vec<u32> {
    queue.lock().iter().copied().collect()
}

fn main() {
    let (victim, own) = (queue_of(0..5), queue_of(0..0));
    expect(steal(&victim, &own) == Some(0), "the first task is not the oldest one");
    expect(
        content(&own) == [1, 2],
        "half of five tasks is three, and the thief does not have them",
    );
    expect(content(&victim) == [3, 4], "the victim should have two tasks left");

    let (victim, own) = (queue_of(0..1), queue_of(0..0));
    expect(steal(&victim, &own) == Some(0), "half of one task is one");
    expect(steal(&victim, &own).is_none(), "there was nothing to steal");

    // Who holds both locks at once waits for itself here.
    let alone = queue_of(0..4);
    expect(steal(&alone, &alone) == Some(0), "the first task is not the oldest one");
    expect(content(&alone) == [2, 3, 1], "a thief that meets itself must lose nothing");

    // Another thread takes a task out of one of the queues in the middle of the theft.
    for step in 1..=6 {
        for robbed in [0, 1] {
            let queues = [queue_of(0..4), queue_of(4..8)];
            let pop = || queues[robbed].lock().pop_front();
            let (popped, stolen) = meanwhile(step, pop, || steal(&queues[0], &queues[1]));
            let mut tasks = content(&queues[0]);
            tasks.extend(content(&queues[1]));
            tasks.extend(popped.into_iter().chain(stolen));
            tasks.sort_unstable();
            expect(tasks == [0, 1, 2, 3, 4, 5, 6, 7], "a task was lost, or is there twice");
        }
    }
    solved();
}

// Hint 1: `VecDeque::drain` takes a range out, and `div_ceil` rounds up.
// Hint 2: collect what you took into a queue of your own before you touch the thief's.
// Hint 3: drop the guard of the victim's lock before you lock the thief's queue.

// WRONG
//
// ```text
// both-locks: the victim's is held while the thief's is taken
//     - let mut half: VecDeque<u32> = queue.drain(..count).collect();
//     - drop(queue);
//     + let mut half: VecDeque<u32> = queue.drain(..count).collect();
//     you see: not yet: it holds two locks at once
//
// both-locks-first: the thief's own lock is taken before the other one
//     - let mut queue = victim.lock();
//     + let mut own = own.lock();
//     + let mut queue = victim.lock();
//     - own.lock().append(&mut half);
//     + own.append(&mut half);
//     you see: not yet: it holds two locks at once
//
// rounded-down: a single task is never stolen
//     - let count = queue.len().div_ceil(2);
//     + let count = queue.len() / 2;
//     you see: not yet: half of five tasks is three, and the thief does not have them
//
// newest-first: the oldest tasks have waited the longest
//     - let mut half: VecDeque<u32> = queue.drain(..count).collect();
//     + let rest = queue.len() - count;
//     + let mut half: VecDeque<u32> = queue.drain(rest..).collect();
//     you see: not yet: the first task is not the oldest one
//
// overwritten: the thief's own tasks are lost
//     - own.lock().append(&mut half);
//     + *own.lock() = half;
//     you see: not yet: a thief that meets itself must lose nothing
//
// copied-then-cut: between the two locks, the victim may take a task itself
//     - let mut queue = victim.lock();
//     + let queue = victim.lock();
//     - let mut half: VecDeque<u32> = queue.drain(..count).collect();
//     - drop(queue);
//     + let mut half: VecDeque<u32> = queue.iter().take(count).copied().collect();
//     + drop(queue);
//     + let left = victim.lock().len();
//     + victim.lock().drain(..count.min(left));
//     you see: not yet: a task was lost, or is there twice
// ```
