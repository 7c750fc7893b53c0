//! TCP sockets.
//!
//! Each socket is an [`Async`] around std's. For what std's socket can do and is not here, use
//! `get_ref`. For all other options, `socket2::SockRef::from` takes the socket. Names, tokio's
//! traits and tokio's methods are in the crate `arc-util`, whose sockets stand on these.

use crate::io::Async;
#[cfg(unix)]
use rustix::io::Errno;
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{self, ErrorKind};
pub use std::net::SocketAddr;

/// How many connections wait in the kernel to be accepted. In std it is 128.
const BACKLOG: i32 = 1024;

/// How `accept` says that a connection was broken before it was accepted: on Unix, on Windows, and
/// under wine.
const BROKEN: [ErrorKind; 3] =
    [ErrorKind::ConnectionAborted, ErrorKind::ConnectionReset, ErrorKind::NotConnected];

/// Accepts TCP connections.
///
/// # Examples
///
/// ```
/// use arc::net::{TcpListener, TcpStream};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind(([127, 0, 0, 1], 0)).await?;
/// let client = TcpStream::connect(listener.get_ref().local_addr()?).await?;
/// let (server, from) = listener.accept().await?;
/// assert_eq!(from, client.get_ref().local_addr()?);
/// assert_eq!(server.get_ref().local_addr()?, client.get_ref().peer_addr()?);
/// # Ok(())
/// # }
/// ```
pub type TcpListener = Async<std::net::TcpListener>;

impl TcpListener {
    /// Listens on an address. Port 0 stands for any free port: `get_ref().local_addr()` says which
    /// one it is.
    ///
    /// On Unix the address may be in the TIME_WAIT state (`SO_REUSEADDR`). On Windows that option
    /// is not set, because it would let another process take the port over.
    ///
    /// # Errors
    ///
    /// The system's: the address is in use, or does not belong to this machine. It does not say
    /// which address that is: say so where you print it.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// It does not wait.
    pub async fn bind(address: impl Into<SocketAddr>) -> io::Result<Self> {
        // std sets SO_REUSEADDR on Unix.
        let listener = std::net::TcpListener::bind(address.into())?;
        SockRef::from(&listener).listen(BACKLOG)?;
        Self::new(listener)
    }

    /// Waits for a connection.
    ///
    /// A connection that was broken before it was accepted is skipped silently.
    ///
    /// # Errors
    ///
    /// * When there are no descriptors or no memory left. The connection waits in the kernel, and
    ///   the listener stays ready: a loop that goes on must pause, or it takes a core. (arc-util's
    ///   listener pauses.) When the kernel watches as many descriptors as the user may have (on
    ///   Linux `fs.epoll.max_user_watches`), the connection is closed.
    /// * When the system refuses for another reason, for example because the socket is not a
    ///   listener.
    /// * When the runtime has ended. This error is not the system's, and has no number.
    ///
    /// # Panics
    ///
    /// Outside a runtime, when there is a connection or an error. The connection is closed.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no connection is lost.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        loop {
            // The stream is registered at once. If that fails, the connection is closed.
            let accepted = self.read_with(|listener| {
                let (stream, address) = listener.accept()?;
                Ok((TcpStream::from_std(stream)?, address))
            });

            match accepted.await {
                Err(error) if BROKEN.contains(&error.kind()) => {}
                result => return result,
            }
        }
    }
}

/// A TCP connection.
///
/// The stream reads and writes by value and by shared reference. So `(&stream, &stream)` are its
/// two directions apart, and several tasks may share the stream in an [`Arc`](std::sync::Arc).
/// Closing the stream as an `AsyncWrite` shuts down the sending direction. Dropping it closes the
/// connection.
///
/// # Examples
///
/// ```
/// use arc::io::{AsyncReadExt, AsyncWriteExt};
/// use arc::net::{TcpListener, TcpStream};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind(([127, 0, 0, 1], 0)).await?;
/// let mut client = TcpStream::connect(listener.get_ref().local_addr()?).await?;
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
    /// Takes over std's stream, and makes it non-blocking. If it is not connected, reads and writes
    /// fail at once.
    ///
    /// [`Async::new`] also takes std's stream, but does not know that it is TCP. Its reads make one
    /// more system call.
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
        let mut stream = Self::new(stream)?;
        stream.short_means_drained = true;
        Ok(stream)
    }

    /// Connects to an address.
    ///
    /// The system's own timeout is some minutes: put arc-util's `timeout` around this.
    ///
    /// # Errors
    ///
    /// The system's: the address refuses, or cannot be reached. It does not say which address that
    /// is.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: the attempt is given up, and its socket closed.
    pub async fn connect(address: impl Into<SocketAddr>) -> io::Result<Self> {
        let address = address.into();

        // std's own `connect` would wait.
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;

        // It goes on in the background. A connection on this machine may be there at once.
        match socket.connect(&address.into()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            #[cfg(unix)]
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INPROGRESS) => {}
            result => result?,
        }

        // The connection is there, or has failed, once the socket is writable. An event may
        // come before that: then there is neither an error nor a peer.
        let connecting = Self::from_std(socket.into())?;
        let outcome = |stream: &std::net::TcpStream| {
            stream.take_error()?.map_or(Ok(()), Err)?;
            stream.peer_addr().map_err(|_| ErrorKind::WouldBlock.into())
        };
        connecting.write_with(outcome).await.map(|_| connecting)
    }
}
