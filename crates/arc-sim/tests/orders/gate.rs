//! A type of one's own: a gate that tasks wait for until somebody opens it.

use super::sync::{AtomicBool, Mutex, Ordering};
use std::task::{Context, Poll, Waker};

#[derive(Default)]
pub struct Gate {
    is_open: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Gate {
    pub fn open(&self) {
        self.is_open.store(true, Ordering::SeqCst);
        let waker = self.waker.lock().unwrap().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Looks again behind the waker: whoever opened the gate before that has not seen it.
    pub fn poll_open(&self, context: &Context<'_>) -> Poll<()> {
        if self.poll_once(context).is_ready() || self.is_open.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// The mistake: it looks once, and then leaves its waker.
    pub fn poll_once(&self, context: &Context<'_>) -> Poll<()> {
        if self.is_open.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        *self.waker.lock().unwrap() = Some(context.waker().clone());
        Poll::Pending
    }
}
