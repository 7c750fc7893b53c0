//! A connection of a server: its socket, its place among all connections, and its deadlines.

use super::limits::Limits;
use crate::HyperIo;
use arc::time::{Sleep, sleep};
use arc_util::net::TcpStream;
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use std::io::{self, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// The first bytes of each HTTP/2 connection. Whoever sends anything else speaks HTTP/1.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The stream of a connection that [`serve`](super::serve) has accepted.
///
/// A connection counts towards
/// [`with_max_connections`](super::Serve::with_max_connections) until it is dropped, also after
/// an upgrade.
///
/// # Errors
///
/// Returns the socket's own errors. A read returns an error of kind
/// [`TimedOut`](io::ErrorKind::TimedOut) if the client's first bytes do not come in time
/// ([`with_first_bytes_timeout`](super::Serve::with_first_bytes_timeout)), and a write if the
/// client does not read for too long
/// ([`with_write_timeout`](super::Serve::with_write_timeout)).
///
/// # Examples
///
/// How to get it after an upgrade:
///
/// ```
/// use arc_compat::server::Connection;
/// use hyper_util::server::conn::auto::upgrade::downcast;
///
/// async fn upgraded(request: hyper::Request<hyper::body::Incoming>) -> hyper::Result<()> {
///     let upgraded = hyper::upgrade::on(request).await?;
///     let parts = downcast::<Connection>(upgraded).expect("what `serve` put in");
///     println!("{:?} has sent {:?} already", parts.io.get_ref(), parts.read_buf);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Connection {
    io: HyperIo<TcpStream>,
    /// `None` when the client has shown which version of HTTP it speaks.
    opening: Option<Opening>,
    writing: Writing,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, place: OwnedSemaphorePermit, limits: &Limits) -> Self {
        Self {
            io: HyperIo::new(stream),
            opening: Some(Opening::new(limits.first_bytes)),
            writing: Writing { limit: limits.write, stalled: None },
            _place: place,
        }
    }

    /// Returns a reference to the socket.
    pub fn get_ref(&self) -> &TcpStream {
        self.io.get_ref()
    }

    /// Returns the socket. It has no deadline for writes, and does not count as a connection of
    /// the server any more.
    pub fn into_inner(self) -> TcpStream {
        self.io.into_inner()
    }
}

impl Read for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        // hyper reads, and has its own limit, as soon as the version is known.
        let Some(opening) = &mut this.opening else {
            return Pin::new(&mut this.io).poll_read(context, cursor);
        };

        // By way of a buffer, because what is in the cursor cannot be seen.
        let mut bytes = [MaybeUninit::uninit(); PREFACE.len()];
        let wanted = cursor.remaining().min(bytes.len());
        let mut buffer = ReadBuf::uninit(&mut bytes[..wanted]);
        if Pin::new(&mut this.io).poll_read(context, buffer.unfilled())?.is_pending() {
            return opening.poll_deadline(context).map(Err);
        }

        // The end of the stream is over, too: hyper says what that means.
        let read = buffer.filled();
        if opening.is_over(read) {
            this.opening = None;
        }
        cursor.put_slice(read);
        Poll::Ready(Ok(()))
    }
}

impl Write for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.io).poll_write(context, buffer);
        this.writing.watch(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.io).poll_write_vectored(context, buffers);
        this.writing.watch(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

/// The time until the client has shown which version of HTTP it speaks. hyper-util waits for
/// that without a limit; hyper has one for the rest of a head.
#[derive(Debug)]
struct Opening {
    limit: Duration,
    deadline: Pin<Box<Sleep>>,
    /// What is still missing of the preface.
    missing: &'static [u8],
}

impl Opening {
    fn new(limit: Duration) -> Self {
        Self { limit, deadline: Box::pin(sleep(limit)), missing: PREFACE }
    }

    /// Returns an error when the time is over.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        ready!(self.deadline.as_mut().poll(context));
        let text = format!("the client has not begun a request within {:?}", self.limit);
        Poll::Ready(io::Error::new(ErrorKind::TimedOut, text))
    }

    /// Whether the version is known after these bytes.
    fn is_over(&mut self, read: &[u8]) -> bool {
        match self.missing.strip_prefix(read) {
            // No bytes: the client has closed the connection.
            Some(missing) => {
                self.missing = missing;
                missing.is_empty() || read.is_empty()
            }
            None => true,
        }
    }
}

/// The time that a client may take to read anything of what is written.
#[derive(Debug)]
struct Writing {
    limit: Duration,
    /// Runs while a write is blocked.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Writing {
    /// Returns the result of a write, or an error if writes have been blocked for too long.
    fn watch(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }

        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stalled.as_mut().poll(context));
        let text = format!("the client has read nothing for {limit:?}");
        Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, text)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Opening, PREFACE};
    use std::time::Duration;

    fn is_over_after(parts: &[&[u8]]) -> bool {
        let mut opening = Opening::new(Duration::MAX);
        parts.iter().fold(false, |_, part| opening.is_over(part))
    }

    #[test]
    fn the_version_is_known_by_the_first_byte_that_differs() {
        assert!(is_over_after(&[b"G"]));
        assert!(is_over_after(&[b"P", b"O"]));
        assert!(is_over_after(&[b"PRI", b" ", b"/"]));
        assert!(!is_over_after(&[b"P"]));
        assert!(!is_over_after(&[&PREFACE[..10], &PREFACE[10..23]]));
        assert!(is_over_after(&[&PREFACE[..10], &PREFACE[10..]]));
    }

    #[test]
    fn a_client_that_leaves_is_not_waited_for() {
        assert!(is_over_after(&[b""]));
        assert!(is_over_after(&[b"PRI", b""]));
    }
}
