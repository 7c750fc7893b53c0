//! What the kernel says of a descriptor, on Unix.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Result};
use std::os::fd::AsFd;

/// Fails with `WouldBlock` if the kernel says that the descriptor is not ready.
pub(crate) fn would_block(inner: &impl AsFd, wanted: PollFlags) -> Result<()> {
    match events(inner, wanted)?.is_empty() {
        true => Err(ErrorKind::WouldBlock.into()),
        false => Ok(()),
    }
}

/// Returns what there is now of what is wanted, and whether there is an error or the end.
pub(crate) fn events(inner: &impl AsFd, wanted: PollFlags) -> Result<PollFlags> {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut descriptors = [PollFd::new(inner, wanted)];
    poll(&mut descriptors, Some(&at_once))?;
    Ok(descriptors[0].revents())
}
