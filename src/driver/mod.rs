//! What tasks wait for: the kernel and the clock. One thread at a time waits for both.
//!
//! That thread *sits in the seat*. The seat is a lock that nobody ever waits for. A thread
//! that did nothing but wait for events would cost a quarter more CPU than one that also
//! runs the tasks that it woke. So a worker that has nothing to do takes the seat if it is
//! free, sleeps there, leaves it, and runs the tasks whose events came.
//!
//! While a worker runs tasks, the seat may be empty: the kernel keeps the events. A busy worker
//! takes the seat for a moment, to look without waiting, every `event_interval` polls. When all
//! workers are too busy even for that, the monitor does it (`runtime/monitor.rs`).
//!
//! Locks are taken in this order: the seat, then the reactor's sources or a wheel, then the waiting
//! wakers of one source.

pub(crate) mod kernel;
pub(crate) mod reactor;
pub(crate) mod readiness;
pub(crate) mod timers;
pub(crate) mod wheel;

use crate::driver::{kernel::Events, kernel::Until, reactor::Reactor, reactor::Wakers};
use crate::sync::{AtomicUsize, Instant, Mutex, MutexGuard, Ordering};
use crate::{driver::timers::Key, driver::timers::Timers, panic::wake};
use std::{sync::TryLockError, task::Waker};

pub(crate) struct Driver {
    pub(crate) reactor: Reactor,
    pub(crate) timers: Timers,
    /// Whoever has locked this sits in the seat. It holds the buffer for the events.
    seat: Mutex<Events>,
    /// One more than the index of the worker that sleeps in the seat, or 0.
    sleeper: AtomicUsize,
}

/// The right to wait for the kernel.
pub(crate) struct Seat<'a> {
    driver: &'a Driver,
    events: MutexGuard<'a, Events>,
}

impl Driver {
    pub(crate) fn new(workers: usize) -> std::io::Result<Self> {
        Ok(Self {
            reactor: Reactor::new()?,
            timers: Timers::new(workers),
            seat: Mutex::default(),
            sleeper: AtomicUsize::new(0),
        })
    }

    /// Takes the seat, if it is free.
    pub(crate) fn take_seat(&self) -> Option<Seat<'_>> {
        let events = match self.seat.try_lock() {
            Ok(events) => events,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Seat { driver: self, events })
    }

    /// The worker that sleeps in the seat. It must be notified and not unparked.
    ///
    /// SeqCst pairs with [`Seat::sleep`]. The caller clears the worker's bit and then loads
    /// this. The worker stores this and then looks at its bit.
    pub(crate) fn sleeper(&self) -> Option<usize> {
        self.sleeper.load(Ordering::SeqCst).checked_sub(1)
    }

    /// Whether there is anything to wait for.
    pub(crate) fn is_needed(&self) -> bool {
        self.reactor.has_sources() || self.timers.earliest().is_some()
    }

    /// Ends the sleep of the thread in the seat, or else the next one.
    ///
    /// # Panics
    ///
    /// When the kernel refuses. A thread that sleeps on would be a hang.
    pub(crate) fn notify(&self) {
        let notified = self.reactor.kernel.notify();
        notified.expect("arc: the thread that waits for the kernel could not be notified");
    }

    /// Wakes the tasks for which something has happened so far, without waiting. `wakers` is empty
    /// before and after it. Returns false if another thread is in the seat, and so looks itself, or
    /// if there is nothing to look at. Then the seat is not taken: not even for a moment, in which
    /// a worker that falls asleep would find it taken.
    pub(crate) fn look(&self, wakers: &mut Wakers) -> bool {
        let seat = self.is_needed().then(|| self.take_seat());
        let Some(Some(mut seat)) = seat else { return false };
        seat.collect(Until::Now, wakers);
        drop(seat);
        wakers.drain(..).for_each(wake);
        true
    }

    /// Arms a timer, and sees to it that the thread in the seat wakes up in time for it.
    pub(crate) fn arm(&self, worker: Option<usize>, deadline: Instant, waker: Waker) -> Key {
        let (key, seat_oversleeps) = self.timers.arm(worker, deadline, waker);
        if seat_oversleeps {
            self.notify();
        }
        key
    }
}

impl Seat<'_> {
    /// Sleeps until something happens, and collects the wakers of what did.
    ///
    /// `index` is the worker that sleeps. `is_asleep` says whether its bit is still set (see
    /// `scheduler/idle.rs`). If it is not, another thread has claimed the worker before it could
    /// know that the worker sits here, and this only looks.
    pub(crate) fn sleep(mut self, index: usize, is_asleep: impl Fn() -> bool, wakers: &mut Wakers) {
        let driver = self.driver;

        // SeqCst pairs with `Driver::sleeper`: either this thread sees that its bit was
        // cleared, or the one that cleared it sees that it must notify the seat.
        driver.sleeper.store(index + 1, Ordering::SeqCst);
        let next = driver.timers.sleep_until_next().map_or(Until::Forever, Until::Deadline);
        let until = if is_asleep() { next } else { Until::Now };
        #[cfg(feature = "sim")]
        let ahead = || (driver.timers.sleep_until_next(), driver.reactor.has_sources());
        #[cfg(feature = "sim")]
        let until = arc_sim_core::until([until, Until::Now], ahead, wakers, |wakers| {
            self.collect(Until::Now, wakers);
            !wakers.is_empty() || !is_asleep()
        });
        self.collect(until, wakers);

        // Relaxed is enough: a thread that claims this worker later sees this store, as the worker
        // sets its bit after it. The store must precede the release of the seat, or it could
        // overwrite the index of the next worker there.
        driver.sleeper.store(0, Ordering::Relaxed);
    }

    /// # Panics
    ///
    /// When the kernel refuses. The descriptor is the runtime's own, so this is a defect, or
    /// the process has closed a descriptor that it does not own.
    fn collect(&mut self, until: Until, wakers: &mut Wakers) {
        let waited = self.driver.reactor.wait(&mut self.events, until, wakers);
        waited.expect("arc: waiting for the kernel failed");

        self.driver.timers.expire(wakers);
    }
}
