//! Exercise 04, size S, after stage 03: woken a thousand times, polled once.
//!
//! To wake a task is to push it into the queue. A busy socket may do so a thousand times before
//! the task has its turn. See to it that the queue holds it once. And whatever came before one of
//! these wake-ups, the poll must see it.
//!
//! `Mutex` and `AtomicBool` are std's, with one addition: here, the exercise can let another thread
//! act between two of your steps, and it knows what your orderings make certain. (`lock` gives you
//! the guard at once, as no thread panics.)

use inside::exercises::threads::{AtomicBool, Mutex, Note, Ordering, meanwhile, other_thread};
use inside::exercises::{expect, solved};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Wake, Waker};

#[derive(Default)]
struct Task {
    queued: AtomicBool,
    queue: Arc<Mutex<VecDeque<Arc<Task>>>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        // SOLUTION
        // AcqRel pairs with the swap in `take`.
        if self.queued.swap(true, Ordering::AcqRel) {
            return;
        }
        // INSTEAD
        // END
        let queue = self.queue.clone();
        queue.lock().push_back(self);
    }
}

/// Takes the next task out of the queue, to be polled.
fn take(queue: &Mutex<VecDeque<Arc<Task>>>) -> Option<Arc<Task>> {
    let task = queue.lock().pop_front()?;
    // SOLUTION
    // AcqRel pairs with the swap in `wake`.
    task.queued.swap(false, Ordering::AcqRel);
    // INSTEAD
    //~ let _ = (&task.queued, Ordering::AcqRel); // nobody uses the flag yet
    // END
    Some(task)
}

fn main() {
    let task = Arc::new(Task::default());
    let queue = task.queue.clone();
    let waker = Waker::from(task);
    for round in ["at first", "in the second round"] {
        (0..1000).for_each(|_| waker.wake_by_ref());
        let length = queue.lock().len();
        expect(length > 0, &format!("{round} the task was woken, and is not in the queue"));
        expect(length == 1, &format!("{round} the queue holds one task {length} times"));
        expect(take(&queue).is_some(), "the queue is empty");
    }

    // Two threads wake the task at once: the second one after each step of the first.
    for step in 1..=4 {
        let task = Arc::new(Task::default());
        let queue = task.queue.clone();
        let waker = Waker::from(task);
        meanwhile(step, || waker.wake_by_ref(), || waker.wake_by_ref());
        let length = queue.lock().len();
        let message = format!("two threads wake a task at once, and it is queued {length} times");
        expect(length == 1, &message);

        // It is in the queue, and another thread has a note for it.
        let note = Note::new();
        other_thread(|| {
            note.write();
            waker.wake_by_ref();
        });
        take(&queue);
        note.read();

        // A note comes while the task is taken out of the queue, to be polled.
        let note = Note::new();
        let wake = || {
            note.write();
            waker.wake_by_ref();
        };
        waker.wake_by_ref();
        meanwhile(step, wake, || take(&queue));
        if queue.lock().is_empty() {
            note.read();
        }
    }
    solved();
}

// Hint 1: the task needs to know whether it is in the queue. The flag `queued` is there for that.
// Hint 2: two threads may wake it at once, and only one of them may push. `swap` says what the
// flag was, in the same step in which it sets it.
// Hint 3: whoever takes the task out of the queue has to clear the flag, or it is never pushed
// again.

// WRONG
//
// ```text
// look-then-set: two threads may both have looked before one of them sets the flag
//     - if self.queued.swap(true, Ordering::AcqRel) {
//     - return;
//     - }
//     + if self.queued.load(Ordering::Acquire) {
//     + return;
//     + }
//     + self.queued.store(true, Ordering::Release);
//     you see: not yet: two threads wake a task at once, and it is queued 2 times
//
// never-cleared: the task is woken once and never again
//     - task.queued.swap(false, Ordering::AcqRel);
//     you see: not yet: in the second round the task was woken, and is not in the queue
//
// only-looks: a wake-up that finds the flag set publishes nothing
//     - if self.queued.swap(true, Ordering::AcqRel) {
//     + if self.queued.load(Ordering::Acquire) || self.queued.swap(true, Ordering::AcqRel) {
//     you see: not yet: a task is woken after something has happened, and its poll may not see
//
// relaxed-wake: the flag is right, and orders nothing
//     - if self.queued.swap(true, Ordering::AcqRel) {
//     + if self.queued.swap(true, Ordering::Relaxed) {
//     you see: not yet: a task is woken after something has happened, and its poll may not see
//
// exchange-that-fails: it only loads, and publishes nothing
//     - if self.queued.swap(true, Ordering::AcqRel) {
//     + if self
//     + .queued
//     + .compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire)
//     + .is_err()
//     + {
//     you see: not yet: a task is woken after something has happened, and its poll may not see
//
// store-in-take: a store does not see what was published
//     - task.queued.swap(false, Ordering::AcqRel);
//     + task.queued.store(false, Ordering::Release);
//     you see: not yet: a task is woken after something has happened, and its poll may not see
//
// relaxed-take: nor does this
//     - task.queued.swap(false, Ordering::AcqRel);
//     + task.queued.swap(false, Ordering::Relaxed);
//     you see: not yet: a task is woken after something has happened, and its poll may not see
// ```
