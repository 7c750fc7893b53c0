//! TCP connections.

use crate::net::names::{ToSocketAddrs, first};
use crate::net::options::{hops as checked_hops, options, whole_seconds, wraps};
use crate::net::stream::stream;
use arc::io::{Async, Direction};
use arc::net::SocketAddr;
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::ReadBuf;

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
    /// each in turn: [`connect`](crate::net::connect) lets them race.
    ///
    /// The system's own timeout is some minutes: put a [`timeout`](crate::time::timeout) around
    /// this.
    ///
    /// # Errors
    ///
    /// The system's: the address refuses, or cannot be reached. Of several addresses it is the
    /// error of the last one. It does not say which address that is. Those of
    /// [`lookup_host`](crate::net::lookup_host). `InvalidInput` when there is no address.
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
