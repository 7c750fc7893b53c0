//! Exercise 05, size S, after stage 03: woken during its own poll.
//!
//! A task may be woken while it is being polled, by another thread or by itself. Then it must be
//! polled once more, because its poll may have looked before the event came. Mend `run_one`.
//!
//! `AtomicBool` is std's, with two additions. The exercise lets another thread act between two of
//! your steps, and it knows what your orderings make certain: what came before a wake-up, the poll
//! after it must see.

use inside::exercises::threads::{AtomicBool, Note, Ordering, meanwhile, other_thread};
use inside::exercises::{expect, solved};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{self, AtomicUsize};
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
    // YOURS: from here
    let _ = future.as_mut().poll(&mut Context::from_waker(&waker));
    // AcqRel pairs with the swap in `wake`.
    task.queued.swap(false, Ordering::AcqRel);
    // to here
    true
}

type Queue = Arc<Mutex<VecDeque<Arc<Task>>>>;

fn task_of(future: impl Future<Output = ()> + Send + 'static) -> (Arc<Task>, Queue) {
    let queue = Queue::default();
    let future = Mutex::new(Box::pin(future) as Pin<Box<dyn Future<Output = ()> + Send>>);
    let task = Task { future, queued: AtomicBool::new(false), queue: queue.clone() };
    (Arc::new(task), queue)
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
    let (task, queue) = task_of(future);
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

    // Another thread has a note for a task, and wakes it after each step of its turn.
    for step in 1..=3 {
        static IS_READ: atomic::AtomicBool = atomic::AtomicBool::new(false);
        let note = Note::new();
        let (task, queue) = task_of(poll_fn(move |_| {
            IS_READ.store(note.is_seen(), Ordering::Relaxed);
            Poll::Pending
        }));
        task.clone().wake();
        let write = || {
            note.write();
            task.clone().wake();
        };
        meanwhile(step, write, || run_one(&queue));
        let is_queued = !queue.lock().expect("nobody panics").is_empty();
        expect(
            is_queued || IS_READ.load(Ordering::Relaxed),
            "a wake-up comes between two steps of `run_one`, and no poll comes after it",
        );
    }
    solved();
}

// Hint 1: when the task wakes itself, what does `queued` say?
// Hint 2: the flag says "it will be polled after this". From when on is that not true any more?
// Hint 3: from the moment at which the poll begins. So that is when to clear it.
