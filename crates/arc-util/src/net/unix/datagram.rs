//! Datagram sockets of the Unix domain.

use super::address::{address_of, explain};
use super::fresh::has_nothing_yet;
use crate::net::buffers::append;
use crate::net::datagrams::datagrams;
use crate::net::options::{options, wraps};
use crate::net::ready::readiness;
use arc::io::{Async, Direction};
use arc::time::sleep;
use bytes::BufMut;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::ReadBuf;

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

readiness!(UnixDatagram, poll_recv_ready, poll_send_ready);

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
        let pair = (Self::from_std(left)?, Self::from_std(right)?);
        has_nothing_yet(&pair.0);
        has_nothing_yet(&pair.1);
        Ok(pair)
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

    /// Polls until a datagram has been sent to a path, or to an abstract name.
    ///
    /// While the receiver's queue is full, a task of the runtime's wakes the caller after 10 ms:
    /// there is no event, as [`send_to`](Self::send_to) says.
    ///
    /// # Errors
    ///
    /// As `send_to`.
    ///
    /// # Panics
    ///
    /// Outside a runtime, if the receiver's queue is full.
    #[track_caller]
    pub fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        datagram: &[u8],
        path: impl AsRef<Path>,
    ) -> Poll<io::Result<usize>> {
        let address = address_of(path.as_ref())?;
        loop {
            ready!(self.poll_send_ready(context))?;
            match self.0.get_ref().send_to_addr(datagram, &address) {
                // Between two polls there is no place for a timer but in a task.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let waker = context.waker().clone();
                    arc::spawn(async move {
                        sleep(WAIT_MAX).await;
                        waker.wake();
                    });
                    return Poll::Pending;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                sent => return Poll::Ready(sent),
            }
        }
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
}

// What the sender's kernel takes at once is a setting, of which there is no upper limit.
datagrams!(UnixDatagram, net::UnixDatagram, SocketAddr, usize::MAX);

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
