//! A TCP socket before it listens or connects.

use super::options::{options, whole_seconds};
use arc::io::Async;
use arc::net::{SocketAddr, TcpListener, TcpStream};
use socket2::{Domain, Socket, Type};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net;
use std::time::Duration;

/// A TCP socket that neither listens nor is connected: for the options that must be set
/// before. Names are tokio's.
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
    /// A socket for IPv4.
    ///
    /// # Errors
    ///
    /// When the system has no descriptors left.
    pub fn new_v4() -> io::Result<Self> {
        Self::new(Domain::IPV4)
    }

    /// A socket for IPv6.
    ///
    /// # Errors
    ///
    /// When the system has no descriptors left, or no IPv6.
    pub fn new_v6() -> io::Result<Self> {
        Self::new(Domain::IPV6)
    }

    fn new(domain: Domain) -> io::Result<Self> {
        Socket::new(domain, Type::STREAM, None).map(Self)
    }

    /// Takes a socket that neither listens nor is connected, though std has only a type
    /// for one that is.
    pub fn from_std_stream(stream: net::TcpStream) -> Self {
        Self(stream.into())
    }

    /// Binds it to an address of this machine. Port 0 is any free one.
    ///
    /// # Errors
    ///
    /// When the address is in use, or not this machine's.
    pub fn bind(&self, address: SocketAddr) -> io::Result<()> {
        self.0.bind(&address.into())
    }

    /// Listens; so many connections wait in the kernel to be accepted, or as many as it
    /// allows if those are fewer. A socket that was not bound is bound to any free port of
    /// all addresses.
    ///
    /// # Errors
    ///
    /// When another socket listens on the address; or the runtime has ended.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        self.0.listen(backlog.try_into().unwrap_or(i32::MAX))?;
        Async::new(self.0.into())
    }

    /// Connects to an address.
    ///
    /// # Errors
    ///
    /// When it refuses or cannot be reached; `InvalidInput` when the socket is connected
    /// already; or the runtime has ended.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// The attempt is given up, and the socket closed.
    pub async fn connect(self, address: SocketAddr) -> io::Result<TcpStream> {
        // After a connect that did not block, Linux lets the next one succeed, wherever to.
        if self.0.peer_addr().is_ok() {
            let what = "the socket is connected already";
            return Err(io::Error::new(ErrorKind::InvalidInput, what));
        }
        self.0.set_nonblocking(true)?;
        match self.0.connect(&address.into()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            #[cfg(unix)]
            Err(error) if is_in_progress(&error) => {}
            result => result?,
        }
        let connecting = TcpStream::from_std(self.0.into())?;
        let outcome = |stream: &net::TcpStream| {
            stream.take_error()?.map_or(Ok(()), Err)?;
            // An event that came before the connection did.
            stream.peer_addr().map_err(|_| ErrorKind::WouldBlock.into())
        };
        connecting.write_with(outcome).await?;
        Ok(connecting)
    }

    /// The address it is bound to.
    ///
    /// # Errors
    ///
    /// What the system says.
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
    /// Whether an address in the TIME_WAIT state may be bound to (`SO_REUSEADDR`).
    fn reuseaddr = reuse_address() -> bool;
    /// Says whether an address in the TIME_WAIT state may be bound to. (On Windows it
    /// would let another process take the port over.)
    fn set_reuseaddr = set_reuse_address(reuse: bool) -> ();
    /// Whether several sockets may listen on one address, all of which say so
    /// (`SO_REUSEPORT`).
    #[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos"))))]
    fn reuseport = reuse_port() -> bool;
    /// Says whether several sockets may listen on one address.
    #[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos"))))]
    fn set_reuseport = set_reuse_port(reuse: bool) -> ();
    /// Whether small segments are sent at once (`TCP_NODELAY`).
    fn nodelay = tcp_nodelay() -> bool;
    /// Says whether small segments are sent at once.
    fn set_nodelay = set_tcp_nodelay(nodelay: bool) -> ();
    /// Whether idle connections are probed (`SO_KEEPALIVE`).
    fn keepalive = keepalive() -> bool;
    /// Says whether idle connections are probed.
    fn set_keepalive = set_keepalive(keepalive: bool) -> ();
    /// For how long closing waits for unsent data (`SO_LINGER`).
    fn linger = linger() -> Option<Duration>;
    /// The error that the socket holds, which is cleared.
    fn take_error = take_error() -> Option<io::Error>;
}

/// Options with numbers. Errors are the system's.
impl TcpSocket {
    /// Says for how long closing waits for unsent data; zero resets the connection. The
    /// system counts in whole seconds: more is rounded up, and beyond 65,535 s (18 hours)
    /// it is as many. The wait blocks the thread that drops the stream.
    pub fn set_linger(&self, duration: Option<Duration>) -> io::Result<()> {
        self.0.set_linger(duration.map(whole_seconds))
    }

    /// The size of the buffer for sending, in bytes.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        self.0.send_buffer_size().map(saturating)
    }

    /// Asks for another size of the buffer for sending, in bytes. The system makes of it
    /// what it can: Linux takes its least for 0, and its most for too much.
    pub fn set_send_buffer_size(&self, bytes: u32) -> io::Result<()> {
        self.0.set_send_buffer_size(asked(bytes))
    }

    /// The size of the buffer for receiving, in bytes.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        self.0.recv_buffer_size().map(saturating)
    }

    /// Asks for another size of the buffer for receiving, in bytes. Sockets that a
    /// listener accepts have the listener's: that is how the window of a connection
    /// becomes larger than 64 KiB. What cannot be is as with
    /// [`set_send_buffer_size`](Self::set_send_buffer_size).
    pub fn set_recv_buffer_size(&self, bytes: u32) -> io::Result<()> {
        self.0.set_recv_buffer_size(asked(bytes))
    }
}

/// The system takes it as a signed number.
fn asked(bytes: u32) -> usize {
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

#[cfg(unix)]
impl std::os::fd::AsFd for TcpSocket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(windows)]
impl std::os::windows::io::AsSocket for TcpSocket {
    fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
        self.0.as_socket()
    }
}
