//! A worker that is lent to a thread in `block_on` and given back.

use crate::idle::Idle;
use crate::{Injector, in_order, model, race};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread::{self, Thread};

/// One worker, its own thread, and a guest: `Worker::park`, `guest::lend` and the
/// drop of a `Guest`.
struct Lending {
    idle: Idle,
    lent: AtomicBool,
    thread: Mutex<Option<Thread>>,
    injector: Injector,
    stop: AtomicBool,
    /// The worker's own thread has ended.
    ended: std::sync::atomic::AtomicBool,
    /// Not loom's: these are there to be looked at, and order nothing.
    owners: std::sync::atomic::AtomicUsize,
    /// How many tasks have not been run.
    left: std::sync::atomic::AtomicUsize,
}

impl Lending {
    fn new(tasks: usize) -> Self {
        Self {
            idle: Idle::new(1),
            lent: AtomicBool::new(false),
            thread: Mutex::new(None),
            injector: Injector::default(),
            stop: AtomicBool::new(false),
            ended: std::sync::atomic::AtomicBool::new(false),
            owners: std::sync::atomic::AtomicUsize::new(0),
            left: std::sync::atomic::AtomicUsize::new(tasks),
        }
    }

    /// Runs a task. True: it was the last one.
    fn run(&self) -> bool {
        let ran = self.own(|| self.injector.pop());
        ran && self.left.fetch_sub(1, Ordering::SeqCst) == 1
    }

    fn own<R>(&self, body: impl FnOnce() -> R) -> R {
        let owners = self.owners.fetch_add(1, Ordering::SeqCst);
        assert_eq!(owners, 0, "two threads run one worker");
        assert!(!self.ended.load(Ordering::SeqCst), "the worker runs after its end");
        // Loom may switch here.
        thread::yield_now();
        let result = body();
        self.owners.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// `lent.swap(true)`, of which loom believes, when it was true already, that it may
    /// have been written after a store that was made later.
    fn set_lent(&self) -> bool {
        let order = Ordering::SeqCst;
        in_order(|| self.lent.compare_exchange(false, true, order, order)).is_ok()
    }

    fn is_lent(&self) -> bool {
        in_order(|| self.lent.load(Ordering::SeqCst))
    }

    fn is_asleep(&self) -> bool {
        in_order(|| self.idle.is_asleep(0))
    }

    fn unpark_thread(&self) {
        let thread = self.thread.lock().unwrap().clone();
        thread.iter().for_each(Thread::unpark);
    }

    /// `Shared::inject`.
    fn inject(&self) {
        if self.idle.wake_if_all_asleep(None).is_some() {
            self.unpark_thread();
        }
    }

    /// `Worker::park`, by the worker's own thread.
    fn park(&self) {
        let awake = || !self.is_asleep();
        let is_mine = || awake() && self.unless_lent(awake) == Some(true);
        while !is_mine() && !self.is_shutdown() {
            thread::park();
        }
    }

    /// `Worker::wake_up`, by the worker's own thread.
    fn wake_up(&self) -> bool {
        self.unless_lent(|| in_order(|| self.idle.wake(0))).is_some()
    }

    /// `Worker::unless_lent`, by the worker's own thread.
    fn unless_lent<R>(&self, look: impl FnOnce() -> R) -> Option<R> {
        let is_free = self.set_lent();
        let seen = is_free.then(look);
        if is_free {
            in_order(|| self.lent.store(false, Ordering::SeqCst));
        }
        seen
    }

    /// `worker::main`, with `Worker::sleep`. It ends with the last task.
    fn resident(&self) {
        self.park();
        while !self.stop.load(Ordering::SeqCst) {
            if self.run() {
                return;
            }
            if !self.injector.is_empty() {
                continue;
            }
            self.idle.fall_asleep(0);
            if self.injector.is_empty() || !self.wake_up() {
                self.park();
            }
        }
    }

    fn is_shutdown(&self) -> bool {
        in_order(|| self.stop.load(Ordering::SeqCst))
    }

    /// `worker::main`, when the runtime ends.
    fn end(&self) {
        self.park();
        while self.is_lent() {
            thread::park();
        }
        self.own(|| ());
        self.ended.store(true, Ordering::SeqCst);
    }

    /// `guest::lend`.
    fn lend(&self) -> bool {
        let free = self.set_lent();
        let claimed = free && !self.is_shutdown() && in_order(|| self.idle.wake(0));
        if free && !claimed {
            in_order(|| self.lent.store(false, Ordering::SeqCst));
            self.unpark_thread();
            self.look_after();
        }
        claimed
    }

    /// `Shared::look_after`.
    fn look_after(&self) {
        if !self.injector.is_empty() {
            self.inject();
        }
    }

    /// `guest::block_on` with a future that is ready after one task or none. True:
    /// it ran the last one.
    fn guest(&self) -> bool {
        if !self.lend() {
            return false;
        }
        let resident = self.thread.lock().unwrap().replace(thread::current());
        let was_last = self.run();
        *self.thread.lock().unwrap() = resident;
        self.idle.fall_asleep(0);
        in_order(|| self.lent.store(false, Ordering::SeqCst));
        if self.is_shutdown() && in_order(|| self.idle.wake(0)) || !self.is_asleep() {
            self.unpark_thread();
        }
        self.look_after();
        was_last
    }
}

/// (e) A worker that is lent out and given back while tasks are pushed: one thread
/// at a time runs it, and the tasks are run. If the worker's own thread is never woken
/// for one, loom finds a deadlock.
// ~ models/tests/loom/lending.rs
// - let free = self.set_lent();
// - let claimed = free && !self.is_shutdown() && in_order(|| self.idle.wake(0));
// + let claimed = in_order(|| self.idle.wake(0));
// + let free = self.set_lent();
// ~ models/tests/loom/lending.rs
// - self.unpark_thread();
// -     self.look_after();
// - }
// - claimed
// +     self.look_after();
// + }
// + claimed
// ~ models/tests/loom/lending.rs
// - if self.is_shutdown() && in_order(|| self.idle.wake(0)) || !self.is_asleep() {
// -     self.unpark_thread();
// - }
// - self.look_after();
// + self.look_after();
// ~ models/tests/loom/lending.rs
// - awake() && self.unless_lent(awake) == Some(true)
// + awake()
// ~ models/tests/loom/lending.rs
// - self.look_after();
// - was_last
// + was_last
#[test]
fn lent_worker_has_one_owner_and_its_thread_is_woken() {
    lend_while_tasks_come(1);
}

// ~ models/tests/loom/lending.rs
// - self.look_after();
// - }
// - claimed
// + }
// + claimed
#[test]
fn what_comes_as_a_guest_comes_too_late_is_not_left_behind() {
    lend_while_tasks_come(2);
}

fn lend_while_tasks_come(tasks: usize) {
    model(move || {
        let lending = Arc::new(Lending::new(tasks));
        let resident = {
            let lending = lending.clone();
            thread::spawn(move || lending.resident())
        };
        *lending.thread.lock().unwrap() = Some(resident.thread().clone());
        let guest = {
            let lending = lending.clone();
            thread::spawn(move || lending.guest())
        };
        for _ in 0..tasks {
            lending.injector.push();
            lending.inject();
        }
        if guest.join().unwrap() {
            lending.stop.store(true, Ordering::SeqCst);
            resident.thread().unpark();
        }
        resident.join().unwrap();
    });
}

/// (e) The runtime ends as a thread enters `block_on`: it gets no worker whose own
/// thread has ended, and that ends in any case.
// ~ models/tests/loom/lending.rs
// - let claimed = free && !self.is_shutdown() && in_order(|| self.idle.wake(0));
// + let claimed = free && in_order(|| self.idle.wake(0));
// ~ models/tests/loom/lending.rs
// - if self.is_shutdown() && in_order(|| self.idle.wake(0)) || !self.is_asleep() {
// + if !self.is_asleep() {
#[test]
fn guest_that_comes_as_the_runtime_ends_gets_no_ended_worker() {
    model(|| {
        let lending = Arc::new(Lending::new(1));
        let resident = {
            let lending = lending.clone();
            thread::spawn(move || lending.end())
        };
        *lending.thread.lock().unwrap() = Some(resident.thread().clone());
        let guest = {
            let lending = lending.clone();
            thread::spawn(move || !lending.is_shutdown() && lending.guest())
        };
        // `Shared::shut_down`.
        in_order(|| lending.stop.store(true, Ordering::SeqCst));
        if in_order(|| lending.idle.wake(0)) {
            lending.unpark_thread();
        }
        lending.unpark_thread();
        guest.join().unwrap();
        resident.join().unwrap();
    });
}

/// (e) A worker that is given back and lent again at once, while its own thread starts: that
/// one does not take it in between.
// ~ models/tests/loom/lending.rs
// - self.idle.fall_asleep(0);
// - in_order(|| self.lent.store(false, Ordering::SeqCst));
// + in_order(|| self.lent.store(false, Ordering::SeqCst));
// + self.idle.fall_asleep(0);
// ~ models/tests/loom/lending.rs
// - awake() && self.unless_lent(awake) == Some(true)
// + awake() && !self.is_lent()
#[test]
fn worker_that_is_given_back_is_asleep() {
    model(|| {
        let lending = Arc::new(Lending::new(1));
        let resident = {
            let lending = lending.clone();
            thread::spawn(move || lending.resident())
        };
        *lending.thread.lock().unwrap() = Some(resident.thread().clone());
        assert!(!lending.guest() && !lending.guest());
        lending.injector.push();
        lending.inject();
        resident.join().unwrap();
    });
}

/// (e) The same while its own thread falls asleep, finds something and wakes it again.
// ~ models/tests/loom/lending.rs
// - self.unless_lent(|| in_order(|| self.idle.wake(0))).is_some()
// + !self.is_lent() && (in_order(|| self.idle.wake(0)) || true) && !self.is_lent()
#[test]
fn worker_that_wakes_itself_is_awake() {
    race(
        || {
            let lending = Lending::new(0);
            assert!(lending.idle.wake(0));
            lending
        },
        |lending| {
            lending.idle.fall_asleep(0);
            if lending.wake_up() {
                lending.own(|| ());
                lending.idle.fall_asleep(0);
            }
        },
        |lending| assert!(!lending.guest() && !lending.guest()),
        |_, (), ()| (),
    );
}
