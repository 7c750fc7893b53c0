//! What tasks wait for: the kernel and the clock.
//!
//! A thread that did nothing but wait for events would cost a quarter more CPU than one that also
//! runs the tasks that it woke. So a worker that has nothing to do takes the *seat*, waits here
//! until the kernel reports something, leaves the seat, and runs the tasks whose events came. Only
//! one thread at a time has the seat, and only that thread may call [`Driver::wait`]. (Who has it
//! is decided and kept in `scheduler/sleep.rs`.)
//!
//! While all workers run tasks, nobody waits: the kernel keeps the events. A busy worker takes the
//! seat now and then to look, without waiting (`scheduler/policy.rs`). When all workers are too
//! busy even for that, the monitor does it (`scheduler/monitor.rs`).
//!
//! Locks are taken in this order: the reactor's sources, and then the waiting wakers of one source.
//! A wheel is locked alone.

pub(crate) mod kernel;
pub(crate) mod reactor;
pub(crate) mod readiness;
pub(crate) mod timers;
pub(crate) mod wheel;

use crate::driver::kernel::Until;
use crate::driver::reactor::Reactor;
use crate::driver::timers::Timers;
use crate::hooks::sim;
use crate::panic::give_up;
use std::task::Waker;

pub(crate) struct Driver {
    pub(crate) reactor: Reactor,
    pub(crate) timers: Timers,
}

impl Driver {
    pub(crate) fn new(workers: usize) -> std::io::Result<Self> {
        Ok(Self { reactor: Reactor::new()?, timers: Timers::new(workers) })
    }

    /// Whether there is anything to wait for.
    pub(crate) fn is_needed(&self) -> bool {
        self.reactor.has_sources() || self.timers.earliest().is_some()
    }

    /// Collects the wakers of what has happened so far, without waiting. Only for the thread that
    /// has the seat.
    pub(crate) fn look(&self, wakers: &mut Vec<Waker>) {
        if self.is_needed() {
            self.collect(Until::Now, wakers);
        }
    }

    /// Waits until something happens, and collects the wakers of what did. Only for the worker that
    /// has the seat.
    ///
    /// `is_called` says that another thread has called the worker. Who did so before the worker had
    /// the seat did not know where to wake it, so this asks before it waits.
    pub(crate) fn wait(&self, wakers: &mut Vec<Waker>, is_called: impl Fn() -> bool) {
        let until = match self.timers.next_alarm() {
            _ if is_called() => Until::Now,
            // Otherwise until the first timer is due, or until something comes.
            Some(deadline) => Until::Deadline(deadline),
            None => Until::Forever,
        };

        // A simulation lets its clock jump to the deadline instead.
        let ahead = || (self.timers.next_alarm(), self.reactor.has_sources());
        let until = sim::until([until, Until::Now], ahead, wakers, |wakers| {
            self.collect(Until::Now, wakers);
            !wakers.is_empty() || is_called()
        });
        self.collect(until, wakers);
    }

    /// Ends the wait of the worker that has the seat, or else the next wait.
    pub(crate) fn notify(&self) {
        if let Err(error) = self.reactor.kernel.notify() {
            give_up("notifying the thread that waits for the kernel", &error);
        }
    }

    /// The descriptor of the kernel's queue is the runtime's own. So an error here is a defect of
    /// arc, or the program has closed a descriptor that it does not own.
    fn collect(&self, until: Until, wakers: &mut Vec<Waker>) {
        if let Err(error) = self.reactor.wait(until, wakers) {
            give_up("waiting for the kernel", &error);
        }
        self.timers.expire(wakers);
    }
}
