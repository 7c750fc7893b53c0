//! What the exercises are checked with: futures are polled by hand, and wake-ups are counted.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

mod alarm;
pub mod threads;
mod verdict;

pub use alarm::set_alarm;
pub use verdict::{expect, solved};

/// Counts how often the wakers were used that [`poll`] made for it.
#[derive(Default)]
pub struct Wakeups(AtomicUsize);

impl Wakeups {
    /// A new counter.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// How often it was woken.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Ends the exercise, with this message, if one of the wakers is still somewhere.
    pub fn expect_no_waker_left(self: &Arc<Self>, message: &str) {
        expect(Arc::strong_count(self) == 1, message);
    }
}

/// The waker of one poll. It objects to being woken or dropped while a lock is held.
struct PollWaker(Arc<Wakeups>);

impl Wake for PollWaker {
    fn wake(self: Arc<Self>) {
        let message = "a waker is woken while a lock is held: what it runs may want that lock";
        expect(!threads::holds_a_lock(), message);
        self.0.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for PollWaker {
    /// Each poll has a waker of its own, so this runs when its last clone is dropped.
    fn drop(&mut self) {
        let message = "a waker is dropped while a lock is held: what it runs may want that lock";
        expect(!threads::holds_a_lock(), message);
    }
}

/// Polls a future once. The wake-ups that it asks for are counted.
pub fn poll<F: Future + ?Sized>(
    future: &mut Pin<Box<F>>,
    wakeups: &Arc<Wakeups>,
) -> Poll<F::Output> {
    set_alarm();
    let waker = Waker::from(Arc::new(PollWaker(wakeups.clone())));
    future.as_mut().poll(&mut Context::from_waker(&waker))
}
