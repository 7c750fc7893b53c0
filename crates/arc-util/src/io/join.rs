//! One stream made of a reader and a writer, and one stream with both kinds of buffers.

use super::buf_writer::BufWriter;
use crate::forward::{buf_reads_by, reads_by, writes_by};
use arc::io::{AsyncBufRead, AsyncRead, AsyncWrite, BufReader};
use pin_project_lite::pin_project;
use std::pin::Pin;

/// Makes one stream out of a reader and a writer.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncWriteExt, join};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut stream = join(&b"question"[..], Vec::new());
/// stream.write_all(b"answer").await?;
/// let mut text = String::new();
/// stream.read_to_string(&mut text).await?;
/// assert_eq!(text, "question");
/// assert_eq!(stream.into_inner().1, b"answer");
/// # Ok(())
/// # }
/// ```
pub fn join<R: AsyncRead, W: AsyncWrite>(reader: R, writer: W) -> Join<R, W> {
    Join { reader, writer }
}

pin_project! {
    /// A stream made of a reader and a writer; made by [`join`].
    ///
    /// # Examples
    ///
    /// See [`join`].
    #[derive(Debug)]
    pub struct Join<R, W> {
        #[pin]
        reader: R,
        #[pin]
        writer: W,
    }
}

impl<R, W> Join<R, W> {
    /// Returns the reader and the writer.
    pub fn into_inner(self) -> (R, W) {
        (self.reader, self.writer)
    }

    /// Returns a reference to the reader.
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// Returns a reference to the writer.
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// Returns a mutable reference to the reader.
    pub fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Returns a mutable reference to the writer.
    pub fn writer_mut(&mut self) -> &mut W {
        &mut self.writer
    }

    /// Returns a pinned mutable reference to the reader.
    pub fn reader_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().reader
    }

    /// Returns a pinned mutable reference to the writer.
    pub fn writer_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().writer
    }
}

pin_project! {
    /// A stream with a buffer for reading and one for writing.
    ///
    /// What was written goes out when the buffer is full, and when the stream is flushed or closed.
    /// A `BufStream` that is dropped loses what is in its buffers.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::io::{AsyncBufReadExt, AsyncWriteExt, BufStream, duplex};
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let (near, far) = duplex(64);
    /// let (mut near, mut far) = (BufStream::new(near), BufStream::new(far));
    /// near.write_all(b"one\ntwo\n").await?;
    /// near.flush().await?;
    /// let mut line = String::new();
    /// far.read_line(&mut line).await?;
    /// assert_eq!(line, "one\n");
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug)]
    pub struct BufStream<S> {
        #[pin]
        stream: BufReader<BufWriter<S>>,
    }
}

impl<S: AsyncRead + AsyncWrite> BufStream<S> {
    /// Adds buffers of the default size, 8 KiB each.
    pub fn new(stream: S) -> Self {
        Self { stream: BufReader::new(BufWriter::new(stream)) }
    }

    /// Adds buffers of the given sizes, in bytes.
    pub fn with_capacity(reader: usize, writer: usize, stream: S) -> Self {
        let writer = BufWriter::with_capacity(writer, stream);
        Self { stream: BufReader::with_capacity(reader, writer) }
    }

    /// Returns a reference to the stream.
    pub fn get_ref(&self) -> &S {
        self.stream.get_ref().get_ref()
    }

    /// Returns a mutable reference to the stream. What is read from it directly may come after
    /// bytes that are in the buffer.
    pub fn get_mut(&mut self) -> &mut S {
        self.stream.get_mut().get_mut()
    }

    /// Returns a pinned mutable reference to the stream. See [`get_mut`](Self::get_mut).
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut S> {
        self.project().stream.get_pin_mut().get_pin_mut()
    }

    /// Returns the stream. What is in the buffers is lost.
    pub fn into_inner(self) -> S {
        self.stream.into_inner().into_inner()
    }
}

reads_by! { [R: AsyncRead, W] Join<R, W>, |this| this.project().reader }

buf_reads_by! { [R: AsyncBufRead, W] Join<R, W>, |this| this.project().reader }

writes_by! { [R, W: AsyncWrite] Join<R, W>, |this| this.project().writer }

reads_by! { [S: AsyncRead] BufStream<S>, |this| this.project().stream }

buf_reads_by! { [S: AsyncRead] BufStream<S>, |this| this.project().stream }

writes_by! { [S: AsyncWrite] BufStream<S>, |this| this.project().stream }
