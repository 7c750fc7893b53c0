//! What tokio's TCP sockets have beyond arc's, as traits to import.

use super::options::{hops as checked_hops, whole_seconds};
use arc::net::{TcpListener, TcpStream};
use futures_core::Stream;
use socket2::SockRef;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::time::Duration;

/// The reading direction of a TCP connection.
pub type OwnedReadHalf = super::OwnedReadHalf<TcpStream>;
/// The writing direction of a TCP connection.
pub type OwnedWriteHalf = super::OwnedWriteHalf<TcpStream>;
/// The halves are not of one TCP connection.
pub type ReuniteError = super::ReuniteError<TcpStream>;

/// More of a connection: options, and attempts with several buffers.
///
/// # Examples
///
/// ```
/// use arc_util::net::{TcpListener, TcpStream, TcpStreamExt};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let stream = TcpStream::connect(listener.local_addr()?).await?;
/// stream.set_ttl(42)?;
/// assert_eq!(stream.ttl()?, 42);
/// # Ok(())
/// # }
/// ```
pub trait TcpStreamExt: sealed::Sealed {
    /// Gives std's socket, no longer registered. It stays non-blocking.
    ///
    /// # Errors
    ///
    /// When the kernel does not know it any more: somebody closed its descriptor behind
    /// our back.
    fn into_std(self) -> io::Result<std::net::TcpStream>
    where
        Self: Sized;

    /// Waits for something to read and copies it, leaving it to be read again.
    ///
    /// # Errors
    ///
    /// What the system says; or the runtime has ended.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    fn peek(&self, buffer: &mut [u8]) -> impl Future<Output = io::Result<usize>> + Send;

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
    /// # use arc_util::net::{TcpStream, TcpStreamExt};
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
    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes what there is room for, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room; what the system says; or the runtime
    /// has ended.
    fn try_write(&self, buffer: &[u8]) -> io::Result<usize>;

    /// Reads what there is into several buffers, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is nothing; what the system says; or the runtime has
    /// ended.
    fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize>;

    /// Writes what there is room for out of several buffers, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room; what the system says; or the runtime has
    /// ended.
    fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize>;

    /// For how long closing waits for unsent data (`SO_LINGER`).
    ///
    /// # Errors
    ///
    /// The system's.
    fn linger(&self) -> io::Result<Option<Duration>>;

    /// Says for how long closing waits for unsent data; zero resets the connection. The
    /// system counts in whole seconds: more is rounded up, and beyond 65,535 s (18 hours)
    /// it is as many. The wait blocks the thread that drops the stream.
    ///
    /// # Errors
    ///
    /// The system's.
    fn set_linger(&self, duration: Option<Duration>) -> io::Result<()>;

    /// The time to live of the packets it sends: the hops they may take.
    ///
    /// # Errors
    ///
    /// The system's.
    fn ttl(&self) -> io::Result<u32>;

    /// Sets the time to live, in hops.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when they are not 1 to 255; or the system's.
    fn set_ttl(&self, hops: u32) -> io::Result<()>;

    /// The error that the socket holds, which is cleared.
    ///
    /// # Errors
    ///
    /// The system's, when it does not tell.
    fn take_error(&self) -> io::Result<Option<io::Error>>;
}

impl TcpStreamExt for TcpStream {
    fn into_std(self) -> io::Result<std::net::TcpStream> {
        self.into_inner()
    }

    async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_with(|stream| stream.peek(buffer)).await
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_read_with(|mut stream| stream.read(buffer))
    }

    fn try_write(&self, buffer: &[u8]) -> io::Result<usize> {
        self.try_write_with(|mut stream| stream.write(buffer))
    }

    fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.try_read_with(|mut stream| stream.read_vectored(buffers))
    }

    fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.try_write_with(|mut stream| stream.write_vectored(buffers))
    }

    fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self).linger()
    }

    fn set_linger(&self, duration: Option<Duration>) -> io::Result<()> {
        SockRef::from(self).set_linger(duration.map(whole_seconds))
    }

    fn ttl(&self) -> io::Result<u32> {
        self.get_ref().ttl()
    }

    fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.get_ref().set_ttl(checked_hops(hops, 1..=255)?)
    }

    fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.get_ref().take_error()
    }
}

/// More of a listener.
///
/// # Examples
///
/// ```
/// use arc_util::net::{TcpListener, TcpListenerExt, TcpStream};
/// use futures_util::StreamExt;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let mut incoming = std::pin::pin!(listener.incoming());
/// let server = incoming.next().await.expect("it never ends")?;
/// assert_eq!(server.peer_addr()?, client.local_addr()?);
/// # Ok(())
/// # }
/// ```
pub trait TcpListenerExt: sealed::Sealed {
    /// Gives std's socket, no longer registered. It stays non-blocking.
    ///
    /// # Errors
    ///
    /// When the kernel does not know it any more: somebody closed its descriptor behind
    /// our back.
    fn into_std(self) -> io::Result<std::net::TcpListener>
    where
        Self: Sized;

    /// The connections as a stream, which never ends. See
    /// [`accept`](TcpListener::accept), also for the errors.
    fn incoming(&self) -> impl Stream<Item = io::Result<TcpStream>> + Send + '_;

    /// The time to live of the packets it sends: the hops they may take.
    ///
    /// # Errors
    ///
    /// The system's.
    fn ttl(&self) -> io::Result<u32>;

    /// Sets the time to live, in hops.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when they are not 1 to 255; or the system's.
    fn set_ttl(&self, hops: u32) -> io::Result<()>;
}

impl TcpListenerExt for TcpListener {
    fn into_std(self) -> io::Result<std::net::TcpListener> {
        self.into_inner()
    }

    fn incoming(&self) -> impl Stream<Item = io::Result<TcpStream>> + Send + '_ {
        futures_util::stream::unfold(self, async |listener| {
            Some((listener.accept().await.map(|(stream, _)| stream), listener))
        })
    }

    fn ttl(&self) -> io::Result<u32> {
        self.get_ref().ttl()
    }

    fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.get_ref().set_ttl(checked_hops(hops, 1..=255)?)
    }
}

mod sealed {
    /// The traits may grow.
    pub trait Sealed {}
    impl Sealed for super::TcpStream {}
    impl Sealed for super::TcpListener {}
}
