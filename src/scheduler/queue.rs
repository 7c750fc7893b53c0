//! Where runnables wait: one queue per worker, and the injector, which belongs to all.
//!
//! ```text
//!   spawned or woken on a worker ──► its queue ──half──► other workers
//!                                        ▲
//!   on other threads ──► injector ──share┘
//! ```
//!
//! What comes first is served first. The queues are `concurrent_queue`s, unbounded and never
//! closed. Every thread may use both ends of them, which makes stealing plain code.

use crate::registry::Key;
use concurrent_queue::ConcurrentQueue;

/// A task that waits to be polled. It carries its key.
pub(crate) type Runnable = async_task::Runnable<Key>;

/// How many runnables move from one queue to another at once, at most. The worker that moves
/// them polls none meanwhile.
pub(crate) const BATCH_MAX: usize = 256;

/// The queue of a worker.
pub(crate) struct Local<T>(ConcurrentQueue<T>);

impl<T> Default for Local<T> {
    fn default() -> Self {
        Self(ConcurrentQueue::unbounded())
    }
}

impl<T> Local<T> {
    pub(crate) fn push(&self, item: T) {
        push(&self.0, item);
    }
    pub(crate) fn pop(&self) -> Option<T> {
        self.0.pop().ok()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes half of another worker's queue. Returns the first item, and queues the others.
    pub(crate) fn steal_from(&self, victim: &Self) -> Option<T> {
        self.take_from(&victim.0, victim.len().div_ceil(2))
    }

    /// Takes some items of another queue. Returns the first item, and queues the others.
    pub(crate) fn take_from(&self, other: &ConcurrentQueue<T>, count: usize) -> Option<T> {
        let first = other.pop().ok()?;
        let more = count.min(BATCH_MAX).saturating_sub(1);
        other.try_iter().take(more).for_each(|item| self.push(item));
        Some(first)
    }

    /// Moves everything into the injector, where every worker finds it.
    pub(crate) fn spill(&self, injector: &ConcurrentQueue<T>) {
        self.0.try_iter().for_each(|item| push(injector, item));
    }
}

/// Pushes into an unbounded queue that is never closed.
pub(crate) fn push<T>(queue: &ConcurrentQueue<T>, item: T) {
    assert!(queue.push(item).is_ok(), "an open and unbounded queue takes everything");
}
