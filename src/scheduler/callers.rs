//! The threads that are in `block_on`, and which of them runs the worker of a current-thread
//! runtime.
//!
//! A current-thread runtime has one worker, and no thread for it. A thread in `block_on` that
//! gets the *lease* runs the worker until its own future is ready. The other threads in
//! `block_on` only poll their own futures meanwhile. When the lease ends, they are all unparked,
//! and one of them gets it.
//!
//! The runtime's end needs the lease as well: what the tasks left may be dropped only when no
//! thread runs the worker any more.
//!
//! ```text
//!   a thread in block_on         the thread with the lease     the thread that ends the runtime
//!   --------------------         -------------------------     --------------------------------
//!   L1  enter the list           R1  end the lease,            E1  say that the runtime ends
//!   L2  take the lease               unpark all in the list    E2  take the lease
//!       failed: park             R2  does the runtime end?         failed: nothing
//!                                    take the lease, close         else close
//! ```
//!
//! L1, L2, R1 and E2 are done under one lock, and so in some order. Therefore:
//!
//! * Nobody parks beside a free lease. L2 fails only if the lease is taken. Then an R1 comes after
//!   it, finds the thread in the list, and unparks it: `park` returns at once.
//! * Exactly one thread closes the runtime. E2 fails only if the lease is taken. Then an R1 comes
//!   after it, so that R2 sees what E1 said. Nobody gives the lease back after closing.

use crate::scheduler::progress::Progress;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, lock, thread::Thread};
use slab::Slab;
use std::panic::Location;

/// What others see of a thread in `block_on`.
pub(crate) struct Caller {
    thread: Thread,
    /// The future of this `block_on` was woken since it was polled last.
    woken: AtomicBool,
    /// The line that called `block_on`.
    pub(crate) location: &'static Location<'static>,
    pub(crate) progress: Progress,
    pub(crate) polls: AtomicU64,
}

impl Caller {
    /// The future is to be polled once before anything else.
    pub(crate) fn new(thread: Thread, location: &'static Location<'static>) -> Self {
        let woken = AtomicBool::new(true);
        Self { thread, woken, location, progress: Progress::default(), polls: AtomicU64::new(0) }
    }

    /// Wakes the thread to poll its future. False: somebody else has done so already. SeqCst
    /// pairs with `is_woken`.
    pub(crate) fn wake(&self) -> bool {
        let is_first = !self.woken.swap(true, Ordering::SeqCst);
        if is_first {
            self.thread.unpark();
        }
        is_first
    }

    /// Whether the future is to be polled. SeqCst pairs with `wake`: a thread that runs a worker
    /// sets the worker's bit before it loads this, and a thread that wakes the future stores
    /// `woken` before it clears the bit.
    pub(crate) fn is_woken(&self) -> bool {
        self.woken.load(Ordering::SeqCst)
    }

    /// The future is about to be polled. A wake-up from now on asks for another poll. Acquire
    /// pairs with `wake`: the poll sees what was done before the wake-up.
    pub(crate) fn take_wake(&self) -> bool {
        self.woken.swap(false, Ordering::Acquire)
    }
}

#[derive(Default)]
pub(crate) struct Callers(Mutex<State>);

#[derive(Default)]
struct State {
    list: Slab<Arc<Caller>>,
    leased: bool,
}

impl Callers {
    /// L1: enters a thread. It leaves the list by the key that is returned.
    pub(crate) fn enter(&self, caller: Arc<Caller>) -> usize {
        lock(&self.0).list.insert(caller)
    }

    pub(crate) fn leave(&self, key: usize) {
        lock(&self.0).list.remove(key);
    }

    /// L2 and E2: takes the lease, if it is free. The caller may run the worker from now on, and
    /// nobody else may.
    #[must_use]
    pub(crate) fn take_lease(&self) -> bool {
        let mut state = lock(&self.0);
        !std::mem::replace(&mut state.leased, true)
    }

    /// R1: ends the lease, and offers it to the others.
    pub(crate) fn end_lease(&self) {
        let mut state = lock(&self.0);
        state.leased = false;
        state.unpark_all();
    }

    /// Whether some thread runs the worker.
    pub(crate) fn has_lease(&self) -> bool {
        lock(&self.0).leased
    }

    pub(crate) fn unpark_all(&self) {
        lock(&self.0).unpark_all();
    }

    /// All who are in `block_on` at the moment.
    pub(crate) fn list(&self) -> Vec<Arc<Caller>> {
        let state = lock(&self.0);
        state.list.iter().map(|(_, caller)| caller.clone()).collect()
    }
}

impl State {
    fn unpark_all(&self) {
        for (_, caller) in &self.list {
            caller.thread.unpark();
        }
    }
}

#[cfg(all(test, not(arc_model)))]
#[path = "../../tests/unit/callers.rs"]
mod tests;
