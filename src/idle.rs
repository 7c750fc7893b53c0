//! Who sleeps: track sleeping workers and never lose a wake-up.
//!
//! Every worker has one bit. The bit is set while the worker sleeps, parked or
//! waiting in the kernel. **Whoever clears the bit owns the worker**: a
//! notifier that clears it owes the sleeping thread an unpark, and a thread
//! that enters `block_on` may clear it to run the worker itself. Because the
//! set of sleepers and its counter are the same word, they cannot drift apart.
//!
//! # The sleep protocol
//!
//! ```text
//!   a worker that runs out of work          somebody who brings work
//!   ------------------------------          -------------------------
//!   S1  set my bit                          P1  push into the injector
//!   S2  fence                               P2  fence
//!   S3  look into the injector again        P3  read the bits; if all are set,
//!       found something: clear my bit           clear one and unpark it
//!       nothing: sleep while my bit is set
//! ```
//!
//! No wake-up is lost. The two fences are totally ordered, so either
//! * P2 comes before S2: then S3 sees what P1 pushed, and the worker stays; or
//! * S2 comes before P2: then P3 sees the bit that S1 set. If every other bit
//!   is set too, P3 clears one and wakes that worker. If some bit is clear, its
//!   worker is awake and has its own S1 to S3 still ahead of it: the argument
//!   holds for that worker, and workers are finite in number.
//!
//! What a worker pushes into its *own* queue needs no wake-up at all: the
//! worker is awake and comes to it. Waking another one to share the load is a
//! matter of speed and decided in `worker.rs`.

use crate::sync::{AtomicBool, AtomicU64, OnceLock, Ordering, fence, thread::Thread};

/// One bit each.
pub(crate) const WORKERS_MAX: usize = 64;

/// The sleeping workers.
pub(crate) struct Idle {
    asleep: AtomicU64,
    /// The bits of the workers that exist.
    all: u64,
}

impl Idle {
    /// All workers sleep at first.
    pub(crate) fn new(workers: usize) -> Self {
        let all = u64::MAX >> (WORKERS_MAX - workers);
        let asleep = AtomicU64::new(all);
        Self { asleep, all }
    }

    /// S1 and S2: declares that `worker` goes to sleep. It must look for work
    /// once more before it does. The fence pairs with `wake_if_all_asleep`'s.
    pub(crate) fn fall_asleep(&self, worker: usize) {
        self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Whether nobody has woken `worker` yet. SeqCst: ordered after the
    /// store of the seat's holder, as `wake` is ordered before its load.
    pub(crate) fn is_asleep(&self, worker: usize) -> bool {
        self.asleep.load(Ordering::SeqCst) & (1 << worker) != 0
    }

    /// Clears the worker's bit. True: it was asleep, and the caller now owes
    /// it an unpark (or runs it). SeqCst: see `is_asleep`; and what the worker
    /// did before it slept has happened.
    #[must_use]
    pub(crate) fn wake(&self, worker: usize) -> bool {
        let bit = 1 << worker;
        self.asleep.fetch_and(!bit, Ordering::SeqCst) & bit != 0
    }

    /// P2 and P3: called after work was made visible to every worker. The
    /// worker that is returned has been claimed: unpark it. The fence pairs with
    /// `fall_asleep`'s.
    #[must_use]
    pub(crate) fn wake_if_all_asleep(&self, last_choice: Option<usize>) -> Option<usize> {
        fence(Ordering::SeqCst);
        let wake_one = || self.wake_one(last_choice);
        self.all_asleep().then(wake_one).flatten()
    }

    /// Claims a sleeping worker, if there is one: the lowest, because its
    /// caches are the warmest, and `last_choice` only when no other sleeps.
    #[must_use]
    pub(crate) fn wake_one(&self, last_choice: Option<usize>) -> Option<usize> {
        let others = self.sleeping().filter(|&index| Some(index) != last_choice);
        others.chain(last_choice).find(|&index| self.wake(index))
    }

    /// The workers that slept when this looked.
    pub(crate) fn sleeping(&self) -> impl Iterator<Item = usize> + use<> {
        let asleep = self.asleep.load(Ordering::Relaxed);
        (0..WORKERS_MAX).filter(move |worker| asleep & (1 << worker) != 0)
    }

    /// Whether some worker sleeps; a hint.
    pub(crate) fn any_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// Whether every worker sleeps; exact only after a fence.
    pub(crate) fn all_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed) == self.all
    }
}

/// Where the sleeping monitor is rung.
#[derive(Default)]
pub(crate) struct Doorbell {
    pub(crate) asleep: AtomicBool,
    pub(crate) thread: OnceLock<Thread>,
}

impl Doorbell {
    /// Called by a worker that has woken up, among others. The fence pairs with
    /// that in the monitor's `sleep`: either the monitor sees the worker awake,
    /// or this sees the monitor asleep.
    pub(crate) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            self.thread.get().into_iter().for_each(Thread::unpark);
        }
    }
}

#[cfg(all(test, not(arc_model)))]
#[path = "../tests/unit/idle.rs"]
mod tests;
