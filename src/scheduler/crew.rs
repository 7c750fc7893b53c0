//! The threads of a runtime, counted under one lock: who runs a worker, and who has to be waited
//! for.
//!
//! A thread *signs on* before it begins, and *signs off* when nothing is left to do for it but to
//! drop its thread-locals. The end of a runtime waits until all have signed off. A thread that runs
//! a worker *enters the loop* and *leaves* it, and is signed on once more meanwhile. So is a thread
//! that takes the runtime apart and was in no loop.
//!
//! To *close* a runtime is to take it apart (step 3 in `end.rs`). What the tasks left may be
//! dropped only when no thread runs a worker any more, and by one thread alone. So the end asks
//! three things under the lock: the runtime ends, nobody is in a loop, and nobody has closed it
//! yet. Whoever finds all three has to close it. That is either the thread that begins the end or
//! the last one that leaves its loop. No thread enters a loop after the end has begun.
//!
//! A current-thread runtime has one worker, and no thread for it. A thread in `block_on` enters the
//! loop if nobody is in it, and runs the worker until its own future is ready. Others only poll
//! their own futures meanwhile:
//!
//! ```text
//!   another thread in block_on          the thread that runs the worker
//!   --------------------------          -------------------------------
//!   L1  enter the list of roots         V1  leave the loop
//!   L2  enter the loop                  V2  unpark all that are in the list
//!       failed: park
//! ```
//!
//! Nobody parks beside a worker that nobody runs. L2 fails only if a thread is in the loop, and V1
//! of that thread comes after L2, as both take the lock. So V2 finds what L1 has entered, and
//! unparks it: `park` returns at once. For this no foreign code may run between L2 and `park`. It
//! could park, too, and use up the unpark. At the end there is no V2, but closing wakes every
//! future in `block_on`.

use crate::sync::{AtomicBool, Condvar, Duration, Mutex, Ordering, PoisonError, lock};
use std::io;
use std::mem::replace;

#[derive(Default)]
pub(crate) struct Crew {
    /// Once this is true, each worker polls at most one more task. Changed under the lock of the
    /// count.
    is_ending: AtomicBool,
    count: Mutex<Count>,
    signed_off: Condvar,
}

#[derive(Default)]
struct Count {
    /// How often threads have signed on, and not off. A worker's own thread counts twice while it
    /// is in its loop.
    threads: usize,
    /// The threads that run a worker.
    in_loop: usize,
    /// Somebody has begun to take the runtime apart.
    is_closed: bool,
}

impl Crew {
    /// Whether the runtime ends. SeqCst pairs with the store in `begin_end`: a worker that falls
    /// asleep sets its bit before it loads this, and the end stores this before it claims those
    /// that sleep.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    /// # Errors
    ///
    /// The runtime ends, and perhaps nobody waits for its threads any more.
    pub(crate) fn sign_on(&self) -> io::Result<()> {
        // Under the lock, so that the end either refuses this thread or waits for it.
        let mut count = lock(&self.count);
        if self.is_ending() {
            return Err(io::Error::other("the runtime ends and starts no threads"));
        }
        count.threads += 1;
        Ok(())
    }

    pub(crate) fn sign_off(&self) {
        lock(&self.count).threads -= 1;

        // Only the end waits for this, and a notification asks the kernel.
        if self.is_ending() {
            self.signed_off.notify_all();
        }
    }

    /// L2: the calling thread wants to run a worker, of so many. Returns whether it may. If so, the
    /// thread has signed on as well, whether or not it had done so before.
    pub(crate) fn enter_loop(&self, workers: usize) -> bool {
        let mut count = lock(&self.count);

        // Nobody enters once the end has begun: it may find the loops empty only once.
        let may_enter = !self.is_ending() && count.in_loop < workers;
        if may_enter {
            count.in_loop += 1;

            // The end waits for a thread of `block_on`, too.
            count.threads += 1;
        }

        may_enter
    }

    /// V1: the calling thread runs its worker no more. Returns whether it has to close the runtime.
    /// After that it signs off.
    #[must_use]
    pub(crate) fn leave_loop(&self) -> bool {
        let mut count = lock(&self.count);
        count.in_loop -= 1;
        self.must_close(&mut count)
    }

    /// The runtime ends. Returns whether the caller has to close it. Then it has signed on, and
    /// signs off after that: another thread may wait for the end meanwhile. SeqCst pairs with
    /// `is_ending`.
    #[must_use]
    pub(crate) fn begin_end(&self) -> bool {
        let mut count = lock(&self.count);
        self.is_ending.store(true, Ordering::SeqCst);
        let must_close = self.must_close(&mut count);

        // The caller may be no thread of the runtime's, and another one may wait for the end
        // meanwhile. So it is signed on until it has taken everything apart.
        if must_close {
            count.threads += 1;
        }
        must_close
    }

    /// Whether any thread runs a worker.
    pub(crate) fn is_in_loop(&self) -> bool {
        lock(&self.count).in_loop > 0
    }

    fn must_close(&self, count: &mut Count) -> bool {
        self.is_ending() && count.in_loop == 0 && !replace(&mut count.is_closed, true)
    }

    /// Waits until all threads but `myself` have signed off, for `limit` at most. Returns whether
    /// all of them have, the caller among them.
    pub(crate) fn wait_for_all(&self, myself: usize, limit: Duration) -> bool {
        let others_run = |count: &mut Count| count.threads > myself;
        let count = lock(&self.count);

        // Each thread that signs off notifies this, once the runtime ends.
        let waited = self.signed_off.wait_timeout_while(count, limit, others_run);
        waited.unwrap_or_else(PoisonError::into_inner).0.threads == 0
    }
}
