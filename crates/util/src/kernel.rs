//! What the kernel says of a descriptor, on Unix.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Result};
use std::os::fd::AsFd;

/// Fails with `WouldBlock` if the kernel says that the descriptor is not ready.
pub(crate) fn would_block(inner: &impl AsFd, wanted: PollFlags) -> Result<()> {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut [PollFd::new(inner, wanted)], Some(&at_once))? {
        0 => Err(ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}
