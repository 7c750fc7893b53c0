//! Datagrams of the Unix domain.

use super::{SocketAddr, address_of, explain};
use crate::net::options::{options, wraps};
use arc::io::Async;
use arc::time::sleep;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::time::Duration;

/// How long the first wait is when a receiver's queue is full, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(10));

/// Sends and receives datagrams in the Unix domain. None is lost, and they come in their
/// order: who sends waits when the receiver's queue is full. (macOS and the BSDs do not
/// wait: there sending is an error then.)
///
/// By shared reference, so several tasks can use it at once. The path of the socket
/// stays when it is dropped. Dereferences to its [`Async`].
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
    /// Binds to a path, or on Linux, after a null byte, to an abstract name.
    ///
    /// # Errors
    ///
    /// When the path exists, or its folder does not; `InvalidInput` when it is empty, has a
    /// null byte inside, or is too long (over 107 bytes on Linux). The error says which path.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let bound = address_of(path).and_then(|address| net::UnixDatagram::bind_addr(&address));
        Self::from_std(bound.map_err(|error| explain("binding to", path, &error))?)
    }

    /// A socket without a name: it can send, and after [`connect`](Self::connect) has a
    /// peer, but nobody can answer.
    ///
    /// # Errors
    ///
    /// When the system has no descriptors left.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn unbound() -> io::Result<Self> {
        Self::from_std(net::UnixDatagram::unbound()?)
    }

    /// Two sockets without names, connected to each other.
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
        let (left, right) = net::UnixDatagram::pair()?;
        Ok((Self::from_std(left)?, Self::from_std(right)?))
    }

    /// Makes the socket at a path, or with an abstract name, the only peer.
    ///
    /// # Errors
    ///
    /// When there is none, or it has another peer; `InvalidInput` as for
    /// [`bind`](Self::bind). The error says which path.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let address = address_of(path);
        let connected = address.and_then(|address| self.0.get_ref().connect_addr(&address));
        connected.map_err(|error| explain("connecting to", path, &error))
    }

    /// Sends a datagram to the peer; gives how many bytes were sent, which is all.
    ///
    /// # Errors
    ///
    /// When there is no peer, or the datagram is too long; or the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: then it was not sent.
    pub async fn send(&self, datagram: &[u8]) -> io::Result<usize> {
        self.0.write_with(|socket| socket.send(datagram)).await
    }

    /// Sends a datagram to a path, or to an abstract name. While the receiver's queue is
    /// full it tries again every 10 ms at least: to a socket that is not
    /// [connected](Self::connect) the kernel says that it can write when it cannot.
    ///
    /// # Errors
    ///
    /// When nobody receives there, the datagram is too long, or the path is none, as for
    /// [`bind`](Self::bind); or the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: then it was not sent.
    pub async fn send_to(&self, datagram: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        let address = address_of(path.as_ref())?;
        let mut wait = WAITS.0;
        loop {
            self.0.writable().await?;
            match self.0.get_ref().send_to_addr(datagram, &address) {
                // It stays writable in the eyes of the `Async`, too.
                Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(wait).await,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                sent => return sent,
            }
            wait = WAITS.1.min(wait * 2);
        }
    }

    /// Receives a datagram from the peer, or whoever sends if there is none; gives its
    /// length. What does not fit into the buffer is lost.
    ///
    /// # Errors
    ///
    /// What the system says; or the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no datagram is lost.
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_with(|socket| socket.recv(buffer)).await
    }

    /// As [`recv`](Self::recv), with the sender, which may be without a name.
    ///
    /// # Errors
    ///
    /// As `recv`.
    ///
    /// # Cancellation
    ///
    /// As `recv`.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read_with(|socket| socket.recv_from(buffer)).await
    }

    /// Sends a datagram to the peer, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room; else as [`send`](Self::send).
    pub fn try_send(&self, datagram: &[u8]) -> io::Result<usize> {
        self.0.try_write_with(|socket| socket.send(datagram))
    }

    /// Sends a datagram to a path, or to an abstract name, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room; else as [`send_to`](Self::send_to).
    pub fn try_send_to(&self, datagram: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        let address = address_of(path.as_ref())?;
        // The receiver may have room without this socket's having become writable.
        self.0.get_ref().send_to_addr(datagram, &address)
    }

    /// Receives a datagram, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is none; else as [`recv`](Self::recv).
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read_with(|socket| socket.recv(buffer))
    }

    /// As [`try_recv`](Self::try_recv), with the sender.
    ///
    /// # Errors
    ///
    /// As `try_recv`.
    pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.try_read_with(|socket| socket.recv_from(buffer))
    }
}

options! { UnixDatagram, |this| this.0.get_ref();
    /// The address it is bound to.
    fn local_addr = local_addr() -> SocketAddr;
    /// The peer; an error when there is none.
    fn peer_addr = peer_addr() -> SocketAddr;
    /// The error that the socket holds, which is cleared.
    fn take_error = take_error() -> Option<io::Error>;
    /// Ends receiving, sending, or both.
    fn shutdown = shutdown(how: Shutdown) -> ();
}
