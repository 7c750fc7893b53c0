//! Try, else register the waker: [`Async`] makes any descriptor asynchronous.
//!
//! Every socket of [`arc::net`](crate::net) is an `Async` inside. The traits
//! are futures-io's, and futures-util's extension traits come with them.

use crate::context;
use crate::coop;
use crate::reactor::{Direction, Source, gone};
use crate::scheduler::Shared;
use socket2::SockRef;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

pub use futures_util::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite,
    AsyncWriteExt, BufReader, BufWriter, copy,
};
pub use polling::AsSource;

/// A socket, pipe or other descriptor that the kernel reports readiness for,
/// registered with the current runtime.
///
/// Regular files are not of this kind: use
/// [`spawn_blocking`](crate::task::spawn_blocking) for them.
///
/// It reads and writes, by value and by shared reference, as far as `&T` does,
/// and any other operation of `T` can be awaited by
/// [`read_with`](Self::read_with) and [`write_with`](Self::write_with). When
/// the runtime ends, operations fail with an error.
///
/// # Examples
///
/// ```
/// use arc::io::{Async, AsyncReadExt, AsyncWriteExt};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # #[cfg(unix)] {
/// use std::os::unix::net::UnixStream;
/// let (left, right) = UnixStream::pair()?;
/// let (mut left, mut right) = (Async::new(left)?, Async::new(right)?);
/// left.write_all(b"hello").await?;
/// let mut text = [0; 5];
/// right.read_exact(&mut text).await?;
/// assert_eq!(&text, b"hello");
/// # }
/// # Ok(())
/// # }
/// ```
pub struct Async<T: AsSource> {
    /// None only while it is dropped or taken out.
    io: Option<T>,
    source: Arc<Source>,
    runtime: Arc<Shared>,
}

impl<T: AsSource> Async<T> {
    /// Makes it non-blocking and registers it with the current runtime.
    ///
    /// # Errors
    ///
    /// When the kernel cannot report its readiness (a regular file), or has no
    /// room for another descriptor, or the runtime has ended.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn new(io: T) -> io::Result<Self> {
        Self::register(io, true)
    }

    /// Not `optimistic`: waits for an event before the first attempt.
    #[track_caller]
    pub(crate) fn register(io: T, optimistic: bool) -> io::Result<Self> {
        let runtime = context::runtime("registering a socket");
        SockRef::from(&io).set_nonblocking(true)?;
        let source = runtime.driver.reactor.register(&io, optimistic)?;
        if context::worker_of(&runtime).is_none() {
            runtime.watch();
        }
        Ok(Self {
            io: Some(io),
            source,
            runtime,
        })
    }

    /// What is inside. It is only lent: as long as it is registered it cannot
    /// be replaced or closed.
    pub fn get_ref(&self) -> &T {
        let Some(io) = &self.io else {
            unreachable!("taken out only by value")
        };
        io
    }

    /// Takes it out, no longer registered. It stays non-blocking.
    ///
    /// # Errors
    ///
    /// When the kernel does not know it any more: somebody closed its
    /// descriptor behind our back.
    pub fn into_inner(mut self) -> io::Result<T> {
        let Some(io) = self.io.take() else {
            unreachable!("taken out only by value")
        };
        self.runtime.driver.reactor.deregister(&self.source, &io)?;
        Ok(io)
    }

    /// Waits until a read is worth trying; it may find nothing all the same.
    ///
    /// # Errors
    ///
    /// When the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn readable(&self) -> io::Result<()> {
        poll_fn(|context| self.poll_readable(context)).await
    }

    /// Waits until a write is worth trying; there may be no room all the same.
    ///
    /// # Errors
    ///
    /// When the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn writable(&self) -> io::Result<()> {
        poll_fn(|context| self.poll_writable(context)).await
    }

    /// What [`readable`](Self::readable) does, for futures written by hand. All
    /// tasks that wait are woken.
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_ready(Direction::Read, context)
    }

    /// What [`writable`](Self::writable) does, for futures written by hand.
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_ready(Direction::Write, context)
    }

    fn poll_ready(&self, direction: Direction, context: &Context<'_>) -> Poll<io::Result<()>> {
        let permit = ready!(coop::poll_proceed(context));
        let reactor = &self.runtime.driver.reactor;
        let ready = reactor.poll_ready(&self.source, self.get_ref(), direction, context);
        ready!(ready)?;
        permit.made_progress();
        Poll::Ready(Ok(()))
    }

    /// Tries `operation` until it does not say `WouldBlock`, each time the
    /// descriptor becomes readable.
    ///
    /// # Errors
    ///
    /// The operation's own, except `WouldBlock` and `Interrupted`; or the
    /// runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: an operation that succeeds is never dropped.
    pub async fn read_with<R>(
        &self,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        poll_fn(|context| self.poll_with(Direction::Read, context, &mut operation)).await
    }

    /// Tries `operation` until it does not say `WouldBlock`, each time the
    /// descriptor becomes writable. See [`read_with`](Self::read_with).
    ///
    /// # Errors
    ///
    /// As `read_with`.
    ///
    /// # Cancellation
    ///
    /// As `read_with`.
    pub async fn write_with<R>(
        &self,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        poll_fn(|context| self.poll_with(Direction::Write, context, &mut operation)).await
    }

    /// What [`read_with`](Self::read_with) does, for futures written by hand.
    pub fn poll_read_with<R>(
        &self,
        context: &mut Context<'_>,
        operation: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_with(Direction::Read, context, operation)
    }

    /// What [`write_with`](Self::write_with) does, for futures written by hand.
    pub fn poll_write_with<R>(
        &self,
        context: &mut Context<'_>,
        operation: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_with(Direction::Write, context, operation)
    }

    fn poll_with<R>(
        &self,
        direction: Direction,
        context: &Context<'_>,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        let permit = ready!(coop::poll_proceed(context));
        let reactor = &self.runtime.driver.reactor;
        loop {
            let ready = reactor.poll_ready(&self.source, self.get_ref(), direction, context);
            let seen = ready!(ready)?;
            match operation(self.get_ref()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.source.clear(direction, seen);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => {
                    permit.made_progress();
                    return Poll::Ready(result);
                }
            }
        }
    }

    /// As `poll_with`, for an operation that moves up to `wanted` bytes: when it
    /// moves less, the kernel has no more, and the next attempt can wait for an
    /// event. That saves the attempt that only finds `WouldBlock`.
    pub(crate) fn poll_transfer(
        &self,
        direction: Direction,
        context: &Context<'_>,
        wanted: usize,
        mut operation: impl FnMut(&T) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let readiness = self.source.seen(direction);
        let moved = ready!(self.poll_with(direction, context, &mut operation))?;
        let short = 0 < moved && moved < wanted && !readiness.is_hung_up();
        if short && self.runtime.driver.reactor.trusts_short_transfers() {
            // Read before the operation: an event since then stands.
            self.source.clear(direction, readiness);
        }
        Poll::Ready(Ok(moved))
    }

    /// Tries a read-like operation once, now.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when it cannot be done now, which
    /// [`readable`](Self::readable) then waits for; the operation's own; or the
    /// runtime has ended.
    pub fn try_read_with<R>(&self, operation: impl FnOnce(&T) -> io::Result<R>) -> io::Result<R> {
        self.try_with(Direction::Read, operation)
    }

    /// Tries a write-like operation once, now. See
    /// [`try_read_with`](Self::try_read_with).
    ///
    /// # Errors
    ///
    /// As `try_read_with`.
    pub fn try_write_with<R>(&self, operation: impl FnOnce(&T) -> io::Result<R>) -> io::Result<R> {
        self.try_with(Direction::Write, operation)
    }

    fn try_with<R>(
        &self,
        direction: Direction,
        operation: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        let seen = self.source.seen(direction);
        if seen.is_gone() {
            return Err(gone());
        }
        if !seen.is_ready() {
            return Err(ErrorKind::WouldBlock.into());
        }
        operation(self.get_ref()).inspect_err(|error| {
            if error.kind() == ErrorKind::WouldBlock {
                self.source.clear(direction, seen);
            }
        })
    }
}

/// What is inside is never pinned.
impl<T: AsSource> Unpin for Async<T> {}

impl<T: AsSource> Drop for Async<T> {
    fn drop(&mut self) {
        if let Some(io) = &self.io {
            // It fails only if the descriptor was closed behind our back; then
            // there is nothing left to remove.
            let _ = self.runtime.driver.reactor.deregister(&self.source, io);
        }
    }
}

impl<T: AsSource + fmt::Debug> fmt::Debug for Async<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Async")
            .field(self.get_ref())
            .finish()
    }
}

impl<T: AsSource> AsyncRead for &Async<T>
where
    for<'a> &'a T: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let wanted = buffer.len();
        self.poll_transfer(Direction::Read, context, wanted, |mut io| io.read(buffer))
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        let wanted = buffers.iter().map(|buffer| buffer.len()).sum();
        self.poll_transfer(Direction::Read, context, wanted, |mut io| {
            io.read_vectored(buffers)
        })
    }
}

impl<T: AsSource> AsyncWrite for &Async<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wanted = buffer.len();
        self.poll_transfer(Direction::Write, context, wanted, |mut io| io.write(buffer))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wanted = buffers.iter().map(|buffer| buffer.len()).sum();
        self.poll_transfer(Direction::Write, context, wanted, |mut io| {
            io.write_vectored(buffers)
        })
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with(Direction::Write, context, |mut io| io.flush())
    }

    /// Flushes only: what closing means depends on the kind of descriptor.
    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

/// Implements AsyncRead and AsyncWrite by those of something that is borrowed:
/// `forward_io!(impl for TcpStream, |stream| &stream.inner)`.
macro_rules! forward_read {
    ([$($generics:tt)*] $type:ty, |$this:ident| $inner:expr $(, where $($bounds:tt)*)?) => {
        impl<$($generics)*> $crate::io::AsyncRead for $type $(where $($bounds)*)? {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffer: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self.get_mut();
                std::pin::Pin::new(&mut $inner).poll_read(context, buffer)
            }

            fn poll_read_vectored(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffers: &mut [std::io::IoSliceMut<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self.get_mut();
                std::pin::Pin::new(&mut $inner).poll_read_vectored(context, buffers)
            }
        }
    };
}

/// See `forward_read`.
macro_rules! forward_write {
    ([$($generics:tt)*] $type:ty, |$this:ident| $inner:expr $(, where $($bounds:tt)*)?) => {
        impl<$($generics)*> $crate::io::AsyncWrite for $type $(where $($bounds)*)? {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffer: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self.get_mut();
                std::pin::Pin::new(&mut $inner).poll_write(context, buffer)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffers: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self.get_mut();
                std::pin::Pin::new(&mut $inner).poll_write_vectored(context, buffers)
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                let $this = self.get_mut();
                std::pin::Pin::new(&mut $inner).poll_flush(context)
            }

            fn poll_close(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                let $this = self.get_mut();
                std::pin::Pin::new(&mut $inner).poll_close(context)
            }
        }
    };
}

pub(crate) use {forward_read, forward_write};

forward_read!([T: AsSource] Async<T>, |this| &*this, where for<'a> &'a T: Read);
forward_write!([T: AsSource] Async<T>, |this| &*this, where for<'a> &'a T: Write);
