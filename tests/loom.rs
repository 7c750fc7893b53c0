//! The protocols between threads, in every order that loom can think of.
//!
//! Run by `RUSTFLAGS="--cfg arc_loom" cargo test -p arc-runtime --release --test
//! loom --target-dir target/loom`; without the cfg this file is empty.
//!
//! `idle.rs`, `readiness.rs` and `timers.rs` are compiled into this file as they
//! stand in src, over loom's atomics. What stands around them, and would wait for
//! the kernel or needs a whole runtime, is copied here in its steps, and the copy
//! names the function it is of. Each model says which mutations it catches: each
//! of them was made, in src where the code is src's, and seen to fail.
//!
//! loom knows the total order of sequentially consistent fences, but takes a
//! `SeqCst` load or store for an acquire or release. Where src relies on the order
//! of such accesses themselves, the copy puts fences around them ([`in_order`]).
//! That is no weaker than what src does, so a model may miss what only plain
//! `SeqCst` accesses get wrong; the protocols in question are store buffering
//! (each side writes its own and reads the other's), for which both are as good.
//!
//! Every model is explored with at most four preemptions, as many as the rarest bug
//! that was ever found took; threads that block switch for free.

#![cfg(arc_loom)]
#![allow(dead_code, reason = "the modules of src are used in part")]

#[path = "../src/idle.rs"]
mod idle;
#[path = "../src/readiness.rs"]
mod readiness;
#[path = "../src/timers.rs"]
mod timers;
#[path = "../src/wheel.rs"]
mod wheel;

/// Stands for src/sync.rs.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use std::sync::{Mutex, OnceLock};

    use std::sync::{MutexGuard, TryLockError};

    /// All threads of a model run on one of the system's, which must not block.
    pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        loop {
            match mutex.try_lock() {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => loom::thread::yield_now(),
            }
        }
    }
}

use idle::{Doorbell, Idle};
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use loom::sync::{Arc, Mutex, Notify};
use loom::thread::{self, Thread};
use readiness::Readiness;
use std::task::Waker;
use std::time::{Duration, Instant};
use timers::Timers;

const PREEMPTIONS_MAX: usize = 4;

fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS_MAX);
    builder.check(body);
}

/// What loom does not know of `SeqCst` accesses.
fn in_order<R>(access: impl FnOnce() -> R) -> R {
    fence(Ordering::SeqCst);
    let result = access();
    fence(Ordering::SeqCst);
    result
}

/// How many tasks wait. As weak as can be: nothing is ordered by it.
#[derive(Default)]
struct Injector(AtomicUsize);

impl Injector {
    fn push(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn pop(&self) -> bool {
        let order = Ordering::Relaxed;
        let taken = self.0.fetch_update(order, order, |tasks| tasks.checked_sub(1));
        taken.is_ok()
    }
}

/// (a) The sleep protocol of idle.rs: `Worker::sleep` against
/// `Shared::inject`. Workers that are awake have run out of work, and a
/// thread from outside pushes two tasks: whatever is left at the end, somebody is
/// awake for it.
///
/// Caught: no fence in `fall_asleep`; no fence in `wake_if_all_asleep`; the second
/// look (S3) left out; `all_asleep` looked at before the push.
#[test]
fn pushed_task_never_finds_all_asleep_and_nobody_woken() {
    for workers in [1, 2] {
        model(move || {
            let shared = Arc::new((Idle::new(workers), Injector::default()));
            // Awake, all of them.
            for worker in 0..workers {
                assert!(shared.0.wake(worker));
            }
            let sleepers: Vec<_> = (0..workers)
                .map(|worker| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        let (idle, injector) = &*shared;
                        while injector.pop() {}
                        idle.fall_asleep(worker);
                        if !injector.is_empty() && idle.wake(worker) {
                            while injector.pop() {}
                            // Awake still, it would now look again, and so on.
                            return true;
                        }
                        false
                    })
                })
                .collect();
            let (idle, injector) = &*shared;
            for _ in 0..2 {
                injector.push();
                // It would be unparked now: its bit is clear.
                let _ = idle.wake_if_all_asleep(None);
            }
            let awake = sleepers.into_iter().any(|sleeper| sleeper.join().unwrap());
            assert!(awake || injector.is_empty() || !idle.all_asleep());
        });
    }
}

/// (b) readiness.rs, with `Async::poll_with` and `Reactor::poll_ready` for the task
/// and `Source::wake` for the driver. Two events come; with the first there is
/// nothing yet, with the second there is: the task gets it, or is woken for it.
///
/// Caught: `clear` that takes the word as it is and not as it was seen; an event
/// that is not counted; `load` without Acquire; `set` without Release; the word not
/// looked at again under the lock; the wakers taken before the word is set.
#[test]
fn event_is_never_wiped_out_by_a_task_that_found_nothing() {
    model(|| {
        let source = Arc::new(Source::new(true));
        let driver = {
            let source = source.clone();
            thread::spawn(move || {
                let first = source.event(false);
                source.bytes.store(1, Ordering::Relaxed);
                source.event(false) || first
            })
        };
        let read = source.poll_read();
        let woken = driver.join().unwrap();
        // Woken, it would try again, and find the word set.
        assert!(read || woken && source.readiness.load().is_ready());
    });
}

/// (b) `Async::poll_transfer`: a read that got less than it could have clears the
/// word as it was before the read. What came since stands: more bytes, or the end of
/// the stream, which a read of bytes does not tell, and which may have come before.
///
/// Caught: the word read after the operation instead of before it; a word cleared
/// that tells of a hang-up; and of `clear` what the model above catches.
#[test]
fn what_comes_after_a_short_read_is_not_wiped_out() {
    for ends in [false, true] {
        model(move || {
            let source = Arc::new(Source::new(true));
            let driver = {
                let source = source.clone();
                thread::spawn(move || {
                    source.bytes.store(1, Ordering::Relaxed);
                    source.event(false);
                    source.bytes.store(2, Ordering::Relaxed);
                    source.event(ends);
                })
            };
            let seen = source.readiness.load();
            let read = source.bytes.load(Ordering::Relaxed);
            if read > 0 && !seen.is_hung_up() {
                source.readiness.clear(seen);
            }
            driver.join().unwrap();
            let done = read == 2 && !ends;
            assert!(done || source.readiness.load().is_ready());
        });
    }
}

/// One direction of a socket.
struct Source {
    readiness: Readiness,
    /// Whether a task has left its waker.
    waiting: Mutex<bool>,
    /// What the kernel has for it.
    bytes: AtomicUsize,
}

impl Source {
    fn new(ready: bool) -> Self {
        Self {
            readiness: Readiness::new(ready),
            waiting: Mutex::new(false),
            bytes: AtomicUsize::new(0),
        }
    }

    /// `Source::wake`. True: a task was woken.
    fn event(&self, hangup: bool) -> bool {
        self.readiness.set(hangup);
        std::mem::replace(&mut *self.waiting.lock().unwrap(), false)
    }

    /// `Async::poll_with`. False: pending.
    fn poll_read(&self) -> bool {
        loop {
            let mut seen = self.readiness.load();
            if !seen.is_ready() {
                let mut waiting = self.waiting.lock().unwrap();
                seen = self.readiness.load();
                if !seen.is_ready() {
                    *waiting = true;
                    return false;
                }
            }
            if self.bytes.load(Ordering::Relaxed) > 0 {
                return true;
            }
            self.readiness.clear(seen);
        }
    }
}

const HOUR: Duration = Duration::from_secs(3600);
/// Deadlines this near to each other share a wake-up.
const SLACK: Duration = Duration::from_micros(132);

/// (c) timers.rs, T1 to T4 against A1 to A3: a timer is armed while the thread in
/// the seat computes how long to sleep, with and without a later one armed before.
/// Either the sleep is short enough, or the one who armed is told to end it.
///
/// Caught: no fence in `arm`; no fence in `sleep_until_next`; T1 left out; the
/// deadlines read (T3) before T1; `sleeping_until` read (A3) before the insertion.
#[test]
fn timer_is_never_slept_through() {
    for later in [false, true] {
        model(move || {
            let timers = Arc::new(Timers::new(2));
            let start = Instant::now();
            if later {
                let _ = timers.arm(Some(1), start + 3 * HOUR, Waker::noop().clone());
            }
            let armer = {
                let timers = timers.clone();
                thread::spawn(move || timers.arm(Some(0), start + HOUR, Waker::noop().clone()).1)
            };
            let until = timers.sleep_until_next();
            let too_late = armer.join().unwrap();
            assert!(too_late || until.is_some_and(|until| until <= start + HOUR + SLACK));
        });
    }
}

/// (c) The same with two that arm at once, and a seat that is taken twice.
///
/// Caught: what the model above catches; and `expire` not saying that nobody sleeps
/// any more makes needless notifications, which no model minds.
#[test]
fn neither_of_two_timers_is_slept_through() {
    model(|| {
        let timers = Arc::new(Timers::new(2));
        let start = Instant::now();
        let armers = [0, 1].map(|shard| {
            let timers = timers.clone();
            let deadline = start + (1 + shard as u32) * HOUR;
            thread::spawn(move || timers.arm(Some(shard), deadline, Waker::noop().clone()).1)
        });
        let until = timers.sleep_until_next();
        let too_late = armers.map(|armer| armer.join().unwrap());
        for (shard, too_late) in too_late.into_iter().enumerate() {
            let limit = start + (1 + shard as u32) * HOUR + SLACK;
            assert!(too_late || until.is_some_and(|until| until <= limit));
        }
        // Whoever was told ends this sleep; the next one is short enough by itself.
        timers.expire(&mut Vec::new());
        let until = timers.sleep_until_next();
        assert!(until.is_some_and(|until| until <= start + HOUR + SLACK));
    });
}

/// The seat, as `Seat::wait` and `Shared::unpark` see it.
struct Seat {
    idle: Idle,
    holder: AtomicUsize,
    /// The eventfd: it ends the current wait, or the next one.
    kernel: Notify,
}

const NOBODY: usize = usize::MAX;

impl Seat {
    fn new(workers: usize) -> Self {
        Self { idle: Idle::new(workers), holder: AtomicUsize::new(NOBODY), kernel: Notify::new() }
    }

    /// `Seat::wait`, with nothing else that could end it.
    fn sleep(&self, worker: usize) {
        in_order(|| self.holder.store(worker, Ordering::SeqCst));
        if in_order(|| self.idle.is_asleep(worker)) {
            self.kernel.wait();
        }
        self.holder.store(NOBODY, Ordering::SeqCst);
    }

    /// `Shared::unpark`, after the worker's bit was cleared.
    fn unpark(&self, worker: usize, thread: &Thread) {
        if in_order(|| self.holder.load(Ordering::SeqCst)) == worker {
            self.kernel.notify();
        } else {
            thread.unpark();
        }
    }
}

/// (d) The seat's holder against whoever wakes it: it is woken in the kernel, or
/// sees that it was woken before it goes there. Lost, it would sleep for ever,
/// which loom calls a deadlock.
///
/// Caught: `is_asleep` not looked at after the holder was stored; the holder stored
/// after that look; the holder read before the bit is cleared; `unpark` that never
/// notifies; either of the two orders (`in_order`) left out.
#[test]
fn thread_that_takes_the_seat_is_notified_or_stays_awake() {
    model(|| {
        let seat = Arc::new(Seat::new(1));
        assert!(seat.idle.wake(0));
        let sleeper = {
            let seat = seat.clone();
            thread::spawn(move || {
                seat.idle.fall_asleep(0);
                seat.sleep(0);
            })
        };
        // Until it has fallen asleep there is nobody to be woken.
        while !in_order(|| seat.idle.wake(0)) {
            thread::yield_now();
        }
        seat.unpark(0, sleeper.thread());
        sleeper.join().unwrap();
    });
}

/// One worker, its own thread, and a guest: `Worker::park`, `guest::lend` and the
/// drop of a `Guest`.
struct Lending {
    idle: Idle,
    lent: AtomicBool,
    thread: Mutex<Option<Thread>>,
    injector: Injector,
    stop: AtomicBool,
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
        // Loom may switch here.
        thread::yield_now();
        let result = body();
        self.owners.fetch_sub(1, Ordering::SeqCst);
        result
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
        while (self.is_asleep() || self.is_lent()) && !self.stop.load(Ordering::SeqCst) {
            thread::park();
        }
    }

    /// `Worker::wake_up`, by the worker's own thread.
    fn wake_up(&self) -> bool {
        let free = !self.is_lent();
        let woke = free && in_order(|| self.idle.wake(0));
        let mine = free && !self.is_lent();
        if woke && !mine {
            self.unpark_thread();
        }
        mine
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

    /// `guest::lend`.
    fn lend(&self) -> bool {
        let free = !in_order(|| self.lent.swap(true, Ordering::SeqCst));
        let claimed = free && in_order(|| self.idle.wake(0));
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
        if !self.is_asleep() {
            self.unpark_thread();
        }
        self.look_after();
        was_last
    }
}

/// (e) A worker that is lent out and given back while tasks are pushed: one thread
/// at a time runs it, and the tasks are run. If the worker's own thread is never woken
/// for one, loom finds a deadlock.
///
/// Caught: `lent` set after the bit was cleared; `lend` without the wake of the
/// worker's own thread when it comes too late; no look at the bit when the worker is
/// given back; `lent` taken back before the worker falls asleep; `park` that does
/// not look at `lent`; the injector not looked at when it is given back, or, with two
/// tasks, when it was not to be had.
#[test]
fn lent_worker_has_one_owner_and_its_thread_is_woken() {
    lend_while_tasks_come(1);
}

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

/// (f) The monitor's doorbell: `monitor::sleep` against a worker that wakes up and
/// rings. The monitor never sleeps on while the worker is awake.
///
/// Caught: no fence in `ring`; no fence in `monitor::sleep`; the bits looked at
/// before `asleep` is set; the bell rung before the bit is cleared.
#[test]
fn monitor_never_sleeps_while_a_worker_is_awake() {
    model(|| {
        let shared = Arc::new((Idle::new(1), Doorbell::default()));
        let worker = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (idle, doorbell) = &*shared;
                assert!(idle.wake(0));
                doorbell.ring();
            })
        };
        let (idle, doorbell) = &*shared;
        doorbell.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let sleeps = idle.all_asleep();
        worker.join().unwrap();
        assert!(!(sleeps && doorbell.asleep.load(Ordering::Relaxed)));
    });
}
