//! Whether an operation is worth trying: one atomic word per direction.
//!
//! ```text
//!            bit 0   READY    try it
//!            bit 1   HANGUP   an event told of a hang-up, an error or urgent data
//!            bit 2   GONE     the runtime has ended
//!   the other bits   how many events there were
//! ```
//!
//! An edge-triggered event is told only once, so it must not be wiped out by a
//! task that found the socket empty just before it. Therefore [`clear`] takes
//! the word as it was read *before* the operation, and does nothing when an
//! event has changed it since.
//!
//! [`clear`]: Readiness::clear

use crate::sync::{AtomicUsize, Ordering};

const READY: usize = 1;
const HANGUP: usize = 1 << 1;
const GONE: usize = 1 << 2;
const EVENT: usize = 1 << 3;

pub(crate) struct Readiness(AtomicUsize);

/// The word as it was read before an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen(usize);

impl Seen {
    pub(crate) fn is_ready(self) -> bool {
        self.0 & (READY | GONE) != 0
    }

    /// After a hang-up a short read does not mean that nothing is left: the
    /// end of the stream is, and no event will tell of it. Nor does it at the mark of urgent
    /// data, which stays when they have been read, and events tell no more of them.
    pub(crate) fn is_hung_up(self) -> bool {
        self.0 & HANGUP != 0
    }

    pub(crate) fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }
}

impl Readiness {
    /// `ready` at first: trying costs less than asking.
    pub(crate) fn new(ready: bool) -> Self {
        Self(AtomicUsize::new(if ready { READY } else { 0 }))
    }

    /// Acquire: pairs with `set`, so that an operation that is tried because of
    /// an event comes after it.
    pub(crate) fn load(&self) -> Seen {
        Seen(self.0.load(Ordering::Acquire))
    }

    /// An event came. Release: pairs with the Acquire in `load`.
    pub(crate) fn set(&self, hangup: bool) {
        let word = &self.0;
        let flags = if hangup { READY | HANGUP } else { READY };
        let next = |seen: usize| Some((seen | flags).wrapping_add(EVENT));
        let _ = word.fetch_update(Ordering::Release, Ordering::Relaxed, next);
    }

    /// No event will ever come again. Release: as in `set`.
    pub(crate) fn set_gone(&self) {
        self.0.fetch_or(GONE, Ordering::Release);
    }

    /// The operation would have blocked: not ready, unless an event came after
    /// `seen` was read. Relaxed: nothing is published, and a failure means that
    /// the word is read again before the next attempt.
    pub(crate) fn clear(&self, seen: Seen) {
        let (order, cleared) = (Ordering::Relaxed, seen.0 & !READY);
        let _ = self.0.compare_exchange(seen.0, cleared, order, order);
    }
}

#[cfg(all(test, not(arc_model)))]
#[path = "../tests/unit/readiness.rs"]
mod tests;
