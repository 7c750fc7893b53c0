//! Exercise 05, size S, after stage 03: woken during its own poll.
//!
//! A task may be woken while it is being polled, by another thread or by itself. Then it must be
//! polled once more, because its poll may have looked before the event came. Mend `run_one`.
//!
//! `AtomicBool` is std's, with one addition: here, the exercise knows what your orderings make
//! certain. What came before a wake-up, the poll after it must see.

use inside::exercises::threads::{AtomicBool, Note, Ordering, other_thread};
use inside::exercises::{expect, solved};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

struct Task {
    future: Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>,
    queued: AtomicBool,
    queue: Arc<Mutex<VecDeque<Arc<Task>>>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        // AcqRel pairs with the swap in `run_one`.
        if !self.queued.swap(true, Ordering::AcqRel) {
            let queue = self.queue.clone();
            queue.lock().expect("nobody panics").push_back(self);
        }
    }
}

/// Polls the next task of the queue. False: there is none.
fn run_one(queue: &Mutex<VecDeque<Arc<Task>>>) -> bool {
    let Some(task) = queue.lock().expect("nobody panics").pop_front() else { return false };
    let waker = Waker::from(task.clone());
    let mut future = task.future.lock().expect("nobody panics");
    // SOLUTION
    // AcqRel pairs with the swap in `wake`. Before the poll: a wake-up in it queues the task again.
    task.queued.swap(false, Ordering::AcqRel);
    let _ = future.as_mut().poll(&mut Context::from_waker(&waker));
    // INSTEAD
    //~ let _ = future.as_mut().poll(&mut Context::from_waker(&waker));
    //~ // AcqRel pairs with the swap in `wake`.
    //~ task.queued.swap(false, Ordering::AcqRel);
    // END
    true
}

fn main() {
    static POLLS: AtomicUsize = AtomicUsize::new(0);
    let note = Note::new();
    let future = poll_fn(move |context| {
        // Something comes in the first poll, just after it has looked.
        if POLLS.fetch_add(1, Ordering::Relaxed) == 0 {
            context.waker().wake_by_ref();
        } else {
            note.read();
        }
        Poll::Pending
    });
    let queue = Arc::new(Mutex::default());
    let future = Mutex::new(Box::pin(future) as Pin<Box<dyn Future<Output = ()> + Send>>);
    let task = Arc::new(Task { future, queued: AtomicBool::new(false), queue: queue.clone() });
    task.clone().wake();
    expect(run_one(&queue), "the task is not in the queue");
    let is_queued = !queue.lock().expect("nobody panics").is_empty();
    expect(is_queued, "the task was woken during its poll, and is not polled again");

    // It is in the queue again, and another thread has a note for it.
    other_thread(|| {
        note.write();
        task.wake();
    });
    expect(run_one(&queue), "the task is not in the queue");
    expect(!run_one(&queue), "the task is queued twice, or it was not woken and is polled");
    expect(POLLS.load(Ordering::Relaxed) == 2, "the task is not polled once for each turn");
    solved();
}

// Hint 1: when the task wakes itself, what does `queued` say?
// Hint 2: the flag says "it will be polled after this". From when on is that not true any more?
// Hint 3: from the moment at which the poll begins. So that is when to clear it.

// WRONG
//
// ```text
// relaxed-store: it does not see what the wake-ups published
//     - task.queued.swap(false, Ordering::AcqRel);
//     + task.queued.store(false, Ordering::Relaxed);
//     you see: not yet: a task is woken after something has happened, and its poll may not see
//
// store: neither does this, as it reads nothing
//     - task.queued.swap(false, Ordering::AcqRel);
//     + task.queued.store(false, Ordering::Release);
//     you see: not yet: a task is woken after something has happened, and its poll may not see
//
// cleared-twice: the task is in the queue, and its flag says that it is not
//     - let _ = future.as_mut().poll(&mut Context::from_waker(&waker));
//     + let _ = future.as_mut().poll(&mut Context::from_waker(&waker));
//     + task.queued.swap(false, Ordering::AcqRel);
//     you see: not yet: the task is queued twice, or it was not woken and is polled
//
// never-cleared: the task is never queued again
//     - task.queued.swap(false, Ordering::AcqRel);
//     you see: not yet: the task was woken during its poll, and is not polled again
//
// always-again: a task that waits is polled all the time
//     - let _ = future.as_mut().poll(&mut Context::from_waker(&waker));
//     + let _ = future.as_mut().poll(&mut Context::from_waker(&waker));
//     + waker.wake_by_ref();
//     you see: not yet: the task is queued twice, or it was not woken and is polled
// ```
