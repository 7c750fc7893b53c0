//! The seat: one thread at a time waits for the kernel and the clock.
//!
//! A thread that only polls costs a quarter more CPU than one that also runs
//! what it woke. So whichever worker has nothing to do takes the seat, waits,
//! leaves it, and runs the tasks whose events came. The seat is a lock that
//! nobody ever waits for. A busy worker takes a look, without waiting, every
//! `event_interval` polls; when all are too busy for that, the monitor does.

use crate::kernel::Events;
use crate::reactor::Reactor;
use crate::sync::{AtomicUsize, Ordering};
use crate::timers::Timers;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::task::Waker;
use std::time::Duration;

pub(crate) struct Driver {
    pub(crate) reactor: Reactor,
    pub(crate) timers: Timers,
    seat: Mutex<()>,
    /// The worker that sleeps in the seat.
    holder: AtomicUsize,
    /// How often somebody looked, so that the monitor can tell when nobody does.
    turns: AtomicUsize,
}

const NOBODY: usize = usize::MAX;

/// The right to wait.
pub(crate) struct Seat<'a>(&'a Driver, MutexGuard<'a, ()>);

/// What a look at the kernel and the clock brings: wakers to be woken once the
/// seat has been left.
pub(crate) struct Turn {
    events: Events,
    pub(crate) wakers: Vec<Waker>,
}

impl Turn {
    pub(crate) fn new() -> Self {
        let (events, wakers) = (Events::new(), Vec::new());
        Self { events, wakers }
    }
}

impl Driver {
    pub(crate) fn new(workers: usize) -> std::io::Result<Self> {
        Ok(Self {
            reactor: Reactor::new()?,
            timers: Timers::new(workers),
            seat: Mutex::new(()),
            holder: AtomicUsize::new(NOBODY),
            turns: AtomicUsize::new(0),
        })
    }

    /// Takes the seat, if it is free.
    pub(crate) fn take_seat(&self) -> Option<Seat<'_>> {
        match self.seat.try_lock() {
            Ok(taken) => Some(Seat(self, taken)),
            Err(TryLockError::Poisoned(poisoned)) => Some(Seat(self, poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The worker that sleeps in the seat: to be notified, not unparked.
    ///
    /// SeqCst: ordered after the caller's clearing of the worker's bit, as the
    /// store in [`Seat::sleep`] is ordered before the look at that bit.
    pub(crate) fn holder(&self) -> Option<usize> {
        let holder = self.holder.load(Ordering::SeqCst);
        (holder != NOBODY).then_some(holder)
    }

    pub(crate) fn turns(&self) -> usize {
        self.turns.load(Ordering::Relaxed)
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
    /// Collects the wakers of what has happened, without waiting.
    pub(crate) fn look(self, turn: &mut Turn) {
        self.turn(Some(Duration::ZERO), turn);
    }

    /// Sleeps as `worker` until something happens, unless `woken` says that it
    /// was woken before it was known to sit here.
    pub(crate) fn sleep(self, worker: usize, woken: impl FnOnce() -> bool, turn: &mut Turn) {
        let driver = self.0;
        // SeqCst: see `Driver::holder`.
        driver.holder.store(worker, Ordering::SeqCst);
        let no_time = woken().then_some(Duration::ZERO);
        self.turn(no_time.or_else(|| driver.timers.sleep_until_next()), turn);
        // SeqCst: whoever still read `worker` here cleared its bit before, and a
        // guest that this thread unparks after it sees it cleared.
        driver.holder.store(NOBODY, Ordering::SeqCst);
    }

    /// Waits for no longer than `timeout`; None is for ever.
    ///
    /// # Panics
    ///
    /// When the kernel refuses. The descriptor is the runtime's own: this is a
    /// defect, or the process closed a descriptor that it did not own.
    fn turn(&self, timeout: Option<Duration>, turn: &mut Turn) {
        let (driver, Turn { events, wakers }) = (self.0, turn);
        let waited = driver.reactor.wait(events, timeout, wakers);
        waited.expect("arc: waiting for the kernel failed");
        driver.timers.expire(wakers);
        driver.turns.fetch_add(1, Ordering::Relaxed);
    }
}
