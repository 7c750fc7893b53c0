//! Readiness against events.

use crate::driver::readiness::Readiness;
use crate::race;

use loom::sync::Mutex;
use loom::sync::atomic::{AtomicUsize, Ordering};

/// (b) readiness.rs, with `Async::poll_with` and `Reactor::poll_ready` for the task
/// and `Source::collect` for the driver. Two events come; with the first there is
/// nothing yet, with the second there is: the task gets it, or is woken for it.
// ~ src/driver/readiness.rs
// - let _ = self.0.compare_exchange(seen.0, seen.0 & !READY, Relaxed, Relaxed);
// + let _ = self.0.swap(seen.0 & !READY, Relaxed);
// ~ src/driver/readiness.rs
// - Some((word | flags).wrapping_add(ONE_EVENT))
// + Some(word | flags)
// ~ src/driver/readiness.rs
// - self.0.load(Ordering::Acquire)
// + self.0.load(Ordering::Relaxed)
// ~ src/driver/readiness.rs
// - self.0.fetch_update(Ordering::Release, Relaxed, next)
// + self.0.fetch_update(Relaxed, Relaxed, next)
// ~ lab/models/tests/loom/sockets.rs
// - seen = self.readiness.load();
// - if !seen.is_ready() {
// -     *waiting = true;
// -     return false;
// - }
// + *waiting = true;
// + return false;
// ~ lab/models/tests/loom/sockets.rs
// - self.readiness.set(hang_up);
// - std::mem::replace(&mut *self.waiting.lock().unwrap(), false)
// + let woken = std::mem::replace(&mut *self.waiting.lock().unwrap(), false);
// + self.readiness.set(hang_up);
// + woken
#[test]
fn event_is_never_wiped_out_by_a_task_that_found_nothing() {
    race(
        Source::new,
        Source::poll_read,
        |source| {
            let first = source.event(false);
            source.bytes.store(1, Ordering::Relaxed);
            source.event(false) || first
        },
        // Woken, it would try again, and find the word set.
        |source, read, woken| assert!(read || woken && source.readiness.load().is_ready()),
    );
}

/// (b) `Async::poll_transfer`: a read that got less than it could have clears the
/// word as it was before the read. What came since stands: more bytes, or the end of
/// the stream, which a read of bytes does not tell, and which may have come before.
// ~ lab/models/tests/loom/sockets.rs
// - let seen = source.readiness.load();
// - let read = source.bytes.load(Ordering::Relaxed);
// + let read = source.bytes.load(Ordering::Relaxed);
// + let seen = source.readiness.load();
// ~ lab/models/tests/loom/sockets.rs
// - if read > 0 && !seen.is_hung_up() {
// + if read > 0 {
// ~ src/driver/readiness.rs
// - let _ = self.0.compare_exchange(seen.0, seen.0 & !READY, Relaxed, Relaxed);
// + let _ = self.0.swap(seen.0 & !READY, Relaxed);
#[test]
fn what_comes_after_a_short_read_is_not_wiped_out() {
    for ends in [false, true] {
        race(
            Source::new,
            |source| {
                let seen = source.readiness.load();
                let read = source.bytes.load(Ordering::Relaxed);
                if read > 0 && !seen.is_hung_up() {
                    source.readiness.clear(seen);
                }
                read
            },
            move |source| {
                source.bytes.store(1, Ordering::Relaxed);
                source.event(false);
                source.bytes.store(2, Ordering::Relaxed);
                source.event(ends);
            },
            move |source, read, ()| {
                let done = read == 2 && !ends;
                assert!(done || source.readiness.load().is_ready());
            },
        );
    }
}

/// One direction of a socket.
struct Source {
    readiness: Readiness,
    /// Whether a task has left its waker.
    waiting: Mutex<bool>,
    /// What the kernel has for it.
    bytes: AtomicUsize,
}

impl Source {
    fn new() -> Self {
        Self {
            readiness: Readiness::new_ready(),
            waiting: Mutex::new(false),
            bytes: AtomicUsize::new(0),
        }
    }

    /// `Source::collect`. True: a task was woken.
    fn event(&self, hang_up: bool) -> bool {
        self.readiness.set(hang_up);
        std::mem::replace(&mut *self.waiting.lock().unwrap(), false)
    }

    /// `Async::poll_with`. False: pending.
    fn poll_read(&self) -> bool {
        loop {
            let mut seen = self.readiness.load();
            if !seen.is_ready() {
                let mut waiting = self.waiting.lock().unwrap();
                seen = self.readiness.load();
                if !seen.is_ready() {
                    *waiting = true;
                    return false;
                }
            }
            if self.bytes.load(Ordering::Relaxed) > 0 {
                return true;
            }
            self.readiness.clear(seen);
        }
    }
}
