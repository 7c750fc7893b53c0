//! hyper's IO traits, for arc's sockets and for everything else, and the reverse.

use crate::delegate::delegate_write;
use arc::io::Direction;
use arc::net::TcpStream;
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

/// How much [`FuturesIo`] reads at once: what a TLS record can hold.
const BUFFER_BYTES: usize = 16 * 1024;

/// A socket of arc that reads into memory which is not initialized.
///
/// [`HyperIo`] relies on the count, so nobody else can implement it.
pub trait ReadUninit: sealed::Sealed {
    /// Reads into the beginning of `buffer`; gives how many bytes of it are
    /// initialized now. 0: the peer sends no more.
    ///
    /// # Errors
    ///
    /// What the system says; or the runtime has ended.
    fn poll_read_uninit(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>>;
}

mod sealed {
    /// Keeps others from implementing the trait that the reads rest on.
    pub trait Sealed {}
}

impl sealed::Sealed for TcpStream {}

impl ReadUninit for TcpStream {
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

/// What points to a socket reads as the socket does.
macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<T: ReadUninit + ?Sized> sealed::Sealed for $pointer {}

        impl<T: ReadUninit + ?Sized> ReadUninit for $pointer {
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

forward!(&T, Box<T>, Arc<T>);

pin_project! {
    /// A socket of arc, with hyper's IO traits.
    ///
    /// It reads straight into hyper's memory, without clearing it first, and
    /// writes a head and a body by one system call.
    ///
    /// # Errors
    ///
    /// The socket's own.
    ///
    /// # Cancellation
    ///
    /// Nothing is buffered here, so nothing is lost.
    ///
    /// # Examples
    ///
    /// See the [crate's](crate).
    #[derive(Debug, Clone)]
    pub struct HyperIo<T> {
        #[pin]
        inner: T,
    }
}

impl<T> HyperIo<T> {
    /// Lends a socket to hyper.
    pub fn new(inner: T) -> Self {
        Self { inner }
    }

    /// The socket.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// The socket back, such as after an upgrade.
    ///
    /// # Examples
    ///
    /// What the peer sent after the upgrade may have been read by hyper already:
    /// it is in `read_buf`. (Behind hyper-util's `auto::Builder`, as in `server::serve`, it is
    /// `hyper_util::server::conn::auto::upgrade::downcast` that gives it back.)
    ///
    /// ```
    /// use arc::net::TcpStream;
    /// use arc_compat::HyperIo;
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
        // SAFETY: nothing is uninitialized that was initialized before: the
        // sockets of arc only write bytes into the buffer.
        let buffer = unsafe { cursor.as_mut() };
        let count = ready!(self.inner.poll_read_uninit(context, buffer))?;
        // SAFETY: the sockets, for which alone the sealed trait is implemented,
        // give the number of bytes that the kernel has written to the beginning
        // of the buffer.
        unsafe { cursor.advance(count) };
        Poll::Ready(Ok(()))
    }
}

pin_project! {
    /// Any stream with futures-io's traits, such as one of TLS, with hyper's IO
    /// traits. Use [`HyperIo`] for arc's own sockets: it copies nothing.
    ///
    /// And the reverse: a stream with hyper's traits, such as
    /// [`Upgraded`](hyper::upgrade::Upgraded), with futures-io's.
    ///
    /// What is read goes through a buffer of 16 KiB, because hyper's memory is
    /// not initialized. It is allocated when it is first used. hyper puts a head
    /// and a short body together before it writes them, because futures-io does
    /// not tell whether the stream would take them as one.
    ///
    /// # Errors
    ///
    /// The stream's own.
    ///
    /// # Panics
    ///
    /// When the stream claims to have read more than it was asked to.
    ///
    /// # Cancellation
    ///
    /// Nothing is kept in the buffer, so nothing is lost.
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
    /// Lends a stream to hyper.
    pub fn new(inner: T) -> Self {
        Self { inner, buffer: Box::default() }
    }

    /// The stream.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// The stream back, such as after an upgrade; see
    /// [`HyperIo::into_inner`].
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: fmt::Debug> fmt::Debug for FuturesIo<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FuturesIo").field("inner", &self.inner).finish_non_exhaustive()
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
        ready!(self.project().inner.poll_read(context, buffer.unfilled()))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

delegate_write! { FuturesIo<Write>: AsyncWrite, poll_close = poll_shutdown }
