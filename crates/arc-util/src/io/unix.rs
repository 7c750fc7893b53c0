//! tokio's way to make any descriptor asynchronous, on Unix.
//!
//! New code is shorter with [`Async`], on which this is built: its `read_with` and `write_with` do
//! what the loop around a guard does.

use super::news::ask;
use super::{Interest, Ready, ReadyExt};
use crate::kernel::would_block;
use arc::io::{Async, Direction};
use rustix::event::PollFlags;
use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::task::{Context, Poll, ready};

/// A descriptor whose readiness the kernel reports, registered with the current runtime.
///
/// The descriptor is left as it is: an operation that finds nothing blocks its worker, unless the
/// program has set `O_NONBLOCK`. All duplicates have that flag in common, such as the three
/// standard streams of a terminal and the shell's.
///
/// Unlike tokio's, it takes what has the safe trait `AsFd`. It registers a duplicate, so that the
/// value itself can be borrowed mutably. So each `AsyncFd` takes two descriptors of the process.
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
pub struct AsyncFd<T: AsFd> {
    /// A duplicate of `inner`'s descriptor. Both are the same to the kernel.
    watched: Async<OwnedFd>,
    inner: T,
}

impl<T: AsFd> AsyncFd<T> {
    /// Registers a descriptor with the current runtime.
    ///
    /// # Errors
    ///
    /// Fails when the kernel cannot report its readiness (as for a regular file), when no
    /// descriptors are left, and when the runtime has ended.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn new(inner: T) -> io::Result<Self> {
        Self::try_new(inner).map_err(io::Error::from)
    }

    /// Does the same as [`new`](Self::new), and gives the value back if it fails.
    ///
    /// # Errors
    ///
    /// As `new`. The error contains the value.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn try_new(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        let watched = inner.as_fd().try_clone_to_owned();
        match watched.and_then(Async::new_nonblocking) {
            Ok(watched) => {
                // What was just registered counts as ready, so that it is tried at once. Here the
                // readiness itself may be the news, as it is for the descriptor of a process.
                let new = Self { watched, inner };
                new.clear(Ready::READABLE | Ready::WRITABLE);
                Ok(new)
            }
            Err(cause) => Err(AsyncFdRegisterError { inner, cause }),
        }
    }

    /// Does the same as [`new`](Self::new): both interests are always registered.
    #[track_caller]
    pub fn with_interest(inner: T, _interest: Interest) -> io::Result<Self> {
        Self::new(inner)
    }

    /// Does the same as [`try_new`](Self::try_new): both interests are always registered.
    #[track_caller]
    pub fn try_with_interest(
        inner: T,
        _interest: Interest,
    ) -> Result<Self, AsyncFdRegisterError<T>> {
        Self::try_new(inner)
    }

    /// Does the same as [`try_new`](Self::try_new).
    ///
    /// tokio's is unsafe, because its value may have any number for a descriptor. What has `AsFd`
    /// has a descriptor of its own, and nothing about this is unsafe.
    #[track_caller]
    pub fn register(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        Self::try_new(inner)
    }

    /// Does the same as [`register`](Self::register): all interests are always registered.
    #[track_caller]
    pub fn register_with_interest(
        inner: T,
        _interest: Interest,
    ) -> Result<Self, AsyncFdRegisterError<T>> {
        Self::try_new(inner)
    }

    /// Returns a reference to the value.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Returns a mutable reference to the value. If it gets another descriptor, the events of the
    /// old one are still reported.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Deregisters the descriptor and returns the value.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

/// Waiting. A guard says that the descriptor is ready; those whose names end in `_mut` lend the
/// value mutably. The polls are for futures that are written by hand.
///
/// # Errors
///
/// Fails when the runtime has ended.
///
/// # Cancellation
///
/// Cancel safe: the descriptor stays ready.
impl<T: AsFd> AsyncFd<T> {
    /// Waits until the descriptor can be read.
    pub async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::READABLE).await
    }

    /// Waits until the descriptor can be written.
    pub async fn writable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::WRITABLE).await
    }

    /// Waits until the descriptor is ready for a part of the interest.
    pub async fn ready(&self, interest: Interest) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        let ready = self.watched.ready(interest).await?;
        Ok(AsyncFdReadyGuard { owner: self, ready })
    }

    /// Waits until the descriptor can be read.
    pub async fn readable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::READABLE).await
    }

    /// Waits until the descriptor can be written.
    pub async fn writable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::WRITABLE).await
    }

    /// Waits until the descriptor is ready for a part of the interest.
    pub async fn ready_mut(
        &mut self,
        interest: Interest,
    ) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        let ready = self.watched.ready(interest).await?;
        Ok(AsyncFdReadyMutGuard { owner: self, ready })
    }

    /// Polls until the descriptor can be read.
    pub fn poll_read_ready(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'_, T>>> {
        ready!(self.watched.poll_read_ready(context))?;
        let ready = Ready::READABLE | ask(&self.watched, Interest::READABLE)?;
        Poll::Ready(Ok(AsyncFdReadyGuard { owner: self, ready }))
    }

    /// Polls until the descriptor can be written.
    pub fn poll_write_ready(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'_, T>>> {
        ready!(self.watched.poll_write_ready(context))?;
        let ready = Ready::WRITABLE | ask(&self.watched, Interest::WRITABLE)?;
        Poll::Ready(Ok(AsyncFdReadyGuard { owner: self, ready }))
    }

    /// Polls until the descriptor can be read.
    pub fn poll_read_ready_mut(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'_, T>>> {
        ready!(self.watched.poll_read_ready(context))?;
        let ready = Ready::READABLE | ask(&self.watched, Interest::READABLE)?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard { owner: self, ready }))
    }

    /// Polls until the descriptor can be written.
    pub fn poll_write_ready_mut(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'_, T>>> {
        ready!(self.watched.poll_write_ready(context))?;
        let ready = Ready::WRITABLE | ask(&self.watched, Interest::WRITABLE)?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard { owner: self, ready }))
    }
}

/// Operations. Those whose names end in `_mut` lend the value mutably. Errors and cancellation are
/// those of [`ReadyExt::async_io`] and [`ReadyExt::try_io`].
impl<T: AsFd> AsyncFd<T> {
    /// Tries an operation each time that the descriptor is ready for the interest, until it returns
    /// something other than `WouldBlock`.
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.watched.async_io(interest, || attempt(&self.inner)).await
    }

    /// Does the same as [`async_io`](Self::async_io).
    pub async fn async_io_mut<R>(
        &mut self,
        interest: Interest,
        mut attempt: impl FnMut(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.watched.async_io(interest, || attempt(&mut self.inner)).await
    }

    /// Tries an operation once.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        attempt: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.watched.try_io(interest, || attempt(&self.inner))
    }

    /// Does the same as [`try_io`](Self::try_io).
    pub fn try_io_mut<R>(
        &mut self,
        interest: Interest,
        attempt: impl FnOnce(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.watched.try_io(interest, || attempt(&mut self.inner))
    }

    /// Counts the descriptor as not ready, unless the kernel says otherwise.
    ///
    /// An attempt that would block is what makes a descriptor not ready. The kernel is asked once
    /// more: an event that came after the caller's operation must not be forgotten.
    fn clear(&self, ready: Ready) {
        if ready.is_readable() {
            let _ = self
                .watched
                .try_with(Direction::Read, |watched| would_block(watched, PollFlags::IN));
        }
        if ready.is_writable() {
            let _ = self
                .watched
                .try_with(Direction::Write, |watched| would_block(watched, PollFlags::OUT));
        }
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
    /// Returns the descriptor.
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.owner
    }

    /// Returns the inner value of the descriptor.
    pub fn get_inner(&self) -> &'a T {
        self.owner.get_ref()
    }
}

/// Says that a descriptor is ready, and lends its value mutably; made by
/// [`AsyncFd::readable_mut`] and the like.
#[must_use = "the descriptor stays ready until try_io or clear_ready says otherwise"]
#[derive(Debug)]
pub struct AsyncFdReadyMutGuard<'a, T: AsFd> {
    owner: &'a mut AsyncFd<T>,
    ready: Ready,
}

impl<T: AsFd> AsyncFdReadyMutGuard<'_, T> {
    /// Returns the descriptor.
    pub fn get_ref(&self) -> &AsyncFd<T> {
        self.owner
    }

    /// Returns a mutable reference to the descriptor.
    pub fn get_mut(&mut self) -> &mut AsyncFd<T> {
        self.owner
    }

    /// Returns the inner value of the descriptor.
    pub fn get_inner(&self) -> &T {
        self.owner.get_ref()
    }

    /// Returns a mutable reference to the inner value of the descriptor.
    pub fn get_inner_mut(&mut self) -> &mut T {
        self.owner.get_mut()
    }
}

/// Defines what both guards have. The last argument is what an operation gets.
macro_rules! guard {
    ($guard:ident, $lent:ty) => {
        impl<'a, T: AsFd> $guard<'a, T> {
            /// Returns what the descriptor was ready for.
            pub fn ready(&self) -> Ready {
                self.ready
            }

            /// Says that the descriptor is not ready any more, because an operation has just
            /// returned `WouldBlock`.
            ///
            /// The kernel is asked. If it says that the descriptor is ready, such as with bytes
            /// that are unread, the next wait ends at once; otherwise with the next event. On
            /// tokio it waits for an event in any case. So what reports `WouldBlock` for a reason
            /// of its own must wait for that, or its loop takes a whole core.
            pub fn clear_ready(&mut self) {
                self.owner.clear(self.ready);
            }

            /// Says that the descriptor is not ready any more for a part of what it was ready for.
            /// See [`clear_ready`](Self::clear_ready).
            pub fn clear_ready_matching(&mut self, ready: Ready) {
                self.owner.clear(self.ready & ready);
                self.ready = self.ready - ready;
            }

            /// Does nothing: the descriptor stays ready unless [`clear_ready`](Self::clear_ready)
            /// is called.
            pub fn retain_ready(&mut self) {}

            /// Tries an operation. If it returns `WouldBlock`, the descriptor is not ready any
            /// more, unless the kernel says that it is: see [`clear_ready`](Self::clear_ready).
            ///
            /// # Errors
            ///
            /// Fails if the operation would block. Its other errors are in the result inside.
            pub fn try_io<R>(
                &mut self,
                attempt: impl FnOnce($lent) -> io::Result<R>,
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
    };
}

guard!(AsyncFdReadyGuard, &'a AsyncFd<T>);
guard!(AsyncFdReadyMutGuard, &mut AsyncFd<T>);

/// An operation would have blocked: wait until the descriptor is ready again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TryIoError(());

impl fmt::Display for TryIoError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the operation would block")
    }
}

impl std::error::Error for TryIoError {}

/// A value whose descriptor could not be registered, and the reason; made by [`AsyncFd::try_new`].
pub struct AsyncFdRegisterError<T> {
    inner: T,
    cause: io::Error,
}

impl<T> AsyncFdRegisterError<T> {
    /// Returns the value, and the reason.
    pub fn into_parts(self) -> (T, io::Error) {
        (self.inner, self.cause)
    }
}

impl<T> fmt::Display for AsyncFdRegisterError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(formatter)
    }
}

impl<T> fmt::Debug for AsyncFdRegisterError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.cause, formatter)
    }
}

impl<T> std::error::Error for AsyncFdRegisterError<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

impl<T> From<AsyncFdRegisterError<T>> for io::Error {
    fn from(error: AsyncFdRegisterError<T>) -> Self {
        error.cause
    }
}
