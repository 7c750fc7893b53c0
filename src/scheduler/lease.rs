//! The lease: which thread in `block_on` runs the worker of a current-thread runtime.
//!
//! A current-thread runtime has one worker, and no thread for it. A thread in `block_on` that takes
//! the *lease* runs the worker until its own future is ready. Other threads in `block_on` only poll
//! their own futures meanwhile. When the lease ends, they are unparked, and one of them takes it.
//!
//! The end of the runtime needs the lease as well. To *close* a runtime is to take it apart (step 3
//! in `end.rs`): what the tasks left may be dropped only when no thread runs the worker any more.
//! E1 and E2 are in `end::begin`, R1 and R2 in `end::end_lease`.
//!
//! ```text
//!   another thread in block_on   the thread with the lease     the thread that ends the runtime
//!   --------------------------   -------------------------     --------------------------------
//!   L1  take the lease           R1  end the lease, unpark     E1  say that the runtime ends
//!       failed: leave my name,       all who left their names  E2  take the lease
//!       and park                 R2  does the runtime end?         failed: nothing
//!                                    take the lease, close         else close
//! ```
//!
//! L1, R1 and E2 are done under one lock, and so in some order. Therefore:
//!
//! * Nobody parks beside a free lease. L1 fails only if the lease is taken. If a thread has it to
//!   run the worker, an R1 comes after L1, finds the thread's name, and unparks the thread: `park`
//!   returns at once. (For this no foreign code may run between L1 and `park`. It could park, too,
//!   and use up the unpark.) If a thread has it to close the runtime, no R1 comes, but closing
//!   wakes every future in `block_on`.
//! * Exactly one thread closes the runtime. E2 fails only if the lease is taken. If a thread has it
//!   to run the worker, an R1 comes after E2, so that R2 sees what E1 said. If not, somebody closes
//!   already, and nobody ends the lease after that.

use crate::sync::{Mutex, lock, thread};
use std::mem::take;

#[derive(Default)]
pub(crate) struct Lease(Mutex<State>);

#[derive(Default)]
struct State {
    is_taken: bool,
    /// The threads that want the lease.
    waiting: Vec<thread::Thread>,
}

impl State {
    /// Takes the lease, if it is free.
    fn take(&mut self) -> bool {
        let is_free = !self.is_taken;
        self.is_taken = true;
        is_free
    }

    fn forget(&mut self, thread: &thread::Thread) {
        self.waiting.retain(|other| other.id() != thread.id());
    }
}

impl Lease {
    /// L1. True: the calling thread may run the worker from now on, and no other thread may.
    pub(crate) fn take_or_wait(&self) -> bool {
        // At most once, however often this thread has asked.
        let me = thread::current();
        let mut state = lock(&self.0);
        state.forget(&me);
        let is_mine = state.take();

        // Under the same lock: whoever ends the lease finds the name.
        if !is_mine {
            state.waiting.push(me);
        }
        is_mine
    }

    /// E2, and the second half of R2.
    pub(crate) fn take_to_close(&self) -> bool {
        lock(&self.0).take()
    }

    /// R1.
    pub(crate) fn end(&self) {
        let mut state = lock(&self.0);
        state.is_taken = false;
        let waiting = take(&mut state.waiting);
        drop(state);
        waiting.iter().for_each(thread::Thread::unpark);
    }

    /// Takes the name of the calling thread back. Otherwise the names of threads that have gone
    /// would pile up until the lease ends, and on a server that may be never.
    pub(crate) fn stop_waiting(&self) {
        lock(&self.0).forget(&thread::current());
    }
}
