//! Connections of the Unix domain.

use super::address::{address_of, explain, to_socket2};
#[cfg(all(feature = "ucred", target_os = "linux"))]
use super::ucred::UCred;
use crate::forward::{reads_by, writes_by};
#[cfg(feature = "bytes")]
use crate::net::buffers::{READ_MAX, append};
use crate::net::options::{options, wraps};
use crate::net::split::sealed;
use arc::io::{Async, Direction};
use arc::task::consume_budget;
use arc::time::sleep;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

/// The first wait when the listener's queue is full. Each wait doubles the one before.
const WAIT_MIN: Duration = Duration::from_millis(1);

/// The longest wait when the listener's queue is full.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// A connection of the Unix domain.
///
/// The stream can be read and written by value and by shared reference, so several tasks can
/// use it at once. [`split`](Self::split) and [`into_split`](crate::net::IntoSplit::into_split)
/// separate the two directions. Closing the stream as an `AsyncWrite` shuts down the sending
/// direction; dropping it closes the connection.
///
/// The stream dereferences to its [`Async`].
///
/// # Examples
///
/// ```
/// use arc::io::{AsyncReadExt, AsyncWriteExt};
/// use arc_util::net::UnixStream;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (mut left, mut right) = UnixStream::pair()?;
/// left.write_all(b"hello").await?;
/// left.close().await?;
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
        Ok((Self::from_std(left)?, Self::from_std(right)?))
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

    /// Splits the stream into its two directions, for use in one task. Each half is a reference
    /// to the whole stream.
    pub fn split(&mut self) -> (&Self, &Self) {
        (self, self)
    }

    /// Reads available data without waiting.
    ///
    /// # Errors
    ///
    /// Fails with `WouldBlock` when there is no data, with any error of the system call, and
    /// when the runtime has ended.
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_with(Direction::Read, |mut stream| stream.read(buffer))
    }

    /// Reads available data to the end of a buffer, without waiting.
    ///
    /// It reads into memory of its own first, and at most 8 KiB.
    ///
    /// # Errors
    ///
    /// Same as [`try_read`](Self::try_read).
    #[cfg(feature = "bytes")]
    pub fn try_read_buf<B: bytes::BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
        append(buffer, READ_MAX, |bytes| Ok((self.try_read(bytes)?, ()))).map(|(length, ())| length)
    }

    /// Reads available data into several buffers, without waiting.
    ///
    /// # Errors
    ///
    /// Same as [`try_read`](Self::try_read).
    pub fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let read = |mut stream: &net::UnixStream| stream.read_vectored(buffers);
        self.0.try_with(Direction::Read, read)
    }

    /// Writes as much as there is room for, without waiting.
    ///
    /// # Errors
    ///
    /// Fails with `WouldBlock` when there is no room, with any error of the system call, and
    /// when the runtime has ended.
    pub fn try_write(&self, buffer: &[u8]) -> io::Result<usize> {
        self.0.try_with(Direction::Write, |mut stream| stream.write(buffer))
    }

    /// Writes from several buffers as much as there is room for, without waiting.
    ///
    /// # Errors
    ///
    /// Same as [`try_write`](Self::try_write).
    pub fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let write = |mut stream: &net::UnixStream| stream.write_vectored(buffers);
        self.0.try_with(Direction::Write, write)
    }
}

options! { UnixStream, |this| this.0.get_ref();
    /// Returns the address of this end.
    fn local_addr = local_addr() -> SocketAddr;
    /// Returns the address of the other end.
    fn peer_addr = peer_addr() -> SocketAddr;
    /// Returns the error that the socket holds, and clears it.
    fn take_error = take_error() -> Option<io::Error>;
}

impl sealed::Stream for UnixStream {
    fn end_sending(&self) {
        let _ = self.0.get_ref().shutdown(Shutdown::Write);
    }
}

reads_by! { [] UnixStream, |this| Pin::new(&mut &this.0) }
reads_by! { [] &UnixStream, |this| Pin::new(&mut &this.0) }
// Closing it shuts down the sending direction.
writes_by! { [] UnixStream, |this| Pin::new(&mut &this.0) }
writes_by! { [] &UnixStream, |this| Pin::new(&mut &this.0) }
