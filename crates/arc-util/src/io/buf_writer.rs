//! A buffer in front of a writer.

use arc::io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite};
use futures_util::io;
use pin_project_lite::pin_project;
use std::io::{IoSlice, IoSliceMut, Result, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// tokio's capacity, in bytes.
const CAPACITY: usize = 8 * 1024;

pin_project! {
    /// A writer with a buffer, so that many small writes become few large ones.
    ///
    /// What was written goes out when the buffer is full, and when the writer is flushed or closed.
    /// A `BufWriter` that is dropped loses what is in its buffer.
    ///
    /// It is futures-util's, but for writes of several parts: parts that are smaller than the
    /// buffer go through the buffer, as long as they fit. A writer that takes only one part at a
    /// time, as most do that are not sockets, would otherwise be called for each part.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::io::{AsyncWriteExt, BufWriter};
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"hello").await?;
    /// assert!(writer.get_ref().is_empty());
    /// writer.flush().await?;
    /// assert_eq!(writer.into_inner(), b"hello");
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug)]
    pub struct BufWriter<W> {
        #[pin]
        writer: io::BufWriter<W>,
        capacity: usize,
    }
}

impl<W: AsyncWrite> BufWriter<W> {
    /// Adds a buffer of the default size, 8 KiB.
    pub fn new(writer: W) -> Self {
        Self::with_capacity(CAPACITY, writer)
    }

    /// Adds a buffer of the given size, in bytes.
    pub fn with_capacity(capacity: usize, writer: W) -> Self {
        Self { writer: io::BufWriter::with_capacity(capacity, writer), capacity }
    }
}

impl<W> BufWriter<W> {
    /// Returns a reference to the writer.
    pub fn get_ref(&self) -> &W {
        self.writer.get_ref()
    }

    /// Returns a mutable reference to the writer. What is written to it directly comes before the
    /// bytes that are in the buffer.
    pub fn get_mut(&mut self) -> &mut W {
        self.writer.get_mut()
    }

    /// Returns a pinned mutable reference to the writer. See [`get_mut`](Self::get_mut).
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().writer.get_pin_mut()
    }

    /// Returns the writer. What is in the buffer is lost.
    pub fn into_inner(self) -> W {
        self.writer.into_inner()
    }

    /// Returns what is in the buffer.
    pub fn buffer(&self) -> &[u8] {
        self.writer.buffer()
    }
}

impl<W: AsyncWrite> AsyncWrite for BufWriter<W> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        self.project().writer.poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let mut this = self.project();
        // A large part goes past the buffer, and what stands before it with it, in one write.
        if parts.iter().any(|part| part.len() >= *this.capacity) {
            return this.writer.poll_write_vectored(context, parts);
        }

        let mut written = 0;
        for part in parts {
            // Only the first part may wait for room. Otherwise what was taken would be lost.
            let room = this.capacity.saturating_sub(this.writer.buffer().len());
            if written > 0 && part.len() > room {
                break;
            }
            written += ready!(this.writer.as_mut().poll_write(context, part))?;
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.project().writer.poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.project().writer.poll_close(context)
    }
}

impl<W: AsyncRead> AsyncRead for BufWriter<W> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize>> {
        self.project().writer.poll_read(context, buffer)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<Result<usize>> {
        self.project().writer.poll_read_vectored(context, buffers)
    }
}

impl<W: AsyncBufRead> AsyncBufRead for BufWriter<W> {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<&[u8]>> {
        self.project().writer.poll_fill_buf(context)
    }

    fn consume(self: Pin<&mut Self>, bytes: usize) {
        self.project().writer.consume(bytes);
    }
}

impl<W: AsyncWrite + AsyncSeek> AsyncSeek for BufWriter<W> {
    fn poll_seek(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        position: SeekFrom,
    ) -> Poll<Result<u64>> {
        self.project().writer.poll_seek(context, position)
    }
}
