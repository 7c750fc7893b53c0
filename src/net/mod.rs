//! TCP sockets. Each is an [`Async`] of std's: what std's can do and is not here,
//! `get_ref` reaches; and `socket2::SockRef::from` takes it for every other option. tokio's
//! further names are in the crate `arc-util`: `TcpStreamExt`, `TcpListenerExt`.

mod address;
pub(crate) use address::explain;
pub use address::{ToSocketAddrs, lookup_host};
pub use std::net::SocketAddr;

use crate::io::Async;
#[cfg(unix)]
use rustix::io::Errno;
use socket2::{Domain, Socket, Type};
use std::io;
use std::io::ErrorKind::{self, ConnectionAborted, ConnectionReset, NotConnected};
use std::time::Duration;

/// How many connections wait in the kernel to be accepted.
const BACKLOG: i32 = 1024;
/// For how long accepting pauses when the process or the system has no
/// descriptors or memory left.
const PAUSE: Duration = Duration::from_millis(50);
/// What accepting says of a connection that was broken before: on Unix, on Windows, under wine.
const BROKEN: [ErrorKind; 3] = [ConnectionAborted, ConnectionReset, NotConnected];

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
    /// On Unix the address may be in the TIME_WAIT state (`SO_REUSEADDR`). On Windows
    /// that option would let another process take the port over.
    ///
    /// # Errors
    ///
    /// When the address is in use or not this machine's, or its name is not
    /// known; the error says which address. `InvalidInput` when there is none.
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
            #[cfg(not(windows))]
            socket.set_reuse_address(true)?;
            socket.bind(&address.into())?;
            socket.listen(BACKLOG)?;
            Self::new(socket.into())
        })
        .await
    }

    /// The address it listens on.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
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
    /// that reports it and goes on does the right thing. That the runtime has ended
    /// is told at once; the error is not the system's, then, and has no number. (When
    /// the kernel watches as many descriptors as the user may, on Linux
    /// `fs.epoll.max_user_watches`, the connection is closed.)
    ///
    /// # Panics
    ///
    /// Outside a runtime, when there is a connection, which is closed.
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
                Err(error) if BROKEN.contains(&error.kind()) => {}
                Err(error) if error.raw_os_error().is_some() => {
                    crate::time::sleep(PAUSE).await;
                    return Err(error);
                }
                result => return result,
            }
        }
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
    /// does not know that it is TCP: reads then ask the kernel once more. If it is not
    /// connected, reads and writes fail at once.
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
    /// cannot be reached; the error says which. `InvalidInput` when there is none.
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

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().local_addr()
    }

    /// The address of the other end.
    ///
    /// # Errors
    ///
    /// When it is not connected any more.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.get_ref().peer_addr()
    }

    /// Whether small segments are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.get_ref().nodelay()
    }

    /// Says whether small segments are sent at once.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.get_ref().set_nodelay(nodelay)
    }
}
