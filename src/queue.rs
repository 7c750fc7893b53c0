//! Where runnables wait: one bounded queue per worker, and one unbounded injector
//! for everybody.
//!
//! ```text
//!   spawned or woken on a worker ──► its queue ──half──► other workers
//!                                        │ full
//!   on other threads ──────► injector ◄──┘
//! ```
//!
//! First come, first served. The queues are `concurrent_queue`s: all ends may be
//! used by every thread, which is what makes stealing plain code.

use concurrent_queue::ConcurrentQueue;

/// How many runnables a worker's own queue holds. Beyond it they go to the
/// injector, where every worker finds them.
pub(crate) const LOCAL_CAPACITY: usize = 256;

/// A worker's own runnables. (The queues are never closed.)
pub(crate) struct Local<T>(ConcurrentQueue<T>);

impl<T> Default for Local<T> {
    fn default() -> Self {
        Self(ConcurrentQueue::bounded(LOCAL_CAPACITY))
    }
}

impl<T> Local<T> {
    #[inline]
    pub(crate) fn push(&self, item: T, injector: &ConcurrentQueue<T>) {
        if let Err(full) = self.0.push(item) {
            push(injector, full.into_inner());
        }
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

    /// Takes up to a fair share out of the injector; the first is returned.
    pub(crate) fn refill(&self, injector: &ConcurrentQueue<T>, workers: usize) -> Option<T> {
        let first = injector.pop().ok()?;
        let share = (injector.len() / workers).min(LOCAL_CAPACITY / 2);
        let more = injector.try_iter().take(share);
        more.for_each(|item| self.push(item, injector));
        Some(first)
    }

    /// Takes half of what waits in another worker's queue; the first is returned.
    pub(crate) fn steal_from(&self, victim: &Self, injector: &ConcurrentQueue<T>) -> Option<T> {
        let half = victim.len().div_ceil(2);
        let first = victim.pop()?;
        let more = victim.0.try_iter().take(half.saturating_sub(1));
        more.for_each(|item| self.push(item, injector));
        Some(first)
    }

    /// Moves everything to where every worker finds it.
    pub(crate) fn spill(&self, injector: &ConcurrentQueue<T>) {
        self.0.try_iter().for_each(|item| push(injector, item));
    }
}

/// Pushes into the injector, which takes everything: it is unbounded and never
/// closed.
pub(crate) fn push<T>(injector: &ConcurrentQueue<T>, item: T) {
    assert!(injector.push(item).is_ok(), "it takes everything");
}

#[cfg(test)]
#[path = "../tests/unit/queue.rs"]
mod tests;
