//! What is counted of the futures of one runtime.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The futures of one runtime, and whether it ends.
pub struct Census {
    round: u64,
    number: usize,
    /// It ends, or is about to. Relaxed: set before the runtime is told, whose own locks
    /// order it before all that comes of it.
    stopping: AtomicBool,
    futures: Mutex<Futures>,
    changed: Condvar,
}

#[derive(Default, Clone, Copy, PartialEq)]
pub struct Futures {
    pub made: u64,
    pub dropped: u64,
}

impl fmt::Display for Census {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "runtime {} of round {}", self.number, self.round)
    }
}

impl Census {
    /// Of the runtime with this number, in this round.
    pub fn new(round: u64, number: usize) -> Self {
        let (stopping, changed) = (AtomicBool::new(false), Condvar::new());
        Census { round, number, stopping, futures: Mutex::default(), changed }
    }

    fn futures(&self) -> MutexGuard<'_, Futures> {
        self.futures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn made(&self) {
        self.futures().made += 1;
    }

    pub fn dropped(&self) {
        self.futures().dropped += 1;
        self.changed.notify_all();
    }

    /// It ends from now on.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// For whoever looks at what hangs.
    pub fn state(&self) -> String {
        let Futures { made, dropped } = *self.futures();
        let stopping = if self.is_stopping() { ", ending" } else { "" };
        format!("{made} futures made, {dropped} dropped{stopping}")
    }

    pub fn wait_until(&self, condition: impl Fn(Futures) -> bool) {
        let futures = self.futures();
        drop(self.changed.wait_while(futures, |futures| !condition(*futures)));
    }

    /// Waits until every future that was made has been dropped.
    pub fn wait_until_empty(&self) {
        self.wait_until(|futures| futures.made == futures.dropped);
    }
}
