//! Exercise 10, size M, after stage 07: an event that must not be wiped out.
//!
//! A kernel that reports an event only once (an *edge*) leaves it to us to remember that a socket
//! is ready. Here an atomic word remembers it: its lowest bit is set when an event comes. A task
//! reads until the socket would block, and then clears the bit. But another event may come between
//! its last read and the clearing. Mend `clear`. It is given the word as it was before that read.
//!
//! `AtomicUsize` is std's, with one addition: here, the exercise can let another thread act between
//! two of your steps.

use inside::exercises::threads::{AtomicUsize, Ordering, meanwhile};
use inside::exercises::{expect, solved};

/// The lowest bit: it is worth trying. The others count events.
const READY: usize = 1;
const ONE_EVENT: usize = 2;

#[derive(Default)]
struct Readiness(AtomicUsize);

impl Readiness {
    /// Acquire pairs with the Release in `set`: what is tried because of an event comes after it.
    fn load(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// An event came. Release pairs with the Acquire in `load`.
    fn set(&self) {
        let next = |word: usize| Some((word | READY).wrapping_add(ONE_EVENT));
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, next);
    }

    /// The socket would block, and the word was `seen` before that was tried.
    fn clear(&self, seen: usize) {
        // SOLUTION
        let relaxed = Ordering::Relaxed;
        let _ = self.0.compare_exchange(seen, seen & !READY, relaxed, relaxed);
        // INSTEAD
        //~ self.0.store(seen & !READY, Ordering::Relaxed);
        // END
    }
}

fn main() {
    let readiness = Readiness::default();
    readiness.set();
    let seen = readiness.load();
    expect(seen & READY != 0, "an event came, and the socket is not ready");

    // It is read until it would block, and nothing happens meanwhile.
    readiness.clear(seen);
    expect(readiness.load() & READY == 0, "the socket would block, and counts as ready");

    // Again, and now an event comes between the read and `clear`.
    readiness.set();
    let seen = readiness.load();
    readiness.set();
    readiness.clear(seen);
    expect(readiness.load() & READY != 0, "an event came after the read, and was wiped out");

    // The event comes in the middle of `clear`.
    for step in 1..=3 {
        let readiness = Readiness::default();
        readiness.set();
        let seen = readiness.load();
        meanwhile(step, || readiness.set(), || readiness.clear(seen));
        expect(readiness.load() & READY != 0, "an event came during `clear`, and was wiped out");
    }

    // Two tasks read from the socket. One clears the bit, an event comes, and the other is late.
    let readiness = Readiness::default();
    readiness.set();
    let seen = readiness.load();
    readiness.clear(seen);
    readiness.set();
    readiness.clear(seen);
    let message = "an event came after the read of a task that is late, and was wiped out";
    expect(readiness.load() & READY != 0, message);
    solved();
}

// Hint 1: why does the word count events, and not only say that there was one?
// Hint 2: so that `clear` can tell whether there was one since the word was read.
// Hint 3: `compare_exchange` changes the word only if it is what it was.

// WRONG
//
// ```text
// look-then-store: the event comes between the look and the store
//     - let relaxed = Ordering::Relaxed;
//     - let _ = self.0.compare_exchange(seen, seen & !READY, relaxed, relaxed);
//     + if self.0.load(Ordering::Acquire) == seen {
//     + self.0.store(seen & !READY, Ordering::Release);
//     + }
//     you see: not yet: an event came during `clear`, and was wiped out
//
// clears-the-bit: in one step, but whatever came meanwhile
//     - let relaxed = Ordering::Relaxed;
//     - let _ = self.0.compare_exchange(seen, seen & !READY, relaxed, relaxed);
//     + let _ = seen;
//     + self.0.fetch_and(!READY, Ordering::AcqRel);
//     you see: not yet: an event came after the read, and was wiped out
//
// compares-the-bit: it is set before and after the event
//     - let relaxed = Ordering::Relaxed;
//     - let _ = self.0.compare_exchange(seen, seen & !READY, relaxed, relaxed);
//     + let next = |word| (word & READY == seen & READY).then_some(word & !READY);
//     + let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
//     you see: not yet: an event came after the read, and was wiped out
//
// compares-with-now: what is compared was read too late
//     - let relaxed = Ordering::Relaxed;
//     - let _ = self.0.compare_exchange(seen, seen & !READY, relaxed, relaxed);
//     + let relaxed = Ordering::Relaxed;
//     + let _ = seen;
//     + let seen = self.load();
//     + let _ = self.0.compare_exchange(seen, seen & !READY, relaxed, relaxed);
//     you see: not yet: an event came after the read, and was wiped out
//
// count-begins-again: the next event looks like the last one
//     - let _ = self.0.compare_exchange(seen, seen & !READY, relaxed, relaxed);
//     + let _ = self.0.compare_exchange(seen, 0, relaxed, relaxed);
//     you see: not yet: an event came after the read of a task that is late, and was wiped out
//
// never-clears: no event is wiped out, and the socket is tried for ever
//     - let relaxed = Ordering::Relaxed;
//     - let _ = self.0.compare_exchange(seen, seen & !READY, relaxed, relaxed);
//     + let _ = seen;
//     you see: not yet: the socket would block, and counts as ready
// ```
