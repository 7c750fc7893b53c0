//! Which workers sleep, where, and how no wake-up is lost.
//!
//! Each worker has a bit in one word, which is set while it sleeps. A second word has the bits of
//! the workers that a thread runs: a worker whose thread has not begun its loop, because it calls a
//! user's hook, is neither awake nor asleep. A worker that sleeps either has *the seat*, in which
//! it waits for the kernel and the clock, or is *parked* (`thread::park`). To wake a worker, a
//! thread clears its bit first: it has *claimed* the worker, and nobody else wakes it as well. Only
//! a new timer ends a wait in the seat without that (`timers.rs`).
//!
//! ```text
//!   a worker that runs out of work          a thread that brings work
//!   ------------------------------          -------------------------
//!   S1  set my bit                          P1  push into the injector
//!   S2  fence                               P2  fence
//!   S3  look into the injector again        P3  read the bits; if all that run sleep,
//!       found something: clear my bit           claim a worker and rouse it
//!       nothing: sleep while it is set
//! ```
//!
//! The fences have an order. If P2 comes first, S3 finds what P1 pushed. If S2 comes first, P3 sees
//! the bit. So no task is left while all sleep. The whole proof, and why the kernel never goes
//! unwatched, is in `sleep.md` beside this file. `inside/examples/09_sleep.rs` has a smaller one to
//! play with.

use crate::sync::thread::{self, Thread};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, OnceLock, Ordering, fence, lock};

/// The seat is free.
const NOBODY: usize = usize::MAX;

/// Somebody has the seat only to look, without waiting: a busy worker or the monitor. No worker has
/// this number, so nobody is roused there.
pub(crate) const LOOKER: usize = usize::MAX - 1;

pub(crate) struct Sleepers {
    /// The workers that sleep, a bit each.
    asleep: AtomicU64,
    /// The workers that a thread runs, a bit each.
    running: AtomicU64,
    /// The number of the worker that has the seat, or `NOBODY`, or `LOOKER`.
    seat: AtomicUsize,
    /// The threads that run the workers, as far as any do.
    threads: Box<[Mutex<Option<Thread>>]>,
}

impl Sleepers {
    /// Nobody runs a worker at first.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            asleep: AtomicU64::new(0),
            running: AtomicU64::new(0),
            seat: AtomicUsize::new(NOBODY),
            threads: (0..workers).map(|_| Mutex::default()).collect(),
        }
    }

    /// The calling thread runs the worker from now on, and looks into the injector next. The fence
    /// pairs with P2 in `all_asleep`, as S2 does: either that thread sees the bit, or this one
    /// finds what it pushed.
    pub(crate) fn begin(&self, worker: usize) {
        *lock(&self.threads[worker]) = Some(thread::current());
        self.running.fetch_or(1 << worker, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The calling thread runs the worker no more.
    pub(crate) fn end(&self, worker: usize) {
        self.running.fetch_and(!(1 << worker), Ordering::Relaxed);
        *lock(&self.threads[worker]) = None;
    }

    /// Whether a thread runs the worker, and it does not sleep.
    pub(crate) fn is_awake(&self, worker: usize) -> bool {
        let runs = self.running.load(Ordering::Relaxed) & (1 << worker) != 0;
        runs && !self.is_asleep(worker)
    }

    /// The worker sleeps until it is claimed or the kernel reports something, unless `has_work`
    /// finds something at the last moment. `wait` waits for the kernel.
    pub(crate) fn sleep(&self, worker: usize, has_work: impl Fn() -> bool, wait: impl FnOnce()) {
        // S1: say that this worker sleeps. SeqCst pairs with `claim`.
        self.asleep.fetch_or(1 << worker, Ordering::SeqCst);

        // S2: pairs with P2 in `all_asleep`.
        fence(Ordering::SeqCst);

        // S3: its own queue is empty, since only its own thread pushes there. What was injected
        // before the bit was set may have woken nobody.
        if has_work() {
            self.claim(worker);
            return;
        }

        // The first that falls asleep waits for the kernel. An event or a timer ends the wait
        // without a claim, so the worker claims itself: that clears its bit. It leaves the seat
        // before that: otherwise the others could fall asleep beside a seat that is taken for
        // nothing. Nobody takes its place now, as it is awake.
        if self.take_seat(worker) {
            wait();
            self.leave_seat();
            self.claim(worker);
        }

        // The others park: the bit of the one that had the seat is clear by now. An unpark may be
        // left over from an earlier sleep: only the bit counts.
        while self.is_asleep(worker) {
            thread::park();
        }
    }

    /// Q1 of `sleep.md`: takes the seat, if it is free, as a worker that waits there or as the
    /// `LOOKER`. SeqCst pairs with `rouse`. The worker takes the seat, and then looks at
    /// its bit. Whoever rouses it clears the bit, and then looks who has the seat.
    pub(crate) fn take_seat(&self, who: usize) -> bool {
        let order = Ordering::SeqCst;
        self.seat.compare_exchange(NOBODY, who, order, order).is_ok()
    }

    /// Release pairs with the exchange in `take_seat`: who has the seat next sees what this
    /// thread has done there.
    pub(crate) fn leave_seat(&self) {
        self.seat.store(NOBODY, Ordering::Release);
    }

    /// Whether somebody waits for the kernel, or looks. SeqCst pairs with `take_seat`: A3 in
    /// `timers.rs` says why a thread that arms a timer sees a worker that waits.
    pub(crate) fn is_seat_taken(&self) -> bool {
        self.seat.load(Ordering::SeqCst) != NOBODY
    }

    /// Whether the worker sleeps, and nobody has claimed it yet. SeqCst pairs with `claim`.
    pub(crate) fn is_asleep(&self, worker: usize) -> bool {
        self.asleep.load(Ordering::SeqCst) & (1 << worker) != 0
    }

    /// R1 of `sleep.md`: clears the bit of a worker. Returns whether it slept. Then the caller has
    /// to rouse it, unless it is the worker itself. SeqCst pairs with S1, for those who change
    /// something else than the injector before they claim.
    pub(crate) fn claim(&self, worker: usize) -> bool {
        self.asleep.fetch_and(!(1 << worker), Ordering::SeqCst) & (1 << worker) != 0
    }

    /// Whether any worker sleeps. Without a fence before it, this is only a hint.
    pub(crate) fn any_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// P2 and P3: whether every worker that runs sleeps, so that none is awake to find what was
    /// made visible to all of them. The fence pairs with S2, and with that in `begin`.
    pub(crate) fn all_asleep(&self) -> bool {
        fence(Ordering::SeqCst);
        self.asleep.load(Ordering::Relaxed) == self.running.load(Ordering::Relaxed)
    }

    /// Claims one worker, which the caller has to rouse: a parked one if there is any, since that
    /// costs less. As it is always the one with the lowest number, its caches are warm.
    pub(crate) fn claim_one(&self) -> Option<usize> {
        let asleep = self.asleep.load(Ordering::Relaxed);
        let seat = self.seat.load(Ordering::Relaxed);
        let workers = 0..self.threads.len();
        let parked = workers.clone().filter(|worker| *worker != seat);
        let seated = workers.filter(|worker| *worker == seat);

        // Another thread may claim a worker between the look at the bits and this claim.
        let claim = |worker: &usize| asleep & (1 << worker) != 0 && self.claim(*worker);
        parked.chain(seated).find(claim)
    }

    /// R2 of `sleep.md`: ends the sleep of a worker that the caller has claimed. `notify` ends the
    /// wait for the kernel. SeqCst pairs with `take_seat`.
    pub(crate) fn rouse(&self, worker: usize, notify: impl FnOnce()) {
        if self.seat.load(Ordering::SeqCst) == worker {
            notify();
        } else if let Some(thread) = &*lock(&self.threads[worker]) {
            thread.unpark();
        }
    }
}

/// Wakes the monitor, which sleeps while nobody polls anything (`monitor.rs`).
#[derive(Default)]
pub(crate) struct Doorbell {
    pub(crate) asleep: AtomicBool,
    pub(crate) thread: OnceLock<Thread>,
}

impl Doorbell {
    /// Called by a thread that is about to poll after it slept, or that begins to run a worker.
    /// The fence pairs with the one in the monitor's `sleep`: either the monitor sees that this
    /// thread polls, or this thread sees that the monitor sleeps.
    pub(crate) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            self.unpark();
        }
    }

    pub(crate) fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}
