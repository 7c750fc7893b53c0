//! Streams with futures-io's traits where tokio's are asked for, and the reverse.

use crate::delegate::delegate_write;
use pin_project_lite::pin_project;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;

pin_project! {
    /// A stream with the IO traits of the other family: tokio's, if it has futures-io's
    /// (as arc's have), and futures-io's, if it has tokio's.
    ///
    /// No runtime of tokio's is needed, nor started. A socket of tokio's own is bound to
    /// one all the same: it has to be made, and to be polled for the first time, within
    /// `arc_compat::tokio::enter`.
    ///
    /// tokio-util's `compat` does the same, but splits vectored writes.
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
    /// Nothing is buffered here, so nothing is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::net::{TcpListener, TcpStream};
    /// use arc_compat::tokio::Compat;
    /// use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let client = TcpStream::connect(listener.local_addr()?).await?;
    /// let (server, _) = listener.accept().await?;
    ///
    /// let mut client = Compat::vectored(client);
    /// client.write_all(b"one line\n").await?;
    /// client.shutdown().await?;
    /// let mut lines = BufReader::new(Compat::vectored(server)).lines();
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("one line"));
    /// assert_eq!(lines.next_line().await?, None);
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug, Clone)]
    pub struct Compat<T> {
        #[pin]
        inner: T,
        is_vectored: bool,
    }
}

impl<T> Compat<T> {
    /// Lends a stream. Who writes several buffers is told to put them together first,
    /// because futures-io does not tell whether the stream would take them as one.
    pub fn new(inner: T) -> Self {
        Self { inner, is_vectored: false }
    }

    /// Lends a stream that takes several buffers by one call of the system, as arc's
    /// sockets do.
    pub fn vectored(inner: T) -> Self {
        Self { inner, is_vectored: true }
    }

    /// The stream.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// The stream, to be changed.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// The stream back.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: futures_io::AsyncRead> tokio::io::AsyncRead for Compat<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = ready!(self.project().inner.poll_read(context, buffer.initialize_unfilled()))?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<T: tokio::io::AsyncRead> futures_io::AsyncRead for Compat<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(self.project().inner.poll_read(context, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

impl<T: futures_io::AsyncBufRead> tokio::io::AsyncBufRead for Compat<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().inner.poll_fill_buf(context)
    }

    fn consume(self: Pin<&mut Self>, count: usize) {
        self.project().inner.consume(count);
    }
}

impl<T: tokio::io::AsyncBufRead> futures_io::AsyncBufRead for Compat<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().inner.poll_fill_buf(context)
    }

    fn consume(self: Pin<&mut Self>, count: usize) {
        self.project().inner.consume(count);
    }
}

delegate_write! {
    Compat<futures_io::AsyncWrite>: tokio::io::AsyncWrite, poll_shutdown = poll_close,
    vectored: |stream| stream.is_vectored
}
delegate_write! {
    Compat<tokio::io::AsyncWrite>: futures_io::AsyncWrite, poll_close = poll_shutdown
}
