//! TCP: [`TcpListener`] and [`TcpStream`].

use super::address::{ToSocketAddrs, resolve};
use super::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::io::{Async, AsyncWrite, forward_read, forward_write};
use crate::reactor::Direction;
use crate::sync::lock;
use crate::time::{Sleep, sleep};
use futures_core::Stream;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// How many connections wait in the kernel to be accepted.
const BACKLOG: i32 = 1024;

/// For how long accepting pauses when the process or the system has no
/// descriptors or memory left.
const PAUSE: Duration = Duration::from_millis(50);

fn explain(what: &str, address: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what} {address}: {error}"))
}

/// Accepts TCP connections.
///
/// # Examples
///
/// ```
/// use arc::net::{TcpListener, TcpStream};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (server, from) = listener.accept().await?;
/// assert_eq!(from, client.local_addr()?);
/// assert_eq!(server.local_addr()?, client.peer_addr()?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TcpListener {
    inner: Async<std::net::TcpListener>,
    /// Runs while accepting pauses for want of descriptors.
    pause: Mutex<Option<Sleep>>,
}

impl TcpListener {
    /// Listens on an address, or the first of several that can be had. Port 0
    /// is any free one, which [`local_addr`](Self::local_addr) tells.
    ///
    /// On Unix the address may be in the TIME_WAIT state (`SO_REUSEADDR`).
    ///
    /// # Errors
    ///
    /// When the address is in use or not this machine's, or its name is not
    /// known; the error says which address.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Nothing is left behind but a name lookup that goes on unheard.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let mut result = Err(ErrorKind::InvalidInput.into());
        for address in resolve(&address).await? {
            result =
                Self::listen(address).map_err(|error| explain("listening on", address, &error));
            if result.is_ok() {
                break;
            }
        }
        result
    }

    fn listen(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        // On Windows it would let another process take the port over.
        #[cfg(not(windows))]
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Self::from_std(socket.into())
    }

    /// Takes over a listener of std, and makes it non-blocking.
    ///
    /// # Errors
    ///
    /// As [`Async::new`].
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<Self> {
        Ok(Self {
            inner: Async::new(listener)?,
            pause: Mutex::new(None),
        })
    }

    /// Gives it back as std's. It stays non-blocking.
    ///
    /// # Errors
    ///
    /// As [`Async::into_inner`].
    pub fn into_std(self) -> io::Result<std::net::TcpListener> {
        self.inner.into_inner()
    }

    /// Waits for a connection.
    ///
    /// # Errors
    ///
    /// When there are no descriptors or no memory left; the connection waits in
    /// the kernel, and the next call pauses for 50 ms, so that a loop which
    /// reports the error and goes on does the right thing. A connection that
    /// was broken before it was accepted is passed over without a word.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no connection is lost.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    /// What [`accept`](Self::accept) does, for futures written by hand. All
    /// tasks that wait are woken.
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let pause = lock(&self.pause).take();
        if let Some(mut pause) = pause {
            if Pin::new(&mut pause).poll(context).is_pending() {
                *lock(&self.pause) = Some(pause);
                return Poll::Pending;
            }
        }
        loop {
            match ready!(
                self.inner
                    .poll_read_with(context, std::net::TcpListener::accept)
            ) {
                Ok((stream, address)) => {
                    return Poll::Ready(
                        TcpStream::from_std(stream).map(|stream| (stream, address)),
                    );
                }
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    *lock(&self.pause) = Some(sleep(PAUSE));
                    return Poll::Ready(Err(error));
                }
            }
        }
    }

    /// The connections as a stream, which never ends.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming { listener: self }
    }

    /// The address it listens on.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.get_ref().local_addr()
    }

    /// The time to live of the packets it sends: the hops they may take.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn ttl(&self) -> io::Result<u32> {
        self.inner.get_ref().ttl()
    }

    /// Sets the time to live.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.inner.get_ref().set_ttl(hops)
    }
}

/// The stream of [`TcpListener::incoming`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct Incoming<'a> {
    listener: &'a TcpListener,
}

impl Stream for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let accepted = ready!(self.listener.poll_accept(context));
        Poll::Ready(Some(accepted.map(|(stream, _)| stream)))
    }
}

/// A TCP connection.
///
/// It reads and writes by value and by shared reference, so several tasks can
/// use it at once; [`split`](Self::split) and [`into_split`](Self::into_split)
/// give the two directions apart. Closing it as an `AsyncWrite` shuts down the
/// sending direction; dropping it closes the connection.
///
/// # Examples
///
/// ```
/// use arc::io::{AsyncReadExt, AsyncWriteExt};
/// use arc::net::{TcpListener, TcpStream};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let mut client = TcpStream::connect(listener.local_addr()?).await?;
/// client.write_all(b"hello").await?;
/// client.close().await?;
///
/// let (mut server, _) = listener.accept().await?;
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TcpStream {
    inner: Async<std::net::TcpStream>,
}

impl TcpStream {
    /// Connects to an address, or the first of several that answers. Put a
    /// [`timeout`](crate::time::timeout) around it: the system's own is minutes.
    ///
    /// # Errors
    ///
    /// When the name is not known, or the last of its addresses refuses or
    /// cannot be reached; the error says which.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// The attempt is given up, and its socket closed.
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        let mut result = Err(ErrorKind::InvalidInput.into());
        for address in resolve(&address).await? {
            let connected = Self::connect_to(address).await;
            result = connected.map_err(|error| explain("connecting to", address, &error));
            if result.is_ok() {
                break;
            }
        }
        result
    }

    async fn connect_to(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        socket.set_nonblocking(true)?;
        match socket.connect(&address.into()) {
            Err(error) if !is_in_progress(&error) => return Err(error),
            _ => {}
        }
        let inner = Async::register(std::net::TcpStream::from(socket), false)?;
        let outcome = |stream: &std::net::TcpStream| match stream.take_error()? {
            Some(error) => Err(error),
            // An event that came before the connection did.
            None if stream.peer_addr().is_err() => Err(ErrorKind::WouldBlock.into()),
            None => Ok(()),
        };
        inner.write_with(outcome).await?;
        Ok(Self { inner })
    }

    /// Takes over a stream of std, and makes it non-blocking.
    ///
    /// # Errors
    ///
    /// As [`Async::new`].
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<Self> {
        Ok(Self {
            inner: Async::new(stream)?,
        })
    }

    /// Gives it back as std's. It stays non-blocking.
    ///
    /// # Errors
    ///
    /// As [`Async::into_inner`].
    pub fn into_std(self) -> io::Result<std::net::TcpStream> {
        self.inner.into_inner()
    }

    fn socket(&self) -> SockRef<'_> {
        SockRef::from(self.inner.get_ref())
    }

    /// Reads into memory that need not be initialized; gives the number of
    /// bytes at its beginning that now are. 0: the peer sends no more.
    ///
    /// # Errors
    ///
    /// What the system says; or the runtime has ended.
    pub fn poll_read_uninit(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        let wanted = buffer.len();
        let read = |stream: &std::net::TcpStream| SockRef::from(stream).recv(buffer);
        self.inner
            .poll_transfer(Direction::Read, context, wanted, read)
    }

    /// Waits until there is something to read, or the peer sends no more; there
    /// may be nothing all the same.
    ///
    /// # Errors
    ///
    /// When the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn readable(&self) -> io::Result<()> {
        self.inner.readable().await
    }

    /// Waits until there is room to write; there may be none all the same.
    ///
    /// # Errors
    ///
    /// When the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn writable(&self) -> io::Result<()> {
        self.inner.writable().await
    }

    /// Reads what there is, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is nothing; what the system says; or the runtime
    /// has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use arc::net::TcpStream;
    /// async fn read_some(stream: &TcpStream, buffer: &mut [u8]) -> std::io::Result<usize> {
    ///     loop {
    ///         stream.readable().await?;
    ///         match stream.try_read(buffer) {
    ///             Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
    ///             result => return result,
    ///         }
    ///     }
    /// }
    /// ```
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner
            .try_read_with(|mut stream| io::Read::read(&mut stream, buffer))
    }

    /// Reads what there is into several buffers. See [`try_read`](Self::try_read).
    ///
    /// # Errors
    ///
    /// As `try_read`.
    pub fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.inner
            .try_read_with(|mut stream| io::Read::read_vectored(&mut stream, buffers))
    }

    /// Writes what there is room for, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room; what the system says; or the runtime
    /// has ended.
    pub fn try_write(&self, buffer: &[u8]) -> io::Result<usize> {
        self.inner
            .try_write_with(|mut stream| io::Write::write(&mut stream, buffer))
    }

    /// Writes what there is room for out of several buffers.
    ///
    /// # Errors
    ///
    /// As [`try_write`](Self::try_write).
    pub fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.inner
            .try_write_with(|mut stream| io::Write::write_vectored(&mut stream, buffers))
    }

    /// Waits for something to read and copies it, leaving it to be read again.
    ///
    /// # Errors
    ///
    /// What the system says; or the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read_with(|stream| stream.peek(buffer)).await
    }

    /// Ends one direction of the connection, or both. The peer sees the end of
    /// the stream when the sending direction ends.
    ///
    /// # Errors
    ///
    /// What the system says, such as that it is not connected any more.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.inner.get_ref().shutdown(how)
    }

    /// The two directions apart, for one task.
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        (ReadHalf::new(self), WriteHalf::new(self))
    }

    /// The two directions apart, for two tasks; at the cost of a shared
    /// allocation. When the writing half is dropped, the sending direction is
    /// shut down.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        super::split::into_split(self)
    }
}

/// Options, as the system has them: see the manual of its sockets.
impl TcpStream {
    /// The address of this end.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.get_ref().local_addr()
    }

    /// The address of the other end.
    ///
    /// # Errors
    ///
    /// When it is not connected any more.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.inner.get_ref().peer_addr()
    }

    /// The error that the socket holds, which is cleared.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.inner.get_ref().take_error()
    }

    /// Whether small segments are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.inner.get_ref().nodelay()
    }

    /// Says whether small segments are sent at once.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.inner.get_ref().set_nodelay(nodelay)
    }

    /// For how long closing waits for unsent data (`SO_LINGER`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.socket().linger()
    }

    /// Says for how long closing waits for unsent data, in whole seconds; zero
    /// resets the connection. While it waits it blocks the thread that drops
    /// the stream.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_linger(&self, duration: Option<Duration>) -> io::Result<()> {
        self.socket().set_linger(duration)
    }

    /// Whether idle connections are probed (`SO_KEEPALIVE`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn keepalive(&self) -> io::Result<bool> {
        self.socket().keepalive()
    }

    /// Probes the connection after it has been idle for so long; None: never.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_keepalive(&self, idle: Option<Duration>) -> io::Result<()> {
        match idle {
            Some(idle) => self
                .socket()
                .set_tcp_keepalive(&TcpKeepalive::new().with_time(idle)),
            None => self.socket().set_keepalive(false),
        }
    }

    /// The time to live of the packets it sends: the hops they may take.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn ttl(&self) -> io::Result<u32> {
        self.inner.get_ref().ttl()
    }

    /// Sets the time to live.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.inner.get_ref().set_ttl(hops)
    }

    /// The size of the kernel's buffer for sending, in bytes.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn send_buffer_size(&self) -> io::Result<usize> {
        self.socket().send_buffer_size()
    }

    /// Asks for another size of the buffer for sending, in bytes.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_send_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.socket().set_send_buffer_size(bytes)
    }

    /// The size of the kernel's buffer for receiving, in bytes.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn recv_buffer_size(&self) -> io::Result<usize> {
        self.socket().recv_buffer_size()
    }

    /// Asks for another size of the buffer for receiving, in bytes.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_recv_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.socket().set_recv_buffer_size(bytes)
    }
}

/// Whether a connection is on its way, to be told of later.
fn is_in_progress(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) {
        return true;
    }
    error.kind() == ErrorKind::WouldBlock
}

forward_read!([] TcpStream, |this| &*this);
forward_write!([] TcpStream, |this| &*this);
forward_read!([] & TcpStream, |this| &this.inner);

impl AsyncWrite for &TcpStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &self.inner).poll_write(context, buffer)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &self.inner).poll_write_vectored(context, buffers)
    }

    /// Nothing to flush: what was written is the kernel's.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.shutdown(Shutdown::Write) {
            // The peer was faster.
            Err(error) if error.kind() == ErrorKind::NotConnected => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }
}

/// Lends out the descriptor, for options that arc does not know.
macro_rules! lend_descriptor {
    ($($type:ty),*) => {$(
        #[cfg(unix)]
        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.inner.get_ref().as_fd()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.inner.get_ref().as_raw_fd()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsSocket for $type {
            fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
                self.inner.get_ref().as_socket()
            }
        }
    )*};
}

lend_descriptor!(TcpListener, TcpStream);
