//! The seat: one thread at a time waits for the kernel and the clock.
//!
//! A thread that only polls costs a quarter more CPU than one that also runs
//! what it woke. So whichever worker has nothing to do takes the seat, waits,
//! leaves it, and runs the tasks whose events came. The seat is a lock that
//! nobody ever waits for. A busy worker takes a look, without waiting, every
//! `event_interval` polls; when all are too busy for that, the monitor does.

use crate::kernel::{Events, Until};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering};
use crate::{idle::Idle, reactor::Reactor, timers::Timers};
use std::{sync::TryLockError, task::Waker};

pub(crate) struct Driver {
    pub(crate) reactor: Reactor,
    pub(crate) timers: Timers,
    /// Whoever has locked it sits in it, and is told the events here.
    seat: Mutex<Events>,
    /// One more than the worker that sleeps in the seat; 0: nobody does.
    holder: AtomicUsize,
    /// Somebody has looked since the monitor saw to it that somebody does.
    pub(crate) looked: AtomicBool,
}

/// The right to wait.
pub(crate) struct Seat<'a>(&'a Driver, MutexGuard<'a, Events>);

impl Driver {
    pub(crate) fn new(workers: usize) -> std::io::Result<Self> {
        Ok(Self {
            reactor: Reactor::new()?,
            timers: Timers::new(workers),
            seat: Mutex::default(),
            holder: AtomicUsize::new(0),
            looked: AtomicBool::new(false),
        })
    }

    /// Takes the seat, if it is free.
    pub(crate) fn take_seat(&self) -> Option<Seat<'_>> {
        match self.seat.try_lock() {
            Ok(events) => Some(Seat(self, events)),
            Err(TryLockError::Poisoned(poisoned)) => Some(Seat(self, poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The worker that sleeps in the seat: to be notified, not unparked.
    ///
    /// SeqCst: ordered after the caller's clearing of the worker's bit, as the
    /// store in [`Seat::wait`] is ordered before the look at that bit.
    pub(crate) fn holder(&self) -> Option<usize> {
        self.holder.load(Ordering::SeqCst).checked_sub(1)
    }

    /// Whether there is anything to wait for.
    pub(crate) fn is_needed(&self) -> bool {
        self.reactor.has_sources() || self.timers.earliest().is_some()
    }

    /// Ends the sleep of the thread in the seat, or the next one.
    ///
    /// # Panics
    ///
    /// When it cannot be told: a sleeper that is not woken is a hang.
    pub(crate) fn notify(&self) {
        let notified = self.reactor.notify();
        notified.expect("arc: the thread that waits for the kernel could not be notified");
    }
}

impl Seat<'_> {
    /// Collects the wakers of what happens, to be woken once the seat has been
    /// left. A worker sleeps until something does, unless it was woken before it
    /// was known to sit here. Without a worker this only looks.
    ///
    /// The first SeqCst: see [`Driver::holder`]. The second: whoever still read
    /// the worker here cleared its bit before, and a guest that this thread
    /// unparks after it sees it cleared. Only then is the seat free.
    ///
    /// # Panics
    ///
    /// When the kernel refuses. The descriptor is the runtime's own: this is a
    /// defect, or the process closed a descriptor that it did not own.
    pub(crate) fn wait(self, worker: Option<usize>, idle: &Idle, wakers: &mut Vec<Waker>) {
        let Seat(driver, mut events) = self;
        let holder = worker.map_or(0, |worker| worker + 1);
        driver.holder.store(holder, Ordering::SeqCst);
        let sleeper = worker.filter(|&worker| idle.is_asleep(worker));
        let until = match sleeper {
            Some(_) => driver.timers.sleep_until_next().map_or(Until::Forever, Until::Deadline),
            None => Until::Now,
        };
        let waited = driver.reactor.wait(&mut events, until, wakers);
        waited.expect("arc: waiting for the kernel failed");
        driver.timers.expire(wakers);
        driver.looked.store(true, Ordering::Relaxed);
        driver.holder.store(0, Ordering::SeqCst);
    }
}
