//! Traits that add what tokio's TCP sockets have beyond arc's.

#[cfg(feature = "bytes")]
use super::buffers::{READ_MAX, append};
use super::options::{hops as checked_hops, whole_seconds};
use arc::io::{AsSource, Async, Direction};
use arc::net::{SocketAddr, TcpListener, TcpStream};
use futures_core::Stream;
use socket2::SockRef;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The reading half of a TCP connection.
pub type OwnedReadHalf = super::split::OwnedReadHalf<TcpStream>;
/// The writing half of a TCP connection.
pub type OwnedWriteHalf = super::split::OwnedWriteHalf<TcpStream>;
/// A borrowed reading half of a TCP connection: a shared reference, which reads and writes.
pub type ReadHalf<'stream> = &'stream TcpStream;
/// A borrowed writing half of a TCP connection: a shared reference, which reads and writes.
pub type WriteHalf<'stream> = &'stream TcpStream;
/// The error of reuniting halves that belong to different TCP connections.
pub type ReuniteError = super::split::ReuniteError<TcpStream>;

/// Adds options, and operations that do not wait, to a TCP connection.
///
/// # Errors
///
/// All errors are those of the system calls. Operations fail when the runtime has ended, too, and
/// those whose names begin with `try_` with `WouldBlock` when they would have to wait.
///
/// # Examples
///
/// ```
/// use arc_util::net::{TcpListener, TcpStream, TcpStreamExt};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let stream = TcpStream::connect(listener.local_addr()?).await?;
/// stream.set_ttl(42)?;
/// assert_eq!(stream.ttl()?, 42);
/// # Ok(())
/// # }
/// ```
pub trait TcpStreamExt: sealed::Sealed {
    /// Deregisters the socket and returns it as std's. It stays non-blocking.
    ///
    /// # Errors
    ///
    /// Fails when the kernel no longer watches the socket, because other code has closed its
    /// descriptor.
    fn into_std(self) -> io::Result<std::net::TcpStream>
    where
        Self: Sized;

    /// Waits for data and copies it into a buffer, but does not remove it: it can be read
    /// again.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    fn peek(&self, buffer: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send;

    /// Reads available data without waiting.
    ///
    /// # Examples
    ///
    /// ```
    /// # use arc_util::net::{TcpStream, TcpStreamExt};
    /// async fn read_some(stream: &TcpStream, buffer: &mut [u8]) -> std::io::Result<usize> {
    ///     loop {
    ///         stream.readable().await?;
    ///         match stream.try_read(buffer) {
    ///             Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
    ///             result => return result,
    ///         }
    ///     }
    /// }
    /// ```
    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Reads available data to the end of a buffer, without waiting.
    ///
    /// It reads into memory of its own first, and at most 8 KiB.
    #[cfg(feature = "bytes")]
    fn try_read_buf<B: bytes::BufMut>(&self, buffer: &mut B) -> io::Result<usize>
    where
        Self: Sized;

    /// Writes as much as there is room for, without waiting.
    fn try_write(&self, buffer: &[u8]) -> io::Result<usize>;

    /// Reads available data into several buffers, without waiting.
    fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize>;

    /// Writes from several buffers as much as there is room for, without waiting.
    fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Returns how long closing waits until unsent data has been sent (`SO_LINGER`).
    fn linger(&self) -> io::Result<Option<Duration>>;

    /// Sets how long closing waits until unsent data has been sent. Zero resets the connection.
    ///
    /// The system counts in whole seconds: the time is rounded up, and times over 65,535 s (18
    /// hours) count as 65,535 s. The wait blocks the thread that drops the stream.
    fn set_linger(&self, duration: Option<Duration>) -> io::Result<()>;

    /// Makes closing discard the unsent data, and reset the connection.
    fn set_zero_linger(&self) -> io::Result<()>;

    /// Returns the time to live of the packets that the socket sends, in hops.
    fn ttl(&self) -> io::Result<u32>;

    /// Sets the time to live of the packets that the socket sends, in hops.
    ///
    /// # Errors
    ///
    /// Fails with `InvalidInput` when `hops` is not in 1 to 255. Otherwise any error of the
    /// system call.
    fn set_ttl(&self, hops: u32) -> io::Result<()>;

    /// Returns the error that the socket holds, and clears it.
    ///
    /// # Errors
    ///
    /// The outer error is that of the system call, when the socket's error cannot be read.
    fn take_error(&self) -> io::Result<Option<io::Error>>;
}

impl TcpStreamExt for TcpStream {
    fn into_std(self) -> io::Result<std::net::TcpStream> {
        self.into_inner()
    }

    async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_with(|stream| stream.peek(buffer)).await
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_with(Direction::Read, |mut stream| stream.read(buffer))
    }

    #[cfg(feature = "bytes")]
    fn try_read_buf<B: bytes::BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
        append(buffer, READ_MAX, |bytes| Ok((self.try_read(bytes)?, ()))).map(|(length, ())| length)
    }

    fn try_write(&self, buffer: &[u8]) -> io::Result<usize> {
        self.try_with(Direction::Write, |mut stream| stream.write(buffer))
    }

    fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.try_with(Direction::Read, |mut stream| stream.read_vectored(buffers))
    }

    fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.try_with(Direction::Write, |mut stream| stream.write_vectored(buffers))
    }

    fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self).linger()
    }

    fn set_linger(&self, duration: Option<Duration>) -> io::Result<()> {
        SockRef::from(self).set_linger(duration.map(whole_seconds))
    }

    fn set_zero_linger(&self) -> io::Result<()> {
        SockRef::from(self).set_linger(Some(Duration::ZERO))
    }

    fn ttl(&self) -> io::Result<u32> {
        self.get_ref().ttl()
    }

    fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.get_ref().set_ttl(checked_hops(hops, 1..=255)?)
    }

    fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.get_ref().take_error()
    }
}

/// Adds options, and a stream of connections, to a TCP listener.
///
/// # Examples
///
/// ```
/// use arc_util::net::{TcpListener, TcpListenerExt, TcpStream};
/// use futures_util::StreamExt;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let mut incoming = std::pin::pin!(listener.incoming());
/// let server = incoming.next().await.expect("it never ends")?;
/// assert_eq!(server.peer_addr()?, client.local_addr()?);
/// # Ok(())
/// # }
/// ```
pub trait TcpListenerExt: sealed::Sealed {
    /// Deregisters the socket and returns it as std's. It stays non-blocking.
    ///
    /// # Errors
    ///
    /// Fails when the kernel no longer watches the socket, because other code has closed its
    /// descriptor.
    fn into_std(self) -> io::Result<std::net::TcpListener>
    where
        Self: Sized;

    /// Polls for a connection, for futures written by hand. See [`accept`](TcpListener::accept).
    ///
    /// # Errors
    ///
    /// As `accept`, but without a pause when there are no descriptors or no memory left.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime when there is a connection. The connection is closed.
    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>>;

    /// Returns the connections as a stream, which never ends. Its errors are those of
    /// [`accept`](TcpListener::accept).
    fn incoming(&self) -> impl Stream<Item = io::Result<TcpStream>> + Send + '_;

    /// Returns the time to live of the packets that the socket sends, in hops.
    ///
    /// # Errors
    ///
    /// Any error of the system call.
    fn ttl(&self) -> io::Result<u32>;

    /// Sets the time to live of the packets that the socket sends, in hops.
    ///
    /// # Errors
    ///
    /// Fails with `InvalidInput` when `hops` is not in 1 to 255. Otherwise any error of the
    /// system call.
    fn set_ttl(&self, hops: u32) -> io::Result<()>;
}

impl TcpListenerExt for TcpListener {
    fn into_std(self) -> io::Result<std::net::TcpListener> {
        self.into_inner()
    }

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let (stream, address) = ready!(poll_accept(self, context, |it| it.accept()))?;
        Poll::Ready(Ok((TcpStream::from_std(stream)?, address)))
    }

    fn incoming(&self) -> impl Stream<Item = io::Result<TcpStream>> + Send + '_ {
        futures_util::stream::unfold(self, async |listener| {
            Some((listener.accept().await.map(|(stream, _)| stream), listener))
        })
    }

    fn ttl(&self) -> io::Result<u32> {
        self.get_ref().ttl()
    }

    fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.get_ref().set_ttl(checked_hops(hops, 1..=255)?)
    }
}

/// Polls for a connection to any listener. One that was broken before it was accepted is skipped.
pub(super) fn poll_accept<L: AsSource, R>(
    listener: &Async<L>,
    context: &mut Context<'_>,
    accept: impl Fn(&L) -> io::Result<R>,
) -> Poll<io::Result<R>> {
    let mut accepted = None;
    loop {
        let polled = listener.poll_transfer(Direction::Read, context, 0, |listener| {
            accepted = Some(accept(listener)?);
            Ok(0)
        });
        match ready!(polled) {
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Poll::Ready(Err(error)),
            Ok(_) => break,
        }
    }
    Poll::Ready(Ok(accepted.unwrap_or_else(|| unreachable!("an attempt has succeeded"))))
}

mod sealed {
    /// Keeps other crates from implementing the traits, so that these can get new methods.
    pub trait Sealed {}
    impl Sealed for super::TcpStream {}
    impl Sealed for super::TcpListener {}
}
