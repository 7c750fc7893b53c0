//! Where runnables wait: one queue per worker, and the injector, which belongs to all.
//!
//! ```text
//!   spawned or woken on a worker ──► its queue ──half──► other workers
//!                                        ▲
//!   on other threads ──► injector ──part─┘
//! ```
//!
//! While polls are long, tasks that are spawned or woken on a worker go to the injector, too, and
//! a worker takes one of them at a time (`policy.rs`).
//!
//! Each queue is first in, first out, and has no limit. The queues are made of `concurrent_queue`s.
//! Every thread may take from them, which makes stealing plain code.

use crate::hooks::sim;
use crate::registry::Record;
use crate::sync::Arc;
use concurrent_queue::ConcurrentQueue;

/// A task of the runtime `R` that waits to be polled. It carries its record.
pub(crate) type Runnable<R> = async_task::Runnable<Arc<Record<R>>>;

/// How many runnables a worker takes from another queue at once, at most. It polls none meanwhile.
/// As many fit into the ring of its own queue, and other lists keep room for so many.
pub(crate) const BATCH_MAX: usize = 256;

/// The queue of a worker. A bounded queue costs half as much as an unbounded one, for each item. So
/// the items are in a ring. When it is full, all that comes is in `rest`, until that is empty.
pub(crate) struct Local<T> {
    ring: ConcurrentQueue<T>,
    rest: ConcurrentQueue<T>,
}

impl<T> Default for Local<T> {
    fn default() -> Self {
        Self { ring: ConcurrentQueue::bounded(BATCH_MAX), rest: ConcurrentQueue::unbounded() }
    }
}

impl<T> Local<T> {
    /// Only the thread that runs the worker may push. What it finds in `rest` is older.
    pub(crate) fn push(&self, item: T) {
        // The order must stay: what is in `rest` is polled before this item.
        if !self.rest.is_empty() {
            return push(&self.rest, item);
        }
        if let Err(full) = self.ring.push(item) {
            push(&self.rest, full.into_inner());
        }
    }

    /// The oldest item.
    ///
    /// `ok()` comes first: a whole `Result` is stored in two halves and loaded as one, and that
    /// stall costs as much as the rest of the pop.
    pub(crate) fn pop(&self) -> Option<T> {
        self.ring.pop().ok().or_else(|| self.rest.pop().ok())
    }

    /// The item that the worker polls next: the oldest one, unless a simulation chooses another.
    pub(crate) fn next(&self) -> Option<T> {
        sim!(
            arc_sim_core::choose(self.pop(), || self.len(), |item| self.push(item), || self.pop()),
            self.pop()
        )
    }

    pub(crate) fn len(&self) -> usize {
        self.ring.len() + self.rest.len()
    }

    /// Takes half of another worker's queue. Returns the first item, and queues the others.
    pub(crate) fn steal_from(&self, victim: &Self) -> Option<T> {
        self.take(|| victim.pop(), victim.len().div_ceil(2))
    }

    /// Takes up to `count` items of another queue. Returns the first, and queues the others.
    pub(crate) fn take(&self, pop: impl Fn() -> Option<T>, count: usize) -> Option<T> {
        // Most queues that a worker comes to are empty, and to pop from one would cost a fence.
        if count == 0 {
            return None;
        }

        // The first is not queued: the caller polls it at once.
        let first = pop()?;
        for _ in 1..count.min(BATCH_MAX) {
            // Others may take from there meanwhile.
            let Some(item) = pop() else { break };
            self.push(item);
        }
        Some(first)
    }
}

/// Pushes into an unbounded queue that nobody closes while a worker runs.
pub(crate) fn push<T>(queue: &ConcurrentQueue<T>, item: T) {
    assert!(queue.push(item).is_ok(), "an open and unbounded queue takes everything");
}
