//! [`Async`] makes any descriptor asynchronous. It tries an operation. If that would block, it
//! leaves the task's waker with the reactor.
//!
//! Every socket of [`arc::net`](crate::net) is an `Async`. The traits for reading and writing are
//! futures-io's, and futures-util's extension traits are exported beside them. tokio's `copy` is in
//! the crate `arc-util`.

use crate::driver::reactor::{Readiness, Source, Waiter, WaiterKind, gone};
use crate::scheduler::budget;
use crate::scheduler::context;
use crate::scheduler::shared::Shared;
use crate::sync::Arc;
use socket2::SockRef;
use std::fmt;
use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice, Read, Result, Write};
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pub use crate::driver::reactor::Direction;
pub use futures_util::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt,
};
pub use futures_util::io::{BufReader, BufWriter};
pub use polling::AsSource;

/// A socket, a pipe, or another descriptor whose readiness the kernel reports, registered with the
/// current runtime.
///
/// An `Async<T>` reads and writes, by value and by shared reference, if `&T` does. Any other
/// operation of `T` can be awaited by [`read_with`](Self::read_with) and
/// [`write_with`](Self::write_with). When the runtime has ended, operations fail with an error,
/// except that an `Async` can still be flushed and closed.
///
/// The kernel does not report the readiness of regular files: use
/// [`spawn_blocking`](crate::task::spawn_blocking) for them.
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
    /// `None` only while the descriptor is being taken out.
    io: Option<T>,
    source: Arc<Source>,
    runtime: Arc<Shared>,
    /// Whether a short transfer means that the kernel has no more. That is so with TCP. Reads of
    /// other descriptors may stop at the end of a message, at a terminal's line, or at bytes that a
    /// descriptor was passed with.
    pub(crate) short_means_drained: bool,
}

impl<T: AsSource> Async<T> {
    /// Registers the descriptor with the current runtime, and makes it non-blocking.
    ///
    /// Duplicates of the descriptor, also in other processes, have this mode in common. A terminal
    /// is most often one of them: use [`new_nonblocking`](Self::new_nonblocking) for it.
    ///
    /// # Errors
    ///
    /// When the kernel cannot report its readiness (on Linux, of a regular file), when it has no
    /// room for another descriptor, or when the runtime has ended. The descriptor is dropped then,
    /// and its duplicates are as they were.
    ///
    /// On systems other than Linux this may also fail if a descriptor of the same number was
    /// closed behind an `Async` that was forgotten (`mem::forget`).
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn new(io: T) -> Result<Self> {
        // Only what could be registered is changed.
        let new = Self::new_nonblocking(io)?;
        SockRef::from(new.get_ref()).set_nonblocking(true)?;
        Ok(new)
    }

    /// Registers the descriptor with the current runtime, and leaves it as it is.
    ///
    /// If it is blocking, wait by [`readable`](Self::readable) and [`writable`](Self::writable)
    /// alone: an operation that finds nothing blocks its worker.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn new_nonblocking(io: T) -> Result<Self> {
        let runtime = context::current("a socket or signal was used").runtime.clone();
        let source = runtime.driver.register(io.source())?;
        Ok(Self { io: Some(io), source, runtime, short_means_drained: false })
    }

    /// Lends the descriptor. While it is registered it cannot be replaced or closed. If it is made
    /// blocking, it blocks workers.
    pub fn get_ref(&self) -> &T {
        self.io.as_ref().unwrap_or_else(|| unreachable!("taken out only by value"))
    }

    /// Takes the descriptor out. It is no longer registered. If [`new`](Self::new) has made it
    /// non-blocking, it stays so: most types have a `set_nonblocking`.
    ///
    /// # Errors
    ///
    /// When the kernel does not know the descriptor any more, because some other code has closed
    /// it, or when `T` gives another descriptor now than it gave when it was registered. The value
    /// is leaked then.
    pub fn into_inner(mut self) -> Result<T> {
        let io = self.io.take().unwrap_or_else(|| unreachable!("taken by value"));
        self.runtime.driver.deregister(&self.source, io)
    }

    /// Waits until a read is worth trying. The read may still find nothing. Do it by
    /// [`try_with`](Self::try_with): if a read by [`get_ref`](Self::get_ref) finds nothing, arc
    /// does not notice, and this is ready again at once.
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

    /// Waits until a write is worth trying. The write may still find no room. Do it by
    /// [`try_with`](Self::try_with), as with [`readable`](Self::readable).
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

    /// Tries `attempt` each time that the descriptor becomes readable, until it returns something
    /// other than `WouldBlock`.
    ///
    /// # Errors
    ///
    /// Those of the operation, except `WouldBlock` and `Interrupted`. Another one when the runtime
    /// has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe. The result of an attempt that succeeds is never lost.
    pub async fn read_with<R>(&self, mut attempt: impl FnMut(&T) -> Result<R>) -> Result<R> {
        // It is dropped with this future, and takes the future's waker out of the reactor.
        let mut waiter = self.waiter(Direction::Read, WaiterKind::Future(None));
        poll_fn(|context| self.poll_with(&mut waiter, context, &mut attempt)).await
    }

    /// Tries `attempt` each time that the descriptor becomes writable, until it returns something
    /// other than `WouldBlock`. See [`read_with`](Self::read_with).
    ///
    /// # Errors
    ///
    /// As `read_with`.
    ///
    /// # Cancellation
    ///
    /// As `read_with`.
    pub async fn write_with<R>(&self, mut attempt: impl FnMut(&T) -> Result<R>) -> Result<R> {
        let mut waiter = self.waiter(Direction::Write, WaiterKind::Future(None));
        poll_fn(|context| self.poll_with(&mut waiter, context, &mut attempt)).await
    }

    fn waiter(&self, direction: Direction, kind: WaiterKind) -> Waiter<'_> {
        Waiter { source: &self.source, direction, seen: Readiness::default(), kind }
    }

    /// Tries an operation, and waits for an event if it would block.
    fn poll_with<R>(
        &self,
        waiter: &mut Waiter<'_>,
        context: &Context<'_>,
        mut attempt: impl FnMut(&T) -> Result<R>,
    ) -> Poll<Result<R>> {
        // A task that has used up its budget is pending, even if there is something.
        ready!(budget::poll_proceed(context));

        loop {
            // Try first: most often there is something already.
            match self.try_once(waiter, &mut attempt) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // If an event has come meanwhile, try again.
                    let driver = &self.runtime.driver;
                    ready!(driver.poll_ready(self.get_ref().source(), waiter, context))?;
                }

                // A signal came: the operation has done nothing yet.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}

                // A result or a true error: either takes a unit of the budget.
                result => {
                    budget::made_progress();
                    return Poll::Ready(result);
                }
            }
        }
    }

    /// Tries an operation that moves up to `wanted` bytes. Returns `Pending` if it would block.
    /// Then the task is woken when it is worth another try. This is for futures and IO traits that
    /// are written by hand.
    ///
    /// When TCP moves fewer bytes, the kernel has no more of them, and the next attempt waits for
    /// an event. That saves the attempt that only finds `WouldBlock`. So `attempt` must ask the
    /// kernel for at least `wanted` bytes. With a `wanted` of 0, nothing is concluded.
    ///
    /// # Errors
    ///
    /// Those of the operation, except `WouldBlock` and `Interrupted`. Another one when the runtime
    /// has ended.
    pub fn poll_transfer(
        &self,
        direction: Direction,
        context: &Context<'_>,
        wanted: usize,
        attempt: impl FnMut(&T) -> Result<usize>,
    ) -> Poll<Result<usize>> {
        let mut waiter = self.waiter(direction, WaiterKind::Poll);

        // What the look before the attempt has seen is in the waiter then.
        let moved = ready!(self.poll_with(&mut waiter, context, attempt))?;

        // Fewer bytes than wanted, but not the end of the stream.
        if self.short_means_drained && (1..wanted).contains(&moved) {
            waiter.record_short();
        }
        Poll::Ready(Ok(moved))
    }

    /// Tries an operation once, without waiting.
    ///
    /// # Errors
    ///
    /// * `WouldBlock` when it cannot be done now. [`readable`](Self::readable) and
    ///   [`writable`](Self::writable) wait for that.
    /// * Those of the operation.
    /// * Another one when the runtime has ended.
    pub fn try_with<R>(
        &self,
        direction: Direction,
        attempt: impl FnOnce(&T) -> Result<R>,
    ) -> Result<R> {
        // It leaves no waker, whoever calls this.
        let mut waiter = self.waiter(direction, WaiterKind::Poll);
        let tried = self.try_once(&mut waiter, attempt);

        // Whoever tries again and again, and never waits, must find what has come.
        if tried.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
            self.runtime.driver.ask_for_next(self.get_ref().source(), &waiter)?;
        }
        tried
    }

    fn try_once<R>(
        &self,
        waiter: &mut Waiter<'_>,
        attempt: impl FnOnce(&T) -> Result<R>,
    ) -> Result<R> {
        // Before the attempt, so that an event which comes meanwhile is seen as one more.
        let seen = waiter.see();
        if seen.is_gone {
            return Err(gone());
        }

        // No event came since the last attempt: this saves the system call.
        if seen.would_block {
            return Err(ErrorKind::WouldBlock.into());
        }
        attempt(self.get_ref())
    }
}

impl<T: AsSource> Drop for Async<T> {
    fn drop(&mut self) {
        if let Some(io) = self.io.take() {
            // After an error the descriptor is leaked (see `into_inner`). Nobody can be told.
            let _ = self.runtime.driver.deregister(&self.source, io);
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

impl<T: AsSource + fmt::Debug> fmt::Debug for Async<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Async({:?})", self.get_ref())
    }
}

/// The errors after which an operation is tried again.
const AGAIN: [ErrorKind; 2] = [ErrorKind::WouldBlock, ErrorKind::Interrupted];

/// How many bytes were moved.
type Moved = Poll<Result<usize>>;

/// Something is done that moves no bytes.
type Done = Poll<Result<()>>;

/// Reading and writing, for an [`Async`] and for a shared reference to one. Both only need a shared
/// reference.
macro_rules! read_and_write {
    ($($socket:ty),*) => {$(
        impl<T: AsSource> AsyncRead for $socket
        where
            for<'a> &'a T: Read,
        {
            fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut [u8]) -> Moved {
                let size = buffer.len();
                self.poll_transfer(Direction::Read, cx, size, |mut io| io.read(buffer))
            }
        }

        impl<T: AsSource> AsyncWrite for $socket
        where
            for<'a> &'a T: Write,
        {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Moved {
                let size = buffer.len();
                self.poll_transfer(Direction::Write, cx, size, |mut io| io.write(buffer))
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffers: &[IoSlice<'_>],
            ) -> Moved {
                // One call takes 1,024 buffers at most, so a short write may mean nothing. With a
                // size of 0, nothing is concluded.
                let write = |mut io: &T| io.write_vectored(buffers);
                self.poll_transfer(Direction::Write, cx, 0, write)
            }

            /// A socket has nothing to flush. Other descriptors may have, and may have to wait.
            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Done {
                // Tried without the runtime first: a flush that need not wait works after its end.
                let flush = |mut io: &T| io.flush().map(|()| 0);

                match flush(self.get_ref()) {
                    // From here on it is an operation like any other.
                    Err(error) if AGAIN.contains(&error.kind()) => {
                        self.poll_transfer(Direction::Write, cx, 0, flush).map_ok(drop)
                    }
                    flushed => Poll::Ready(flushed.map(drop)),
                }
            }

            /// Shuts down the sending direction, if there is one, whether or not there is room to
            /// write.
            fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Done {
                // What was not sent yet would come after the end of the stream.
                ready!(self.as_mut().poll_flush(cx))?;

                // This fails when the peer has gone, and then nothing is left to be shut down.
                let _ = SockRef::from(self.get_ref()).shutdown(Shutdown::Write);
                Poll::Ready(Ok(()))
            }
        }
    )*};
}

read_and_write!(Async<T>, &Async<T>);
