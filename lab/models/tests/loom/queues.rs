//! Stands for the crate concurrent_queue.

use crate::sync::{AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

/// The injector is as weak as can be: who pops an item sees what was done before it was pushed, and
/// nothing else is ordered by it. The others are the queues of the
/// workers, in which a push or a pop is one step.
pub(crate) struct ConcurrentQueue<T> {
    items: Mutex<VecDeque<T>>,
    capacity: usize,
    /// How many items another thread may see, and whether the queue is closed.
    seen: Option<AtomicUsize>,
}

/// The bit of a queue that takes no more items.
const CLOSED: usize = 1 << 63;

pub(crate) struct PushError<T>(T);

impl<T> PushError<T> {
    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}

impl<T> ConcurrentQueue<T> {
    pub(crate) fn bounded(capacity: usize) -> Self {
        Self { items: Mutex::default(), capacity, seen: None }
    }

    /// The injector is the one that is made in this file.
    #[track_caller]
    pub(crate) fn unbounded() -> Self {
        let is_injector = Location::caller().file().ends_with("scheduler/shared.rs");
        let seen = if is_injector { Some(AtomicUsize::new(0)) } else { None };
        Self { items: Mutex::default(), capacity: usize::MAX, seen }
    }

    fn items(&self) -> std::sync::MutexGuard<'_, VecDeque<T>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, item: T) -> Result<(), PushError<T>> {
        if let Some(seen) = &self.seen {
            let (release, relaxed) = (Ordering::Release, Ordering::Relaxed);
            let more = |count| if count & CLOSED == 0 { Some(count + 1) } else { None };
            if seen.fetch_update(release, relaxed, more).is_err() {
                return Err(PushError(item));
            }
        }
        // No other thread comes between the step above and this.
        let mut items = self.items();
        if items.len() == self.capacity {
            return Err(PushError(item));
        }
        items.push_back(item);
        Ok(())
    }

    pub(crate) fn pop(&self) -> Result<T, ()> {
        if let Some(seen) = &self.seen {
            let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
            let fewer = |count| if count & !CLOSED == 0 { None } else { Some(count - 1) };
            seen.fetch_update(acquire, relaxed, fewer).map_err(|_| ())?;
        }
        self.items().pop_front().ok_or(())
    }

    pub(crate) fn close(&self) {
        self.seen.as_ref().expect("it is the injector").fetch_or(CLOSED, Ordering::AcqRel);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.load(Ordering::Relaxed) & CLOSED != 0)
    }

    pub(crate) fn len(&self) -> usize {
        match &self.seen {
            Some(seen) => seen.load(Ordering::Relaxed) & !CLOSED,
            None => self.items().len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn try_iter(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.pop().ok())
    }
}
