//! Connections of the Unix domain.

use super::{SocketAddr, address_of, explain, to_socket2};
use crate::net::options::{options, wraps};
use crate::net::split::sealed;
use arc::io::{Async, AsyncRead, AsyncWrite};
use arc::task::consume_budget;
use arc::time::sleep;
use socket2::{Domain, Socket, Type};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// How long the first wait is when a listener's queue is full, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// A connection of the Unix domain.
///
/// It reads and writes by value and by shared reference, so several tasks can use it at
/// once; [`split`](Self::split) and [`into_split`](crate::net::IntoSplit::into_split)
/// give the two directions apart. Closing it as an `AsyncWrite` shuts down the sending
/// direction; dropping it closes the connection.
///
/// Dereferences to its [`Async`].
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
    /// Connects to a path, or on Linux, after a null byte, to an abstract name. When the
    /// listener's queue is full it waits until there is room.
    ///
    /// # Errors
    ///
    /// When nobody listens there, or this process may not connect; `InvalidInput` when the
    /// path is empty, has a null byte inside, or is too long (over 107 bytes on Linux). The
    /// error says where.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// The attempt is given up, and its socket closed.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let connected = async { Self::connect_addr(&address_of(path)?).await };
        let connected = connected.await;
        connected.map_err(|error| explain("connecting to", path, &error))
    }

    /// Connects to an address. See [`connect`](Self::connect).
    ///
    /// # Errors
    ///
    /// As `connect`; or it is the address of a socket without a name.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// As `connect`.
    pub async fn connect_addr(address: &SocketAddr) -> io::Result<Self> {
        let address = to_socket2(address)?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        let mut wait = WAITS.0;
        loop {
            match socket.connect(&address) {
                Ok(()) => {
                    let stream = Self::from_std(socket.into());
                    consume_budget().await;
                    return stream;
                }
                // The queue is full, and no event tells when it is not any more.
                Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(wait).await,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            wait = WAITS.1.min(wait * 2);
        }
    }

    /// Two streams without names, connected to each other.
    ///
    /// # Errors
    ///
    /// When the system has no descriptors left.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn pair() -> io::Result<(Self, Self)> {
        let (left, right) = net::UnixStream::pair()?;
        Ok((Self::from_std(left)?, Self::from_std(right)?))
    }

    /// Who is at the other end.
    ///
    /// # Errors
    ///
    /// What the system says.
    #[cfg(target_os = "linux")]
    pub fn peer_cred(&self) -> io::Result<super::UCred> {
        super::UCred::of(&self.0)
    }

    /// The two directions apart, for one task; each is the stream itself, lent.
    pub fn split(&mut self) -> (&Self, &Self) {
        (self, self)
    }

    /// Reads what there is, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is nothing; what the system says; or the runtime has
    /// ended.
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read_with(|mut stream| stream.read(buffer))
    }

    /// Reads what there is into several buffers. See [`try_read`](Self::try_read).
    ///
    /// # Errors
    ///
    /// As `try_read`.
    pub fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let read = |mut stream: &net::UnixStream| stream.read_vectored(buffers);
        self.0.try_read_with(read)
    }

    /// Writes what there is room for, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room; what the system says; or the runtime has
    /// ended.
    pub fn try_write(&self, buffer: &[u8]) -> io::Result<usize> {
        self.0.try_write_with(|mut stream| stream.write(buffer))
    }

    /// Writes what there is room for out of several buffers. See
    /// [`try_write`](Self::try_write).
    ///
    /// # Errors
    ///
    /// As `try_write`.
    pub fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let write = |mut stream: &net::UnixStream| stream.write_vectored(buffers);
        self.0.try_write_with(write)
    }
}

options! { UnixStream, |this| this.0.get_ref();
    /// The address of this end.
    fn local_addr = local_addr() -> SocketAddr;
    /// The address of the other end.
    fn peer_addr = peer_addr() -> SocketAddr;
    /// The error that the socket holds, which is cleared.
    fn take_error = take_error() -> Option<io::Error>;
    /// Ends one direction of the connection, or both. The peer sees the end of the
    /// stream when the sending direction ends.
    fn shutdown = shutdown(how: Shutdown) -> ();
}

impl sealed::Stream for UnixStream {
    fn end_sending(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

/// Reading and writing, by the `Async` inside.
macro_rules! implement {
    ($type:ty) => {
        impl AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut &self.0).poll_read(context, buffer)
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffers: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut &self.0).poll_read_vectored(context, buffers)
            }
        }

        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &[u8],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut &self.0).poll_write(context, buffer)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffers: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut &self.0).poll_write_vectored(context, buffers)
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                Pin::new(&mut &self.0).poll_flush(context)
            }

            /// Shuts the sending direction down.
            fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                Pin::new(&mut &self.0).poll_close(context)
            }
        }
    };
}

implement!(UnixStream);
implement!(&UnixStream);
