//! tokio's way to make any descriptor asynchronous, on Unix.
//!
//! New code is shorter with [`Async`], on which this is built: its `read_with` and `write_with` do
//! what the loop around a guard does.

use super::{Interest, Ready, ReadyExt};
use arc::io::Async;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// A descriptor whose readiness the kernel reports, registered with the current runtime.
///
/// Unlike tokio's, it takes what has the safe trait `AsFd`, and makes the descriptor non-blocking.
///
/// # Examples
///
/// ```
/// use arc_util::io::unix::AsyncFd;
/// use std::io::{Read, Write};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (reader, mut writer) = std::io::pipe()?;
/// let reader = AsyncFd::new(reader)?;
/// writer.write_all(b"hello")?;
///
/// let mut bytes = [0; 5];
/// let length = loop {
///     let mut guard = reader.readable().await?;
///     match guard.try_io(|reader| reader.get_ref().read(&mut bytes)) {
///         Ok(result) => break result?,
///         Err(_would_block) => continue,
///     }
/// };
/// assert_eq!(&bytes[..length], b"hello");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AsyncFd<T: AsFd>(Async<T>);

impl<T: AsFd> AsyncFd<T> {
    /// Registers a descriptor with the current runtime.
    ///
    /// # Errors
    ///
    /// Fails when the kernel cannot report its readiness (as for a regular file), and when the
    /// runtime has ended.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn new(inner: T) -> io::Result<Self> {
        Async::new(inner).map(Self)
    }

    /// Does the same as [`new`](Self::new): both interests are always registered.
    ///
    /// # Errors
    ///
    /// As `new`.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn with_interest(inner: T, _interest: Interest) -> io::Result<Self> {
        Self::new(inner)
    }

    /// Returns a reference to the descriptor.
    pub fn get_ref(&self) -> &T {
        self.0.get_ref()
    }

    /// Deregisters the descriptor and returns it. It stays non-blocking.
    ///
    /// # Panics
    ///
    /// Panics when other code has closed the descriptor.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.0.into_inner().expect("the descriptor was closed by other code")
    }

    /// Waits until the descriptor can be read.
    ///
    /// # Errors
    ///
    /// Fails when the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: the descriptor stays ready.
    pub async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::READABLE).await
    }

    /// Waits until the descriptor can be written. See [`readable`](Self::readable).
    ///
    /// # Errors
    ///
    /// As `readable`.
    ///
    /// # Cancellation
    ///
    /// As `readable`.
    pub async fn writable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::WRITABLE).await
    }

    /// Waits until the descriptor is ready for a part of the interest. See
    /// [`readable`](Self::readable).
    ///
    /// # Errors
    ///
    /// As `readable`.
    ///
    /// # Cancellation
    ///
    /// As `readable`.
    pub async fn ready(&self, interest: Interest) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        let ready = ReadyExt::ready(&self.0, interest).await?;
        Ok(AsyncFdReadyGuard { owner: self, ready })
    }
}

impl<T: AsFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<T: AsFd> AsRawFd for AsyncFd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

/// Says that a descriptor is ready; made by [`AsyncFd::readable`] and its like.
///
/// # Examples
///
/// See [`AsyncFd`].
#[must_use = "the descriptor stays ready until try_io or clear_ready says otherwise"]
#[derive(Debug)]
pub struct AsyncFdReadyGuard<'a, T: AsFd> {
    owner: &'a AsyncFd<T>,
    ready: Ready,
}

impl<'a, T: AsFd> AsyncFdReadyGuard<'a, T> {
    /// Returns what the descriptor was ready for.
    pub fn ready(&self) -> Ready {
        self.ready
    }

    /// Returns the descriptor.
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.owner
    }

    /// Returns the inner value of the descriptor.
    pub fn get_inner(&self) -> &'a T {
        self.owner.get_ref()
    }

    /// Says that the descriptor is not ready any more, because an operation has just returned
    /// `WouldBlock`. The next wait ends with an event that has come since.
    pub fn clear_ready(&mut self) {
        // An attempt that would block is what makes a descriptor not ready. The kernel is asked
        // once more: an event that came after the caller's operation must not be forgotten.
        if self.ready.is_readable() {
            let _ = self.owner.0.try_read_with(|inner| would_block(inner, PollFlags::IN));
        }
        if self.ready.is_writable() {
            let _ = self.owner.0.try_write_with(|inner| would_block(inner, PollFlags::OUT));
        }
    }

    /// Does nothing: the descriptor stays ready unless [`clear_ready`](Self::clear_ready) is
    /// called.
    pub fn retain_ready(&mut self) {}

    /// Tries an operation. If it returns `WouldBlock`, the descriptor is not ready any more.
    ///
    /// # Errors
    ///
    /// Fails if the operation would block. Its other errors are in the result inside.
    pub fn try_io<R>(
        &mut self,
        attempt: impl FnOnce(&'a AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        match attempt(self.owner) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.clear_ready();
                Err(TryIoError(()))
            }
            result => Ok(result),
        }
    }
}

/// Fails with `WouldBlock` if the kernel says that the descriptor is not ready.
fn would_block(inner: &impl AsFd, wanted: PollFlags) -> io::Result<()> {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut [PollFd::new(inner, wanted)], Some(&at_once))? {
        0 => Err(ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}

/// An operation would have blocked: wait until the descriptor is ready again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TryIoError(());

impl fmt::Display for TryIoError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the operation would block")
    }
}

impl std::error::Error for TryIoError {}
