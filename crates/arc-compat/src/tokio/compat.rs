//! tokio's IO traits for streams with futures-io's, and the reverse.

use crate::delegate::delegate_write;
use pin_project_lite::pin_project;
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;

pin_project! {
    /// Gives a stream the IO traits of the other family.
    ///
    /// A stream with futures-io's traits, such as arc's streams, gets tokio's traits. A stream
    /// with tokio's traits gets futures-io's.
    ///
    /// `Compat` neither needs nor starts a tokio runtime. tokio's own sockets still need one:
    /// create them, and poll them for the first time, inside `arc_compat::tokio::enter`.
    ///
    /// tokio-util's `compat` does the same, but splits vectored writes.
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
    /// Nothing is lost, because this type buffers nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::net::{TcpListener, TcpStream};
    /// use arc_compat::tokio::Compat;
    /// use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let listener = TcpListener::bind(([127, 0, 0, 1], 0)).await?;
    /// let client = TcpStream::connect(listener.get_ref().local_addr()?).await?;
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
        // Where a seek that has begun goes to.
        seeks: Option<SeekFrom>,
    }
}

impl<T> Compat<T> {
    /// Wraps a stream that may not support vectored writes.
    ///
    /// `is_write_vectored` returns false, so that a writer with several buffers copies them
    /// into one first. The stream cannot be asked, because futures-io has no such method.
    pub fn new(inner: T) -> Self {
        Self { inner, is_vectored: false, seeks: None }
    }

    /// Wraps a stream that writes several buffers by one system call, as arc's sockets do.
    ///
    /// `is_write_vectored` returns true.
    pub fn vectored(inner: T) -> Self {
        Self { inner, is_vectored: true, seeks: None }
    }

    /// Returns a reference to the stream.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Returns a mutable reference to the stream.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Returns the stream.
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

impl<T: futures_io::AsyncSeek> tokio::io::AsyncSeek for Compat<T> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        *self.project().seeks = Some(position);
        Ok(())
    }

    /// If no seek has begun, this is 0, and the stream is not asked: tokio's `seek` asks first
    /// whether one is under way.
    fn poll_complete(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let this = self.project();
        let Some(position) = *this.seeks else { return Poll::Ready(Ok(0)) };
        let result = ready!(this.inner.poll_seek(context, position));
        *this.seeks = None;
        Poll::Ready(result)
    }
}

impl<T: tokio::io::AsyncSeek> futures_io::AsyncSeek for Compat<T> {
    fn poll_seek(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        position: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        let mut this = self.project();

        // One that was given up ends first.
        if *this.seeks != Some(position) {
            ready!(this.inner.as_mut().poll_complete(context))?;
            this.inner.as_mut().start_seek(position)?;
            *this.seeks = Some(position);
        }
        let result = ready!(this.inner.poll_complete(context));
        *this.seeks = None;
        Poll::Ready(result)
    }
}

delegate_write! {
    Compat<futures_io::AsyncWrite>: tokio::io::AsyncWrite, poll_shutdown = poll_close,
    vectored: |stream| stream.is_vectored
}
delegate_write! {
    Compat<tokio::io::AsyncWrite>: futures_io::AsyncWrite, poll_close = poll_shutdown
}
