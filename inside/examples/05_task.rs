//! Stage 05: poll on two threads, and leave the states of a task to the crate async-task.
//!
//! Two threads now take from the queue, and the flag of stage 03 is not enough any more. It is
//! cleared before the poll, so a wake-up during the poll queues the task again. Then the second
//! thread takes the task while the first one is still polling it. So a task needs four states:
//!
//! ```text
//!              wake                 a thread takes it
//!     idle ──────────► queued ──────────────────────► running ──► done
//!      ▲                  ▲                             │  │
//!      │                  └─ pushed when the poll ends ─┤  │ wake
//!      └──────────── Pending, and not woken ────────────┘  ▼
//!                         ▲                         woken while running
//!                         └──────────────── Pending ───────┘
//! ```
//!
//! A task that is woken while it runs is not pushed at once, but when its poll has ended. The crate
//! async-task keeps these states, the output and the waker of whoever waits for it, in one
//! allocation. arc uses it as well. Its `Task` is the join handle. Its `Runnable` is the right to
//! poll the task once, and there is never more than one. So the queue holds runnables.
//!
//! # Break it
//!
//! ```text
//! twice-at-once: a task written by hand, which knows "queued" and does not know "running"
//!     - use async_task::{Runnable, Task};
//!     + use inside::by_hand::{Runnable, Task};
//!     - let (runnable, task) = async_task::spawn(future, schedule);
//!     + let (runnable, task) = inside::by_hand::spawn(future, schedule);
//!     with: ARC_GAP=woken
//!     you see: broken: a task is polled twice at once
//!
//! stop-one: two threads sleep, and one of them is told that it is over
//!     - self.shared.pushed.notify_all();
//!     + self.shared.pushed.notify_one();
//!     you see: hung: the queue is empty, and 1 of the threads waits for a task
//!
//! stop-without-lock: the end comes between the look and the sleep, and wakes nobody
//!     - let runnables = lock(&self.shared.runnables);
//!     - self.shared.stopping.store(true, Ordering::Relaxed);
//!     - drop(runnables);
//!     + self.shared.stopping.store(true, Ordering::Relaxed);
//!     - let stopping = self.stopping.load(Ordering::Relaxed);
//!     + let stopping = self.stopping.load(Ordering::Relaxed);
//!     + inside::gap("stop");
//!     with: ARC_GAP=stop
//!     you see: of the threads waits for a task
//! ```

#[path = "01_block_on.rs"]
#[allow(dead_code, reason = "the program of stage 01")]
pub mod stage_01;

use async_task::{Runnable, Task};
use inside::sync::{Arc, AtomicBool, Condvar, Mutex, Ordering, lock, thread, wait};
use inside::{client, ticker, wake_me, watchdog};
use stage_01::{block_on, later};
use std::any::Any;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// How many threads poll.
const THREADS: usize = 2;

/// The tasks that wait to be polled.
#[derive(Default)]
struct Shared {
    runnables: Mutex<VecDeque<Runnable>>,
    pushed: Condvar,
    /// Changes under the lock of `runnables`, as everything does that the threads wait for.
    stopping: AtomicBool,
}

impl Shared {
    fn push(&self, runnable: Runnable) {
        lock(&self.runnables).push_back(runnable);
        self.pushed.notify_one();
    }

    /// Polls whatever is in the queue, until the executor stops.
    fn run(&self) {
        loop {
            // Look and fall asleep under one lock: no push can come in between.
            let mut runnables = lock(&self.runnables);
            let Some(runnable) = runnables.pop_front() else {
                let stopping = self.stopping.load(Ordering::Relaxed);
                if stopping {
                    return;
                }
                drop(wait(&self.pushed, runnables, None));
                continue;
            };

            // A poll runs code that is not ours, and wakes tasks. That takes this lock.
            drop(runnables);
            runnable.run();
        }
    }
}

/// What a task panicked with.
pub type Panic = Box<dyn Any + Send>;

/// Gives the output of a future, or what it panicked with.
pub async fn contain<F: Future>(future: F) -> Result<F::Output, Panic> {
    let mut future = pin!(future);
    poll_fn(|context| {
        // Nothing of the future is used after a panic, so nobody sees it half-way.
        let poll = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        poll.map_or_else(|panic| Poll::Ready(Err(panic)), |poll| poll.map(Ok))
    })
    .await
}

#[derive(Clone)]
struct Executor {
    shared: Arc<Shared>,
}

impl Executor {
    /// Makes a task of the future. When the task is woken, it goes into the queue.
    fn spawn<F>(&self, future: F) -> Task<Result<F::Output, Panic>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let shared = self.shared.clone();
        let future = contain(future);
        let schedule = move |runnable| shared.push(runnable);
        let (runnable, task) = async_task::spawn(future, schedule);

        // The first poll is asked for like every other.
        runnable.schedule();
        task
    }

    /// Starts the threads that poll.
    fn start(&self) -> Vec<thread::JoinHandle<()>> {
        let start_one = |_| {
            let shared = self.shared.clone();
            thread::spawn(move || shared.run())
        };
        (0..THREADS).map(start_one).collect()
    }

    /// Ends the threads, as soon as the queue is empty.
    fn stop(&self, threads: Vec<thread::JoinHandle<()>>) {
        let runnables = lock(&self.shared.runnables);
        self.shared.stopping.store(true, Ordering::Relaxed);
        drop(runnables);
        self.shared.pushed.notify_all();
        for thread in threads {
            thread.join().expect("no panic comes as far as the loop");
        }
    }

    /// Turns a hang into a sentence.
    fn watch(&self) -> inside::Watchdog {
        let shared = Arc::downgrade(&self.shared);
        watchdog(move || {
            let shared = shared.upgrade().expect("main has it");
            let Ok(runnables) = shared.runnables.try_lock() else {
                return "the queue is locked, and whoever holds the lock waits for it".into();
            };
            let queued = if runnables.is_empty() { "is empty" } else { "is not empty" };

            // The executor and this watchdog have the queue as well.
            let threads = Arc::strong_count(&shared) - 2;
            format!("the queue {queued}, and {threads} of the threads waits for a task")
        })
    }
}

fn main() {
    inside::run(|| {
        println!("main: Two threads poll, and no task is ever polled by both at once.");
        let executor = Executor { shared: Arc::default() };
        let _watchdog = executor.watch();
        let threads = executor.start();
        let busy = || async {
            wake_me(1000).await;
            later(20).await;
        };
        let tasks = [
            ("client 1", executor.spawn(client(1, busy))),
            ("client 2", executor.spawn(client(2, || later(40)))),
            ("ticker", executor.spawn(ticker(|| later(10)))),
        ];

        for (name, task) in tasks {
            match block_on(task) {
                Ok(output) => println!("main: {name} gave {output}."),
                Err(_) => println!("main: {name} panicked, and the others did not notice."),
            }
        }
        executor.stop(threads);
    });
}
