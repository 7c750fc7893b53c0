//! Numbers of a fixed size: tokio's methods to read and to write them.

use arc::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use std::future::Future;
use std::io::Result;

/// Writes the methods for each type of number: with the high byte first, and with the low one.
macro_rules! numbers {
    ($($type:ident: $read:ident $read_le:ident $write:ident $write_le:ident;)*) => {
        /// Adds methods that read a number.
        ///
        /// The bytes are in network order, the high one first. In the methods whose names end in
        /// `_le` the low one comes first.
        ///
        /// # Errors
        ///
        /// All methods fail with the reader's error, and with `UnexpectedEof` if the stream ends
        /// before the number does.
        ///
        /// # Cancellation
        ///
        /// Not cancel safe: the bytes of a number that was read in part are lost.
        ///
        /// # Examples
        ///
        /// ```
        /// use arc_util::io::{AsyncReadNumbersExt, AsyncWriteNumbersExt, duplex};
        /// # #[arc::main]
        /// # async fn main() -> std::io::Result<()> {
        /// let (mut near, mut far) = duplex(64);
        /// near.write_u16(258).await?;
        /// assert_eq!(far.read_u8().await?, 1);
        /// assert_eq!(far.read_u8().await?, 2);
        /// # Ok(())
        /// # }
        /// ```
        pub trait AsyncReadNumbersExt: AsyncRead + Unpin {
            /// Reads a byte.
            fn read_u8(&mut self) -> impl Future<Output = Result<u8>> {
                async { Ok(u8::from_be_bytes(bytes(self).await?)) }
            }

            /// Reads a byte with a sign.
            fn read_i8(&mut self) -> impl Future<Output = Result<i8>> {
                async { Ok(i8::from_be_bytes(bytes(self).await?)) }
            }

            $(
                #[doc = concat!("Reads an `", stringify!($type), "`.")]
                fn $read(&mut self) -> impl Future<Output = Result<$type>> {
                    async { Ok($type::from_be_bytes(bytes(self).await?)) }
                }

                #[doc = concat!("Reads an `", stringify!($type), "`, low byte first.")]
                fn $read_le(&mut self) -> impl Future<Output = Result<$type>> {
                    async { Ok($type::from_le_bytes(bytes(self).await?)) }
                }
            )*
        }

        /// Adds methods that write a number.
        ///
        /// The bytes are in network order, the high one first. In the methods whose names end in
        /// `_le` the low one comes first.
        ///
        /// # Errors
        ///
        /// All methods fail with the writer's error, and with `WriteZero` if it takes no more
        /// bytes.
        ///
        /// # Cancellation
        ///
        /// Not cancel safe: a part of the number may have been written.
        ///
        /// # Examples
        ///
        /// See [`AsyncReadNumbersExt`].
        pub trait AsyncWriteNumbersExt: AsyncWrite + Unpin {
            /// Writes a byte.
            fn write_u8(&mut self, number: u8) -> impl Future<Output = Result<()>> {
                async move { self.write_all(&[number]).await }
            }

            /// Writes a byte with a sign.
            fn write_i8(&mut self, number: i8) -> impl Future<Output = Result<()>> {
                async move { self.write_all(&number.to_be_bytes()).await }
            }

            $(
                #[doc = concat!("Writes an `", stringify!($type), "`.")]
                fn $write(&mut self, number: $type) -> impl Future<Output = Result<()>> {
                    async move { self.write_all(&number.to_be_bytes()).await }
                }

                #[doc = concat!("Writes an `", stringify!($type), "`, low byte first.")]
                fn $write_le(&mut self, number: $type) -> impl Future<Output = Result<()>> {
                    async move { self.write_all(&number.to_le_bytes()).await }
                }
            )*
        }
    };
}

numbers! {
    u16: read_u16 read_u16_le write_u16 write_u16_le;
    u32: read_u32 read_u32_le write_u32 write_u32_le;
    u64: read_u64 read_u64_le write_u64 write_u64_le;
    u128: read_u128 read_u128_le write_u128 write_u128_le;
    i16: read_i16 read_i16_le write_i16 write_i16_le;
    i32: read_i32 read_i32_le write_i32 write_i32_le;
    i64: read_i64 read_i64_le write_i64 write_i64_le;
    i128: read_i128 read_i128_le write_i128 write_i128_le;
    f32: read_f32 read_f32_le write_f32 write_f32_le;
    f64: read_f64 read_f64_le write_f64 write_f64_le;
}

impl<R: AsyncRead + Unpin + ?Sized> AsyncReadNumbersExt for R {}
impl<W: AsyncWrite + Unpin + ?Sized> AsyncWriteNumbersExt for W {}

/// Reads as many bytes as the array has.
async fn bytes<const N: usize>(reader: &mut (impl AsyncRead + Unpin + ?Sized)) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes).await?;
    Ok(bytes)
}
