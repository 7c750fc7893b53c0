//! Whether an operation is worth trying: one atomic word per direction of a socket.
//!
//! ```text
//!            bit 0   READY    try it
//!            bit 1   HANG_UP  an event reported a hang-up, an error or urgent data: it stays set
//!            bit 2   GONE     the runtime was closed: every operation fails
//!   the other bits   how many events there were
//! ```
//!
//! The kernel reports an edge-triggered event only once. So a task that finds the socket empty must
//! not wipe out an event that came after it looked. [`clear`] takes the word as the task read it
//! *before* the operation, and does nothing if an event has changed the word since.
//!
//! A *short read* gives less than was asked for. The socket is empty then, and the word is cleared
//! without a second read that would only say so (`Async::poll_transfer` in `io.rs`). After a
//! hang-up this does not hold, which is what its bit is for.
//!
//! [`clear`]: Readiness::clear

use crate::sync::{AtomicUsize, Ordering};

pub(crate) const READY: usize = 1;
pub(crate) const HANG_UP: usize = 1 << 1;
pub(crate) const GONE: usize = 1 << 2;
pub(crate) const ONE_EVENT: usize = 1 << 3;

pub(crate) struct Readiness(pub(crate) AtomicUsize);

/// The word as it was before an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen(usize);

impl Seen {
    /// Whether to try the operation. When the runtime has ended, trying finds that out.
    pub(crate) fn is_ready(self) -> bool {
        self.0 & (READY | GONE) != 0
    }

    /// Whether something may be left after a short read that no further event will announce: the
    /// end of the stream after a hang-up, or the bytes behind urgent data. A read stops at the mark
    /// of urgent data, which stays when the data themselves have been read.
    pub(crate) fn is_hung_up(self) -> bool {
        self.0 & HANG_UP != 0
    }

    pub(crate) fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }
}

impl Readiness {
    pub(crate) fn new_ready() -> Self {
        Self(AtomicUsize::new(READY))
    }

    /// Acquire pairs with the Release in `set`: an operation that is tried because of an event
    /// happens after it.
    pub(crate) fn load(&self) -> Seen {
        Seen(self.0.load(Ordering::Acquire))
    }

    /// Records an event, or the end. Release pairs with the Acquire in `load`.
    pub(crate) fn set(&self, flags: usize) {
        let next = |word: usize| Some((word | flags).wrapping_add(ONE_EVENT));
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, next);
    }

    /// Records that the operation would have blocked, unless an event came after `seen`.
    ///
    /// Relaxed is enough, as nothing is published. If the exchange fails, the word is read again
    /// before the next attempt.
    pub(crate) fn clear(&self, seen: Seen) {
        let order = Ordering::Relaxed;
        let _ = self.0.compare_exchange(seen.0, seen.0 & !READY, order, order);
    }
}
