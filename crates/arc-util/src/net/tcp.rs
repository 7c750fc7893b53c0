//! TCP connections and listeners.

use super::names::{ToSocketAddrs, first};
use super::options::{hops as checked_hops, options, whole_seconds, wraps};
use super::pause::after_refusal;
use super::stream::stream;
use arc::io::{AsSource, Async, Direction};
use arc::net::SocketAddr;
use futures_core::Stream;
use socket2::SockRef;
use std::io::{self, ErrorKind, Read, Write};
use std::net;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::ReadBuf;

/// The reading half of a TCP connection, which a task can own.
pub type OwnedReadHalf = super::split::OwnedReadHalf<TcpStream>;
/// The writing half of a TCP connection, which a task can own.
pub type OwnedWriteHalf = super::split::OwnedWriteHalf<TcpStream>;
/// A borrowed reading half of a TCP connection.
pub type ReadHalf<'stream> = super::split::ReadHalf<'stream, TcpStream>;
/// A borrowed writing half of a TCP connection.
pub type WriteHalf<'stream> = super::split::WriteHalf<'stream, TcpStream>;
/// The error of reuniting halves that belong to different TCP connections.
pub type ReuniteError = super::split::ReuniteError<TcpStream>;

/// A TCP connection.
///
/// The stream reads and writes by tokio's traits and by those of futures-io, by value and by shared
/// reference. So several tasks may share it in an [`Arc`](std::sync::Arc);
/// [`split`](Self::split) and [`into_split`](Self::into_split) separate its directions. Shutting
/// it down as an `AsyncWrite` shuts down the sending direction. Dropping it closes the connection.
///
/// The stream dereferences to its [`Async`].
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncWriteExt};
/// use arc_util::net::{TcpListener, TcpStream};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let mut client = TcpStream::connect(listener.local_addr()?).await?;
/// client.write_all(b"hello").await?;
/// client.shutdown().await?;
///
/// let (mut server, _) = listener.accept().await?;
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # }
/// ```
///
/// Two tasks, each with a half:
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncWriteExt};
/// use arc_util::net::{TcpListener, TcpStream};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (mut server, _) = listener.accept().await?;
///
/// let (mut read, mut write) = client.into_split();
/// let sending = arc::spawn(async move { write.write_all(b"ping").await });
/// let mut text = [0; 4];
/// server.read_exact(&mut text).await?;
/// server.write_all(&text).await?;
/// read.read_exact(&mut text).await?;
/// assert_eq!(&text, b"ping");
/// # sending.await?
/// # }
/// ```
pub struct TcpStream(Async<net::TcpStream>);

// The core's `from_std` for TCP, and not `Async::new`: with it, a short read tells that there is no
// more.
wraps!(TcpStream, net::TcpStream, arc::net::TcpStream::from_std);

stream!(TcpStream, net::TcpStream);

impl TcpStream {
    /// Connects to an address. Of several addresses, it takes the first that answers, and waits for
    /// each in turn: [`connect`](super::connect) lets them race.
    ///
    /// The system's own timeout is some minutes: put a [`timeout`](crate::time::timeout) around
    /// this.
    ///
    /// # Errors
    ///
    /// The system's: the address refuses, or cannot be reached. Of several addresses it is the
    /// error of the last one. It does not say which address that is. Those of
    /// [`lookup_host`](super::lookup_host). `InvalidInput` when there is no address.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: the attempt is given up, and its socket closed. A name lookup goes on, on a
    /// thread of the blocking pool.
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, arc::net::TcpStream::connect).await.map(Self)
    }

    /// Waits for data and copies it into a buffer, but does not remove it: it can be read again.
    ///
    /// # Errors
    ///
    /// Those of the system call, and another one when the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_with(|stream| stream.peek(buffer)).await
    }

    /// Polls for data and copies it into a buffer. See [`peek`](Self::peek).
    ///
    /// # Errors
    ///
    /// As `peek`.
    pub fn poll_peek(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        let room = buffer.initialize_unfilled();
        let peek = |stream: &net::TcpStream| stream.peek(room);
        let length = ready!(self.poll_transfer(Direction::Read, context, 0, peek))?;
        buffer.advance(length);
        Poll::Ready(Ok(length))
    }

    /// Sets how long closing waits until unsent data has been sent. Zero resets the connection.
    ///
    /// The system counts in whole seconds: the time is rounded up, and times over 65,535 s (18
    /// hours) count as 65,535 s. The wait blocks the thread that drops the stream.
    ///
    /// # Errors
    ///
    /// Those of the system call.
    pub fn set_linger(&self, duration: Option<Duration>) -> io::Result<()> {
        SockRef::from(&self.0).set_linger(duration.map(whole_seconds))
    }

    /// Makes closing discard the unsent data, and reset the connection.
    ///
    /// # Errors
    ///
    /// Those of the system call.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        SockRef::from(&self.0).set_linger(Some(Duration::ZERO))
    }

    /// Sets the time to live of the packets that the socket sends, in hops.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when `hops` is not in 1 to 255. Otherwise any error of the system call.
    pub fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.0.get_ref().set_ttl(checked_hops(hops, 1..=255)?)
    }
}

options! { TcpStream, |this| this.0.get_ref();
    /// Returns the address of this end.
    fn local_addr = local_addr() -> SocketAddr;
    /// Returns the address of the other end. Fails when it is not connected any more.
    fn peer_addr = peer_addr() -> SocketAddr;
    /// Returns whether small segments are sent at once (`TCP_NODELAY`).
    fn nodelay = nodelay() -> bool;
    /// Sets whether small segments are sent at once.
    fn set_nodelay = set_nodelay(nodelay: bool) -> ();
    /// Returns the time to live of the packets that the socket sends, in hops.
    fn ttl = ttl() -> u32;
    /// Returns the error that the socket holds, and clears it.
    fn take_error = take_error() -> Option<io::Error>;
}

options! { TcpStream, |this| SockRef::from(&this.0);
    /// Returns how long closing waits until unsent data has been sent (`SO_LINGER`).
    fn linger = linger() -> Option<Duration>;
    /// Returns whether data that has come is acknowledged at once (`TCP_QUICKACK`).
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn quickack = tcp_quickack() -> bool;
    /// Sets whether data that has come is acknowledged at once. The system may change it back.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn set_quickack = set_tcp_quickack(quickack: bool) -> ();
}

/// Accepts TCP connections.
///
/// The listener dereferences to its [`Async`].
///
/// # Examples
///
/// ```
/// use arc_util::net::{TcpListener, TcpStream};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (server, from) = listener.accept().await?;
/// assert_eq!(from, client.local_addr()?);
/// assert_eq!(server.local_addr()?, client.peer_addr()?);
/// # Ok(())
/// # }
/// ```
pub struct TcpListener(Async<net::TcpListener>);

wraps!(TcpListener, net::TcpListener);

impl TcpListener {
    /// Listens on an address. Of several addresses, it takes the first that works. Port 0 stands
    /// for any free port; [`local_addr`](Self::local_addr) says which one it is.
    ///
    /// On Unix the address may be in the TIME_WAIT state (`SO_REUSEADDR`). On Windows that option
    /// is not set, because it would let another process take the port over.
    ///
    /// # Errors
    ///
    /// The system's: the address is in use, or does not belong to this machine. Of several
    /// addresses it is the error of the last one. It does not say which address that is: say so
    /// where you print it. Those of [`lookup_host`](super::lookup_host). `InvalidInput` when there
    /// is no address.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Cancel safe. A name lookup goes on, on a thread of the blocking pool.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, arc::net::TcpListener::bind).await.map(Self)
    }

    /// Waits for a connection.
    ///
    /// A connection that was broken before it was accepted is skipped silently.
    ///
    /// # Errors
    ///
    /// * When there are no descriptors or no memory left. The connection waits in the kernel, and
    ///   the error is returned after a pause of 50 ms. So a loop that reports it and goes on does
    ///   the right thing. When the kernel watches as many descriptors as the user may have (on
    ///   Linux `fs.epoll.max_user_watches`), the connection is closed.
    /// * When the system refuses for another reason, for example because the socket is not a
    ///   listener. This error is returned after a pause, too.
    /// * When the runtime has ended, at once. This error is not the system's, and has no number.
    ///
    /// # Panics
    ///
    /// Outside a runtime, when there is a connection or an error. The connection is closed.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no connection is lost.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, address) = after_refusal(self.0.accept().await).await?;
        Ok((TcpStream(stream), address))
    }

    /// Polls for a connection, for futures written by hand. See [`accept`](Self::accept).
    ///
    /// # Errors
    ///
    /// As `accept`, but without a pause when there are no descriptors or no memory left.
    ///
    /// # Panics
    ///
    /// Outside a runtime when there is a connection. The connection is closed.
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let (stream, address) = ready!(poll_accept(&self.0, context, |it| it.accept()))?;
        Poll::Ready(Ok((TcpStream::from_std(stream)?, address)))
    }

    /// Returns the connections as a stream, which never ends. Its errors are those of
    /// [`accept`](Self::accept).
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::net::{TcpListener, TcpStream};
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
    pub fn incoming(&self) -> impl Stream<Item = io::Result<TcpStream>> + Send + '_ {
        futures_util::stream::unfold(self, async |listener| {
            Some((listener.accept().await.map(|(stream, _)| stream), listener))
        })
    }

    /// Sets the time to live of the packets that the socket sends, in hops.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when `hops` is not in 1 to 255. Otherwise any error of the system call.
    pub fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.0.get_ref().set_ttl(checked_hops(hops, 1..=255)?)
    }
}

options! { TcpListener, |this| this.0.get_ref();
    /// Returns the address that it listens on.
    fn local_addr = local_addr() -> SocketAddr;
    /// Returns the time to live of the packets that the socket sends, in hops.
    fn ttl = ttl() -> u32;
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
