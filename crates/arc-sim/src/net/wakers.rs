//! The tasks that wait for the same thing.

use std::task::Waker;

/// The wakers of the tasks that wait for the same thing. Each task is in it once.
///
/// As sockets of the kernel do, it wakes all of them, and those that find nothing wait again. So
/// nothing is lost with a task that was woken and then cancelled.
#[derive(Debug, Default)]
pub(super) struct Wakers(Vec<Waker>);

impl Wakers {
    /// Adds a task. A waker that is not needed is returned, to be dropped without the lock.
    #[must_use]
    pub(super) fn add(&mut self, waker: Waker) -> Option<Waker> {
        if self.0.iter().any(|known| known.will_wake(&waker)) {
            return Some(waker);
        }
        self.0.push(waker);
        None
    }

    /// Takes all of them out, to be woken without the lock.
    #[must_use]
    pub(super) fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    pub(super) fn wake(self) {
        self.0.into_iter().for_each(Waker::wake);
    }
}
