//! How a thread gets on with its polls. The thread writes this, and the monitor looks at it.

use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Duration, Ordering};

/// How often the monitor looks at a busy runtime. A look takes some microseconds of a core that a
/// worker could use.
pub(crate) const TICK: Duration = Duration::from_millis(5);

#[derive(Default)]
pub(crate) struct Progress {
    /// Set by each turn of the thread's loop, and cleared by each tick of the monitor.
    pub(crate) moved: AtomicBool,
    /// How many ticks of the monitor have passed since the last turn.
    pub(crate) stuck_ticks: AtomicUsize,
    polled: AtomicU64,
}

impl Progress {
    /// The thread begins another turn.
    pub(crate) fn turn(&self) {
        self.moved.store(true, Ordering::Relaxed);
        self.stuck_ticks.store(0, Ordering::Relaxed);
    }

    /// Polls a task. Release pairs with the Acquire in `polled`: a thread that sees the task's id
    /// also sees the turn before it.
    pub(crate) fn during<R>(&self, task: u64, poll: impl FnOnce() -> R) -> R {
        self.polled.store(task, Ordering::Release);
        let result = poll();
        self.polled.store(0, Ordering::Relaxed);
        result
    }

    /// The id of the task that is being polled, or 0. Acquire pairs with the Release in `during`.
    pub(crate) fn polled(&self) -> u64 {
        self.polled.load(Ordering::Acquire)
    }

    /// How long the current poll has lasted.
    pub(crate) fn time(&self) -> Duration {
        TICK * self.stuck_ticks.load(Ordering::Relaxed) as u32
    }
}
