//! What the exercises are checked with: futures are polled by hand, and wake-ups are counted.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Counts how often its wakers were used.
#[derive(Default)]
pub struct Wakeups(AtomicUsize);

impl Wakeups {
    /// A new counter. `Waker::from` makes wakers of it.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// How often it was woken.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakeups {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls a future once. The wake-ups that it asks for are counted.
pub fn poll<F: Future + ?Sized>(
    future: &mut Pin<Box<F>>,
    wakeups: &Arc<Wakeups>,
) -> Poll<F::Output> {
    let waker = Waker::from(wakeups.clone());
    future.as_mut().poll(&mut Context::from_waker(&waker))
}

/// Ends the exercise, with this message, unless the condition holds.
pub fn expect(condition: bool, message: &str) {
    if !condition {
        println!("not yet: {message}");
        std::process::exit(1);
    }
}

/// The exercise is solved.
pub fn solved() {
    println!("solved");
}
