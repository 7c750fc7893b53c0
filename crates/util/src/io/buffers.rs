//! tokio's reading into growing buffers, and writing from buffers that know how far they are.

use arc::io::{AsyncRead, AsyncWrite};
use bytes::{Buf, BufMut};
use std::future::{Future, poll_fn};
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How much one call of `read_buf` reads at most.
///
/// It reads into an array first, because the memory at the end of a `BufMut` is not initialized,
/// and nobody but unsafe code can read into that.
const READ_MAX: usize = 8 << 10;

/// The number of parts of a buffer that one write takes at most.
const PARTS_MAX: usize = 16;

/// Adds `read_buf` to readers.
pub trait AsyncReadBufExt: AsyncRead {
    /// Reads to the end of a buffer, such as a `Vec<u8>` or a `BytesMut`, which grows. Returns how
    /// many bytes it has read: at most 8 KiB, and 0 at the end of the input or if the buffer cannot
    /// grow.
    ///
    /// # Errors
    ///
    /// Fails with the reader's error. Nothing was read then.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: if the future is dropped before it is ready, nothing was read.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::io::AsyncReadBufExt;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut reader = &b"hello"[..];
    /// let mut buffer = Vec::new();
    /// while reader.read_buf(&mut buffer).await? > 0 {}
    /// assert_eq!(buffer, b"hello");
    /// # Ok(())
    /// # }
    /// ```
    fn read_buf<B: BufMut>(&mut self, buffer: &mut B) -> impl Future<Output = Result<usize>>
    where
        Self: Unpin;
}

impl<R: AsyncRead + ?Sized> AsyncReadBufExt for R {
    async fn read_buf<B: BufMut>(&mut self, buffer: &mut B) -> Result<usize>
    where
        Self: Unpin,
    {
        if !buffer.has_remaining_mut() {
            return Ok(0);
        }
        poll_fn(|context| poll_read_buf(Pin::new(self), context, buffer)).await
    }
}

/// The array is here and not in the future, which would be as large.
fn poll_read_buf<R: AsyncRead + ?Sized>(
    reader: Pin<&mut R>,
    context: &mut Context<'_>,
    buffer: &mut impl BufMut,
) -> Poll<Result<usize>> {
    let mut bytes = [0; READ_MAX];
    let limit = buffer.remaining_mut().min(READ_MAX);
    let length = ready!(reader.poll_read(context, &mut bytes[..limit]))?;
    buffer.put_slice(&bytes[..length]);
    Poll::Ready(Ok(length))
}

/// Adds `write_buf` and `write_all_buf` to writers.
pub trait AsyncWriteBufExt: AsyncWrite {
    /// Writes a part of a buffer, and advances the buffer by as much. Returns how many bytes it has
    /// written.
    ///
    /// # Errors
    ///
    /// Fails with the writer's error. Nothing was written then.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: if the future is dropped before it is ready, nothing was written.
    fn write_buf<B: Buf>(&mut self, buffer: &mut B) -> impl Future<Output = Result<usize>>
    where
        Self: Unpin;

    /// Writes a whole buffer, and advances the buffer as it does so.
    ///
    /// # Errors
    ///
    /// Fails with the writer's error, or with `WriteZero` if the writer takes nothing. What the
    /// buffer still holds was not written.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped before it is ready, a part may have been written. The buffer holds
    /// the rest, so that the call can be repeated.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::io::AsyncWriteBufExt;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut writer = Vec::new();
    /// let mut buffer = &b"hello"[..];
    /// writer.write_all_buf(&mut buffer).await?;
    /// assert_eq!((&writer[..], buffer), (&b"hello"[..], &b""[..]));
    /// # Ok(())
    /// # }
    /// ```
    fn write_all_buf<B: Buf>(&mut self, buffer: &mut B) -> impl Future<Output = Result<()>>
    where
        Self: Unpin;
}

impl<W: AsyncWrite + ?Sized> AsyncWriteBufExt for W {
    async fn write_buf<B: Buf>(&mut self, buffer: &mut B) -> Result<usize>
    where
        Self: Unpin,
    {
        if !buffer.has_remaining() {
            return Ok(0);
        }
        poll_fn(|context| poll_write_buf(Pin::new(self), context, buffer)).await
    }

    async fn write_all_buf<B: Buf>(&mut self, buffer: &mut B) -> Result<()>
    where
        Self: Unpin,
    {
        while buffer.has_remaining() {
            let written =
                poll_fn(|context| poll_write_buf(Pin::new(self), context, buffer)).await?;
            if written == 0 {
                return Err(Error::from(ErrorKind::WriteZero));
            }
        }
        Ok(())
    }
}

fn poll_write_buf<W: AsyncWrite + ?Sized>(
    writer: Pin<&mut W>,
    context: &mut Context<'_>,
    buffer: &mut impl Buf,
) -> Poll<Result<usize>> {
    let mut parts = [IoSlice::new(&[]); PARTS_MAX];
    let count = buffer.chunks_vectored(&mut parts);
    let written = ready!(writer.poll_write_vectored(context, &parts[..count]))?;
    buffer.advance(written);
    Poll::Ready(Ok(written))
}
