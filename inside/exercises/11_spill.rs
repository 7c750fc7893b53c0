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
use inside::exercises::{expect, set_alarm, solved};
use std::collections::VecDeque;

/// How many tasks a worker's own queue holds. Half of it is spilled.
const ROOM: usize = 6;

type Queue = Mutex<VecDeque<u32>>;

fn push(own: &Queue, shared: &Queue, task: u32) {
    // YOURS: from here
    let _ = shared; // nothing is put there yet
    own.lock().push_back(task);
    // to here
}

fn queue_of(tasks: impl IntoIterator<Item = u32>) -> Queue {
    Mutex::new(tasks.into_iter().collect())
}

fn content(queue: &Queue) -> Vec<u32> {
    queue.lock().iter().copied().collect()
}

fn main() {
    // If it panics or does not come to its end, the exercise says so.
    set_alarm();
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
    let is_whole = spilled.is_empty() || spilled.len() == ROOM / 2;
    let message = "the half is taken out piece by piece, and a thief comes between two of them: a \
                   part is spilled, although there is room by now";
    expect(is_whole, message);
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
