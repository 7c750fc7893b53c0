//! A Unix socket before it is bound, listens or connects.

use super::address::{address_of, explain, to_socket2};
use super::datagram::UnixDatagram;
use super::listener::UnixListener;
use super::stream::UnixStream;
use crate::net::options::{has_descriptor, is_descriptor};
use socket2::{Domain, Socket, Type};
use std::fmt;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// A Unix socket that neither listens nor is connected yet. Names are tokio's.
///
/// # Examples
///
/// ```
/// use arc_util::net::UnixSocket;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("arc-unix-socket-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("socket");
/// let socket = UnixSocket::new_stream()?;
/// socket.bind(&path)?;
/// let listener = socket.listen(16)?;
///
/// let _client = UnixSocket::new_stream()?.connect(&path).await?;
/// let (_server, address) = listener.accept().await?;
/// assert!(address.is_unnamed());
/// # std::fs::remove_dir_all(folder)
/// # }
/// ```
pub struct UnixSocket(Socket);

impl UnixSocket {
    /// Creates a socket for streams.
    ///
    /// # Errors
    ///
    /// Fails when the process or the system has no descriptors left.
    pub fn new_stream() -> Result<Self> {
        Socket::new(Domain::UNIX, Type::STREAM, None).map(Self)
    }

    /// Creates a socket for datagrams.
    ///
    /// # Errors
    ///
    /// Fails when the process or the system has no descriptors left.
    pub fn new_datagram() -> Result<Self> {
        Socket::new(Domain::UNIX, Type::DGRAM, None).map(Self)
    }

    /// Binds the socket to a path. On Linux, a path that begins with a null byte is an abstract
    /// name.
    ///
    /// # Errors
    ///
    /// Those of [`UnixListener::bind`].
    pub fn bind(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let address = address_of(path).and_then(|address| to_socket2(&address));
        let bound = address.and_then(|address| self.0.bind(&address));
        bound.map_err(|error| explain("binding to", path, error))
    }

    /// Listens for connections, of which `backlog` can wait in the kernel to be accepted.
    ///
    /// # Errors
    ///
    /// Fails when the socket is not bound, when it is one for datagrams, and when the runtime has
    /// ended.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> Result<UnixListener> {
        self.check(Type::STREAM, "a socket for datagrams cannot listen")?;
        self.0.listen(backlog.try_into().unwrap_or(i32::MAX))?;
        UnixListener::from_std(self.0.into())
    }

    /// Connects to a path. While the listener's queue is full, it waits for room.
    ///
    /// # Errors
    ///
    /// Those of [`UnixStream::connect`]. Also fails when the socket is one for datagrams.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Dropping the future abandons the attempt and closes the socket.
    pub async fn connect(self, path: impl AsRef<Path>) -> Result<UnixStream> {
        self.check(Type::STREAM, "a socket for datagrams becomes one by `datagram`")?;
        let path = path.as_ref();
        let address = address_of(path).and_then(|address| to_socket2(&address));
        let connected = match address {
            Ok(address) => UnixStream::connect_socket(self.0, &address).await,
            Err(error) => Err(error),
        };
        connected.map_err(|error| explain("connecting to", path, error))
    }

    /// Converts the socket to one for datagrams.
    ///
    /// # Errors
    ///
    /// Fails when the socket is one for streams, and when the runtime has ended.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn datagram(self) -> Result<UnixDatagram> {
        self.check(Type::DGRAM, "a socket for streams cannot send datagrams")?;
        UnixDatagram::from_std(self.0.into())
    }

    fn check(&self, expected: Type, mistake: &str) -> Result<()> {
        if self.0.r#type()? == expected {
            return Ok(());
        }
        Err(Error::new(ErrorKind::InvalidInput, mistake))
    }
}

impl fmt::Debug for UnixSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "UnixSocket({:?})", self.0)
    }
}

has_descriptor!(UnixSocket);
is_descriptor!(UnixSocket);
