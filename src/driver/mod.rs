//! What tasks wait for: the kernel and the clock.
//!
//! A thread that did nothing but wait for events would cost a quarter more CPU than one that also
//! runs the tasks that it woke. So a worker that has nothing to do takes a *seat*, sleeps there
//! until the kernel reports something, leaves it, and runs the tasks whose events came. (Who sits
//! and who does not is decided and kept in `scheduler/idle.rs`.) For the next timer, the kernel has
//! an *alarm*, which ends the wait of one worker. So does a notification, by another thread.
//!
//! While all workers run tasks, nobody sits: the kernel keeps the events. A busy worker looks
//! without waiting, every `event_interval` polls or after 300 µs. When all workers are too busy
//! even for that, the monitor does it (`runtime/monitor.rs`).
//!
//! Locks are taken in this order: the alarm, then the reactor's sources or a wheel, then the
//! waiting wakers of one source, and then when their list was last full.

pub(crate) mod kernel;
pub(crate) mod reactor;
pub(crate) mod readiness;
pub(crate) mod timers;
pub(crate) mod wheel;

use crate::driver::{kernel::event::Until, reactor::Reactor, reactor::Wakers};
use crate::sync::{AtomicBool, Instant, Mutex, Ordering, lock};
use crate::{driver::timers::Timers, panic::wake};

pub(crate) struct Driver {
    pub(crate) reactor: Reactor,
    pub(crate) timers: Timers,
    /// What the kernel's alarm was last set for. Whoever sets it holds this lock.
    alarm: Mutex<Option<Instant>>,
    /// A notification was sent or is about to be, and nobody has come back from the kernel since. A
    /// worker that does clears this, and then looks at everything else. A look that does passes the
    /// notification on, if a worker sits. SeqCst on both sides: what was done before `notify` is
    /// seen then.
    pub(crate) is_notified: AtomicBool,
}

impl Driver {
    pub(crate) fn new(workers: usize) -> std::io::Result<Self> {
        let (reactor, timers) = (Reactor::new()?, Timers::new(workers));
        Ok(Self { reactor, timers, alarm: Mutex::default(), is_notified: AtomicBool::new(false) })
    }

    /// Whether there is anything to wait for.
    pub(crate) fn is_needed(&self) -> bool {
        self.reactor.has_sources() || self.timers.earliest().is_some()
    }

    /// Ends the wait of one worker that sits, or else the next wait. Nothing is done if a
    /// notification is on its way already, or about to be sent by another thread.
    ///
    /// # Panics
    ///
    /// When the kernel refuses. A thread that sleeps on would be a hang.
    pub(crate) fn notify(&self) {
        // SeqCst pairs with the swap of whoever comes back.
        if !self.is_notified.swap(true, Ordering::SeqCst) {
            let notified = self.reactor.kernel.notify();
            notified.expect("arc: the thread that waits for the kernel could not be notified");
        }
    }

    /// Wakes the tasks for which something has happened so far, without waiting. `wakers` is empty
    /// before and after it. Nothing is done if `is_watched` says that a worker sits, which looks
    /// itself, or if there is nothing to look at.
    pub(crate) fn look(&self, wakers: &mut Wakers, is_watched: impl Fn() -> bool) {
        if is_watched() || !self.is_needed() {
            return;
        }
        self.collect(Until::Now, wakers);
        let was_notified = self.is_notified.swap(false, Ordering::SeqCst); // pairs with `notify`
        if is_watched() {
            // A worker has sat down meanwhile. What this has fetched may have been for that one.
            self.move_alarm();
            let _ = was_notified.then(|| self.notify());
        }
        wakers.drain(..).for_each(wake);
    }

    /// Called if somebody sits, and the alarm may be too late for them: a timer was armed that is
    /// due earlier, or the alarm has called another thread.
    pub(crate) fn move_alarm(&self) {
        if kernel::is_shared() {
            self.set_alarm();
        } else {
            self.notify(); // the one that waits comes back, and waits anew for less
        }
    }

    /// Waits until something happens, and collects the wakers of what did. Only for a worker that
    /// sits. (Its bit is set: who arms a timer sees the bit, or this sees the timer.)
    pub(crate) fn sleep(&self, wakers: &mut Wakers) {
        let until = self.set_alarm();
        #[cfg(feature = "sim")]
        let ahead = || (self.timers.next_alarm(), self.reactor.has_sources());
        #[cfg(feature = "sim")]
        let until = arc_sim_core::until([until, Until::Now], ahead, wakers, |wakers| {
            self.collect(Until::Now, wakers);
            // SeqCst pairs with `notify`.
            !wakers.is_empty() || self.is_notified.load(Ordering::SeqCst)
        });
        self.collect(until, wakers);
    }

    /// Sees to it that one of those who sit wakes up for the next timer.
    ///
    /// # Panics
    ///
    /// When the kernel refuses.
    pub(crate) fn set_alarm(&self) -> Until {
        let mut alarm = lock(&self.alarm);
        let Some(next) = self.timers.next_alarm() else { return Until::Forever };
        // An alarm whose time is over may have been reported already.
        if *alarm != Some(next) || next <= Instant::now() {
            self.reactor.kernel.set_alarm(next).expect("arc: the kernel's alarm could not be set");
            *alarm = Some(next);
        }
        Until::Deadline(next)
    }

    /// # Panics
    ///
    /// When the kernel refuses. The descriptor is the runtime's own, so this is a defect, or
    /// the process has closed a descriptor that it does not own.
    fn collect(&self, until: Until, wakers: &mut Wakers) {
        self.reactor.wait(until, wakers).expect("arc: waiting for the kernel failed");
        self.timers.expire(wakers);
    }
}
