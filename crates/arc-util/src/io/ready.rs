//! tokio's way to wait for a socket that can be read or written, whichever comes first.

use super::interest::{Interest, Ready};
#[cfg(unix)]
use super::news::News;
use arc::io::{AsSource, Async, Direction};
use arc::task::consume_budget;
use std::future::{Future, poll_fn};
use std::io::{Error, ErrorKind, Result};
use std::pin::pin;
use std::task::{Context, Poll, ready};

/// Adds tokio's `ready`, `try_io`, `async_io` and what is polled to an [`Async`]. The sockets of
/// this crate have these methods themselves.
///
/// # Examples
///
/// ```
/// use arc_util::io::Interest;
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
    /// On Unix it asks the kernel whether a direction is closed, by a system call. To wait for
    /// errors or urgent data, it registers another descriptor with the runtime meanwhile.
    ///
    /// # Errors
    ///
    /// Fails when the runtime has ended, and if errors or urgent data are waited for and no
    /// descriptors are left.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: the socket stays ready.
    fn ready(&self, interest: Interest) -> impl Future<Output = Result<Ready>>;

    /// Tries an operation on this socket once, if the socket counts as ready for a part of the
    /// interest. If the operation returns `WouldBlock`, the socket counts as not ready for any part
    /// of it until the next event.
    ///
    /// # Errors
    ///
    /// * `WouldBlock` when the operation cannot be done now.
    /// * Those of the operation.
    /// * Another one when the runtime has ended.
    fn try_io<R>(&self, interest: Interest, attempt: impl FnOnce() -> Result<R>) -> Result<R>;

    /// Tries an operation on this socket each time that the socket is ready for a part of the
    /// interest, until the operation returns something other than `WouldBlock`.
    ///
    /// # Errors
    ///
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

/// The interest is in nothing that the runtime or the system could tell.
fn no_interest() -> Error {
    Error::new(ErrorKind::InvalidInput, "there is nothing that the attempt could wait for")
}

/// Tries an operation that may read or write, such as a step of a handshake: once, if either
/// direction is ready.
///
/// Each `try_with` sees what is known of its direction before the attempt within it. So
/// `WouldBlock` wipes out no event that comes meanwhile. As on tokio it counts for both directions,
/// as nobody knows which of them the operation would have to wait for.
fn try_both<T: AsSource, R>(socket: &Async<T>, attempt: impl FnOnce() -> Result<R>) -> Result<R> {
    let mut attempt = Some(attempt);
    let tried = socket.try_with(Direction::Read, |_| {
        let tried = socket
            .try_with(Direction::Write, |_| attempt.take().expect("nobody has taken it so far")());

        // Not ready to be written, so nothing was tried: then this is about reading alone.
        attempt.take().map_or(tried, |attempt| attempt())
    });

    // Not ready to be read, so nothing was tried: then this is about writing alone.
    match attempt.take() {
        Some(attempt) => socket.try_with(Direction::Write, |_| attempt()),
        None => tried,
    }
}

impl<T: AsSource> ReadyExt for Async<T> {
    async fn ready(&self, interest: Interest) -> Result<Ready> {
        let mut readable = pin!(self.readable());
        let mut writable = pin!(self.writable());

        // The runtime tells neither errors nor urgent data. Whoever asks for them has this as well.
        #[cfg(unix)]
        let news = News::new(self, interest)?;

        let ready = poll_fn(|context| {
            // All are polled, so that each of them wakes the task.
            let mut ready = Ready::EMPTY;
            #[cfg(unix)]
            if let Some(news) = &news
                && let Poll::Ready(result) = news.poll(context, Ok)
            {
                ready |= result?;
            }
            if interest.is_readable()
                && let Poll::Ready(result) = readable.as_mut().poll(context)
            {
                result?;
                ready |= Ready::READABLE;
            }
            if interest.is_writable()
                && let Poll::Ready(result) = writable.as_mut().poll(context)
            {
                result?;
                ready |= Ready::WRITABLE;
            }

            if ready.is_empty() { Poll::Pending } else { Poll::Ready(Result::Ok(ready)) }
        })
        .await?;

        // Whether a direction is closed, the runtime does not know.
        #[cfg(unix)]
        let ready = ready | super::news::ask(self, interest)?;
        Ok(ready)
    }

    fn try_io<R>(&self, interest: Interest, attempt: impl FnOnce() -> Result<R>) -> Result<R> {
        match (interest.is_readable(), interest.is_writable()) {
            (true, false) => self.try_with(Direction::Read, |_| attempt()),
            (false, true) => self.try_with(Direction::Write, |_| attempt()),
            // Errors or urgent data: the kernel is asked, as nothing else knows of them.
            #[cfg(unix)]
            (false, false) => match super::news::ask(self, interest)?.is_empty() {
                true => Err(ErrorKind::WouldBlock.into()),
                false => attempt(),
            },
            (true, true) => try_both(self, attempt),
            #[cfg(not(unix))]
            (false, false) => Err(no_interest()),
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
            // Errors or urgent data. An interest in nothing at all is refused, too.
            #[cfg(unix)]
            (false, false) => match News::new(self, interest)? {
                Some(news) => poll_fn(|context| news.poll(context, |_| attempt())).await,
                None => Err(no_interest()),
            },
            (true, true) => {
                // A loop of attempts that never wait must let others run.
                consume_budget().await;
                loop {
                    match try_both(self, &mut attempt) {
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            self.ready(Interest::READABLE | Interest::WRITABLE).await?;
                        }
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        result => return result,
                    }
                }
            }
            #[cfg(not(unix))]
            (false, false) => Err(no_interest()),
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
