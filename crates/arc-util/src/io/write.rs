//! tokio's methods of writers, for the writers of futures-io.

use super::operation::{Operate, Operation, poll_flush, unless_interrupted};
use arc::io::AsyncWrite;
use bytes::Buf;
use std::io::{ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The number of parts of a buffer that one write takes at most.
const PARTS_MAX: usize = 16;

/// Writes the methods for each type of number: with the high byte first, and with the low one.
macro_rules! writes_numbers {
    ($($type:ident: $write:ident $write_le:ident;)*) => {
        /// Adds tokio's methods to all that implements futures-io's `AsyncWrite`.
        ///
        /// futures-util has a trait of this name, too. Import one of them. In the scope of both,
        /// calls of what both have are ambiguous.
        ///
        /// # Numbers
        ///
        /// `write_u8`, `write_u16` and so on write the bytes of a number in network order: the
        /// high one comes first. In the methods whose names end in `_le` the low one comes first.
        /// Their errors are those of [`write_all`](Self::write_all). They are not cancel safe: a
        /// part of the number may have been written.
        ///
        /// # Examples
        ///
        /// ```
        /// use arc_util::io::AsyncWriteExt;
        /// # #[arc::main]
        /// # async fn main() -> std::io::Result<()> {
        /// let mut writer = Vec::new();
        /// writer.write_u16(5).await?;
        /// writer.write_all(b"hello").await?;
        /// writer.shutdown().await?;
        /// assert_eq!(writer, b"\x00\x05hello");
        /// # Ok(())
        /// # }
        /// ```
        pub trait AsyncWriteExt: AsyncWrite {
            /// Writes a part of the bytes, from their beginning. Returns how many it has written.
            ///
            /// # Errors
            ///
            /// Fails with the writer's error. Nothing was written then.
            ///
            /// # Cancellation
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was written.
            fn write<'a>(&'a mut self, bytes: &'a [u8]) -> Operation<'a, Self, Write<'a>>
            where
                Self: Unpin,
            {
                Operation::new(self, Write { bytes })
            }

            /// Does the same as [`write`](Self::write), for bytes in several parts.
            ///
            /// # Errors
            ///
            /// As `write`.
            ///
            /// # Cancellation
            ///
            /// As `write`.
            fn write_vectored<'a, 'b>(
                &'a mut self,
                parts: &'a [IoSlice<'b>],
            ) -> Operation<'a, Self, WriteVectored<'a, 'b>>
            where
                Self: Unpin,
            {
                Operation::new(self, WriteVectored { parts })
            }

            /// Writes a part of a buffer, and advances the buffer by as much. Returns how many
            /// bytes it has written.
            ///
            /// # Errors
            ///
            /// Fails with the writer's error. Nothing was written then.
            ///
            /// # Cancellation
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was written.
            fn write_buf<'a, B: Buf>(
                &'a mut self,
                buffer: &'a mut B,
            ) -> Operation<'a, Self, WriteBuf<'a, B>>
            where
                Self: Unpin,
            {
                Operation::new(self, WriteBuf { buffer })
            }

            /// Writes a whole buffer, and advances the buffer as it does so.
            ///
            /// # Errors
            ///
            /// Fails with the writer's error, but for `Interrupted`: then it writes again. Fails
            /// with `WriteZero` if the writer takes nothing. What the buffer still holds was not
            /// written.
            ///
            /// # Cancellation
            ///
            /// If the future is dropped before it is ready, a part may have been written. The
            /// buffer holds the rest, so that the call can be repeated.
            ///
            /// # Examples
            ///
            /// ```
            /// use arc_util::io::AsyncWriteExt;
            /// # #[arc::main]
            /// # async fn main() -> std::io::Result<()> {
            /// let mut writer = Vec::new();
            /// let mut buffer = &b"hello"[..];
            /// writer.write_all_buf(&mut buffer).await?;
            /// assert_eq!((&writer[..], buffer), (&b"hello"[..], &b""[..]));
            /// # Ok(())
            /// # }
            /// ```
            fn write_all_buf<'a, B: Buf>(
                &'a mut self,
                buffer: &'a mut B,
            ) -> Operation<'a, Self, WriteAllBuf<'a, B>>
            where
                Self: Unpin,
            {
                Operation::new(self, WriteAllBuf { buffer })
            }

            /// Writes all of the bytes.
            ///
            /// # Errors
            ///
            /// Fails with the writer's error, but for `Interrupted`: then it writes again. Fails
            /// with `WriteZero` if the writer takes nothing. A part may have been written.
            ///
            /// # Cancellation
            ///
            /// Not cancel safe: a part may have been written, and nobody knows how much.
            fn write_all<'a>(&'a mut self, bytes: &'a [u8]) -> Operation<'a, Self, WriteAll<'a>>
            where
                Self: Unpin,
            {
                Operation::new(self, WriteAll { rest: bytes })
            }

            /// Waits until what was written, and is in a buffer of this process, has gone on.
            ///
            /// # Errors
            ///
            /// Fails with the writer's error when the buffered data cannot be written, but for
            /// `Interrupted`: then it tries again.
            ///
            /// # Cancellation
            ///
            /// A `flush` that was dropped can be called again.
            fn flush(&mut self) -> Operation<'_, Self, Flush>
            where
                Self: Unpin,
            {
                Operation::new(self, Flush(()))
            }

            /// Writes what is buffered, and tells the reader at the other end that no more comes.
            ///
            /// # Errors
            ///
            /// Fails with the writer's error when the buffered data cannot be written, but for
            /// `Interrupted`: then it tries again.
            ///
            /// # Cancellation
            ///
            /// A `shutdown` that was dropped can be called again.
            fn shutdown(&mut self) -> Operation<'_, Self, Shutdown>
            where
                Self: Unpin,
            {
                Operation::new(self, Shutdown(()))
            }

            /// Does the same as [`shutdown`](Self::shutdown). This is the name in the futures
            /// crates.
            ///
            /// # Errors
            ///
            /// As `shutdown`.
            ///
            /// # Cancellation
            ///
            /// As `shutdown`.
            fn close(&mut self) -> Operation<'_, Self, Shutdown>
            where
                Self: Unpin,
            {
                self.shutdown()
            }

            /// Writes a byte.
            fn write_u8(&mut self, number: u8) -> Operation<'_, Self, WriteNumber<1>>
            where
                Self: Unpin,
            {
                Operation::new(self, WriteNumber::new(number.to_be_bytes()))
            }

            /// Writes a byte with a sign.
            fn write_i8(&mut self, number: i8) -> Operation<'_, Self, WriteNumber<1>>
            where
                Self: Unpin,
            {
                Operation::new(self, WriteNumber::new(number.to_be_bytes()))
            }

            $(
                #[doc = concat!("Writes an `", stringify!($type), "`.")]
                fn $write(
                    &mut self,
                    number: $type,
                ) -> Operation<'_, Self, WriteNumber<{ size_of::<$type>() }>>
                where
                    Self: Unpin,
                {
                    Operation::new(self, WriteNumber::new(number.to_be_bytes()))
                }

                #[doc = concat!("Writes an `", stringify!($type), "`, low byte first.")]
                fn $write_le(
                    &mut self,
                    number: $type,
                ) -> Operation<'_, Self, WriteNumber<{ size_of::<$type>() }>>
                where
                    Self: Unpin,
                {
                    Operation::new(self, WriteNumber::new(number.to_le_bytes()))
                }
            )*
        }
    };
}

writes_numbers! {
    u16: write_u16 write_u16_le;
    u32: write_u32 write_u32_le;
    u64: write_u64 write_u64_le;
    u128: write_u128 write_u128_le;
    i16: write_i16 write_i16_le;
    i32: write_i32 write_i32_le;
    i64: write_i64 write_i64_le;
    i128: write_i128 write_i128_le;
    f32: write_f32 write_f32_le;
    f64: write_f64 write_f64_le;
}

impl<W: AsyncWrite + ?Sized> AsyncWriteExt for W {}

/// See [`AsyncWriteExt::write`].
#[derive(Debug)]
pub struct Write<'a> {
    bytes: &'a [u8],
}

impl<W: AsyncWrite + ?Sized> Operate<W> for Write<'_> {
    type Output = usize;

    fn poll(&mut self, writer: Pin<&mut W>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        writer.poll_write(context, self.bytes)
    }
}

/// See [`AsyncWriteExt::write_vectored`].
#[derive(Debug)]
pub struct WriteVectored<'a, 'b> {
    parts: &'a [IoSlice<'b>],
}

impl<W: AsyncWrite + ?Sized> Operate<W> for WriteVectored<'_, '_> {
    type Output = usize;

    fn poll(&mut self, writer: Pin<&mut W>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        writer.poll_write_vectored(context, self.parts)
    }
}

/// See [`AsyncWriteExt::write_buf`].
#[derive(Debug)]
pub struct WriteBuf<'a, B> {
    buffer: &'a mut B,
}

impl<W: AsyncWrite + ?Sized, B: Buf> Operate<W> for WriteBuf<'_, B> {
    type Output = usize;

    fn poll(&mut self, writer: Pin<&mut W>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        match self.buffer.has_remaining() {
            true => poll_write_buf(writer, context, self.buffer),
            false => Poll::Ready(Ok(0)),
        }
    }
}

/// See [`AsyncWriteExt::write_all_buf`].
#[derive(Debug)]
pub struct WriteAllBuf<'a, B> {
    buffer: &'a mut B,
}

impl<W: AsyncWrite + ?Sized, B: Buf> Operate<W> for WriteAllBuf<'_, B> {
    type Output = ();

    fn poll(&mut self, mut writer: Pin<&mut W>, context: &mut Context<'_>) -> Poll<Result<()>> {
        while self.buffer.has_remaining() {
            let written = ready!(poll_write_buf(writer.as_mut(), context, self.buffer));
            if unless_interrupted(written)? == Some(0) {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
        }
        Poll::Ready(Ok(()))
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

/// See [`AsyncWriteExt::write_all`].
#[derive(Debug)]
pub struct WriteAll<'a> {
    rest: &'a [u8],
}

impl<W: AsyncWrite + ?Sized> Operate<W> for WriteAll<'_> {
    type Output = ();

    fn poll(&mut self, writer: Pin<&mut W>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let mut written = 0;
        let result = poll_write_rest(writer, context, self.rest, &mut written);
        self.rest = &self.rest[written..];
        result
    }
}

/// See the numbers of [`AsyncWriteExt`].
#[derive(Debug)]
pub struct WriteNumber<const N: usize> {
    bytes: [u8; N],
    written: usize,
}

impl<const N: usize> WriteNumber<N> {
    fn new(bytes: [u8; N]) -> Self {
        Self { bytes, written: 0 }
    }
}

impl<W: AsyncWrite + ?Sized, const N: usize> Operate<W> for WriteNumber<N> {
    type Output = ();

    fn poll(&mut self, writer: Pin<&mut W>, context: &mut Context<'_>) -> Poll<Result<()>> {
        poll_write_rest(writer, context, &self.bytes, &mut self.written)
    }
}

/// Writes until all of the bytes are written.
fn poll_write_rest<W: AsyncWrite + ?Sized>(
    mut writer: Pin<&mut W>,
    context: &mut Context<'_>,
    bytes: &[u8],
    written: &mut usize,
) -> Poll<Result<()>> {
    while *written < bytes.len() {
        let count = ready!(writer.as_mut().poll_write(context, &bytes[*written..]));
        match unless_interrupted(count)? {
            Some(0) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
            Some(count) => *written += count,
            None => {}
        }
    }
    Poll::Ready(Ok(()))
}

/// See [`AsyncWriteExt::flush`].
#[derive(Debug)]
pub struct Flush(());

impl<W: AsyncWrite + ?Sized> Operate<W> for Flush {
    type Output = ();

    fn poll(&mut self, writer: Pin<&mut W>, context: &mut Context<'_>) -> Poll<Result<()>> {
        poll_flush(writer, context)
    }
}

/// See [`AsyncWriteExt::shutdown`].
#[derive(Debug)]
pub struct Shutdown(());

impl<W: AsyncWrite + ?Sized> Operate<W> for Shutdown {
    type Output = ();

    fn poll(&mut self, mut writer: Pin<&mut W>, context: &mut Context<'_>) -> Poll<Result<()>> {
        while unless_interrupted(ready!(writer.as_mut().poll_close(context)))?.is_none() {}
        Poll::Ready(Ok(()))
    }
}
