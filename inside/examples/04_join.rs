//! Stage 04: a task has an output, and somebody waits for it.
//!
//! The loop moves to a thread of its own, and `main` waits for the tasks. `spawn` gives it a *join
//! handle* for each, as tokio's does, and `main` runs `block_on` of stage 01 with one after the
//! other. A join handle is a leaf, as `Event` is. When the task ends, it stores its result and
//! wakes whoever waits. A poll of the handle takes the result, or leaves its waker. The two happen
//! on different threads, so they meet under a lock.
//!
//! A task may panic. If nobody caught the panic, it would end the thread of the loop, and with it
//! every other task. So it is caught around each poll, and becomes the task's result.
//!
//! # Break it
//!
//! ```text
//! look-without-lock: the task ends between the look and the leaving of the waker
//!     - let mut join = lock(&self.0);
//!     - if let Some(result) = join.result.take() {
//!     + if let Some(result) = lock(&self.0).result.take() {
//!     - gap("join");
//!     + gap("join");
//!     + let mut join = lock(&self.0);
//!     with: ARC_GAP=join
//!     you see: hung: all tasks are done
//!
//! wake-then-store: the handle is polled before the result is there, and its waker is never used
//!     - join.result = Some(result);
//!     - let waker = join.waker.take();
//!     - drop(join);
//!     - gap("store");
//!     - waker.into_iter().for_each(Waker::wake);
//!     + let waker = join.waker.take();
//!     + drop(join);
//!     + waker.into_iter().for_each(Waker::wake);
//!     + gap("store");
//!     + lock(&shared).result = Some(result);
//!     with: ARC_GAP=store
//!     you see: hung: all tasks are done
//!
//! no-catch: the panic of one task ends the thread that polls all of them
//!     - let poll = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
//!     + let poll: Result<_, Panic> = Ok(future.as_mut().poll(context));
//!     you see: hung: the poll of task 2 never came back
//! ```

#[path = "01_block_on.rs"]
#[allow(dead_code, reason = "the program of stage 01")]
mod stage_01;

use inside::sync::{Arc, AtomicBool, Condvar, Mutex, Ordering, lock, thread, wait};
use inside::{client, gap, ticker, watchdog};
use stage_01::{block_on, later};
use std::any::Any;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Wake, Waker};

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

/// What a task panicked with.
type Panic = Box<dyn Any + Send>;

/// Where a task and whoever waits for it meet.
struct Join<T> {
    result: Option<Result<T, Panic>>,
    waker: Option<Waker>,
}

/// Waits for the result of a task. Dropping it has no effect on the task.
struct JoinHandle<T>(Arc<Mutex<Join<T>>>);

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, Panic>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker().clone();

        // Look and leave the waker under one lock: the task cannot end in between.
        let mut join = lock(&self.0);
        if let Some(result) = join.result.take() {
            return Poll::Ready(result);
        }
        gap("join");
        let old = join.waker.replace(waker);
        drop(join);
        drop(old);
        Poll::Pending
    }
}

/// Gives the output of a future, or what it panicked with.
async fn contain<F: Future>(future: F) -> Result<F::Output, Panic> {
    let mut future = pin!(future);
    poll_fn(|context| {
        // Nothing of the future is used after a panic, so nobody sees it half-way.
        let poll = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        poll.map_or_else(|panic| Poll::Ready(Err(panic)), |poll| poll.map(Ok))
    })
    .await
}

#[derive(Default)]
struct Executor {
    queue: Arc<Queue>,
    tasks: Vec<Arc<Task>>,
}

impl Executor {
    fn spawn<F>(&mut self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let join = Arc::new(Mutex::new(Join { result: None, waker: None }));
        let shared = join.clone();
        let future = async move {
            let result = contain(future).await;

            // Store first, then wake, outside of the lock.
            let mut join = lock(&shared);
            join.result = Some(result);
            let waker = join.waker.take();
            drop(join);
            gap("store");
            waker.into_iter().for_each(Waker::wake);
        };
        let task = Arc::new(Task {
            future: Mutex::new(Some(Box::pin(future))),
            queued: AtomicBool::new(false),
            queue: self.queue.clone(),
        });
        self.tasks.push(task.clone());

        // The first poll is asked for like every other.
        task.wake();
        JoinHandle(join)
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
        println!("main: Another thread polls the tasks, and main waits for what they give.");
        let mut executor = Executor::default();
        let wrong = || async {
            later(40).await;
            panic!("the answer makes no sense");
        };
        let tasks = [
            ("client 1", executor.spawn(client(1, || later(20)))),
            ("client 2", executor.spawn(client(2, wrong))),
            ("ticker", executor.spawn(ticker(|| later(10)))),
        ];
        let _watchdog = executor.watch();
        let thread = thread::spawn(move || executor.run());

        for (name, task) in tasks {
            match block_on(task) {
                Ok(output) => println!("main: {name} gave {output}."),
                Err(_) => println!("main: {name} panicked, and the others did not notice."),
            }
        }
        thread.join().expect("no panic comes as far as the loop");
    });
}
