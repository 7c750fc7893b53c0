//! Stage 03: many futures on one thread.
//!
//! A *task* is a future that is polled on its own: what tokio's `spawn` makes. Now there are three,
//! and one loop that polls them. How does the loop know which task to poll next? Each task has a
//! waker of its own, and to wake a task means to push it into a queue. The loop takes the first
//! task of the queue, polls it, and takes the next. While the queue is empty, the loop sleeps. That
//! is the heart of every runtime: *waking is pushing into a queue*.
//!
//! A task may be woken many times before it is polled. The flag `queued` sees to it that the task
//! is pushed once. The loop clears the flag before the poll and not after it: a wake-up that comes
//! during the poll must push the task again, because the poll may have looked before the event
//! came.
//!
//! Compare what is printed with stage 01: client 2 asks before client 1 has its answer.
//!
//! # Break it
//!
//! ```text
//! no-flag: a task that is woken a thousand times is polled a thousand times
//!     - if !self.queued.swap(true, Ordering::AcqRel) {
//!     + if !self.queued.swap(true, Ordering::AcqRel) || true {
//!     you see: polled again and again for the same news
//!
//! flag-cleared-late: the event comes between the poll and the clearing, and finds the flag set
//!     - self.queued.swap(false, Ordering::AcqRel);
//!     - let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
//!     - gap("polled");
//!     + let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
//!     + gap("polled");
//!     + self.queued.swap(false, Ordering::AcqRel);
//!     with: ARC_GAP=polled
//!     you see: is pending, the queue is empty
//!
//! not-emptied: a task is woken in its last poll, and so polled after its end
//!     - *slot = None;
//!     you see: `async fn` resumed after completion
//!
//! locked-poll: the poll wakes a task, which needs the lock that this thread holds
//!     - drop(runnables);
//!     you see: hung: the queue is locked, and whoever holds the lock waits for it
//!
//! no-notify: the task is queued, and nobody tells the loop
//!     - self.queue.pushed.notify_one();
//!     you see: is pending, the queue is not empty
//! ```

#[path = "01_block_on.rs"]
#[allow(dead_code, reason = "the program of stage 01")]
mod stage_01;

use inside::sync::{Arc, AtomicBool, Condvar, Mutex, Ordering, lock, wait};
use inside::{client, gap, ticker, wake_me, watchdog};
use stage_01::later;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Wake, Waker};

/// How often a task was polled, for the last line that is printed.
static POLLS: AtomicUsize = AtomicUsize::new(0);

/// The tasks that wait to be polled.
#[derive(Default)]
struct Queue {
    runnables: Mutex<VecDeque<Arc<Task>>>,
    pushed: Condvar,
}

/// A future that is polled on its own. It is also what its wakers point to.
struct Task {
    /// None: it is done. Only one thread polls, so nobody ever waits for this lock.
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    /// It is in the queue, or is about to be pushed.
    queued: AtomicBool,
    queue: Arc<Queue>,
}

impl Wake for Task {
    /// Pushes the task, unless it is queued already.
    ///
    /// AcqRel pairs with the swap in `poll`. If this swap is the earlier one, the poll comes after
    /// it, and sees everything that was done before the wake-up. If this one is the later, it finds
    /// the flag cleared, and pushes.
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            lock(&self.queue.runnables).push_back(self.clone());
            self.queue.pushed.notify_one();
        }
    }
}

impl Task {
    /// Polls it once. True: it is done now.
    fn poll(self: &Arc<Self>) -> bool {
        let waker = Waker::from(self.clone());
        let mut slot = lock(&self.future);

        // It may have been woken in its last poll, or by somebody who kept a waker for too long.
        let Some(future) = slot.as_mut() else { return false };

        // Before the poll: a wake-up that comes from now on asks for another one. AcqRel pairs
        // with the swap in `wake`.
        self.queued.swap(false, Ordering::AcqRel);
        let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
        gap("polled");
        if poll.is_pending() {
            return false;
        }

        // Drop what the future holds, and never poll it again.
        *slot = None;
        true
    }
}

#[derive(Default)]
struct Executor {
    queue: Arc<Queue>,
    tasks: Vec<Arc<Task>>,
}

impl Executor {
    fn spawn<F: Future<Output: Send> + Send + 'static>(&mut self, future: F) {
        let future = async move { drop(future.await) };
        let task = Arc::new(Task {
            future: Mutex::new(Some(Box::pin(future))),
            queued: AtomicBool::new(false),
            queue: self.queue.clone(),
        });
        self.tasks.push(task.clone());

        // The first poll is asked for like every other.
        task.wake();
    }

    /// Polls whatever is in the queue, until all tasks are done.
    fn run(&self) {
        let mut unfinished = self.tasks.len();
        while unfinished > 0 {
            // Look and fall asleep under one lock: no push can come in between.
            let mut runnables = lock(&self.queue.runnables);
            let Some(task) = runnables.pop_front() else {
                drop(wait(&self.queue.pushed, runnables, None));
                continue;
            };

            // A poll runs code that is not ours, and wakes tasks. That takes this lock.
            drop(runnables);
            POLLS.fetch_add(1, Ordering::Relaxed);
            if task.poll() {
                unfinished -= 1;
            }
        }
    }

    /// Turns a hang into a sentence.
    fn watch(&self) -> inside::Watchdog {
        let (queue, tasks) = (self.queue.clone(), self.tasks.clone());
        watchdog(move || {
            let Ok(runnables) = queue.runnables.try_lock() else {
                return "the queue is locked, and whoever holds the lock waits for it".into();
            };
            let is_pending = |task: &Arc<Task>| match task.future.try_lock() {
                Ok(future) => future.is_some(),
                Err(_) => true,
            };
            let Some(index) = tasks.iter().position(is_pending) else {
                return "all tasks are done".into();
            };
            if tasks[index].future.try_lock().is_err() {
                return format!("the poll of task {} never came back", index + 1);
            }

            let queued = if runnables.is_empty() { "is empty" } else { "is not empty" };
            // The executor and this watchdog know the task as well.
            let held = if Arc::strong_count(&tasks[index]) > 2 { "somebody" } else { "nobody" };
            format!("task {} is pending, the queue {queued}, {held} holds its waker", index + 1)
        })
    }
}

fn main() {
    inside::run(|| {
        println!("main: One thread polls whichever task was woken: all of them ask at once.");
        let mut executor = Executor::default();
        executor.spawn(client(1, || async { (wake_me(1000).await, later(20).await) }));
        executor.spawn(client(2, || later(60)));
        executor.spawn(async { (ticker(|| later(10)).await, wake_me(1).await) });
        let _watchdog = executor.watch();

        executor.run();

        let polls = POLLS.load(Ordering::Relaxed);
        println!("main: The three tasks waited 5 times, and were polled {polls} times.");
        if polls > 10 {
            println!("main: One of them was polled again and again for the same news.");
        }
    });
}
