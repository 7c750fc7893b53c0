//! Try, else register the waker: [`Async`] makes any descriptor asynchronous.
//!
//! Every socket of [`arc::net`](crate::net) is an `Async`. The traits
//! are futures-io's, and futures-util's extension traits come with them.

use crate::reactor::{Source, gone};
use crate::{context, coop, scheduler::Shared};
use socket2::SockRef;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Result, Write};
use std::task::{Context, Poll, ready};
use std::{future::poll_fn, net::Shutdown, pin::Pin, sync::Arc};

pub use crate::reactor::Direction;
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
/// the runtime ends, operations fail with an error, except that it can be flushed and closed.
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
    /// A short transfer means that the kernel has no more. Only of TCP is that
    /// known: reads of others may stop at the end of a message, at a terminal's
    /// line, or at bytes that a descriptor was passed with.
    drains: bool,
}

impl<T: AsSource> Async<T> {
    /// Makes it non-blocking and registers it with the current runtime.
    ///
    /// # Errors
    ///
    /// When the kernel cannot report its readiness (a regular file), or has no
    /// room for another descriptor, or the runtime has ended. It is dropped then, and
    /// other descriptors of the same file stay non-blocking. On other systems than Linux also
    /// possible when a file of this number was closed behind an `Async` that was forgotten
    /// (`mem::forget`).
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn new(io: T) -> Result<Self> {
        Self::register(io, false)
    }

    #[track_caller]
    pub(crate) fn register(io: T, drains: bool) -> Result<Self> {
        let runtime = context::runtime("registering a socket");
        SockRef::from(&io).set_nonblocking(true)?;
        let source = runtime.driver.reactor.register(&io)?;
        if context::worker_of(&runtime).is_none() {
            runtime.watch();
        }
        Ok(Self { io: Some(io), source, runtime, drains })
    }

    /// What is inside. It is only lent: as long as it is registered it cannot
    /// be replaced or closed. Who makes it blocking again blocks workers.
    pub fn get_ref(&self) -> &T {
        let io = self.io.as_ref();
        io.unwrap_or_else(|| unreachable!("taken out only by value"))
    }

    /// Takes it out, no longer registered. It stays non-blocking.
    ///
    /// # Errors
    ///
    /// When the kernel does not know it any more: somebody closed its
    /// descriptor behind our back.
    pub fn into_inner(mut self) -> Result<T> {
        let io = self.io.take();
        let io = io.unwrap_or_else(|| unreachable!("taken out only by value"));
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
    pub async fn readable(&self) -> Result<()> {
        self.read_with(|_| Ok(())).await
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
    pub async fn writable(&self) -> Result<()> {
        self.write_with(|_| Ok(())).await
    }

    /// Tries `attempt` until it does not say `WouldBlock`, each time the
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
    pub async fn read_with<R>(&self, mut attempt: impl FnMut(&T) -> Result<R>) -> Result<R> {
        poll_fn(|context| self.poll_with(Direction::Read, context, &mut attempt)).await
    }

    /// Tries `attempt` until it does not say `WouldBlock`, each time the
    /// descriptor becomes writable. See [`read_with`](Self::read_with).
    ///
    /// # Errors
    ///
    /// As `read_with`.
    ///
    /// # Cancellation
    ///
    /// As `read_with`.
    pub async fn write_with<R>(&self, mut attempt: impl FnMut(&T) -> Result<R>) -> Result<R> {
        poll_fn(|context| self.poll_with(Direction::Write, context, &mut attempt)).await
    }

    pub(crate) fn poll_with<R>(
        &self,
        direction: Direction,
        context: &Context<'_>,
        mut attempt: impl FnMut(&T) -> Result<R>,
    ) -> Poll<Result<R>> {
        ready!(coop::poll_proceed(context));
        loop {
            match self.try_in(direction, &mut attempt) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let reactor = &self.runtime.driver.reactor;
                    ready!(reactor.poll_ready(&self.source, self.get_ref(), direction, context))?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => {
                    coop::made_progress();
                    return Poll::Ready(result);
                }
            }
        }
    }

    /// Tries an operation that moves up to `wanted` bytes, for futures and IO traits
    /// written by hand; Pending: it would block, and the task is woken.
    ///
    /// When TCP moves less, the kernel has no more, and the next attempt can wait for an
    /// event. That saves the attempt that only finds `WouldBlock`. (The word is
    /// read before the operation: an event since then stands.) So `attempt` must ask the
    /// kernel for `wanted` bytes at least; a `wanted` of 0 concludes nothing.
    ///
    /// # Errors
    ///
    /// The operation's own, except `WouldBlock` and `Interrupted`; or the
    /// runtime has ended.
    pub fn poll_transfer(
        &self,
        direction: Direction,
        context: &Context<'_>,
        wanted: usize,
        attempt: impl FnMut(&T) -> Result<usize>,
    ) -> Poll<Result<usize>> {
        let readiness = self.source.readiness(direction);
        let seen = readiness.load();
        let moved = ready!(self.poll_with(direction, context, attempt))?;
        if self.drains && !seen.is_hung_up() && (1..wanted).contains(&moved) {
            readiness.clear(seen);
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
    pub fn try_read_with<R>(&self, attempt: impl FnOnce(&T) -> Result<R>) -> Result<R> {
        self.try_in(Direction::Read, attempt)
    }

    /// Tries a write-like operation once, now. See
    /// [`try_read_with`](Self::try_read_with).
    ///
    /// # Errors
    ///
    /// As `try_read_with`.
    pub fn try_write_with<R>(&self, attempt: impl FnOnce(&T) -> Result<R>) -> Result<R> {
        self.try_in(Direction::Write, attempt)
    }

    fn try_in<R>(&self, direction: Direction, attempt: impl FnOnce(&T) -> Result<R>) -> Result<R> {
        let readiness = self.source.readiness(direction);
        let seen = readiness.load();
        if seen.is_gone() {
            return Err(gone());
        }
        if !seen.is_ready() {
            return Err(ErrorKind::WouldBlock.into());
        }
        attempt(self.get_ref()).inspect_err(|error| {
            if error.kind() == ErrorKind::WouldBlock {
                readiness.clear(seen);
            }
        })
    }
}

/// It fails only if the descriptor was closed behind our back; then there is
/// nothing left to remove.
impl<T: AsSource> Drop for Async<T> {
    fn drop(&mut self) {
        if let Some(io) = &self.io {
            let _ = self.runtime.driver.reactor.deregister(&self.source, io);
        }
    }
}

#[cfg(unix)]
impl<T: AsSource> std::os::fd::AsFd for Async<T> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

#[cfg(windows)]
impl<T: AsSource> std::os::windows::io::AsSocket for Async<T> {
    fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
        self.get_ref().as_socket()
    }
}

impl<T: AsSource + std::fmt::Debug> std::fmt::Debug for Async<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Async({:?})", self.get_ref())
    }
}

/// So many buffers std hands over at once, where it knows no better; on Linux 1,024. To
/// ask for less than could be moved costs one more attempt at the most.
const BUFFERS_MIN: usize = 16;

fn total(buffers: &[impl std::ops::Deref<Target = [u8]>]) -> usize {
    buffers.iter().take(BUFFERS_MIN).map(|buffer| buffer.len()).sum()
}

/// A method that moves up to `wanted` bytes, by the operation of the same name.
macro_rules! transfer {
    ($method:ident, $direction:ident::$operation:ident($buffer:ident: $type:ty), $wanted:expr) => {
        fn $method(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            $buffer: $type,
        ) -> Poll<Result<usize>> {
            let wanted = $wanted;
            let operation = |mut io: &_| $direction::$operation(&mut io, $buffer);
            self.poll_transfer(Direction::$direction, context, wanted, operation)
        }
    };
}

/// Reading, for an [`Async`] and for a reference to one.
macro_rules! implement_read {
    ($($header:tt)*) => {
        $($header)* {
            transfer!(poll_read, Read::read(buffer: &mut [u8]), buffer.len());
            transfer!(poll_read_vectored, Read::read_vectored(buffers: &mut [IoSliceMut<'_>]), total(buffers));
        }
    };
}

implement_read! { impl<T: AsSource> AsyncRead for Async<T> where for<'a> &'a T: Read }
implement_read! { impl<T: AsSource> AsyncRead for &Async<T> where for<'a> &'a T: Read }

/// Writing, for an [`Async`] and for a reference to one.
macro_rules! implement_write {
    ($($header:tt)*) => {
        $($header)* {
            transfer!(poll_write, Write::write(buffer: &[u8]), buffer.len());
            transfer!(poll_write_vectored, Write::write_vectored(buffers: &[IoSlice<'_>]), total(buffers));

            /// Waits only if the kernel says so: a socket has nothing to flush.
            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
                match (&mut self.get_ref()).flush().map_err(|error| (error.kind(), error)) {
                    Err((ErrorKind::WouldBlock | ErrorKind::Interrupted, _)) => {
                        self.poll_with(Direction::Write, context, |mut io| io.flush())
                    }
                    flushed => Poll::Ready(flushed.map_err(|(_, error)| error)),
                }
            }

            /// Shuts the sending direction down, where there is one, whether there is room
            /// to write or not. That this fails, as when the peer has gone, is not told.
            fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
                let flushed = self.as_mut().poll_flush(context);
                flushed.map_ok(|()| drop(SockRef::from(self.get_ref()).shutdown(Shutdown::Write)))
            }
        }
    };
}

implement_write! { impl<T: AsSource> AsyncWrite for Async<T> where for<'a> &'a T: Write }
implement_write! { impl<T: AsSource> AsyncWrite for &Async<T> where for<'a> &'a T: Write }
