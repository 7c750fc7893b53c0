//! Datagrams over IP.

use super::connect::{first, no_address};
use super::options::{hops as checked_hops, options, wraps};
use arc::io::Async;
use arc::net::{SocketAddr, ToSocketAddrs, lookup_host};
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr};

/// Sends and receives datagrams over UDP.
///
/// By shared reference, so several tasks can use it at once. After
/// [`connect`](Self::connect) it has one peer, and [`send`](Self::send) and
/// [`recv`](Self::recv) work. A datagram that is longer than the buffer it is received
/// into is cut (on Windows it is an error).
///
/// Dereferences to its [`Async`].
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

impl UdpSocket {
    /// Binds to an address, or the first of several that can be had. Port 0 is any free
    /// one, which [`local_addr`](Self::local_addr) tells.
    ///
    /// # Errors
    ///
    /// When the address is in use or not this machine's, or its name is not known; the
    /// error says which address.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Nothing is left behind but a name lookup that goes on unheard.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, "binding to", |address| Self::from_std(net::UdpSocket::bind(address)?)).await
    }

    /// Makes an address the only peer, or the first of several that can be; again, if
    /// there was one. Nothing is sent.
    ///
    /// # Errors
    ///
    /// When the name is not known, or the system has no way there.
    ///
    /// # Cancellation
    ///
    /// Nothing is left behind but a name lookup that goes on unheard.
    pub async fn connect(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        let connect = |address| self.0.get_ref().connect(address);
        first(address, "connecting to", connect).await
    }

    /// Sends a datagram to the peer; gives how many bytes were sent, which is all.
    ///
    /// # Errors
    ///
    /// When there is no peer, or the datagram is too long; or one sent before was
    /// refused; or the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: then it was not sent.
    pub async fn send(&self, datagram: &[u8]) -> io::Result<usize> {
        self.0.write_with(|socket| socket.send(datagram)).await
    }

    /// Receives a datagram from the peer, or whoever sends if there is none, into a buffer;
    /// gives its length.
    ///
    /// # Errors
    ///
    /// When a datagram that was sent before was refused; or the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no datagram is lost.
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_with(|socket| socket.recv(buffer)).await
    }

    /// Sends a datagram to an address, of several to the first.
    ///
    /// # Errors
    ///
    /// When the name is not known, the datagram is too long, or the system has no way
    /// there; or the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: then it was not sent.
    pub async fn send_to(&self, datagram: &[u8], to: impl ToSocketAddrs) -> io::Result<usize> {
        let to = lookup_host(to).await?.next().ok_or_else(no_address)?;
        let send = |socket: &net::UdpSocket| socket.send_to(datagram, to);
        self.0.write_with(send).await
    }

    /// Receives a datagram; gives its length and the sender.
    ///
    /// # Errors
    ///
    /// What the system says; or the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no datagram is lost.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read_with(|socket| socket.recv_from(buffer)).await
    }

    /// As [`recv`](Self::recv); the datagram stays, to be received again.
    ///
    /// # Errors
    ///
    /// As `recv`.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_with(|socket| socket.peek(buffer)).await
    }

    /// As [`recv_from`](Self::recv_from); the datagram stays, to be received again.
    ///
    /// # Errors
    ///
    /// As `recv_from`.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read_with(|socket| socket.peek_from(buffer)).await
    }

    /// Sends a datagram to the peer, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room; else as [`send`](Self::send).
    pub fn try_send(&self, datagram: &[u8]) -> io::Result<usize> {
        self.0.try_write_with(|socket| socket.send(datagram))
    }

    /// Receives a datagram from the peer, or whoever sends if there is none, without
    /// waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is none; else as [`recv`](Self::recv).
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read_with(|socket| socket.recv(buffer))
    }

    /// Sends a datagram to an address, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room; else as [`send_to`](Self::send_to).
    pub fn try_send_to(&self, datagram: &[u8], to: SocketAddr) -> io::Result<usize> {
        self.0.try_write_with(|socket| socket.send_to(datagram, to))
    }

    /// Receives a datagram, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is none; else as [`recv_from`](Self::recv_from).
    pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.try_read_with(|socket| socket.recv_from(buffer))
    }

    /// As [`try_recv`](Self::try_recv); the datagram stays, to be received again.
    ///
    /// # Errors
    ///
    /// As `try_recv`.
    pub fn try_peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read_with(|socket| socket.peek(buffer))
    }

    /// As [`try_recv_from`](Self::try_recv_from); the datagram stays, to be received
    /// again.
    ///
    /// # Errors
    ///
    /// As `try_recv_from`.
    pub fn try_peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.try_read_with(|socket| socket.peek_from(buffer))
    }
}

options! { UdpSocket, |this| this.0.get_ref();
    /// The address it is bound to.
    fn local_addr = local_addr() -> SocketAddr;
    /// The peer; an error when there is none.
    fn peer_addr = peer_addr() -> SocketAddr;
    /// The error that the socket holds, which is cleared.
    fn take_error = take_error() -> Option<io::Error>;
    /// Whether it may send to broadcast addresses (`SO_BROADCAST`).
    fn broadcast = broadcast() -> bool;
    /// Says whether it may send to broadcast addresses.
    fn set_broadcast = set_broadcast(broadcast: bool) -> ();
    /// The time to live of the packets it sends: the hops they may take.
    fn ttl = ttl() -> u32;
    /// Whether this machine receives what it sends to a multicast group.
    fn multicast_loop_v4 = multicast_loop_v4() -> bool;
    /// Says whether this machine receives what it sends to a multicast group.
    fn set_multicast_loop_v4 = set_multicast_loop_v4(on: bool) -> ();
    /// The time to live of the packets it sends to multicast groups; 1 at first.
    fn multicast_ttl_v4 = multicast_ttl_v4() -> u32;
    /// Whether this machine receives what it sends to a multicast group of IPv6.
    fn multicast_loop_v6 = multicast_loop_v6() -> bool;
    /// Says whether this machine receives what it sends to a multicast group of IPv6.
    fn set_multicast_loop_v6 = set_multicast_loop_v6(on: bool) -> ();
}

/// Times to live.
impl UdpSocket {
    /// Sets the time to live, in hops.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when they are not 1 to 255; or the system's.
    pub fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.0.get_ref().set_ttl(checked_hops(hops, 1..=255)?)
    }

    /// Sets the time to live of packets to multicast groups, in hops; 0: they do not leave
    /// this machine.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when they are more than 255; or the system's.
    pub fn set_multicast_ttl_v4(&self, hops: u32) -> io::Result<()> {
        self.0.get_ref().set_multicast_ttl_v4(checked_hops(hops, 0..=255)?)
    }
}

/// Multicast groups. Errors are the system's; see the manual of its sockets.
impl UdpSocket {
    /// Joins a group, on the interface with an address of its own; unspecified: the
    /// system chooses.
    pub fn join_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.0.get_ref().join_multicast_v4(&group, &interface)
    }

    /// Leaves a group.
    pub fn leave_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.0.get_ref().leave_multicast_v4(&group, &interface)
    }

    /// Joins a group of IPv6, on the interface with this number; 0: the system chooses.
    pub fn join_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.0.get_ref().join_multicast_v6(group, interface)
    }

    /// Leaves a group of IPv6.
    pub fn leave_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.0.get_ref().leave_multicast_v6(group, interface)
    }
}
