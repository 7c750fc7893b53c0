//! Exercise 04, size S, after stage 03: woken a thousand times, polled once.
//!
//! To wake a task is to push it into the queue. A busy socket may do so a thousand times before
//! the task has its turn. See to it that the queue holds it once.

use inside::exercises::{expect, solved};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
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
        queue.lock().expect("nobody panics").push_back(self);
    }
}

/// Takes the next task out of the queue, to be polled.
fn take(queue: &Mutex<VecDeque<Arc<Task>>>) -> Option<Arc<Task>> {
    let task = queue.lock().expect("nobody panics").pop_front()?;
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
        let length = queue.lock().expect("nobody panics").len();
        expect(length > 0, &format!("{round} the task was woken, and is not in the queue"));
        expect(length == 1, &format!("{round} the queue holds one task {length} times"));
        expect(take(&queue).is_some(), "the queue is empty");
    }
    solved();
}

// Hint 1: the task needs to know whether it is in the queue. The flag `queued` is there for that.
// Hint 2: two threads may wake it at once, and only one of them may push. `swap` says what the
// flag was, in the same step in which it sets it.
// Hint 3: whoever takes the task out of the queue has to clear the flag, or it is never pushed
// again.
