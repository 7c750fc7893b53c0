//! Errors and urgent data, which the runtime does not tell from what can be read, on Unix.

use super::interest::{Interest, Ready};
use crate::kernel::events;
use arc::io::{Async, Direction};
use rustix::event::PollFlags;
use std::io::{ErrorKind, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll, ready};

/// Waits for errors and urgent data.
///
/// An attempt that finds none must make the descriptor count as not ready, until the next event.
/// But whoever reads from the descriptor must still be told of data that are there. So this has a
/// descriptor of its own, a duplicate.
pub(super) struct News {
    watched: Async<OwnedFd>,
    interest: Interest,
}

impl News {
    /// Returns `None` if the interest has neither.
    pub(super) fn new(descriptor: &impl AsFd, interest: Interest) -> Result<Option<Self>> {
        if interest.others().is_empty() {
            return Ok(None);
        }

        let watched = Async::new_nonblocking(descriptor.as_fd().try_clone_to_owned()?)?;
        Ok(Some(Self { watched, interest }))
    }

    /// Polls until there is what is waited for, and the attempt does not fail with `WouldBlock`. It
    /// is told what there is.
    pub(super) fn poll<R>(
        &self,
        context: &mut Context<'_>,
        mut attempt: impl FnMut(Ready) -> Result<R>,
    ) -> Poll<Result<R>> {
        let mut result = None;
        let polled = self.watched.poll_transfer(Direction::Read, context, 0, |watched| {
            // The event may have been of data, which are somebody else's.
            let found = ask(watched, self.interest)? & self.interest.others();
            if found.is_empty() {
                return Err(ErrorKind::WouldBlock.into());
            }
            result = Some(attempt(found)?);
            Ok(0)
        });
        ready!(polled)?;
        Poll::Ready(Ok(result.unwrap_or_else(|| unreachable!("an attempt has succeeded"))))
    }
}

/// Asks the kernel which of the directions are closed, and what else there is, as far as it
/// concerns the interest.
pub(super) fn ask(descriptor: &impl AsFd, interest: Interest) -> Result<Ready> {
    // That the other end sends no more is told as RDHUP by Linux alone.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let (half_closed, wanted) = (PollFlags::RDHUP, PollFlags::PRI | PollFlags::RDHUP);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let (half_closed, wanted) = (PollFlags::HUP, PollFlags::PRI);
    let events = events(descriptor, wanted)?;

    // A hang-up closes both directions. An error closes the one that sends.
    let mut ready = Ready::EMPTY;
    let is_closed = events.contains(PollFlags::HUP);
    if interest.is_readable() && (is_closed || events.contains(half_closed)) {
        ready |= Ready::READ_CLOSED;
    }
    if interest.is_writable() && (is_closed || events.contains(PollFlags::ERR)) {
        ready |= Ready::WRITE_CLOSED;
    }

    // Of these, only what the interest names.
    if events.contains(PollFlags::ERR) {
        ready |= Ready::ERROR & interest.others();
    }
    if events.contains(PollFlags::PRI) {
        ready |= Ready::PRIORITY & interest.others();
    }
    Ok(ready)
}
