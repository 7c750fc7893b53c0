//! UDP sockets.

use super::buffers::{UDP_MAX, append};
use super::datagrams::datagrams;
use super::names::{ToSocketAddrs, first, lookup_host, no_address};
use super::options::{hops as checked_hops, options, packet_options, wraps};
use crate::net::ready::readiness;
use arc::io::{Async, Direction};
use arc::net::SocketAddr;
use bytes::BufMut;
use socket2::SockRef;
use std::future::ready;
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr};
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;

/// A UDP socket, which sends and receives datagrams.
///
/// Its methods take a shared reference, so several tasks can use one socket at once. After
/// [`connect`](Self::connect) the socket has one peer, and [`send`](Self::send) and
/// [`recv`](Self::recv) work with it. A datagram that is longer than the buffer is cut when it
/// is received; on Windows this is an error.
///
/// The socket dereferences to its [`Async`].
///
/// # Examples
///
/// ```
/// use arc_util::net::UdpSocket;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let server = UdpSocket::bind("127.0.0.1:0").await?;
/// let client = UdpSocket::bind("127.0.0.1:0").await?;
/// client.connect(server.local_addr()?).await?;
/// client.send(b"ping").await?;
/// let mut buffer = [0; 1500];
/// let (length, from) = server.recv_from(&mut buffer).await?;
/// server.send_to(&buffer[..length], from).await?;
/// assert_eq!(client.recv(&mut buffer).await?, 4);
/// # Ok(())
/// # }
/// ```
pub struct UdpSocket(Async<net::UdpSocket>);

wraps!(UdpSocket, net::UdpSocket);

readiness!(UdpSocket, poll_recv_ready, poll_send_ready);

impl UdpSocket {
    /// Binds to an address, or to the first of several addresses that can be bound. With port 0
    /// the system chooses a free port, which [`local_addr`](Self::local_addr) returns.
    ///
    /// # Errors
    ///
    /// Fails when the address is in use or is not an address of this machine, and when its name
    /// is not known.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves nothing behind, except that a name lookup that has begun runs
    /// to its end.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let bind = |address| net::UdpSocket::bind(address).and_then(Self::from_std);
        first(address, |address| ready(bind(address))).await
    }

    /// Makes an address the socket's only peer, or the first of several addresses that can be.
    /// Replaces the peer if there is one. Sends nothing.
    ///
    /// # Errors
    ///
    /// Fails when the name is not known, and when the system has no route to the address.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves nothing behind, except that a name lookup that has begun runs
    /// to its end.
    pub async fn connect(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        first(address, |address| ready(self.0.get_ref().connect(address))).await
    }

    /// Sends a datagram to an address, or to the first of several addresses.
    ///
    /// # Errors
    ///
    /// Fails when the name is not known, when the datagram is too long, when the system has no
    /// route to the address, and when the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: if the future is dropped before it is ready, the datagram was not sent.
    pub async fn send_to(&self, datagram: &[u8], to: impl ToSocketAddrs) -> io::Result<usize> {
        let to = lookup_host(to).await?.next().ok_or_else(no_address)?;
        let send = |socket: &net::UdpSocket| socket.send_to(datagram, to);
        self.0.write_with(send).await
    }

    /// Sends a datagram to an address without waiting. See [`send_to`](Self::send_to).
    ///
    /// # Errors
    ///
    /// Same as `send_to`, and `WouldBlock` when there is no room.
    pub fn try_send_to(&self, datagram: &[u8], to: SocketAddr) -> io::Result<usize> {
        self.0.try_with(Direction::Write, |socket| socket.send_to(datagram, to))
    }

    /// Polls until a datagram has been sent to an address. See [`send_to`](Self::send_to).
    pub fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        datagram: &[u8],
        to: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.poll_transfer(Direction::Write, context, 0, |socket| socket.send_to(datagram, to))
    }
}

/// Looking at the next datagram, which stays and can be received then. Errors and cancellation are
/// those of receiving it: see [`recv`](Self::recv) and the methods beside it.
impl UdpSocket {
    /// Copies the next datagram into a buffer, like [`recv`](Self::recv).
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_with(|socket| socket.peek(buffer)).await
    }

    /// Copies the next datagram into a buffer, like [`recv_from`](Self::recv_from).
    pub async fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read_with(|socket| socket.peek_from(buffer)).await
    }

    /// Waits for a datagram, and returns its sender.
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        self.0.read_with(sender_of_the_next).await
    }

    /// Returns the sender of the next datagram, without waiting.
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.0.try_with(Direction::Read, sender_of_the_next)
    }

    /// Copies the next datagram, like [`try_recv`](Self::try_recv).
    pub fn try_peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_with(Direction::Read, |socket| socket.peek(buffer))
    }

    /// Copies the next datagram, like [`try_recv_from`](Self::try_recv_from).
    pub fn try_peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.try_with(Direction::Read, |socket| socket.peek_from(buffer))
    }

    /// Polls for a datagram, and copies it to the end of a buffer. See [`peek`](Self::peek).
    pub fn poll_peek(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_into(context, buffer, |socket, room| Ok((socket.peek(room)?, ())))
    }

    /// Polls for a datagram, copies it to the end of a buffer, and returns its sender.
    pub fn poll_peek_from(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        self.poll_into(context, buffer, |socket, room| socket.peek_from(room))
    }

    /// Polls for a datagram, and returns its sender. See [`peek_sender`](Self::peek_sender).
    pub fn poll_peek_sender(&self, context: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        // An attempt returns a number of bytes, so the sender goes out by a variable.
        let mut sender = None;
        ready!(self.poll_transfer(Direction::Read, context, 0, |socket| {
            sender = Some(sender_of_the_next(socket)?);
            Ok(0)
        }))?;
        Poll::Ready(Ok(sender.expect("a datagram has a sender")))
    }
}

datagrams!(UdpSocket, net::UdpSocket, SocketAddr, UDP_MAX);

options! { UdpSocket, |this| this.0.get_ref();
    /// Returns the address that the socket is bound to.
    fn local_addr = local_addr() -> SocketAddr;
    /// Returns the address of the peer. Fails when there is no peer.
    fn peer_addr = peer_addr() -> SocketAddr;
    /// Returns the error that the socket holds, and clears it.
    fn take_error = take_error() -> Option<io::Error>;
    /// Returns whether the socket may send to broadcast addresses (`SO_BROADCAST`).
    fn broadcast = broadcast() -> bool;
    /// Sets whether the socket may send to broadcast addresses.
    fn set_broadcast = set_broadcast(broadcast: bool) -> ();
    /// Returns the time to live of the packets that the socket sends, in hops.
    fn ttl = ttl() -> u32;
    /// Returns whether this machine receives what it sends to a multicast group of IPv4.
    fn multicast_loop_v4 = multicast_loop_v4() -> bool;
    /// Sets whether this machine receives what it sends to a multicast group of IPv4.
    fn set_multicast_loop_v4 = set_multicast_loop_v4(on: bool) -> ();
    /// Returns the time to live of packets to multicast groups of IPv4. The default is 1.
    fn multicast_ttl_v4 = multicast_ttl_v4() -> u32;
    /// Returns whether this machine receives what it sends to a multicast group of IPv6.
    fn multicast_loop_v6 = multicast_loop_v6() -> bool;
    /// Sets whether this machine receives what it sends to a multicast group of IPv6.
    fn set_multicast_loop_v6 = set_multicast_loop_v6(on: bool) -> ();
}

packet_options!(UdpSocket, |this| SockRef::from(&this.0));

/// Returns the sender of the next datagram, which stays.
fn sender_of_the_next(socket: &net::UdpSocket) -> io::Result<SocketAddr> {
    let sender = SockRef::from(socket).peek_sender()?;
    let text = "the sender of a datagram has another kind of address";
    sender.as_socket().ok_or_else(|| io::Error::other(text))
}

/// Times to live.
impl UdpSocket {
    /// Sets the time to live of the packets that the socket sends, in hops.
    ///
    /// # Errors
    ///
    /// Fails with `InvalidInput` when `hops` is not in 1 to 255. Otherwise any error of the
    /// system call.
    pub fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.0.get_ref().set_ttl(checked_hops(hops, 1..=255)?)
    }

    /// Sets the time to live of packets to multicast groups of IPv4, in hops. With 0 they do
    /// not leave this machine.
    ///
    /// # Errors
    ///
    /// Fails with `InvalidInput` when `hops` is more than 255. Otherwise any error of the
    /// system call.
    pub fn set_multicast_ttl_v4(&self, hops: u32) -> io::Result<()> {
        self.0.get_ref().set_multicast_ttl_v4(checked_hops(hops, 0..=255)?)
    }
}

/// Multicast groups. Errors are those of the system calls; see the system's manual on sockets.
impl UdpSocket {
    /// Joins a group of IPv4 on the interface that has the address `interface`. If that is the
    /// unspecified address, the system chooses the interface.
    pub fn join_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.0.get_ref().join_multicast_v4(&group, &interface)
    }

    /// Leaves a group of IPv4.
    pub fn leave_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.0.get_ref().leave_multicast_v4(&group, &interface)
    }

    /// Joins a group of IPv6 on the interface that has the index `interface`. If that is 0, the
    /// system chooses the interface.
    pub fn join_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.0.get_ref().join_multicast_v6(group, interface)
    }

    /// Leaves a group of IPv6.
    pub fn leave_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.0.get_ref().leave_multicast_v6(group, interface)
    }
}
