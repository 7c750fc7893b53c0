//! Exercise 11, size M, after stage 08: a queue that is full spills half.
//!
//! A worker's own queue has room for `ROOM` tasks. If it is full, one task more makes it *spill*:
//! the older half moves into the queue that all share, in its order, and the new task goes behind
//! the newer half. So others can take what this worker will not come to soon, and the next two
//! tasks find room without another lock. Write `push`. Only the worker that owns the queue pushes.
//! But thieves may take any number of its tasks at any moment, while you hold no lock.
//!
//! Never hold both locks at once: whoever took them in the other order would wait for you, and you
//! for it. And spill only what is too much: a queue that a thief has just emptied has room.
//!
//! `Mutex` is std's, with one addition: here, the exercise can let another thread act whenever you
//! release a lock. (`lock` gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{Mutex, meanwhile};
use inside::exercises::{expect, solved};
use std::collections::VecDeque;

/// How many tasks a worker's own queue holds. Half of it is spilled.
const ROOM: usize = 6;

type Queue = Mutex<VecDeque<u32>>;

fn push(own: &Queue, shared: &Queue, task: u32) {
    // SOLUTION
    let mut queue = own.lock();
    let count = if queue.len() < ROOM { 0 } else { ROOM / 2 };
    let mut half: VecDeque<u32> = queue.drain(..count).collect();
    queue.push_back(task);
    drop(queue);

    if !half.is_empty() {
        shared.lock().append(&mut half);
    }
    // INSTEAD
    //~ let _ = shared; // nothing is put there yet
    //~ own.lock().push_back(task);
    // END
}

fn queue_of(tasks: impl IntoIterator<Item = u32>) -> Queue {
    Mutex::new(tasks.into_iter().collect())
}

fn content(queue: &Queue) -> Vec<u32> {
    queue.lock().iter().copied().collect()
}

fn main() {
    let (own, shared) = (queue_of([]), queue_of([90]));
    for task in 0..6 {
        push(&own, &shared, task);
        let message = "a task is in the shared queue, and the worker's own had room for it";
        expect(content(&shared) == [90], message);
        let message = "a task was pushed, and is not at the end of the worker's own queue";
        expect(content(&own).last() == Some(&task), message);
    }

    push(&own, &shared, 6);
    let held = content(&own).len();
    expect(held <= ROOM, &format!("the queue has room for {ROOM}, and holds {held}"));
    let message = "the older half, in its order, is not behind what the shared queue had";
    expect(content(&shared) == [90, 0, 1, 2], message);
    let message = "the newer half, and then the new task, is not what is left to the worker";
    expect(content(&own) == [3, 4, 5, 6], message);

    // Two more find room, and the one after them spills again.
    (7..9).for_each(|task| push(&own, &shared, task));
    expect(content(&own) == [3, 4, 5, 6, 7, 8], "it spills although there is room again");
    push(&own, &shared, 9);
    expect(content(&own) == [6, 7, 8, 9], "the second time, it does not spill the older half");

    // A thief takes tasks in the middle of the push.
    for step in 1..=6 {
        for wanted in 1..=ROOM {
            robbed(step, wanted);
        }
    }
    solved();
}

/// A thief takes as many tasks as it wants, right after this step of a push into a full queue.
fn robbed(step: usize, wanted: usize) {
    let (own, shared) = (queue_of(0..ROOM as u32), queue_of([]));
    let steal = || {
        let mut queue = own.lock();
        let held = queue.len();
        let is_before = held == ROOM && !queue.contains(&90);
        let stolen: Vec<u32> = queue.drain(..wanted.min(held)).collect();
        (stolen, held, is_before)
    };
    let ((stolen, held, is_before), ()) = meanwhile(step, steal, || push(&own, &shared, 90));
    expect(held <= ROOM, &format!("a thief sees {held} tasks, and the queue has room for {ROOM}"));

    let spilled = content(&shared);
    let is_needless = is_before && !spilled.is_empty();
    let mut tasks = [content(&own), spilled, stolen].concat();
    tasks.sort_unstable();
    expect(tasks == [0, 1, 2, 3, 4, 5, 90], "a task was lost, or is there twice");
    let message = "a thief has just taken tasks, so that there is room, and it spills all the same";
    expect(!is_needless, message);
}

// Hint 1: `VecDeque::drain` takes a range out. What comes out has to be somewhere until you hold
// the other lock.
// Hint 2: whether the queue is full, and what is too much, is only true as long as you hold its
// lock. So look, and take out, under the same one.
// Hint 3: collect the older half into a queue of your own, and drop the guard of the worker's queue
// before you lock the shared one.

// WRONG
//
// ```text
// both-locks: the worker's is held while the shared one is taken
//     - queue.push_back(task);
//     - drop(queue);
//     + queue.push_back(task);
//     you see: not yet: it holds two locks at once
//
// both-locks-first: the shared lock is taken before the other one
//     - let mut queue = own.lock();
//     - let count = if queue.len() < ROOM { 0 } else { ROOM / 2 };
//     + let mut shared = shared.lock();
//     + let mut queue = own.lock();
//     + let count = if queue.len() < ROOM { 0 } else { ROOM / 2 };
//     - shared.lock().append(&mut half);
//     + shared.append(&mut half);
//     you see: not yet: it holds two locks at once
//
// length-then-drain: a thief empties the queue between the two
//     - let mut queue = own.lock();
//     - let count = if queue.len() < ROOM { 0 } else { ROOM / 2 };
//     + let length = own.lock().len();
//     + let mut queue = own.lock();
//     + let count = if length < ROOM { 0 } else { ROOM / 2 };
//     you see: not yet: a thief has just taken tasks, so that there is room, and it spills
//
// length-then-some: the same, with a look whether so many are there
//     - let mut queue = own.lock();
//     - let count = if queue.len() < ROOM { 0 } else { ROOM / 2 };
//     + let is_full = own.lock().len() == ROOM;
//     + let mut queue = own.lock();
//     + let count = if is_full { queue.len().min(ROOM / 2) } else { 0 };
//     you see: not yet: a thief has just taken tasks, so that there is room, and it spills
//
// copied-then-cut: between the two locks, a thief may take what was copied
//     - let mut half: VecDeque<u32> = queue.drain(..count).collect();
//     - queue.push_back(task);
//     - drop(queue);
//     + let mut half: VecDeque<u32> = queue.iter().take(count).copied().collect();
//     + drop(queue);
//     - shared.lock().append(&mut half);
//     - }
//     + shared.lock().append(&mut half);
//     + }
//     + let mut queue = own.lock();
//     + queue.drain(..count);
//     + queue.push_back(task);
//     you see: not yet: a task was lost, or is there twice
//
// push-then-spill: there is one task too many, and a thief sees it
//     - let mut queue = own.lock();
//     - let count = if queue.len() < ROOM { 0 } else { ROOM / 2 };
//     + own.lock().push_back(task);
//     + let mut queue = own.lock();
//     + let count = if queue.len() <= ROOM { 0 } else { ROOM / 2 };
//     - queue.push_back(task);
//     - drop(queue);
//     + drop(queue);
//     you see: not yet: a thief sees 7 tasks
//
// never-spills: the queue grows, and others have nothing to do
//     - let count = if queue.len() < ROOM { 0 } else { ROOM / 2 };
//     + let count = 0;
//     you see: not yet: the queue has room for 6, and holds 7
//
// one-too-late: a full queue takes one task more
//     - let count = if queue.len() < ROOM { 0 } else { ROOM / 2 };
//     + let count = if queue.len() <= ROOM { 0 } else { ROOM / 2 };
//     you see: not yet: the queue has room for 6, and holds 7
//
// one-too-early: there is room for one more
//     - let count = if queue.len() < ROOM { 0 } else { ROOM / 2 };
//     + let count = if queue.len() + 1 < ROOM { 0 } else { ROOM / 2 };
//     you see: not yet: a task is in the shared queue, and the worker's own had room for it
//
// newer-half: what has waited the longest stays behind the others
//     - let mut half: VecDeque<u32> = queue.drain(..count).collect();
//     + let rest = queue.len() - count;
//     + let mut half: VecDeque<u32> = queue.drain(rest..).collect();
//     you see: not yet: the older half, in its order, is not behind what the shared queue had
//
// only-the-new-one: the shared queue gets what is too much, task by task
//     - let count = if queue.len() < ROOM { 0 } else { ROOM / 2 };
//     - let mut half: VecDeque<u32> = queue.drain(..count).collect();
//     - queue.push_back(task);
//     - drop(queue);
//     + let is_full = queue.len() == ROOM;
//     + let mut half = VecDeque::new();
//     + if is_full { half.push_back(task) } else { queue.push_back(task) };
//     + drop(queue);
//     you see: not yet: the older half, in its order, is not behind what the shared queue had
//
// all-of-it: the worker gives all away, and has to steal it back
//     - let count = if queue.len() < ROOM { 0 } else { ROOM / 2 };
//     + let count = if queue.len() < ROOM { 0 } else { ROOM };
//     you see: not yet: the older half, in its order, is not behind what the shared queue had
//
// reversed: each task is put before the one that was taken first
//     - let mut half: VecDeque<u32> = queue.drain(..count).collect();
//     + let mut half: VecDeque<u32> = queue.drain(..count).rev().collect();
//     you see: not yet: the older half, in its order, is not behind what the shared queue had
//
// overwritten: what the shared queue had is lost
//     - shared.lock().append(&mut half);
//     + *shared.lock() = std::mem::take(&mut half);
//     you see: not yet: the older half, in its order, is not behind what the shared queue had
//
// first-come: the new task overtakes all others
//     - queue.push_back(task);
//     + queue.push_front(task);
//     you see: not yet: a task was pushed, and is not at the end of the worker's own queue
// ```

// RIGHT
//
// ```text
// spill-then-push: nobody else pushes, so there is still room
//     - let mut half: VecDeque<u32> = queue.drain(..count).collect();
//     - queue.push_back(task);
//     - drop(queue);
//     + let mut half: VecDeque<u32> = queue.drain(..count).collect();
//     + drop(queue);
//     - shared.lock().append(&mut half);
//     - }
//     + shared.lock().append(&mut half);
//     + }
//     + own.lock().push_back(task);
//     you see: solved
//
// split-off: another way to cut a queue in two
//     - let mut half: VecDeque<u32> = queue.drain(..count).collect();
//     + let newer = queue.split_off(count);
//     + let mut half = std::mem::replace(&mut *queue, newer);
//     - if !half.is_empty() {
//     - shared.lock().append(&mut half);
//     - }
//     + shared.lock().extend(half.drain(..));
//     you see: solved
// ```
