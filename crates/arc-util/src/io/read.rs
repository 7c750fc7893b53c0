//! tokio's methods of readers, for the readers of futures-io.

use super::operation::{Operate, Operation, unless_interrupted};
use arc::io::AsyncRead;
use bytes::BufMut;
use futures_util::io::{Chain, Take};
use std::io::{Error, ErrorKind, Result};
use std::mem;
use std::pin::Pin;
use std::str::Utf8Error;
use std::task::{Context, Poll, ready};

/// How much one call of `read_buf` reads at most.
///
/// It reads into an array first, because the memory at the end of a `BufMut` is not initialized,
/// and nobody but unsafe code can read into that.
const READ_MAX: usize = 8 << 10;

/// By how much a full vector grows at least.
const GROWTH_MIN: usize = 32;

/// How much `read_to_end` asks for at first. Whenever it gets as much as it asks for, it asks for
/// twice as much the next time.
const ROOM_MIN: usize = 32 << 10;

/// How much `read_to_end` asks for at most: as much as a job reads from a file.
const ROOM_MAX: usize = 2 << 20;

/// Writes the methods for each type of number: with the high byte first, and with the low one.
macro_rules! reads_numbers {
    ($($type:ident: $read:ident $read_le:ident;)*) => {
        /// Adds tokio's methods to all that implements futures-io's `AsyncRead`.
        ///
        /// futures-util has a trait of this name, too. Import one of them. In the scope of both,
        /// calls of what both have are ambiguous.
        ///
        /// # Numbers
        ///
        /// `read_u8`, `read_u16` and so on read the bytes of a number in network order: the high
        /// one comes first. In the methods whose names end in `_le` the low one comes first. They
        /// fail with the reader's error, and with `UnexpectedEof` if the input ends before the
        /// number does. They are not cancel safe: the bytes of a number that was read in part are
        /// lost.
        ///
        /// # Examples
        ///
        /// ```
        /// use arc_util::io::AsyncReadExt;
        /// # #[arc::main]
        /// # async fn main() -> std::io::Result<()> {
        /// let mut reader = &b"\x00\x05hello, and more"[..];
        /// let length = reader.read_u16().await?;
        /// let mut word = vec![0; length.into()];
        /// assert_eq!(reader.read_exact(&mut word).await?, 5);
        /// assert_eq!(word, b"hello");
        /// let mut rest = String::new();
        /// assert_eq!(reader.read_to_string(&mut rest).await?, 10);
        /// assert_eq!(rest, ", and more");
        /// # Ok(())
        /// # }
        /// ```
        pub trait AsyncReadExt: AsyncRead {
            /// Reads up to as many bytes as the buffer has. Returns how many bytes it has read: 0
            /// at the end of the input, or if the buffer is empty.
            ///
            /// # Errors
            ///
            /// Fails with the reader's error. Nothing was read then.
            ///
            /// # Cancellation
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was read.
            fn read<'a>(&'a mut self, buffer: &'a mut [u8]) -> Operation<'a, Self, Read<'a>>
            where
                Self: Unpin,
            {
                Operation::new(self, Read { buffer })
            }

            /// Reads to the end of a buffer, such as a `Vec<u8>` or a `BytesMut`, which grows.
            /// Returns how many bytes it has read: at most 8 KiB, and 0 at the end of the input or
            /// if the buffer cannot grow.
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
            /// use arc_util::io::AsyncReadExt;
            /// # #[arc::main]
            /// # async fn main() -> std::io::Result<()> {
            /// let mut reader = &b"hello"[..];
            /// let mut buffer = Vec::new();
            /// while reader.read_buf(&mut buffer).await? > 0 {}
            /// assert_eq!(buffer, b"hello");
            /// # Ok(())
            /// # }
            /// ```
            fn read_buf<'a, B: BufMut + ?Sized>(
                &'a mut self,
                buffer: &'a mut B,
            ) -> Operation<'a, Self, ReadBuf<'a, B>>
            where
                Self: Unpin,
            {
                Operation::new(self, ReadBuf { buffer })
            }

            /// Reads as many bytes as the buffer has, and returns that number.
            ///
            /// # Errors
            ///
            /// Fails with `UnexpectedEof` if the input ends before. Fails with the reader's error,
            /// but for `Interrupted`: then it reads again. What was read until then is in the
            /// buffer, and nobody knows how much it is.
            ///
            /// # Cancellation
            ///
            /// Not cancel safe: what was read until then is lost.
            fn read_exact<'a>(
                &'a mut self,
                buffer: &'a mut [u8],
            ) -> Operation<'a, Self, ReadExact<'a>>
            where
                Self: Unpin,
            {
                Operation::new(self, ReadExact { buffer, filled: 0 })
            }

            /// Reads up to the end of the input, and adds what it has read to the vector. Returns
            /// how many bytes these are.
            ///
            /// # Errors
            ///
            /// Fails with the reader's error, but for `Interrupted`: then it reads again. What was
            /// read until then is in the vector.
            ///
            /// # Cancellation
            ///
            /// If the future is dropped before it is ready, what was read until then is in the
            /// vector, so that the call can be repeated.
            fn read_to_end<'a>(
                &'a mut self,
                bytes: &'a mut Vec<u8>,
            ) -> Operation<'a, Self, ReadToEnd<'a>>
            where
                Self: Unpin,
            {
                Operation::new(self, ReadToEnd { bytes, progress: Progress::default() })
            }

            /// Reads up to the end of the input, and adds what it has read to the text. Returns how
            /// many bytes these are.
            ///
            /// # Errors
            ///
            /// Fails with `InvalidData` if what was read is not UTF-8. Fails with the reader's
            /// error, but for `Interrupted`: then it reads again. In both cases what was read is
            /// lost, and the text is as it was.
            ///
            /// # Cancellation
            ///
            /// Not cancel safe: what was read until then is lost, and the text is as it was.
            fn read_to_string<'a>(
                &'a mut self,
                text: &'a mut String,
            ) -> Operation<'a, Self, ReadToString<'a>>
            where
                Self: Unpin,
            {
                let bytes = Vec::new();
                Operation::new(self, ReadToString { text, bytes, progress: Progress::default() })
            }

            /// Returns a reader that reads at most `limit` bytes from this one, and then has ended.
            fn take(self, limit: u64) -> Take<Self>
            where
                Self: Sized,
            {
                futures_util::AsyncReadExt::take(self, limit)
            }

            /// Returns a reader that reads this one to its end, and then the other one.
            fn chain<R: AsyncRead>(self, next: R) -> Chain<Self, R>
            where
                Self: Sized,
            {
                futures_util::AsyncReadExt::chain(self, next)
            }

            /// Reads a byte.
            fn read_u8(&mut self) -> Operation<'_, Self, ReadNumber<u8, 1>>
            where
                Self: Unpin,
            {
                Operation::new(self, ReadNumber::new(u8::from_be_bytes))
            }

            /// Reads a byte with a sign.
            fn read_i8(&mut self) -> Operation<'_, Self, ReadNumber<i8, 1>>
            where
                Self: Unpin,
            {
                Operation::new(self, ReadNumber::new(i8::from_be_bytes))
            }

            $(
                #[doc = concat!("Reads an `", stringify!($type), "`.")]
                fn $read(
                    &mut self,
                ) -> Operation<'_, Self, ReadNumber<$type, { size_of::<$type>() }>>
                where
                    Self: Unpin,
                {
                    Operation::new(self, ReadNumber::new($type::from_be_bytes))
                }

                #[doc = concat!("Reads an `", stringify!($type), "`, low byte first.")]
                fn $read_le(
                    &mut self,
                ) -> Operation<'_, Self, ReadNumber<$type, { size_of::<$type>() }>>
                where
                    Self: Unpin,
                {
                    Operation::new(self, ReadNumber::new($type::from_le_bytes))
                }
            )*
        }
    };
}

reads_numbers! {
    u16: read_u16 read_u16_le;
    u32: read_u32 read_u32_le;
    u64: read_u64 read_u64_le;
    u128: read_u128 read_u128_le;
    i16: read_i16 read_i16_le;
    i32: read_i32 read_i32_le;
    i64: read_i64 read_i64_le;
    i128: read_i128 read_i128_le;
    f32: read_f32 read_f32_le;
    f64: read_f64 read_f64_le;
}

impl<R: AsyncRead + ?Sized> AsyncReadExt for R {}

/// See [`AsyncReadExt::read`].
#[derive(Debug)]
pub struct Read<'a> {
    buffer: &'a mut [u8],
}

impl<R: AsyncRead + ?Sized> Operate<R> for Read<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        reader.poll_read(context, self.buffer)
    }
}

/// See [`AsyncReadExt::read_buf`].
#[derive(Debug)]
pub struct ReadBuf<'a, B: ?Sized> {
    buffer: &'a mut B,
}

impl<R: AsyncRead + ?Sized, B: BufMut + ?Sized> Operate<R> for ReadBuf<'_, B> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        if !self.buffer.has_remaining_mut() {
            return Poll::Ready(Ok(0));
        }
        // The array is here and not in the future, which would be as large.
        let mut bytes = [0; READ_MAX];
        let limit = self.buffer.remaining_mut().min(READ_MAX);
        let length = ready!(reader.poll_read(context, &mut bytes[..limit]))?;
        self.buffer.put_slice(&bytes[..length]);
        Poll::Ready(Ok(length))
    }
}

/// See [`AsyncReadExt::read_exact`].
#[derive(Debug)]
pub struct ReadExact<'a> {
    buffer: &'a mut [u8],
    filled: usize,
}

impl<R: AsyncRead + ?Sized> Operate<R> for ReadExact<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        poll_fill(reader, context, self.buffer, &mut self.filled)
    }
}

/// See the numbers of [`AsyncReadExt`].
#[derive(Debug)]
pub struct ReadNumber<T, const N: usize> {
    bytes: [u8; N],
    filled: usize,
    convert: fn([u8; N]) -> T,
}

impl<T, const N: usize> ReadNumber<T, N> {
    fn new(convert: fn([u8; N]) -> T) -> Self {
        Self { bytes: [0; N], filled: 0, convert }
    }
}

impl<R: AsyncRead + ?Sized, T, const N: usize> Operate<R> for ReadNumber<T, N> {
    type Output = T;

    fn poll(&mut self, reader: Pin<&mut R>, context: &mut Context<'_>) -> Poll<Result<T>> {
        ready!(poll_fill(reader, context, &mut self.bytes, &mut self.filled))?;
        Poll::Ready(Ok((self.convert)(self.bytes)))
    }
}

/// Reads until the buffer is full. Returns how many bytes it has.
fn poll_fill<R: AsyncRead + ?Sized>(
    mut reader: Pin<&mut R>,
    context: &mut Context<'_>,
    buffer: &mut [u8],
    filled: &mut usize,
) -> Poll<Result<usize>> {
    while *filled < buffer.len() {
        let read = ready!(reader.as_mut().poll_read(context, &mut buffer[*filled..]));
        match unless_interrupted(read)? {
            Some(0) => {
                let text = "early eof";
                return Poll::Ready(Err(Error::new(ErrorKind::UnexpectedEof, text)));
            }
            Some(count) => *filled += count,
            None => {}
        }
    }
    Poll::Ready(Ok(*filled))
}

/// See [`AsyncReadExt::read_to_end`].
#[derive(Debug)]
pub struct ReadToEnd<'a> {
    bytes: &'a mut Vec<u8>,
    progress: Progress,
}

impl<R: AsyncRead + ?Sized> Operate<R> for ReadToEnd<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        self.progress.poll(reader, context, self.bytes)
    }
}

/// See [`AsyncReadExt::read_to_string`].
#[derive(Debug)]
pub struct ReadToString<'a> {
    text: &'a mut String,
    bytes: Vec<u8>,
    progress: Progress,
}

impl<R: AsyncRead + ?Sized> Operate<R> for ReadToString<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        let count = ready!(self.progress.poll(reader, context, &mut self.bytes))?;
        let read = String::from_utf8(mem::take(&mut self.bytes));
        let read = read.map_err(|error| not_text(error.utf8_error()))?;
        match self.text.is_empty() {
            true => *self.text = read,
            false => self.text.push_str(&read),
        }
        Poll::Ready(Ok(count))
    }
}

/// The error of bytes that should be a text: it says which are not.
pub(super) fn not_text(error: Utf8Error) -> Error {
    Error::new(ErrorKind::InvalidData, error)
}

/// How far it is that a reader is read to its end.
#[derive(Debug)]
struct Progress {
    read: usize,
    /// How much it asks for.
    room: usize,
}

impl Default for Progress {
    fn default() -> Self {
        Self { read: 0, room: ROOM_MIN }
    }
}

impl Progress {
    fn poll<R: AsyncRead + ?Sized>(
        &mut self,
        mut reader: Pin<&mut R>,
        context: &mut Context<'_>,
        bytes: &mut Vec<u8>,
    ) -> Poll<Result<usize>> {
        loop {
            let start = bytes.len();
            if start == bytes.capacity() {
                bytes.reserve(GROWTH_MIN);
            }

            // What is read into must be initialized. The zeros that nothing was read into are taken
            // away at once: the vector is as it should be whenever somebody else can look at it.
            let room = self.room.min(bytes.capacity() - start);
            bytes.resize(start + room, 0);
            let read = reader.as_mut().poll_read(context, &mut bytes[start..]);
            let count = match &read {
                Poll::Ready(Ok(count)) => *count,
                _ => 0,
            };
            bytes.truncate(start + count);

            match unless_interrupted(ready!(read))? {
                Some(0) => return Poll::Ready(Ok(self.read)),
                Some(count) => self.read += count,
                None => {}
            }
            if count == self.room {
                self.room = ROOM_MAX.min(self.room * 2);
            }
        }
    }
}
