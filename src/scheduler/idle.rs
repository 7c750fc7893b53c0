//! Which workers sleep, where, and how no wake-up is lost.
//!
//! A worker that sleeps either *sits*, which means that it waits for the kernel
//! (`driver/mod.rs`), or is *parked* (`thread::park`). Every worker has one bit for each. While
//! polls are short, only one worker sits down: it takes all events that have come, and runs what
//! they wake. While polls are long, whoever falls asleep sits, and each event that comes wakes one
//! of them: the one that sat down last. (That is so on Linux. Elsewhere only one thread can wait.)
//!
//! Another thread wakes a parked worker by clearing its bit. It has then *claimed* the worker, and
//! owes the sleeping thread an unpark. Those who sit cannot be woken one by one: a thread
//! *notifies* them, and the kernel wakes one of them, whichever it is. That one clears its own bit.
//!
//! # The sleep protocol
//!
//! ```text
//!   a worker that runs out of work          a thread that brings work
//!   ------------------------------          -------------------------
//!   S1  set one of my bits                  P1  push into the injector
//!   S2  fence                               P2  fence
//!   S3  look into the injector again        P3  read the bits of those who are parked, and then
//!       found something: clear my bit           of those who sit; if nobody is awake, wake one
//!       nothing: sleep
//! ```
//!
//! No wake-up is lost. The two fences are totally ordered, so for each worker there are two cases:
//!
//! * P2 comes before the last S2 of this worker. Then its S3 sees what P1 pushed, and it stays
//!   awake. (Or another worker, which is awake, has taken it.)
//! * The last S2 of this worker comes before P2. Then P3 sees the bit that its S1 set, unless the
//!   worker was claimed or has left its seat since. Then it is awake or about to be, its next S2
//!   comes after P2, and so its next S3 sees what P1 pushed.
//!
//! So whichever worker P3 takes for awake finds what P1 pushed. If P3 takes none for awake, it
//! tries to claim one that is parked, and otherwise notifies those who sit. One of these is the
//! case:
//!
//! * P3 claims a worker, which then looks for work.
//! * P3 notifies those who sit. The one that comes back looks for work.
//! * P3 finds that somebody has notified already, and nobody has come back by that yet. Then that
//!   notification serves, too.
//! * Others claim all who are parked before P3 can, and nobody sits any more. Then those who were
//!   claimed, or have left their seats, are awake.
//!
//! P3 takes two kinds of workers for awake that are not polling:
//!
//! * One that leaves its seat and parks, while P3 reads first the one word and then the other. P3
//!   sees neither of its bits. Then its last S2 comes after P2, and its S3 sees what P1 pushed.
//! * One that no thread runs yet. (A worker is a place, and a thread runs it.) Whichever thread
//!   runs it looks before it sleeps.
//!
//! In S3, a worker that is to park also asks whether anybody sits, so that the kernel does not go
//! unwatched. It has set its bit before, and passed a fence. A worker that leaves its seat clears
//! its bit, and passes a fence, too (`Doorbell::ring`). While polls are long it asks before
//! its next poll whether anybody sleeps, and calls that one. So one of the two sees the other.
//! (While polls are short it does not ask, as it will be back at the kernel soon. So a worker may
//! stay parked while nobody sits.)
//!
//! Two more things keep a worker from falling asleep, by the same steps. In S3 it also asks
//! whether the runtime ends, and, on a current-thread runtime, whether the future of its thread's
//! `block_on` was woken. A thread that makes one of these true does so first (in the place of P1),
//! and then claims the workers or notifies those who sit (in the place of P3). All these accesses
//! are SeqCst.
//!
//! A worker that pushes into its *own* queue need not wake anybody: it is awake, and comes to
//! what it pushed. Nor need a worker that pushes into the injector, for it looks there in S3. To
//! wake another worker that shares the load is a matter of speed. It is decided in `share.rs`
//! and, for what is queued in a poll while polls are long, in `task/spawn.rs`.

use crate::config::WORKERS_MAX;
use crate::sync::{AtomicBool, AtomicU64, OnceLock, Ordering, fence, thread::Thread};

/// The sleeping workers, a bit each.
pub(crate) struct Idle {
    parked: AtomicU64,
    seated: AtomicU64,
    /// The bits of the workers that exist.
    pub(crate) all: u64,
}

impl Idle {
    /// All workers are awake at first.
    pub(crate) fn new(workers: usize) -> Self {
        let all = u64::MAX >> (WORKERS_MAX - workers);
        Self { parked: AtomicU64::new(0), seated: AtomicU64::new(0), all }
    }

    /// S1 and S2: `worker` is about to sleep. It must look for work once more before it does. True:
    /// it sits, and must wait for the kernel. It does if nobody else sits or if it `joins` those
    /// who do. False: it must park.
    ///
    /// The fence pairs with the one in `all_asleep`. SeqCst pairs with `claim` and
    /// `any_seated`, for `end::begin` and for the waker of `block_on`, which pass no fence.
    pub(crate) fn fall_asleep(&self, worker: usize, joins: bool) -> bool {
        let me = 1 << worker;
        let sit_down = |seated: u64| (joins || seated == 0).then_some(seated | me);
        let sits = self.seated.fetch_update(Ordering::SeqCst, Ordering::SeqCst, sit_down).is_ok();
        if !sits {
            self.parked.fetch_or(me, Ordering::SeqCst);
        }
        fence(Ordering::SeqCst);
        sits
    }

    /// The worker is awake, and leaves its seat if it has one. SeqCst pairs with `any_seated`.
    pub(crate) fn wake_up(&self, worker: usize) {
        self.seated.fetch_and(!(1 << worker), Ordering::SeqCst);
        let _ = self.claim(worker);
    }

    /// Whether `worker` is parked, and nobody has claimed it yet. SeqCst pairs with `claim`.
    pub(crate) fn is_parked(&self, worker: usize) -> bool {
        self.parked.load(Ordering::SeqCst) & (1 << worker) != 0
    }

    /// Clears the bit of a parked worker. True: it was parked, and the caller owes it an unpark.
    /// SeqCst pairs with `fall_asleep`, for `end::begin`.
    pub(crate) fn claim(&self, worker: usize) -> bool {
        self.parked.fetch_and(!(1 << worker), Ordering::SeqCst) & (1 << worker) != 0
    }

    /// Claims the parked worker with the lowest index: as it is always the first to be woken, its
    /// caches are warm.
    pub(crate) fn claim_one(&self) -> Option<usize> {
        let parked = self.parked.load(Ordering::Relaxed);
        // Another thread may claim a worker between the look at the bits and this claim.
        (0..WORKERS_MAX).filter(|worker| parked & (1 << worker) != 0).find(|&it| self.claim(it))
    }

    /// Whether some worker waits for the kernel. SeqCst pairs with `fall_asleep`.
    pub(crate) fn any_seated(&self) -> bool {
        self.seated.load(Ordering::SeqCst) != 0
    }

    /// The bits of those who sleep, wherever. Without a fence before it, this is only a hint.
    pub(crate) fn asleep(&self) -> u64 {
        self.parked.load(Ordering::Relaxed) | self.seated.load(Ordering::Relaxed)
    }

    /// P2 and P3: whether every worker sleeps, so that none is awake to find what was made visible
    /// to all of them, and one must be woken. The fence pairs with the one in `fall_asleep`.
    pub(crate) fn all_asleep(&self) -> bool {
        fence(Ordering::SeqCst);
        self.asleep() == self.all
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
    /// thread polls, or this thread sees that the monitor sleeps. It also pairs with the one in
    /// `fall_asleep`, for a worker that has left its seat.
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
