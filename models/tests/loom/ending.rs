//! The end of a runtime: against a worker that falls asleep, a thread that wakes a task, and
//! the jobs that are waited for.

use crate::idle::Idle;
use crate::{in_order, model, race};
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Arc, Condvar, Mutex, Notify, RwLock};
use loom::thread;

const NOBODY: usize = usize::MAX;

/// A worker with nothing to do, which sleeps in the seat.
struct Sleeper {
    idle: Idle,
    shutdown: AtomicBool,
    holder: AtomicUsize,
    kernel: Notify,
}

impl Sleeper {
    fn awake() -> Self {
        let sleeper = Sleeper {
            idle: Idle::new(1),
            shutdown: AtomicBool::new(false),
            holder: AtomicUsize::new(NOBODY),
            kernel: Notify::new(),
        };
        assert!(sleeper.idle.wake(0));
        sleeper
    }

    /// `Shared::is_shutdown`.
    fn is_shutdown(&self) -> bool {
        in_order(|| self.shutdown.load(Ordering::SeqCst))
    }

    /// `Worker::sleep`, with `Seat::wait`.
    fn sleep(&self) {
        self.idle.fall_asleep(0);
        if !self.is_shutdown() {
            in_order(|| self.holder.store(0, Ordering::SeqCst));
            if in_order(|| self.idle.is_asleep(0)) {
                self.kernel.wait();
            }
            in_order(|| self.holder.store(NOBODY, Ordering::SeqCst));
        }
        let _ = self.idle.wake(0);
    }

    /// `Shared::shut_down`. A worker that is parked is unparked in any case.
    fn shut_down(&self) {
        in_order(|| self.shutdown.store(true, Ordering::SeqCst));
        let woken = in_order(|| self.idle.wake(0));
        if woken {
            self.notify();
        }
    }

    /// `Shared::unpark`.
    fn notify(&self) {
        if in_order(|| self.holder.load(Ordering::SeqCst)) == 0 {
            self.kernel.notify();
        }
    }

    /// `guest::block_on`: it borrows the worker if that sleeps, and the drop of the `Guest`
    /// finds that the runtime has ended.
    fn end_as_a_guest(&self) {
        let claimed = in_order(|| self.idle.wake(0));
        if claimed {
            self.notify();
        }
        self.shut_down();
        if claimed {
            self.idle.fall_asleep(0);
            if in_order(|| self.idle.wake(0)) {
                self.notify();
            }
        }
    }
}

/// (h) `Shared::shut_down` against `Worker::sleep`: a worker that falls asleep sees that the
/// runtime ends, or is woken.
// ~ models/tests/loom/ending.rs
// - if !self.is_shutdown() {
// + if self.holder.load(Ordering::SeqCst) == NOBODY {
// ~ models/tests/loom/ending.rs
// - self.idle.fall_asleep(0);
// - if !self.is_shutdown() {
// + let ends = self.is_shutdown();
// + self.idle.fall_asleep(0);
// + if !ends {
// ~ models/tests/loom/ending.rs
// - in_order(|| self.shutdown.store(true, Ordering::SeqCst));
// - let woken = in_order(|| self.idle.wake(0));
// + let woken = in_order(|| self.idle.wake(0));
// + in_order(|| self.shutdown.store(true, Ordering::SeqCst));
// ~ models/tests/loom/ending.rs
// - if in_order(|| self.idle.is_asleep(0)) {
// + if self.holder.load(Ordering::SeqCst) == 0 {
#[test]
fn worker_that_falls_asleep_does_not_miss_the_end() {
    race(
        Sleeper::awake,
        |sleeper| {
            while !sleeper.is_shutdown() {
                sleeper.sleep();
            }
        },
        Sleeper::shut_down,
        |_, (), ()| (),
    );
}

/// (h) The same worker, which a guest borrows as its own thread is on its way into the seat; and
/// that ends the runtime, and gives the worker back.
// ~ models/tests/loom/ending.rs
// - if in_order(|| self.idle.wake(0)) {
// -     self.notify();
// - }
// ~ models/tests/loom/ending.rs
// - self.idle.fall_asleep(0);
// - if in_order(|| self.idle.wake(0)) {
// + let woken = in_order(|| self.idle.wake(0));
// + self.idle.fall_asleep(0);
// + if woken {
#[test]
fn worker_that_is_given_back_at_the_end_does_not_sleep_on() {
    race(Sleeper::awake, Sleeper::sleep, Sleeper::end_as_a_guest, |_, (), ()| ());
}

/// A task that waits, its runtime's injector, and whether `RUNTIMES` has the runtime.
struct Ending {
    published: RwLock<bool>,
    injected: AtomicUsize,
    /// async-task: who sets it schedules the task, until it is polled.
    scheduled: AtomicBool,
    dropped: AtomicUsize,
}

impl Ending {
    /// `task::enqueue`, and what `task::schedule` does when the runtime has ended.
    fn wake(&self) {
        if self.scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        let published = self.published.read().unwrap();
        if *published {
            self.injected.fetch_add(1, Ordering::Relaxed);
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// `Shared::drain`.
    fn drain(&self) {
        self.wake();
        *self.published.write().unwrap() = false;
        let left = self.injected.swap(0, Ordering::Relaxed);
        self.dropped.fetch_add(left, Ordering::Relaxed);
    }
}

/// (h) `Shared::drain` against a thread that wakes a task: its future is dropped by one of the
/// two, and does not stay in the injector.
// ~ models/tests/loom/ending.rs
// - *self.published.write().unwrap() = false;
// - let left = self.injected.swap(0, Ordering::Relaxed);
// + let left = self.injected.swap(0, Ordering::Relaxed);
// + *self.published.write().unwrap() = false;
// ~ models/tests/loom/ending.rs
// - let published = self.published.read().unwrap();
// - if *published {
// + let published = *self.published.read().unwrap();
// + if published {
// ~ models/tests/loom/ending.rs
// - self.wake();
// - *self.published.write().unwrap() = false;
// + *self.published.write().unwrap() = false;
#[test]
fn task_that_is_woken_at_the_end_is_dropped_once() {
    // Woken by another thread, or by nobody else.
    for woken in [false, true] {
        race(
            || Ending {
                published: RwLock::new(true),
                injected: AtomicUsize::new(0),
                scheduled: AtomicBool::new(false),
                dropped: AtomicUsize::new(0),
            },
            move |ending| {
                if woken {
                    ending.wake();
                }
            },
            Ending::drain,
            |ending, (), ()| assert_eq!(ending.dropped.load(Ordering::Relaxed), 1),
        );
    }
}

/// `Jobs` of blocking.rs.
struct Jobs {
    unfinished: Mutex<usize>,
    finished_one: Condvar,
}

impl Jobs {
    /// The drop of a `Job`.
    fn finish(&self) {
        *self.unfinished.lock().unwrap() -= 1;
        self.finished_one.notify_all();
    }

    /// `Jobs::join` without a limit.
    fn join(&self, but: usize) {
        let mut unfinished = self.unfinished.lock().unwrap();
        while *unfinished > but {
            unfinished = self.finished_one.wait(unfinished).unwrap();
        }
    }
}

/// (i) `Jobs::join` against jobs that end: it returns when only so many are left, also to
/// two that wait for different numbers.
// ~ models/tests/loom/ending.rs
// - self.finished_one.notify_all();
// ~ models/tests/loom/ending.rs
// - *self.unfinished.lock().unwrap() -= 1;
// - self.finished_one.notify_all();
// + self.finished_one.notify_all();
// + *self.unfinished.lock().unwrap() -= 1;
// ~ models/tests/loom/ending.rs
// - self.finished_one.notify_all();
// + self.finished_one.notify_one();
#[test]
fn whoever_waits_for_jobs_is_told() {
    model(|| {
        let jobs = Arc::new(Jobs { unfinished: Mutex::new(2), finished_one: Condvar::new() });
        let ending = jobs.clone();
        let job = thread::spawn(move || {
            ending.finish();
            ending.finish();
        });
        let other = {
            let jobs = jobs.clone();
            thread::spawn(move || jobs.join(1))
        };
        jobs.join(0);
        job.join().unwrap();
        other.join().unwrap();
    });
}
