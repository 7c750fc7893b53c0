//! Connections of the Unix domain.

use super::address::{address_of, explain, to_socket2};
use super::fresh::has_nothing_yet;
#[cfg(all(feature = "ucred", target_os = "linux"))]
use super::ucred::UCred;
use crate::net::options::{options, wraps};
use crate::net::stream::stream;
use arc::io::Async;
use arc::task::consume_budget;
use arc::time::sleep;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::time::Duration;

/// The first wait when the listener's queue is full. Each wait doubles the one before.
const WAIT_MIN: Duration = Duration::from_millis(1);

/// The longest wait when the listener's queue is full.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// A connection of the Unix domain.
///
/// The stream reads and writes by tokio's traits and by those of futures-io, by value and by shared
/// reference, so several tasks can use it at once. [`split`](Self::split) and
/// [`into_split`](Self::into_split) separate its directions. Shutting it down as an `AsyncWrite`
/// shuts down the sending direction; dropping it closes the connection.
///
/// The stream dereferences to its [`Async`].
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncWriteExt};
/// use arc_util::net::UnixStream;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (mut left, mut right) = UnixStream::pair()?;
/// left.write_all(b"hello").await?;
/// left.shutdown().await?;
/// let mut text = String::new();
/// right.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # }
/// ```
pub struct UnixStream(Async<net::UnixStream>);

wraps!(UnixStream, net::UnixStream);

impl UnixStream {
    /// Connects to a path. On Linux, a path that begins with a null byte is an abstract name.
    /// While the listener's queue is full, it waits for room.
    ///
    /// # Errors
    ///
    /// Fails when no listener is bound to the path, and when this process may not connect to
    /// it. Fails with `InvalidInput` when the path is empty, contains a null byte, or is too
    /// long (over 107 bytes on Linux). The message of that error contains the path.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Dropping the future abandons the attempt and closes the socket.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let connected = async { Self::connect_addr(&address_of(path)?).await };
        let connected = connected.await;
        connected.map_err(|error| explain("connecting to", path, error))
    }

    /// Connects to an address. See [`connect`](Self::connect).
    ///
    /// # Errors
    ///
    /// Same as `connect`, but no message contains the path. Fails with `InvalidInput` when the
    /// address has no name.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Same as `connect`.
    pub async fn connect_addr(address: &SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        Self::connect_socket(socket, &to_socket2(address)?).await
    }

    /// Connects a socket for streams that is not connected yet.
    pub(super) async fn connect_socket(socket: Socket, address: &SockAddr) -> io::Result<Self> {
        socket.set_nonblocking(true)?;

        let mut wait = WAIT_MIN;
        loop {
            match socket.connect(address) {
                Ok(()) => {
                    let stream = Self::from_std(socket.into());
                    // The connection is there at once: a loop of connects must still yield.
                    consume_budget().await;
                    return stream;
                }
                // The queue is full, and the kernel reports no event when it has room again.
                Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(wait).await,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }

            wait = WAIT_MAX.min(wait * 2);
        }
    }

    /// Creates two streams without names, connected to each other.
    ///
    /// # Errors
    ///
    /// Fails when the process or the system has no descriptors left.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn pair() -> io::Result<(Self, Self)> {
        let (left, right) = net::UnixStream::pair()?;
        let pair = (Self::from_std(left)?, Self::from_std(right)?);
        has_nothing_yet(&pair.0);
        has_nothing_yet(&pair.1);
        Ok(pair)
    }

    /// Returns the identity of the process at the other end.
    ///
    /// # Errors
    ///
    /// Any error of the system call.
    #[cfg(all(feature = "ucred", target_os = "linux"))]
    pub fn peer_cred(&self) -> io::Result<UCred> {
        UCred::of(&self.0)
    }
}

stream!(UnixStream, net::UnixStream);

options! { UnixStream, |this| this.0.get_ref();
    /// Returns the address of this end.
    fn local_addr = local_addr() -> SocketAddr;
    /// Returns the address of the other end.
    fn peer_addr = peer_addr() -> SocketAddr;
    /// Returns the error that the socket holds, and clears it.
    fn take_error = take_error() -> Option<io::Error>;
}
