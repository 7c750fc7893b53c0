//! Datagram sockets of the Unix domain.

use super::address::{address_of, explain};
#[cfg(feature = "bytes")]
use crate::net::buffers::{DATAGRAM_MAX, append};
use crate::net::options::{options, wraps};
use arc::io::{Async, Direction};
use arc::time::sleep;
#[cfg(feature = "bytes")]
use bytes::BufMut;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The first wait when the receiver's queue is full. Each wait doubles the one before.
const WAIT_MIN: Duration = Duration::from_millis(1);

/// The longest wait when the receiver's queue is full.
const WAIT_MAX: Duration = Duration::from_millis(10);

/// A datagram socket of the Unix domain.
///
/// Datagrams are not lost and arrive in order: a sender waits while the receiver's queue is
/// full. (On macOS and the BSDs the sender does not wait: sending fails then.)
///
/// The methods take a shared reference, so several tasks can use one socket at once. The path
/// of the socket stays when the socket is dropped. The socket dereferences to its [`Async`].
///
/// # Examples
///
/// ```
/// use arc_util::net::UnixDatagram;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (left, right) = UnixDatagram::pair()?;
/// left.send(b"ping").await?;
/// let mut buffer = [0; 64];
/// let length = right.recv(&mut buffer).await?;
/// assert_eq!(&buffer[..length], b"ping");
/// # Ok(())
/// # }
/// ```
pub struct UnixDatagram(Async<net::UnixDatagram>);

wraps!(UnixDatagram, net::UnixDatagram);

impl UnixDatagram {
    /// Binds to a path. On Linux, a path that begins with a null byte is an abstract name.
    ///
    /// # Errors
    ///
    /// Fails when the path exists, and when its directory does not. Fails with `InvalidInput`
    /// when the path is empty, has a null byte inside, or is too long (over 107 bytes on Linux).
    /// The message of that error contains the path.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let bound = address_of(path).and_then(|address| net::UnixDatagram::bind_addr(&address));
        Self::from_std(bound.map_err(|error| explain("binding to", path, error))?)
    }

    /// Creates a socket without a name. It can send, and [`connect`](Self::connect) gives it a
    /// peer, but no one can answer it.
    ///
    /// # Errors
    ///
    /// Fails when the process or the system has no descriptors left.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn unbound() -> io::Result<Self> {
        Self::from_std(net::UnixDatagram::unbound()?)
    }

    /// Creates two sockets without names, connected to each other.
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
        let (left, right) = net::UnixDatagram::pair()?;
        Ok((Self::from_std(left)?, Self::from_std(right)?))
    }

    /// Makes the socket at a path, or with an abstract name, the only peer of this one.
    ///
    /// # Errors
    ///
    /// Fails when there is no such socket, and when it has another peer. Fails with
    /// `InvalidInput` as [`bind`](Self::bind) does.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let address = address_of(path);
        let connected = address.and_then(|address| self.0.get_ref().connect_addr(&address));
        connected.map_err(|error| explain("connecting to", path, error))
    }

    /// Sends a datagram to the peer. Returns the number of bytes sent, which is the whole
    /// datagram.
    ///
    /// # Errors
    ///
    /// Fails when there is no peer, when the datagram is too long, and when the runtime has
    /// ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: if the future is dropped before it is ready, the datagram was not sent.
    pub async fn send(&self, datagram: &[u8]) -> io::Result<usize> {
        self.0.write_with(|socket| socket.send(datagram)).await
    }

    /// Sends a datagram to a path, or to an abstract name.
    ///
    /// While the receiver's queue is full, it tries again after a wait of at most 10 ms. It
    /// cannot wait for an event: the kernel reports a socket that is not
    /// [connected](Self::connect) as writable even when a write would block.
    ///
    /// # Errors
    ///
    /// Fails when no socket receives at the path, when the datagram is too long, when the path
    /// is not valid (see [`bind`](Self::bind)), and when the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: if the future is dropped before it is ready, the datagram was not sent.
    pub async fn send_to(&self, datagram: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        let address = address_of(path.as_ref())?;
        let mut wait = WAIT_MIN;
        loop {
            self.0.writable().await?;
            match self.0.get_ref().send_to_addr(datagram, &address) {
                // The `Async` still counts as writable, so `writable` would not wait.
                Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(wait).await,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                sent => return sent,
            }

            wait = WAIT_MAX.min(wait * 2);
        }
    }

    /// Receives a datagram into a buffer and returns its length. The sender is the peer, or any
    /// sender if the socket has no peer. Bytes that do not fit into the buffer are lost.
    ///
    /// # Errors
    ///
    /// Any error of the system call. Fails when the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no datagram is lost.
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_with(|socket| socket.recv(buffer)).await
    }

    /// Receives a datagram like [`recv`](Self::recv), and also returns the address of the
    /// sender, which may have no name.
    ///
    /// # Errors
    ///
    /// Same as `recv`.
    ///
    /// # Cancellation
    ///
    /// Same as `recv`.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read_with(|socket| socket.recv_from(buffer)).await
    }

    /// Sends a datagram to the peer without waiting.
    ///
    /// # Errors
    ///
    /// Fails with `WouldBlock` when there is no room. Otherwise the same as
    /// [`send`](Self::send).
    pub fn try_send(&self, datagram: &[u8]) -> io::Result<usize> {
        self.0.try_with(Direction::Write, |socket| socket.send(datagram))
    }

    /// Sends a datagram to a path, or to an abstract name, without waiting.
    ///
    /// # Errors
    ///
    /// Fails with `WouldBlock` when there is no room. Otherwise the same as
    /// [`send_to`](Self::send_to).
    pub fn try_send_to(&self, datagram: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        let address = address_of(path.as_ref())?;
        // Do not ask for readiness: the receiver may have room without an event for this socket.
        self.0.get_ref().send_to_addr(datagram, &address)
    }

    /// Receives a datagram without waiting.
    ///
    /// # Errors
    ///
    /// Fails with `WouldBlock` when there is no datagram. Otherwise the same as
    /// [`recv`](Self::recv).
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_with(Direction::Read, |socket| socket.recv(buffer))
    }

    /// Receives a datagram like [`try_recv`](Self::try_recv), and also returns the address of
    /// the sender.
    ///
    /// # Errors
    ///
    /// Same as `try_recv`.
    pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.try_with(Direction::Read, |socket| socket.recv_from(buffer))
    }
}

/// For futures that are written by hand. tokio's polls for receiving take a `ReadBuf`.
impl UnixDatagram {
    /// Polls until a datagram has been sent to the peer. See [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// Same as `send`.
    pub fn poll_send(&self, context: &mut Context<'_>, datagram: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_transfer(Direction::Write, context, 0, |socket| socket.send(datagram))
    }

    /// Polls for a datagram, and returns its length. See [`recv`](Self::recv).
    ///
    /// # Errors
    ///
    /// Same as `recv`.
    pub fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_transfer(Direction::Read, context, 0, |socket| socket.recv(buffer))
    }

    /// Polls for a datagram, and returns its length and its sender. See
    /// [`recv_from`](Self::recv_from).
    ///
    /// # Errors
    ///
    /// Same as `recv_from`.
    pub fn poll_recv_from(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut sender = None;
        let received = self.poll_transfer(Direction::Read, context, 0, |socket| {
            let (length, from) = socket.recv_from(buffer)?;
            sender = Some(from);
            Ok(length)
        });
        let length = ready!(received)?;
        Poll::Ready(Ok((length, sender.expect("a datagram has a sender"))))
    }
}

/// Receiving to the end of a buffer, such as a `Vec<u8>` or a `BytesMut`.
///
/// A datagram is received into the room that the buffer has, and cut if it is longer: so make room
/// first. (A vector without room gets some, but little.) It is received into memory of its own
/// first.
#[cfg(feature = "bytes")]
impl UnixDatagram {
    /// Receives a datagram to the end of a buffer, and returns its length. See
    /// [`recv`](Self::recv).
    ///
    /// # Errors
    ///
    /// Same as `recv`.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no datagram is lost.
    pub async fn recv_buf<B: BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
        let receive = |socket: &net::UnixDatagram| {
            append(buffer, DATAGRAM_MAX, |bytes| Ok((socket.recv(bytes)?, ())))
        };
        self.0.read_with(receive).await.map(|(length, ())| length)
    }

    /// Receives a datagram to the end of a buffer, and returns its length and its sender. See
    /// [`recv_from`](Self::recv_from).
    ///
    /// # Errors
    ///
    /// Same as `recv_from`.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no datagram is lost.
    pub async fn recv_buf_from<B: BufMut>(
        &self,
        buffer: &mut B,
    ) -> io::Result<(usize, SocketAddr)> {
        let receive = |socket: &net::UnixDatagram| {
            append(buffer, DATAGRAM_MAX, |bytes| socket.recv_from(bytes))
        };
        self.0.read_with(receive).await
    }

    /// Receives a datagram to the end of a buffer without waiting. See
    /// [`try_recv`](Self::try_recv).
    ///
    /// # Errors
    ///
    /// Same as `try_recv`.
    pub fn try_recv_buf<B: BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
        append(buffer, DATAGRAM_MAX, |bytes| Ok((self.try_recv(bytes)?, ())))
            .map(|(length, ())| length)
    }

    /// Receives a datagram to the end of a buffer without waiting, and returns its length and its
    /// sender. See [`try_recv_from`](Self::try_recv_from).
    ///
    /// # Errors
    ///
    /// Same as `try_recv_from`.
    pub fn try_recv_buf_from<B: BufMut>(&self, buffer: &mut B) -> io::Result<(usize, SocketAddr)> {
        append(buffer, DATAGRAM_MAX, |bytes| self.try_recv_from(bytes))
    }
}

options! { UnixDatagram, |this| this.0.get_ref();
    /// Returns the address that the socket is bound to.
    fn local_addr = local_addr() -> SocketAddr;
    /// Returns the address of the peer. Fails when there is no peer.
    fn peer_addr = peer_addr() -> SocketAddr;
    /// Returns the error that the socket holds, and clears it.
    fn take_error = take_error() -> Option<io::Error>;
    /// Shuts down receiving, sending, or both.
    fn shutdown = shutdown(how: Shutdown) -> ();
}
