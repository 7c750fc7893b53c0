//! Where runnables wait: one queue per worker, and the injector for everybody.
//!
//! ```text
//!   spawned or woken on a worker ──► its queue ──half──► other workers
//!                                        ▲
//!   on other threads ──► injector ──share┘
//! ```
//!
//! First come, first served. The queues are `concurrent_queue`s, unbounded and never
//! closed: all ends may be used by every thread, which makes stealing plain code.

use concurrent_queue::ConcurrentQueue;

/// How many runnables move from queue to queue at once at the most: whoever moves
/// them polls none meanwhile.
pub(crate) const BATCH_MAX: usize = 256;

/// A worker's own runnables.
pub(crate) struct Local<T>(ConcurrentQueue<T>);

impl<T> Default for Local<T> {
    fn default() -> Self {
        Self(ConcurrentQueue::unbounded())
    }
}

impl<T> Local<T> {
    #[inline]
    pub(crate) fn push(&self, item: T) {
        push(&self.0, item);
    }

    /// The next to run.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        self.0.pop().ok()
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes a fair share out of the injector; the first is returned.
    pub(crate) fn refill(&self, injector: &ConcurrentQueue<T>, workers: usize) -> Option<T> {
        self.take_from(injector, injector.len().div_ceil(workers))
    }

    /// Takes half of what waits in another worker's queue; the first is returned.
    pub(crate) fn steal_from(&self, victim: &Self) -> Option<T> {
        self.take_from(&victim.0, victim.len().div_ceil(2))
    }

    fn take_from(&self, other: &ConcurrentQueue<T>, count: usize) -> Option<T> {
        let first = other.pop().ok()?;
        let more = other.try_iter().take(count.min(BATCH_MAX).saturating_sub(1));
        more.for_each(|item| self.push(item));
        Some(first)
    }

    /// Moves everything to where every worker finds it.
    pub(crate) fn spill(&self, injector: &ConcurrentQueue<T>) {
        self.0.try_iter().for_each(|item| push(injector, item));
    }
}

/// Pushes into an unbounded queue that is never closed.
#[inline]
pub(crate) fn push<T>(queue: &ConcurrentQueue<T>, item: T) {
    assert!(queue.push(item).is_ok(), "it takes everything");
}

#[cfg(all(test, not(arc_model)))]
#[path = "../tests/unit/queue.rs"]
mod tests;
