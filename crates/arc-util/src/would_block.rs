//! Calls that block, on what somebody may have made non-blocking.
//!
//! The setting belongs to what is open, and not to a descriptor: all processes that share a
//! terminal or a pipe share it. ssh, node and many programs for a whole screen turn it on, and
//! leave it so. A call then fails with `WouldBlock` where it should wait, and std's `write_all`
//! does not say how much it had written until then. futures-io forbids that error. So the calls
//! here wait, as they would have done without the setting, and go on.

use std::io::ErrorKind::{Interrupted, WouldBlock, WriteZero};
use std::io::{Read, Result, Write};

/// What can be waited for, on a thread that may block.
pub(crate) trait Waits {
    /// Blocks until a read may succeed.
    fn wait_readable(&self) -> Result<()>;

    /// Blocks until a write may succeed.
    fn wait_writable(&self) -> Result<()>;
}

#[cfg(unix)]
mod system {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::{Errno, retry_on_intr};
    use std::io::Result;
    use std::os::fd::AsFd;

    impl<T: AsFd> super::Waits for T {
        fn wait_readable(&self) -> Result<()> {
            wait(self, PollFlags::IN)
        }

        fn wait_writable(&self) -> Result<()> {
            wait(self, PollFlags::OUT)
        }
    }

    /// Also returns when the other end is gone, or the descriptor is none: the call that is tried
    /// again says so.
    fn wait(target: &impl AsFd, flags: PollFlags) -> Result<()> {
        let polled = retry_on_intr(|| poll(&mut [PollFd::new(target, flags)], None));
        polled.map(drop).map_err(Errno::into)
    }
}

/// Only Unix has the setting for files and standard streams.
#[cfg(not(unix))]
impl<T> Waits for T {
    fn wait_readable(&self) -> Result<()> {
        Err(WouldBlock.into())
    }

    fn wait_writable(&self) -> Result<()> {
        Err(WouldBlock.into())
    }
}

/// Reads some bytes, as soon as there are any. Returns how many: 0 at the end.
pub(crate) fn read(source: &mut (impl Read + Waits), buffer: &mut [u8]) -> Result<usize> {
    loop {
        match source.read(buffer) {
            // A signal came before the first byte.
            Err(error) if error.kind() == Interrupted => {}
            Err(error) if error.kind() == WouldBlock => source.wait_readable()?,
            result => return result,
        }
    }
}

/// Writes all bytes.
pub(crate) fn write_all(target: &mut (impl Write + Waits), mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        // Not by std's `write_all`: an error of `write` means that nothing was written.
        match target.write(bytes) {
            Ok(0) => return Err(WriteZero.into()),
            // The rest is for the next call: there may be no room for all at once.
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == Interrupted => {}
            Err(error) if error.kind() == WouldBlock => target.wait_writable()?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes what a buffer of std's holds back. What was written leaves that buffer, also by a call
/// that fails.
pub(crate) fn flush(target: &mut (impl Write + Waits)) -> Result<()> {
    loop {
        match target.flush() {
            Err(error) if error.kind() == Interrupted => {}
            Err(error) if error.kind() == WouldBlock => target.wait_writable()?,
            result => return result,
        }
    }
}
