//! tokio's way to wait for a socket that can be read or written, whichever comes first.

use arc::io::{AsSource, Async, Direction};
use std::future::{Future, poll_fn};
use std::io::{Error, ErrorKind, Result};
use std::ops::BitOr;
use std::pin::pin;
use std::task::{Context, Poll, ready};

/// What to wait for: that a socket can be read, that it can be written, or either.
///
/// # Examples
///
/// See [`ReadyExt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interest(Ready);

impl Interest {
    /// Wait until the socket can be read.
    pub const READABLE: Self = Self(Ready::READABLE);
    /// Wait until the socket can be written.
    pub const WRITABLE: Self = Self(Ready::WRITABLE);

    /// Returns whether reading is part of it.
    pub const fn is_readable(self) -> bool {
        self.0.read
    }

    /// Returns whether writing is part of it.
    pub const fn is_writable(self) -> bool {
        self.0.write
    }

    /// Returns both interests as one, like the operator `|`.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "tokio's name for it")]
    pub fn add(self, other: Self) -> Self {
        self | other
    }
}

impl BitOr for Interest {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What a socket is ready for. An error or the end of the stream makes it ready, too: the next
/// attempt to read or to write tells.
///
/// # Examples
///
/// See [`ReadyExt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ready {
    read: bool,
    write: bool,
}

impl Ready {
    /// Ready for nothing.
    pub const EMPTY: Self = Self { read: false, write: false };
    /// Ready to be read.
    pub const READABLE: Self = Self { read: true, write: false };
    /// Ready to be written.
    pub const WRITABLE: Self = Self { read: false, write: true };

    /// Returns whether the socket is ready for nothing.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Returns whether the socket can be read.
    pub fn is_readable(self) -> bool {
        self.read
    }

    /// Returns whether the socket can be written.
    pub fn is_writable(self) -> bool {
        self.write
    }
}

impl BitOr for Ready {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self { read: self.read || other.read, write: self.write || other.write }
    }
}

/// Adds `ready`, `try_io`, `async_io` and what is polled to every socket.
///
/// # Examples
///
/// ```
/// use arc_util::io::{Interest, ReadyExt};
/// use arc_util::net::UdpSocket;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let socket = UdpSocket::bind("127.0.0.1:0").await?;
/// let ready = socket.ready(Interest::READABLE | Interest::WRITABLE).await?;
/// assert!(ready.is_writable());
/// # Ok(())
/// # }
/// ```
pub trait ReadyExt {
    /// Waits until the socket is ready for a part of the interest, and returns what it is ready
    /// for.
    ///
    /// The attempt that follows may still fail with `WouldBlock`: then wait again. A new socket
    /// counts as ready for both until the first such attempt.
    ///
    /// # Errors
    ///
    /// Fails when the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: the socket stays ready.
    fn ready(&self, interest: Interest) -> impl Future<Output = Result<Ready>>;

    /// Tries an operation on this socket once. If it returns `WouldBlock`, the socket counts as not
    /// ready for the interest until the next event.
    ///
    /// # Errors
    ///
    /// * `WouldBlock` when the operation cannot be done now.
    /// * `InvalidInput` when the interest is in both reading and writing: the attempt is one of
    ///   them.
    /// * Those of the operation.
    /// * Another one when the runtime has ended.
    fn try_io<R>(&self, interest: Interest, attempt: impl FnOnce() -> Result<R>) -> Result<R>;

    /// Tries an operation on this socket each time that the socket is ready for the interest, until
    /// the operation returns something other than `WouldBlock`.
    ///
    /// # Errors
    ///
    /// * `InvalidInput` when the interest is in both reading and writing.
    /// * Those of the operation, but for `WouldBlock` and `Interrupted`.
    /// * Another one when the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe. The result of an attempt that succeeds is never lost.
    fn async_io<R>(
        &self,
        interest: Interest,
        attempt: impl FnMut() -> Result<R>,
    ) -> impl Future<Output = Result<R>>;

    /// Polls until a read is worth trying, for futures written by hand. The read may still find
    /// nothing.
    ///
    /// # Errors
    ///
    /// Fails when the runtime has ended.
    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<Result<()>>;

    /// Polls until a write is worth trying, for futures written by hand. The write may still find
    /// no room.
    ///
    /// # Errors
    ///
    /// Fails when the runtime has ended.
    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<Result<()>>;
}

/// Why an operation cannot be both a read and a write.
fn both_directions() -> Error {
    Error::new(ErrorKind::InvalidInput, "an attempt reads or writes, not both")
}

impl<T: AsSource> ReadyExt for Async<T> {
    async fn ready(&self, interest: Interest) -> Result<Ready> {
        let mut readable = pin!(self.readable());
        let mut writable = pin!(self.writable());

        poll_fn(|context| {
            let mut ready = Ready::EMPTY;
            if interest.is_readable()
                && let Poll::Ready(result) = readable.as_mut().poll(context)
            {
                result?;
                ready = ready | Ready::READABLE;
            }
            if interest.is_writable()
                && let Poll::Ready(result) = writable.as_mut().poll(context)
            {
                result?;
                ready = ready | Ready::WRITABLE;
            }

            match ready.is_empty() {
                true => Poll::Pending,
                false => Poll::Ready(Ok(ready)),
            }
        })
        .await
    }

    fn try_io<R>(&self, interest: Interest, attempt: impl FnOnce() -> Result<R>) -> Result<R> {
        match (interest.is_readable(), interest.is_writable()) {
            (true, false) => self.try_with(Direction::Read, |_| attempt()),
            (false, true) => self.try_with(Direction::Write, |_| attempt()),
            _ => Err(both_directions()),
        }
    }

    async fn async_io<R>(
        &self,
        interest: Interest,
        mut attempt: impl FnMut() -> Result<R>,
    ) -> Result<R> {
        match (interest.is_readable(), interest.is_writable()) {
            (true, false) => self.read_with(|_| attempt()).await,
            (false, true) => self.write_with(|_| attempt()).await,
            _ => Err(both_directions()),
        }
    }

    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_transfer(Direction::Read, context, 0, |_| Ok(0)))?;
        Poll::Ready(Ok(()))
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_transfer(Direction::Write, context, 0, |_| Ok(0)))?;
        Poll::Ready(Ok(()))
    }
}
