//! The two directions of any stream as two owned halves.

use crate::forward::{reads_by, writes_by};
use arc::io::{AsyncRead, AsyncWrite};
use futures_util::io::{ReadHalf as Reading, WriteHalf as Writing};
use std::pin::Pin;

/// Splits any stream into two owned halves, one for each direction. A lock keeps the halves
/// from using the stream at once.
///
/// The sockets of [`net`](crate::net) need no lock: see
/// [`into_split`](super::AsyncReadExt::into_split).
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (near, mut far) = duplex(64);
/// let (mut read, mut write) = split(near);
/// write.write_all(b"ping").await?;
/// far.write_all(b"pong").await?;
/// let mut text = [0; 4];
/// read.read_exact(&mut text).await?;
/// assert_eq!(&text, b"pong");
/// let _near = read.unsplit(write);
/// # Ok(())
/// # }
/// ```
pub fn split<T: AsyncRead + AsyncWrite>(stream: T) -> (ReadHalf<T>, WriteHalf<T>) {
    let (read, write) = futures_util::AsyncReadExt::split(stream);
    (ReadHalf(read), WriteHalf(write))
}

/// The reading half of a stream; made by [`split`].
///
/// # Examples
///
/// See [`split`].
#[derive(Debug)]
pub struct ReadHalf<T>(Reading<T>);

/// The writing half of a stream; made by [`split`].
///
/// Dropping it does not end the stream, as the other half still owns it: shut it down.
///
/// # Examples
///
/// See [`split`].
#[derive(Debug)]
pub struct WriteHalf<T>(Writing<T>);

impl<T> ReadHalf<T> {
    /// Returns whether the two halves are of the same stream.
    pub fn is_pair_of(&self, other: &WriteHalf<T>) -> bool {
        self.0.is_pair_of(&other.0)
    }

    /// Puts the two halves of a stream together again.
    ///
    /// # Panics
    ///
    /// Panics when the halves belong to different streams: see [`is_pair_of`](Self::is_pair_of).
    #[track_caller]
    pub fn unsplit(self, other: WriteHalf<T>) -> T
    where
        T: Unpin,
    {
        assert!(self.is_pair_of(&other), "the two halves are not of one stream");
        let stream = self.0.reunite(other.0);
        stream.unwrap_or_else(|_| unreachable!("they are a pair"))
    }
}

impl<T> WriteHalf<T> {
    /// Returns whether the two halves are of the same stream.
    pub fn is_pair_of(&self, other: &ReadHalf<T>) -> bool {
        self.0.is_pair_of(&other.0)
    }
}

reads_by! { [T: AsyncRead] ReadHalf<T>, |this| Pin::new(&mut this.get_mut().0) }

writes_by! { [T: AsyncWrite] WriteHalf<T>, |this| Pin::new(&mut this.get_mut().0) }
