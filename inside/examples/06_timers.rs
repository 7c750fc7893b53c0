//! Stage 06: timers.
//!
//! So far a thread outside played the clock. Now the executor keeps the time itself. A timer is a
//! deadline and a waker, in a map that is sorted by deadline. To put it there is to *arm* it. The
//! threads that have nothing to poll sleep until the earliest deadline. Then they take the timers
//! out that are due, and wake their tasks. Whoever arms a timer that is earlier than all others
//! must also wake one of the threads, or else that one sleeps until the deadline that was the
//! earliest.
//!
//! The map stands under the same lock as the queue. So a thread looks for tasks and for deadlines
//! and falls asleep, and nothing can come in between. (arc has a wheel of timers for each worker,
//! and a protocol instead of that one lock: `src/driver/timers.rs`.)
//!
//! # Break it
//!
//! ```text
//! stale-waker: the timer keeps its first waker, though somebody else polls and waits for it now
//!     - let old = state.timers.insert(self.key, waker);
//!     + let old = Some(waker.clone());
//!     + state.timers.entry(self.key).or_insert(waker);
//!     you see: hung: the queue is empty, no timer is armed
//!
//! no-removal: a time limit stays armed after what it limits has ended
//!     - let _removed = lock(&self.shared.state).timers.remove(&self.key);
//!     + let _removed = self.key;
//!     you see: 10000 timers are left
//!
//! no-notify: a thread arms a timer while the others sleep for ever
//!     - self.shared.pushed.notify_one(); // it sleeps too long otherwise
//!     you see: hung: the queue is empty, the next timer is overdue
//!
//! wake-under-lock: to wake is to push, and that needs the lock that this thread holds
//!     - drop(state);
//!     - due.into_values().for_each(Waker::wake);
//!     + due.into_values().for_each(Waker::wake);
//!     + drop(state);
//!     you see: hung: the queue is locked, and whoever holds the lock waits for it
//!
//! no-deadline: nobody sleeps until the deadline, so nobody wakes up for it
//!     - drop(wait(&self.pushed, state, timeout));
//!     + let _ = timeout;
//!     + drop(wait(&self.pushed, state, None));
//!     you see: hung: the queue is empty, the next timer is overdue
//! ```

#[path = "05_task.rs"]
#[allow(dead_code, reason = "the executor of stage 05")]
mod stage_05;

use async_task::{Runnable, Task};
use inside::sync::{Arc, AtomicUsize, Condvar, Duration, Instant, Mutex, Ordering};
use inside::sync::{lock, thread, wait};
use inside::{client, polled_once, ticker, watchdog};
use stage_05::stage_01::{block_on, later};
use stage_05::{Panic, contain};
use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// How many threads poll.
const THREADS: usize = 2;

/// When a timer is due, and a number that tells it from others with the same deadline.
type Key = (Instant, usize);

/// The number of the next timer.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// All that the threads wait for, under one lock.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    pushed: Condvar,
}

#[derive(Default)]
struct State {
    runnables: VecDeque<Runnable>,
    /// The armed timers.
    timers: BTreeMap<Key, Waker>,
    stopping: bool,
}

impl Shared {
    fn push(&self, runnable: Runnable) {
        lock(&self.state).runnables.push_back(runnable);
        self.pushed.notify_one();
    }

    /// Polls whatever is in the queue and wakes what is due, until the executor stops.
    fn run(&self) {
        loop {
            // Look and fall asleep under one lock: nothing can come in between.
            let mut state = lock(&self.state);

            // Take the timers out whose deadline has passed. What is left is later.
            let later = state.timers.split_off(&(Instant::now(), usize::MAX));
            let due = std::mem::replace(&mut state.timers, later);
            if !due.is_empty() {
                // Waking pushes, and that takes this lock.
                drop(state);
                due.into_values().for_each(Waker::wake);
                continue;
            }

            let Some(runnable) = state.runnables.pop_front() else {
                if state.stopping {
                    return;
                }
                // None: there is no timer, so sleep until somebody brings something.
                let deadline = state.timers.keys().next().map(|(at, _)| *at);
                let timeout = deadline.map(|at| at.saturating_duration_since(Instant::now()));
                drop(wait(&self.pushed, state, timeout));
                continue;
            };

            // A poll runs code that is not ours, and wakes tasks. That takes this lock.
            drop(state);
            runnable.run();
        }
    }
}

/// Waits until its deadline has passed.
struct Sleep {
    shared: Arc<Shared>,
    key: Key,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.key.0 {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        let mut state = lock(&self.shared.state);

        // Another task may poll it now than the last time: its waker takes the old one's place.
        let old = state.timers.insert(self.key, waker);
        let is_first = state.timers.keys().next() == Some(&self.key);

        // To drop a waker may run code that is not ours.
        drop(state);
        drop(old);
        if is_first {
            self.shared.pushed.notify_one(); // it sleeps too long otherwise
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    /// A time limit is seldom reached: the timer must go when the limit does. (The lock is released
    /// at the end of the line, and the waker is dropped after that, at the end of the function.)
    fn drop(&mut self) {
        let _removed = lock(&self.shared.state).timers.remove(&self.key);
    }
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

    /// Waits for some milliseconds, from now on.
    fn sleep(&self, milliseconds: u64) -> Sleep {
        let deadline = Instant::now() + Duration::from_millis(milliseconds);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Sleep { shared: self.shared.clone(), key: (deadline, number) }
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
        lock(&self.shared.state).stopping = true;
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
            let Ok(state) = shared.state.try_lock() else {
                return "the queue is locked, and whoever holds the lock waits for it".into();
            };
            let queued = if state.runnables.is_empty() { "is empty" } else { "is not empty" };
            let timer = match state.timers.keys().next() {
                None => "no timer is armed",
                Some((at, _)) if *at < Instant::now() => "the next timer is overdue",
                Some(_) => "the next timer is not due yet",
            };
            format!("the queue {queued}, {timer}")
        })
    }
}

fn main() {
    inside::run(|| {
        println!("main: The executor keeps the time: no thread outside ticks for it.");
        let executor = Executor { shared: Arc::default() };
        let _watchdog = executor.watch();
        let threads = executor.start();

        // After this all threads sleep, and no timer is armed. Then main arms one, from outside.
        block_on(later(20));
        block_on(executor.sleep(10));

        // A timer may be given away: main polls it first, and then a task does.
        let alarm = block_on(polled_once(executor.sleep(40)));
        let ticking = executor.clone();
        let tasks = [
            ("client 1", executor.spawn(client(1, || later(20)))),
            ("client 2", executor.spawn(client(2, || alarm))),
            ("ticker", executor.spawn(ticker(move || ticking.sleep(10)))),
        ];
        for (name, task) in tasks {
            match block_on(task) {
                Ok(output) => println!("main: {name} gave {output}."),
                Err(_) => println!("main: {name} panicked, and the others did not notice."),
            }
        }

        // Time limits for things that came in time.
        block_on(async {
            for _ in 0..inside::MANY {
                drop(polled_once(executor.sleep(3_600_000)).await);
            }
        });
        let left = lock(&executor.shared.state).timers.len();
        println!("main: 10000 time limits were met, and {left} timers are left.");
        executor.stop(threads);
    });
}
