//! TCP sockets. Each is an [`Async`] of std's: what std's can do and is not here,
//! `get_ref` reaches; and `socket2::SockRef::from` takes it for every other option.

mod address;
pub use address::{ToSocketAddrs, lookup_host};
pub use std::net::SocketAddr;

use crate::io::Async;
#[cfg(unix)]
use rustix::io::Errno;
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::{net::Shutdown, time::Duration};

/// How many connections wait in the kernel to be accepted.
const BACKLOG: i32 = 1024;
/// For how long accepting pauses when the process or the system has no
/// descriptors or memory left.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts TCP connections.
///
/// # Examples
///
/// ```
/// use arc::net::{TcpListener, TcpStream};
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
pub type TcpListener = Async<std::net::TcpListener>;

impl TcpListener {
    /// Takes over std's listener, made non-blocking. See [`Async::new`].
    ///
    /// # Errors
    ///
    /// As `Async::new`.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<Self> {
        Self::new(listener)
    }

    /// Listens on an address, or the first of several that can be had. Port 0
    /// is any free one, which [`local_addr`](Self::local_addr) tells.
    ///
    /// On Unix the address may be in the TIME_WAIT state (`SO_REUSEADDR`).
    ///
    /// # Errors
    ///
    /// When the address is in use or not this machine's, or its name is not
    /// known; the error says which address.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Nothing is left behind but a name lookup that goes on unheard.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        address::first(address, "listening on", async |address| {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            // On Windows it would let another process take the port over.
            #[cfg(not(windows))]
            socket.set_reuse_address(true)?;
            socket.bind(&address.into())?;
            socket.listen(BACKLOG)?;
            Self::new(socket.into())
        })
        .await
    }

    /// Waits for a connection.
    ///
    /// A connection that was broken before it was accepted is passed over
    /// without a word.
    ///
    /// # Errors
    ///
    /// When there are no descriptors or no memory left. The connection waits in
    /// the kernel, and the error is returned after a pause of 50 ms: a loop
    /// that reports it and goes on does the right thing.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no connection is lost.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        loop {
            let accepted = self.read_with(|listener| {
                let (stream, address) = listener.accept()?;
                Ok((TcpStream::from_std(stream)?, address))
            });
            match accepted.await {
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                // When the runtime has ended, the error is not the system's.
                Err(error) if error.raw_os_error().is_some() => {
                    crate::time::sleep(PAUSE).await;
                    return Err(error);
                }
                result => return result,
            }
        }
    }

    /// The connections as a stream, which never ends. See
    /// [`accept`](Self::accept).
    pub fn incoming(&self) -> impl futures_core::Stream<Item = io::Result<TcpStream>> + '_ {
        futures_util::stream::unfold(self, async |listener| {
            Some((listener.accept().await.map(|(stream, _)| stream), listener))
        })
    }
}

/// A TCP connection.
///
/// It reads and writes by value and by shared reference: `(&stream, &stream)` are its
/// two directions apart, and several tasks may share it in an
/// [`Arc`](std::sync::Arc). tokio's `into_split` is in the crate `arc-util`.
/// Closing it as an `AsyncWrite` shuts down the sending direction; dropping it
/// closes the connection.
///
/// # Examples
///
/// ```
/// use arc::io::{AsyncReadExt, AsyncWriteExt};
/// use arc::net::{TcpListener, TcpStream};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let mut client = TcpStream::connect(listener.local_addr()?).await?;
/// client.write_all(b"hello").await?;
/// client.close().await?;
///
/// let (mut server, _) = listener.accept().await?;
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # }
/// ```
pub type TcpStream = Async<std::net::TcpStream>;

impl TcpStream {
    /// Takes over std's stream, made non-blocking. [`Async::new`] does so too, but
    /// does not know that it is TCP: reads then ask the kernel once more.
    ///
    /// # Errors
    ///
    /// As `Async::new`.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<Self> {
        Self::register(stream, true)
    }

    /// Connects to an address, or the first of several that answers. Put a
    /// [`timeout`](crate::time::timeout) around it: the system's own is minutes.
    ///
    /// # Errors
    ///
    /// When the name is not known, or the last of its addresses refuses or
    /// cannot be reached; the error says which.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// The attempt is given up, and its socket closed.
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        address::first(address, "connecting to", async |address| {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            socket.set_nonblocking(true)?;
            match socket.connect(&address.into()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                #[cfg(unix)]
                Err(error) if Errno::from_io_error(&error) == Some(Errno::INPROGRESS) => {}
                result => result?,
            }
            let connecting = Self::from_std(socket.into())?;
            let outcome = |stream: &std::net::TcpStream| {
                stream.take_error()?.map_or(Ok(()), Err)?;
                // An event that came before the connection did.
                stream.peer_addr().map_err(|_| ErrorKind::WouldBlock.into())
            };
            connecting.write_with(outcome).await.map(|_| connecting)
        })
        .await
    }

    /// Reads into memory that need not be initialized; gives the number of
    /// bytes at its beginning that now are. 0: the peer sends no more.
    ///
    /// # Errors
    ///
    /// What the system says; or the runtime has ended.
    pub fn poll_read_uninit(
        &self,
        context: &mut std::task::Context<'_>,
        buffer: &mut [std::mem::MaybeUninit<u8>],
    ) -> std::task::Poll<io::Result<usize>> {
        let (direction, wanted) = (crate::reactor::Direction::Read, buffer.len());
        let receive = |stream: &_| SockRef::from(stream).recv(buffer);
        self.poll_transfer(direction, context, wanted, receive)
    }

    /// Reads what there is, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is nothing; what the system says; or the runtime
    /// has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use arc::net::TcpStream;
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
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_read_with(|mut stream| stream.read(buffer))
    }

    /// Reads what there is into several buffers. See [`try_read`](Self::try_read).
    ///
    /// # Errors
    ///
    /// As `try_read`.
    pub fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.try_read_with(|mut stream| stream.read_vectored(buffers))
    }

    /// Writes what there is room for, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room; what the system says; or the runtime
    /// has ended.
    pub fn try_write(&self, buffer: &[u8]) -> io::Result<usize> {
        self.try_write_with(|mut stream| stream.write(buffer))
    }

    /// Writes what there is room for out of several buffers.
    ///
    /// # Errors
    ///
    /// As [`try_write`](Self::try_write).
    pub fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.try_write_with(|mut stream| stream.write_vectored(buffers))
    }

    /// Waits for something to read and copies it, leaving it to be read again.
    ///
    /// # Errors
    ///
    /// What the system says; or the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_with(|stream| stream.peek(buffer)).await
    }
}

/// Methods that only hand on to std's socket, or to socket2's view of it.
macro_rules! options {
    ($type:ty, $view:expr; $(
        $(#[$doc:meta])*
        fn $name:ident(&self $(, $value:ident: $kind:ty)?) -> $output:ty;
    )*) => {
        /// Options. Errors are the system's; see the manual of its sockets.
        impl $type {$(
            $(#[$doc])*
            pub fn $name(&self $(, $value: $kind)?) -> io::Result<$output> {
                $view(self.get_ref()).$name($($value)?)
            }
        )*}
    };
}

options! { TcpListener, std::convert::identity;
    /// The address it listens on.
    fn local_addr(&self) -> SocketAddr;
    /// The time to live of the packets it sends: the hops they may take.
    fn ttl(&self) -> u32;
    /// Sets the time to live, in hops.
    fn set_ttl(&self, hops: u32) -> ();
}

options! { TcpStream, std::convert::identity;
    /// The address of this end.
    fn local_addr(&self) -> SocketAddr;
    /// The address of the other end; an error when it is not connected any more.
    fn peer_addr(&self) -> SocketAddr;
    /// The error that the socket holds, which is cleared.
    fn take_error(&self) -> Option<io::Error>;
    /// Whether small segments are sent at once (`TCP_NODELAY`).
    fn nodelay(&self) -> bool;
    /// Says whether small segments are sent at once.
    fn set_nodelay(&self, nodelay: bool) -> ();
    /// The time to live of the packets it sends: the hops they may take.
    fn ttl(&self) -> u32;
    /// Sets the time to live, in hops.
    fn set_ttl(&self, hops: u32) -> ();
    /// Ends one direction of the connection, or both. The peer sees the end of
    /// the stream when the sending direction ends.
    fn shutdown(&self, how: Shutdown) -> ();
}

options! { TcpStream, SockRef::from;
    /// For how long closing waits for unsent data (`SO_LINGER`).
    fn linger(&self) -> Option<Duration>;
    /// Says for how long closing waits for unsent data, in whole seconds; zero
    /// resets the connection. The wait blocks the thread that drops the stream.
    fn set_linger(&self, duration: Option<Duration>) -> ();
}
