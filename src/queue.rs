//! Where runnables wait: one bounded queue and one last-in slot per worker, and
//! one unbounded injector for everybody.
//!
//! ```text
//!   woken by a task   ──► slot ──(displaced)──┐
//!   woken by the      ───────────────────────►├─► queue ◄──half── other workers
//!   driver, yielded                           │     │ full
//!   from other threads ─────► injector ◄──────┴─────┘
//! ```
//!
//! The slot holds what was woken last, because its data is still in the cache;
//! two tasks that wake each other would live in it for ever, so a worker takes
//! from it only [`SLOT_STREAK_MAX`] times in a row while others wait. The
//! queues are `concurrent_queue`s: all ends may be used by every thread, which
//! is what makes stealing plain code.

use concurrent_queue::ConcurrentQueue;
use std::cell::Cell;

/// How many runnables a worker's own queue holds. Beyond it they go to the
/// injector, where every worker finds them.
pub(crate) const LOCAL_CAPACITY: usize = 256;
/// How often in a row a worker runs what is in the slot while its queue waits.
pub(crate) const SLOT_STREAK_MAX: u32 = 3;

/// A worker's own runnables.
pub(crate) struct Local<T> {
    slot: ConcurrentQueue<T>,
    queue: ConcurrentQueue<T>,
}

impl<T> Default for Local<T> {
    fn default() -> Self {
        let slot = ConcurrentQueue::bounded(1);
        let queue = ConcurrentQueue::bounded(LOCAL_CAPACITY);
        Self { slot, queue }
    }
}

impl<T> Local<T> {
    /// Runs next, unless another comes. What was in the slot goes to the queue.
    /// (The queues are never closed.)
    pub(crate) fn push_slot(&self, item: T, injector: &ConcurrentQueue<T>) {
        if let Ok(Some(displaced)) = self.slot.force_push(item) {
            self.push_back(displaced, injector);
        }
    }

    /// Runs when everything that waits already has run.
    pub(crate) fn push_back(&self, item: T, injector: &ConcurrentQueue<T>) {
        if let Err(full) = self.queue.push(item) {
            push(injector, full.into_inner());
        }
    }

    /// The next to run. `streak` counts how often in a row it was the slot's.
    pub(crate) fn pop(&self, streak: &Cell<u32>) -> Option<T> {
        let preferred = streak.get() < SLOT_STREAK_MAX;
        let item = preferred.then(|| self.slot.pop().ok()).flatten();
        streak.set(if item.is_some() { streak.get() + 1 } else { 0 });
        item.or_else(|| self.queue.pop().or_else(|_| self.slot.pop()).ok())
    }

    /// Whether something waits behind what runs now.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Takes up to a fair share out of the injector; the first is returned.
    pub(crate) fn refill(&self, injector: &ConcurrentQueue<T>, workers: usize) -> Option<T> {
        let first = injector.pop().ok()?;
        let share = (injector.len() / workers).min(LOCAL_CAPACITY / 2);
        let more = injector.try_iter().take(share);
        more.for_each(|item| self.push_back(item, injector));
        Some(first)
    }

    /// Takes half of what waits in another worker's queue; the first is
    /// returned. The slot is left alone: its owner is about to run it, and the
    /// monitor moves it to the injector when it is not.
    pub(crate) fn steal_from(&self, victim: &Self, injector: &ConcurrentQueue<T>) -> Option<T> {
        let half = victim.queue.len().div_ceil(2);
        let first = victim.queue.pop().ok()?;
        let more = victim.queue.try_iter().take(half.saturating_sub(1));
        more.for_each(|item| self.push_back(item, injector));
        Some(first)
    }

    /// Moves what the slot holds to where every worker finds it. True: there
    /// was something.
    pub(crate) fn spill_slot(&self, injector: &ConcurrentQueue<T>) -> bool {
        self.slot.pop().map(|item| push(injector, item)).is_ok()
    }

    /// Moves everything to where every worker finds it.
    pub(crate) fn spill(&self, injector: &ConcurrentQueue<T>) {
        self.spill_slot(injector);
        self.queue.try_iter().for_each(|item| push(injector, item));
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
