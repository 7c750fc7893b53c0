//! Where runnables wait: one queue per worker, and the injector, which belongs to all.
//!
//! ```text
//!   spawned or woken on a worker ──► its queue ──half──► other workers
//!                                        ▲
//!   on other threads ──► injector ──share┘
//! ```
//!
//! While polls are long, tasks that are spawned or woken on a worker go to the injector, too, and
//! the share is a single one (`MeanPoll::is_long`).
//!
//! Each queue is first in, first out. The queues are made of `concurrent_queue`s, which are never
//! closed, and have no limit. Every thread may take from them, which makes stealing plain code.

use crate::{registry::Key, sync::Ordering::Relaxed};
use concurrent_queue::ConcurrentQueue;
use std::{hint, iter};

/// A task that waits to be polled. It carries its key.
pub(crate) type Runnable = async_task::Runnable<Key>;

/// How many runnables a worker takes from another queue at once, at most. It polls none meanwhile.
/// As many fit into the ring of its own queue.
pub(crate) const BATCH_MAX: usize = 256;

/// The queue of a worker. A bounded queue costs half as much as an unbounded one, for each item. So
/// the items are in a ring. When it is full, all that comes is in `rest`, until that is empty.
pub(crate) struct Local<T> {
    ring: ConcurrentQueue<T>,
    rest: ConcurrentQueue<T>,
    /// A thief takes its half just now. If there are several, the first that has done clears this
    /// for all. It is only a hint, so the models leave it out: the atomic is std's.
    pub(crate) is_robbed: std::sync::atomic::AtomicBool,
}

impl<T> Default for Local<T> {
    fn default() -> Self {
        let (ring, rest) = (ConcurrentQueue::bounded(BATCH_MAX), ConcurrentQueue::unbounded());
        Self { ring, rest, is_robbed: Default::default() }
    }
}

impl<T> Local<T> {
    /// Only the thread that runs the worker may push. What it finds in `rest` is older.
    pub(crate) fn push(&self, item: T) {
        if !self.rest.is_empty() {
            return push(&self.rest, item);
        }
        if let Err(full) = self.ring.push(item) {
            push(&self.rest, full.into_inner());
        }
    }

    /// The oldest item, for the owner. If a thief takes its half just now, the owner lets it take
    /// them all first.
    ///
    /// If the two took turns, items that were queued one after the other would part. Tasks that
    /// were spawned one after the other are often neighbours in memory, and share a cache line.
    /// Two cores that poll one each take that line from each other at every poll, for as long as
    /// both tasks live. (With 200 tasks that yield, on two workers, a yield took a third longer.)
    ///
    /// The owner waits for 256 pauses at most, which take 1 to 12 µs, depending on the processor.
    /// Then it pops, as the thief may have lost its core.
    pub(crate) fn pop(&self) -> Option<T> {
        if self.is_robbed.load(Relaxed) {
            let is_robbed = |_: &usize| self.is_robbed.load(Relaxed);
            (0..BATCH_MAX).take_while(is_robbed).for_each(|_| hint::spin_loop());
            self.is_robbed.store(false, Relaxed);
        }
        self.pop_now()
    }

    /// `ok` comes first, so that only the item is moved on. A `Result` would be written in two
    /// pieces and read back in one, which takes a processor as long as the rest of the pop.
    fn pop_now(&self) -> Option<T> {
        self.ring.pop().ok().or_else(|| self.rest.pop().ok())
    }

    pub(crate) fn len(&self) -> usize {
        self.ring.len() + self.rest.len()
    }

    /// Takes half of another worker's queue. Returns the first item, and queues the others.
    pub(crate) fn steal_from(&self, victim: &Self) -> Option<T> {
        let count = victim.len().div_ceil(2);
        let _ = (count > 1).then(|| victim.is_robbed.store(true, Relaxed));
        let first = self.take(|| victim.pop_now(), count);
        let _ = (count > 1).then(|| victim.is_robbed.store(false, Relaxed));
        first
    }

    /// Takes some items of another queue. Returns the first, and queues the others. Most queues
    /// that a thief comes to are empty, and to pop from one of these would cost a fence.
    pub(crate) fn take(&self, pop: impl Fn() -> Option<T>, count: usize) -> Option<T> {
        let first = if count > 0 { pop()? } else { return None };
        iter::from_fn(&pop).take(count.min(BATCH_MAX) - 1).for_each(|item| self.push(item));
        Some(first)
    }
}

/// Pushes into an unbounded queue that is never closed.
pub(crate) fn push<T>(queue: &ConcurrentQueue<T>, item: T) {
    assert!(queue.push(item).is_ok(), "an open and unbounded queue takes everything");
}
