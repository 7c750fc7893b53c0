//! Which workers sleep, and how no wake-up is lost.
//!
//! Every worker has one bit. The bit is set while the worker sleeps, parked or in the seat.
//! Another thread wakes a worker by clearing its bit. It has then *claimed* the worker, and owes
//! the sleeping thread an unpark (or a notification, if that sits in the seat). A worker that the
//! kernel wakes in the seat clears its own bit, and owes nobody anything. The set of sleepers and
//! their count are the same word, so they cannot drift apart.
//!
//! # The sleep protocol
//!
//! ```text
//!   a worker that runs out of work          a thread that brings work
//!   ------------------------------          -------------------------
//!   S1  set my bit                          P1  push into the injector
//!   S2  fence                               P2  fence
//!   S3  look into the injector again        P3  read the bits; if all are set,
//!       found something: clear my bit           clear one and unpark its worker
//!       nothing: sleep while my bit is set
//! ```
//!
//! No wake-up is lost. The two fences are totally ordered, so there are two cases:
//!
//! * P2 comes before S2. Then S3 sees what P1 pushed, and the worker stays awake. (Or another
//!   worker, which is awake, has taken it.)
//! * S2 comes before P2. Then P3 sees the bit that S1 set. If all bits are set, P3 clears one and
//!   wakes that worker. If P3 sees some bit clear, or another thread clears the last one before P3
//!   can, that worker's next S2 comes after P2, and so its next S3 sees what P1 pushed. (A worker
//!   that no thread runs yet has its bit clear, too. Whichever thread runs it next looks before it
//!   sleeps.)
//!
//! Two more things keep a worker from falling asleep, by the same steps. In S3 it also asks
//! whether the runtime ends, and, on a current-thread runtime, whether the future of its thread's
//! `block_on` was woken. A thread that makes one of these true does so first (in the place of P1),
//! and then claims the worker (in the place of P3). Both accesses are SeqCst.
//!
//! A worker that pushes into its *own* queue need not wake anybody: it is awake, and comes to
//! what it pushed. Nor need a worker that pushes into the injector, for it looks there in S3. To
//! wake another worker that shares the load is a matter of speed. It is decided in `share.rs`
//! and, in the middle of a long poll, in `task/spawn.rs`.

use crate::config::WORKERS_MAX;
use crate::sync::{AtomicBool, AtomicU64, OnceLock, Ordering, fence, thread::Thread};

/// The sleeping workers, a bit each.
pub(crate) struct Idle {
    asleep: AtomicU64,
    /// The bits of the workers that exist.
    all: u64,
}

impl Idle {
    /// All workers are awake at first.
    pub(crate) fn new(workers: usize) -> Self {
        let all = u64::MAX >> (WORKERS_MAX - workers);
        Self { asleep: AtomicU64::new(0), all }
    }

    /// S1 and S2: `worker` is about to sleep. It must look for work once more before it does. The
    /// fence pairs with the one in `claim_if_all_asleep`. SeqCst pairs with `claim`, for
    /// `end::begin` and for the waker of `block_on`, which pass no fence.
    pub(crate) fn fall_asleep(&self, worker: usize) {
        self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Whether nobody has claimed `worker` yet. SeqCst pairs with `claim`: a worker stores that
    /// it sits in the seat before it loads this (`Seat::sleep`), and a thread that claims it
    /// loads who sits in the seat afterwards.
    pub(crate) fn is_asleep(&self, worker: usize) -> bool {
        self.asleep.load(Ordering::SeqCst) & (1 << worker) != 0
    }

    /// Clears the worker's bit. True: the worker was asleep, and the caller owes it an unpark.
    /// SeqCst pairs with `is_asleep`.
    pub(crate) fn claim(&self, worker: usize) -> bool {
        self.asleep.fetch_and(!(1 << worker), Ordering::SeqCst) & (1 << worker) != 0
    }

    /// Claims the sleeping worker with the lowest index: as it is always the first to be woken, its
    /// caches are warm. `last_choice` is claimed only if no other worker sleeps.
    pub(crate) fn claim_one(&self, last_choice: Option<usize>) -> Option<usize> {
        let asleep = self.asleep.load(Ordering::Relaxed);
        let others = (0..WORKERS_MAX).filter(|worker| Some(*worker) != last_choice);
        let mut sleepers = others.chain(last_choice).filter(|worker| asleep & (1 << worker) != 0);

        // Another thread may claim a worker between the look at the bits and this claim.
        sleepers.find(|&worker| self.claim(worker))
    }

    /// P2 and P3: work was made visible to every worker. If no worker is awake to find it, one
    /// is claimed: the caller owes it an unpark. The fence pairs with the one in `fall_asleep`.
    pub(crate) fn claim_if_all_asleep(&self, last_choice: Option<usize>) -> Option<usize> {
        fence(Ordering::SeqCst);
        if self.all_asleep() { self.claim_one(last_choice) } else { None }
    }

    /// Whether some worker sleeps. This is only a hint.
    pub(crate) fn any_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// Whether every worker but this one sleeps. This is only a hint.
    pub(crate) fn all_asleep_but(&self, worker: usize) -> bool {
        self.asleep.load(Ordering::Relaxed) | 1 << worker == self.all
    }

    /// Whether every worker sleeps. Without a fence before it, this is only a hint.
    pub(crate) fn all_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed) == self.all
    }
}

/// Wakes the monitor, which sleeps while nobody polls anything (`runtime/monitor.rs`).
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
        self.thread.get().into_iter().for_each(Thread::unpark);
    }
}
