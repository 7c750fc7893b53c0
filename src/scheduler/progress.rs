//! How a thread gets on with its polls. The thread writes this, and the monitor looks at it.

use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Duration, Ordering};

/// How often the monitor looks at a busy runtime. A look takes some microseconds of a core that a
/// worker could use.
pub(crate) const TICK: Duration = Duration::from_millis(5);

#[derive(Default)]
pub(crate) struct Progress {
    /// Set by each turn of the thread's loop, and cleared by each tick of the monitor.
    moved: AtomicBool,
    /// The id of the task that is being polled, or 0.
    polled: AtomicU64,
    /// How many ticks of the monitor have passed since the last turn.
    stuck_ticks: AtomicUsize,
}

impl Progress {
    /// The thread begins another turn.
    pub(crate) fn turn(&self) {
        self.moved.store(true, Ordering::Relaxed);
        self.stuck_ticks.store(0, Ordering::Relaxed);
    }

    /// A poll begins. Release pairs with the Acquire in `polled`: a thread that sees this id also
    /// sees the turn before it.
    pub(crate) fn begin_poll(&self, task: u64) {
        self.polled.store(task, Ordering::Release);
    }

    pub(crate) fn end_poll(&self) {
        self.polled.store(0, Ordering::Relaxed);
    }

    /// The id of the task that is being polled, or 0. Acquire pairs with `begin_poll`.
    pub(crate) fn polled(&self) -> u64 {
        self.polled.load(Ordering::Acquire)
    }

    /// Whether there was a turn since the last call of `take_moved`.
    pub(crate) fn has_moved(&self) -> bool {
        self.moved.load(Ordering::Relaxed)
    }

    pub(crate) fn take_moved(&self) -> bool {
        self.moved.swap(false, Ordering::Relaxed)
    }

    /// The monitor ticks, and there was no turn since its last tick. Returns how many such ticks
    /// there were.
    pub(crate) fn count_stuck_tick(&self) -> usize {
        self.stuck_ticks.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// For how long the current poll has lasted, in ticks of the monitor.
    pub(crate) fn stuck_for(&self) -> Duration {
        TICK * self.stuck_ticks.load(Ordering::Relaxed) as u32
    }
}
