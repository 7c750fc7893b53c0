//! hyper's IO traits for arc's sockets and for other streams, and futures-io's traits for
//! hyper's streams.

use crate::delegate::delegate_write;
use arc::io::{Async, Direction};
use futures_io::{AsyncRead, AsyncWrite};
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use pin_project_lite::pin_project;
use socket2::SockRef;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The most that [`FuturesIo`] reads at once: the data of one full TLS record.
const BUFFER_BYTES: usize = 16 * 1024;

/// An arc socket that can read into uninitialized memory.
///
/// The trait is sealed, because the soundness of [`HyperIo`] depends on the count that
/// [`poll_read_uninit`](Self::poll_read_uninit) returns.
pub trait ReadUninit: sealed::Sealed {
    /// Reads into the beginning of `buffer`, and returns the number of bytes that are
    /// now initialized. The number is 0 at the end of the stream.
    ///
    /// # Errors
    ///
    /// Returns the system's error, or an error which says that the runtime has ended.
    fn poll_read_uninit(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>>;
}

mod sealed {
    /// Prevents other crates from implementing [`ReadUninit`](super::ReadUninit).
    pub trait Sealed {}
}

/// The socket of arc's core, which each of those below is around.
type Socket = Async<std::net::TcpStream>;

impl sealed::Sealed for Socket {}

impl ReadUninit for Socket {
    fn poll_read_uninit(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        let wanted = buffer.len();
        let receive = |stream: &_| SockRef::from(stream).recv(buffer);
        self.poll_transfer(Direction::Read, context, wanted, receive)
    }
}

/// Implements [`ReadUninit`] for what dereferences to a socket.
macro_rules! forward {
    ($([$($params:tt)*] $pointer:ty),*) => {$(
        impl<$($params)*> sealed::Sealed for $pointer {}

        impl<$($params)*> ReadUninit for $pointer {
            fn poll_read_uninit(
                &self,
                context: &mut Context<'_>,
                buffer: &mut [MaybeUninit<u8>],
            ) -> Poll<io::Result<usize>> {
                (**self).poll_read_uninit(context, buffer)
            }
        }
    )*};
}

forward!(
    [] arc_util::net::TcpStream,
    [T: ReadUninit + ?Sized] &T,
    [T: ReadUninit + ?Sized] Box<T>,
    [T: ReadUninit + ?Sized] Arc<T>
);

pin_project! {
    /// Gives an arc socket hyper's IO traits.
    ///
    /// Reads go straight into hyper's memory, which is not cleared first. A head and its
    /// body are written by one system call.
    ///
    /// # Errors
    ///
    /// Returns the socket's own errors.
    ///
    /// # Cancellation
    ///
    /// Nothing is lost, because this type buffers nothing.
    ///
    /// # Examples
    ///
    /// See the example of the [crate](crate).
    #[derive(Debug, Clone)]
    pub struct HyperIo<T> {
        #[pin]
        inner: T,
    }
}

impl<T> HyperIo<T> {
    /// Wraps a socket.
    pub fn new(inner: T) -> Self {
        Self { inner }
    }

    /// Returns a reference to the socket.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Returns the socket, for example after an upgrade.
    ///
    /// # Examples
    ///
    /// hyper may already have read bytes that the peer sent after the upgrade. They are in
    /// `read_buf`. (For connections of `server::serve`, see `server::Connection`.)
    ///
    /// ```
    /// use arc_compat::HyperIo;
    /// use arc_util::net::TcpStream;
    ///
    /// async fn upgraded(response: hyper::Response<hyper::body::Incoming>) -> hyper::Result<()> {
    ///     let upgraded = hyper::upgrade::on(response).await?;
    ///     let parts = upgraded.downcast::<HyperIo<TcpStream>>().expect("what went in");
    ///     let (stream, begun) = (parts.io.into_inner(), parts.read_buf);
    ///     println!("{begun:?}, and more to come from {stream:?}");
    ///     Ok(())
    /// }
    /// ```
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: ReadUninit> Read for HyperIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: initialized bytes stay initialized, because arc's sockets only write bytes
        // into the buffer.
        let buffer = unsafe { cursor.as_mut() };
        let count = ready!(self.inner.poll_read_uninit(context, buffer))?;

        // SAFETY: only arc's sockets implement the sealed trait. They return the number of
        // bytes that the kernel has written to the beginning of the buffer.
        unsafe { cursor.advance(count) };
        Poll::Ready(Ok(()))
    }
}

pin_project! {
    /// Gives a stream with futures-io's traits, such as a TLS stream, hyper's IO traits.
    ///
    /// It also works in the other direction: a stream with hyper's traits, such as
    /// [`Upgraded`](hyper::upgrade::Upgraded), gets futures-io's.
    ///
    /// For arc's own sockets use [`HyperIo`], which copies nothing. `FuturesIo` reads for
    /// hyper through a buffer of 16 KiB, because hyper's memory is not initialized. The
    /// buffer is allocated by the first read. hyper copies a head and a short body into one
    /// buffer before it writes them, because futures-io has no way to ask whether the stream
    /// supports vectored writes.
    ///
    /// # Errors
    ///
    /// Returns the stream's own errors.
    ///
    /// # Panics
    ///
    /// Panics if the stream claims to have read more bytes than it was asked for.
    ///
    /// # Cancellation
    ///
    /// Nothing is lost, because the buffer is empty between reads.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::io::Async;
    /// use arc_compat::FuturesIo;
    /// # #[arc::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # #[cfg(unix)] {
    /// use arc::io::{AsyncReadExt, AsyncWriteExt};
    /// use http_body_util::Empty;
    /// use hyper::{Request, body::Bytes, client::conn::http1::handshake};
    /// use std::os::unix::net::UnixStream;
    ///
    /// let (client, server) = UnixStream::pair()?;
    /// let (client, mut server) = (Async::new(client)?, Async::new(server)?);
    /// let (mut sender, connection) = handshake(FuturesIo::new(client)).await?;
    /// arc::spawn(connection);
    /// arc::spawn(async move {
    ///     let _ = server.read(&mut [0; 1024]).await?;
    ///     server.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await
    /// });
    /// let response = sender.send_request(Request::new(Empty::<Bytes>::new())).await?;
    /// assert_eq!(response.status(), 204);
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    pub struct FuturesIo<T> {
        #[pin]
        inner: T,
        buffer: Box<[u8]>,
    }
}

impl<T> FuturesIo<T> {
    /// Wraps a stream.
    pub fn new(inner: T) -> Self {
        Self { inner, buffer: Box::default() }
    }

    /// Returns a reference to the stream.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Returns the stream, for example after an upgrade. See [`HyperIo::into_inner`].
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: fmt::Debug> fmt::Debug for FuturesIo<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("FuturesIo");
        fields.field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<T: AsyncRead> Read for FuturesIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.project();
        if this.buffer.is_empty() {
            *this.buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        }

        // Read no more than hyper has room for: nothing may stay in the buffer.
        let wanted = cursor.remaining().min(BUFFER_BYTES);
        let buffer = &mut this.buffer[..wanted];
        let count = ready!(this.inner.poll_read(context, buffer))?;

        cursor.put_slice(&buffer[..count]);
        Poll::Ready(Ok(()))
    }
}

delegate_write! { HyperIo<AsyncWrite>: Write, poll_shutdown = poll_close, vectored: |_io| true }
delegate_write! { FuturesIo<AsyncWrite>: Write, poll_shutdown = poll_close, vectored: |_io| false }

impl<T: Read> AsyncRead for FuturesIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        // hyper's cursor knows how many bytes have come.
        ready!(self.project().inner.poll_read(context, buffer.unfilled()))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

delegate_write! { FuturesIo<Write>: AsyncWrite, poll_close = poll_shutdown }
