//! A TCP socket before it listens or connects.

use super::options::{has_descriptor, is_descriptor, options, packet_options, whole_seconds};
use super::tcp::{TcpListener, TcpStream};
use arc::net::SocketAddr;
use socket2::{Domain, Socket, Type};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net;
use std::time::Duration;

/// A TCP socket that neither listens nor is connected yet, for options that must be set before
/// that. Names are tokio's.
///
/// # Examples
///
/// ```
/// use arc_util::net::TcpSocket;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let socket = TcpSocket::new_v4()?;
/// socket.set_reuseaddr(true)?;
/// socket.bind(([127, 0, 0, 1], 0).into())?;
/// let listener = socket.listen(16)?;
///
/// let socket = TcpSocket::new_v4()?;
/// socket.set_nodelay(true)?;
/// let stream = socket.connect(listener.local_addr()?).await?;
/// assert!(stream.nodelay()?);
/// # Ok(())
/// # }
/// ```
pub struct TcpSocket(Socket);

impl TcpSocket {
    /// Creates a socket for IPv4.
    ///
    /// # Errors
    ///
    /// Fails when the process or the system has no descriptors left.
    pub fn new_v4() -> io::Result<Self> {
        Self::new(Domain::IPV4)
    }

    /// Creates a socket for IPv6.
    ///
    /// # Errors
    ///
    /// Fails when the process or the system has no descriptors left, and when the system has no
    /// IPv6.
    pub fn new_v6() -> io::Result<Self> {
        Self::new(Domain::IPV6)
    }

    fn new(domain: Domain) -> io::Result<Self> {
        Socket::new(domain, Type::STREAM, None).map(Self)
    }

    /// Converts a socket of std that neither listens nor is connected. (std has no type of its
    /// own for such a socket.)
    pub fn from_std_stream(stream: net::TcpStream) -> Self {
        Self(stream.into())
    }

    /// Binds the socket to an address of this machine. With port 0 the system chooses a free
    /// port.
    ///
    /// # Errors
    ///
    /// Fails when the address is in use, or is not an address of this machine.
    pub fn bind(&self, address: SocketAddr) -> io::Result<()> {
        self.0.bind(&address.into())
    }

    /// Listens for connections.
    ///
    /// `backlog` connections can wait in the kernel to be accepted, or fewer if the system's
    /// limit is lower. If the socket is not bound, the system binds it to a free port of all
    /// addresses.
    ///
    /// # Errors
    ///
    /// Fails when another socket listens on the address, and when the runtime has ended.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        self.0.listen(backlog.try_into().unwrap_or(i32::MAX))?;
        TcpListener::from_std(self.0.into())
    }

    /// Connects to an address.
    ///
    /// # Errors
    ///
    /// Fails when the address refuses the connection or cannot be reached, and when the runtime
    /// has ended. Fails with `InvalidInput` when the socket is connected already. With TCP Fast
    /// Open, connecting may succeed before anything is sent: then the first write fails instead.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Dropping the future abandons the attempt and closes the socket.
    pub async fn connect(self, address: SocketAddr) -> io::Result<TcpStream> {
        // On a socket that has connected without blocking, Linux lets the next connect succeed,
        // whatever its address is.
        if self.0.peer_addr().is_ok() {
            let what = "the socket is connected already";
            return Err(io::Error::new(ErrorKind::InvalidInput, what));
        }

        self.0.set_nonblocking(true)?;
        match self.0.connect(&address.into()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            #[cfg(unix)]
            Err(error) if is_in_progress(&error) => {}
            // With TCP Fast Open, a connection that is there at once has no peer before the first
            // write, and no event follows.
            result => return result.and_then(|()| TcpStream::from_std(self.0.into())),
        }

        let connecting = TcpStream::from_std(self.0.into())?;
        let outcome = |stream: &net::TcpStream| {
            stream.take_error()?.map_or(Ok(()), Err)?;
            // No peer yet: the event came before the connection. Wait for the next event.
            stream.peer_addr().map_err(|_| ErrorKind::WouldBlock.into())
        };
        connecting.write_with(outcome).await?;
        Ok(connecting)
    }

    /// Returns the address that the socket is bound to.
    ///
    /// # Errors
    ///
    /// Any error of the system call.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.0.local_addr()?.as_socket();
        address.ok_or_else(|| ErrorKind::InvalidInput.into())
    }
}

#[cfg(unix)]
fn is_in_progress(error: &io::Error) -> bool {
    use rustix::io::Errno;
    Errno::from_io_error(error) == Some(Errno::INPROGRESS)
}

options! { TcpSocket, |this| this.0;
    /// Returns whether an address in the TIME_WAIT state may be bound to (`SO_REUSEADDR`).
    fn reuseaddr = reuse_address() -> bool;
    /// Sets whether an address in the TIME_WAIT state may be bound to. (On Windows this option
    /// lets another process take the port over.)
    fn set_reuseaddr = set_reuse_address(reuse: bool) -> ();
    /// Returns whether several sockets may listen on one address (`SO_REUSEPORT`). All of them
    /// must set this option.
    #[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos"))))]
    fn reuseport = reuse_port() -> bool;
    /// Sets whether several sockets may listen on one address.
    #[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos"))))]
    fn set_reuseport = set_reuse_port(reuse: bool) -> ();
    /// Returns whether small segments are sent at once (`TCP_NODELAY`).
    fn nodelay = tcp_nodelay() -> bool;
    /// Sets whether small segments are sent at once.
    fn set_nodelay = set_tcp_nodelay(nodelay: bool) -> ();
    /// Returns whether idle connections are probed (`SO_KEEPALIVE`).
    fn keepalive = keepalive() -> bool;
    /// Sets whether idle connections are probed.
    fn set_keepalive = set_keepalive(keepalive: bool) -> ();
    /// Returns how long closing waits until unsent data has been sent (`SO_LINGER`).
    fn linger = linger() -> Option<Duration>;
    /// Returns the error that the socket holds, and clears it.
    fn take_error = take_error() -> Option<io::Error>;
}

packet_options!(TcpSocket, |this| this.0);

/// Options with numbers. Errors are those of the system calls.
impl TcpSocket {
    /// Sets how long closing waits until unsent data has been sent. Zero resets the connection.
    ///
    /// The system counts in whole seconds: the time is rounded up, and times over 65,535 s (18
    /// hours) count as 65,535 s. The wait blocks the thread that drops the stream.
    pub fn set_linger(&self, duration: Option<Duration>) -> io::Result<()> {
        self.0.set_linger(duration.map(whole_seconds))
    }

    /// Makes closing discard the unsent data, and reset the connection.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.0.set_linger(Some(Duration::ZERO))
    }

    /// Returns the size of the send buffer, in bytes.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        self.0.send_buffer_size().map(saturating)
    }

    /// Requests another size of the send buffer, in bytes. The system adjusts a size that it
    /// cannot provide: Linux uses its minimum for 0, and its maximum for a size that is too
    /// large.
    pub fn set_send_buffer_size(&self, bytes: u32) -> io::Result<()> {
        self.0.set_send_buffer_size(requested(bytes))
    }

    /// Returns the size of the receive buffer, in bytes.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        self.0.recv_buffer_size().map(saturating)
    }

    /// Requests another size of the receive buffer, in bytes. The system adjusts a size that it
    /// cannot provide, as in [`set_send_buffer_size`](Self::set_send_buffer_size).
    ///
    /// Sockets that a listener accepts inherit the listener's size. Setting it there is the way
    /// to a TCP window of more than 64 KiB.
    pub fn set_recv_buffer_size(&self, bytes: u32) -> io::Result<()> {
        self.0.set_recv_buffer_size(requested(bytes))
    }
}

/// Limits a size to what the system can take, which is a signed number.
fn requested(bytes: u32) -> usize {
    bytes.min(i32::MAX as u32) as usize
}

fn saturating(bytes: usize) -> u32 {
    bytes.try_into().unwrap_or(u32::MAX)
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TcpSocket({:?})", self.0)
    }
}

has_descriptor!(TcpSocket);
is_descriptor!(TcpSocket);
