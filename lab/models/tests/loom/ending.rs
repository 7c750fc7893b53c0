//! The end of a runtime: against a worker that falls asleep, against a thread that wakes a task,
//! and against the threads that it waits for. `end.rs` and `threads.rs` are those of src.

use crate::scheduler::{end, shared::Shared, threads::SignedOn};
use crate::sync::{Duration, lock};
use crate::{in_order, model, model_within, race};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use std::sync::Arc;

/// `run_worker` of src/runtime/start.rs with `Worker::sleep`. Another worker sits, so that this one
/// parks.
fn run_worker(shared: &Arc<Shared>, index: usize, in_loop: InLoop) {
    *lock(&shared.workers[index].thread) = Some(thread::current());
    while !shared.is_ending() {
        shared.run(index);
        shared.idle.fall_asleep(index, false);
        if shared.is_ending() {
            let _ = shared.idle.claim(index);
            continue;
        }
        while shared.idle.is_parked(index) {
            thread::park();
        }
    }
    drop(in_loop);
}

/// What `start_threads` of src/runtime/start.rs gives to each worker. loom's `Arc` orders what
/// std's does.
type InLoop = loom::sync::Arc<end::InLoop>;

fn in_loop(shared: &Arc<Shared>) -> InLoop {
    InLoop::new(end::InLoop(shared.clone()))
}

/// (h) `begin` against workers that fall asleep: each of them sees that the runtime ends, or is
/// woken. The last one closes the runtime, after all have left.
// ~ src/scheduler/end.rs
// - shared.ending.store(true, Ordering::SeqCst);
// - drop(signing_on);
// - let sleepers = (0..shared.workers.len()).filter(|&worker| shared.idle.claim(worker));
// - sleepers.for_each(|worker| shared.unpark(worker));
// + drop(signing_on);
// + let sleepers = (0..shared.workers.len()).filter(|&worker| shared.idle.claim(worker));
// + sleepers.for_each(|worker| shared.unpark(worker));
// + shared.ending.store(true, Ordering::SeqCst);
// ~ src/scheduler/end.rs
// - sleepers.for_each(|worker| shared.unpark(worker));
// + let _ = sleepers.count();
// ~ lab/models/tests/loom/ending.rs
// - shared.idle.fall_asleep(index, false);
// - if shared.is_ending() {
// + let is_ending = shared.is_ending();
// + shared.idle.fall_asleep(index, false);
// + if is_ending {
#[test]
fn worker_that_falls_asleep_does_not_miss_the_end() {
    race(
        || {
            let shared = Shared::new(1, 1);
            let running = Running::new(&shared);
            (shared, running)
        },
        |(shared, running)| run_worker(shared, 0, running.take()),
        |(shared, _)| end::begin(shared),
        |(shared, _), (), ()| {
            assert_eq!(shared.closed(), 1);
            assert_eq!(shared.registry.0[0].dropped(), 1);
        },
    );
}

/// (i) A worker is called as a helper (`Shared::call_helper`) while it falls asleep and the runtime
/// ends: whoever claims it wakes it.
// ~ lab/models/tests/loom/ending.rs
// - shared.idle.claim_one().into_iter().for_each(|worker| shared.unpark(worker));
// + let _ = shared.idle.claim_one();
#[test]
fn worker_that_is_called_as_a_helper_does_not_miss_the_end() {
    model_within(3, || {
        let shared = Shared::new(1, 0);
        let running = in_loop(&shared);
        let (sleeps, calls) = (shared.clone(), shared.clone());
        let others = [
            thread::spawn(move || run_worker(&sleeps, 0, running)),
            thread::spawn(move || {
                let shared = calls;
                shared.idle.claim_one().into_iter().for_each(|worker| shared.unpark(worker));
            }),
        ];
        end::begin(&shared);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.closed(), 1);
    });
}

/// Hands an `end::InLoop` to the thread that it stands for.
struct Running(std::sync::Mutex<Option<InLoop>>);

impl Running {
    fn new(shared: &Arc<Shared>) -> Self {
        Self(std::sync::Mutex::new(Some(in_loop(shared))))
    }

    fn take(&self) -> InLoop {
        self.0.lock().unwrap().take().unwrap()
    }
}

/// (h) Several workers leave at once: exactly one of them closes the runtime, and what the others
/// did happens before.
// ~ lab/models/tests/loom/ending.rs
// - let runnings = [0, 1, 2].map(|index| (index, running.clone()));
// + let runnings = [0, 1, 2].map(|index| (index, in_loop(&shared)));
#[test]
fn last_worker_closes_after_all_have_left() {
    model(|| {
        let shared = Shared::new(3, 0);
        let running = in_loop(&shared);
        let runnings = [0, 1, 2].map(|index| (index, running.clone()));
        drop(running);
        let [first, second, third] = runnings.map(|(index, running)| {
            let shared = shared.clone();
            move || {
                shared.run(index);
                drop(running);
            }
        });
        let others = [thread::spawn(first), thread::spawn(second)];
        third();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.closed(), 1);
    });
}

/// (h) The starter's `InLoop`: workers that leave before the others were started do not close the
/// runtime.
// ~ lab/models/tests/loom/ending.rs
// - let running = starter.clone();
// + let running = in_loop(&shared);
#[test]
fn worker_that_leaves_early_does_not_close() {
    model(|| {
        let shared = Shared::new(2, 0);
        let starter = in_loop(&shared);
        let others = [0, 1].map(|index| {
            let running = starter.clone();
            let shared = shared.clone();
            thread::spawn(move || {
                shared.run(index);
                drop(running);
            })
        });
        drop(starter);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.closed(), 1);
    });
}

/// (h) `close` against a thread that wakes a task: its future is dropped exactly once, by one of
/// the two. The table is the gate of the injector.
// ~ src/scheduler/end.rs
// - drop(RUNTIMES.write().unwrap_or_else(PoisonError::into_inner).remove(&shared.id));
// - shared.driver.timers.close(&mut wakers);
// - wakers.into_iter().for_each(wake);
// - shared.monitor.unpark();
// - shared.workers.iter().for_each(|worker| iter::from_fn(|| worker.queue.pop()).for_each(drop));
// - shared.injector.try_iter().chain(shared.pool.given_up()).for_each(drop);
// + shared.workers.iter().for_each(|worker| iter::from_fn(|| worker.queue.pop()).for_each(drop));
// + shared.injector.try_iter().chain(shared.pool.given_up()).for_each(drop);
// + shared.driver.timers.close(&mut wakers);
// + wakers.into_iter().for_each(wake);
// + drop(RUNTIMES.write().unwrap_or_else(PoisonError::into_inner).remove(&shared.id));
// ~ src/scheduler/end.rs
// - shared.injector.try_iter().chain(shared.pool.given_up()).for_each(drop);
// ~ src/scheduler/end.rs
// - wakers.drain(..).for_each(wake);
// + wakers.clear();
// ~ lab/models/tests/loom/scheduler.rs
// - let runtimes = lock(&RUNTIMES.0);
// - match runtimes.get(&runnable.0.runtime) {
// + let runtime = lock(&RUNTIMES.0).get(&runnable.0.runtime).cloned();
// + match runtime {
#[test]
fn task_that_is_woken_at_the_end_is_dropped_once() {
    // Woken by another thread, or by none.
    for is_woken in [false, true] {
        race(
            || {
                let shared = Shared::new(1, 1);
                let running = Running::new(&shared);
                (shared, running)
            },
            move |(shared, _)| {
                if is_woken {
                    std::task::Wake::wake(shared.registry.0[0].clone());
                }
            },
            |(_, running)| drop(running.take()),
            |(shared, _), (), ()| assert_eq!(shared.registry.0[0].dropped(), 1),
        );
    }
}

/// (i) `wait` against threads that sign off, and one that may sign on just then. It returns after
/// the last one that could sign on has signed off.
// ~ src/scheduler/threads.rs
// - self.0.thread_ended.notify_all();
// ~ src/scheduler/threads.rs
// - *lock(&self.0.threads) -= 1;
// - self.0.thread_ended.notify_all();
// + self.0.thread_ended.notify_all();
// + *lock(&self.0.threads) -= 1;
// ~ src/scheduler/threads.rs
// - if shared.is_ending() {
// -     return None;
// - }
// ~ src/scheduler/threads.rs
// - let mut threads = lock(&shared.threads);
// - if shared.is_ending() {
// -     return None;
// - }
// + if shared.is_ending() {
// +     return None;
// + }
// + let mut threads = lock(&shared.threads);
#[test]
fn end_waits_for_every_thread_that_signed_on() {
    race(
        || {
            let shared = Shared::new(0, 0);
            let first = SignedOn::new(shared.clone());
            (shared, std::sync::Mutex::new(first), AtomicBool::new(false))
        },
        |(shared, first, has_ended)| {
            drop(first.lock().unwrap().take());
            // A job that comes at any time.
            let second = SignedOn::new(shared.clone());
            if second.is_some() {
                assert!(!in_order(|| has_ended.load(Ordering::SeqCst)), "it runs after the end");
            }
            drop(second);
        },
        |(shared, _, has_ended)| {
            end::begin(shared);
            end::join(shared, Vec::new(), Duration::MAX);
            in_order(|| has_ended.store(true, Ordering::SeqCst));
        },
        |_, (), ()| (),
    );
}

/// Workers with nothing to do, which sit.
struct Sitters {
    idle: crate::scheduler::idle::Idle,
    ending: AtomicBool,
    is_notified: AtomicBool,
    /// The eventfd: it ends the wait of one thread, or the next wait.
    kernel: (loom::sync::Mutex<bool>, loom::sync::Condvar),
}

impl Sitters {
    fn awake() -> Self {
        Self {
            idle: crate::scheduler::idle::Idle::new(2),
            ending: AtomicBool::new(false),
            is_notified: AtomicBool::new(false),
            kernel: (loom::sync::Mutex::new(false), loom::sync::Condvar::new()),
        }
    }

    /// `Shared::is_ending`.
    fn is_ending(&self) -> bool {
        in_order(|| self.ending.load(Ordering::SeqCst))
    }

    /// `Shared::notify_if_seated`.
    fn notify_if_seated(&self) {
        if in_order(|| self.idle.any_seated())
            && !in_order(|| self.is_notified.swap(true, Ordering::SeqCst))
        {
            *self.kernel.0.lock().unwrap() = true;
            self.kernel.1.notify_one();
        }
    }

    /// A worker's loop, with `Worker::sleep`.
    fn run(&self, worker: usize) {
        while !self.is_ending() {
            self.idle.fall_asleep(worker, true);
            if self.is_ending() {
                in_order(|| self.idle.wake_up(worker));
                return;
            }
            let mut event = self.kernel.0.lock().unwrap();
            while !std::mem::take(&mut *event) {
                event = self.kernel.1.wait(event).unwrap();
            }
            drop(event);
            in_order(|| self.idle.wake_up(worker));
            in_order(|| self.is_notified.swap(false, Ordering::SeqCst));
            if self.is_ending() {
                self.notify_if_seated();
            }
        }
    }

    /// `end::begin`.
    fn begin(&self) {
        in_order(|| self.ending.store(true, Ordering::SeqCst));
        self.notify_if_seated();
    }
}

/// (h) The same with workers that sit: each sees that the runtime ends, or is notified by `begin`
/// or by another one that was.
// ~ lab/models/tests/loom/ending.rs
// - self.idle.fall_asleep(worker, true);
// - if self.is_ending() {
// + let is_ending = self.is_ending();
// + self.idle.fall_asleep(worker, true);
// + if is_ending {
// ~ lab/models/tests/loom/ending.rs
// - in_order(|| self.ending.store(true, Ordering::SeqCst));
// - self.notify_if_seated();
// + self.notify_if_seated();
// + in_order(|| self.ending.store(true, Ordering::SeqCst));
// ~ lab/models/tests/loom/ending.rs
// - in_order(|| self.is_notified.swap(false, Ordering::SeqCst));
// - if self.is_ending() {
// -     self.notify_if_seated();
// - }
// + in_order(|| self.is_notified.swap(false, Ordering::SeqCst));
#[test]
fn workers_that_sit_down_do_not_miss_the_end() {
    model_within(3, || {
        let sitters = loom::sync::Arc::new(Sitters::awake());
        let workers = [0, 1].map(|worker| {
            let sitters = sitters.clone();
            thread::spawn(move || sitters.run(worker))
        });
        sitters.begin();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}
