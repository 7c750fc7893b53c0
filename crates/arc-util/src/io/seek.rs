//! tokio's methods of what has a position, for the seekers of futures-io.

use super::operation::{Operate, Operation};
use arc::io::AsyncSeek;
use std::io::{Result, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Adds tokio's methods to all that implements futures-io's `AsyncSeek`.
///
/// futures-util has a trait of this name, too. Import one of them. In the scope of both, calls of
/// what both have are ambiguous.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncSeekExt, Cursor, SeekFrom};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut cursor = Cursor::new(b"hello");
/// assert_eq!(cursor.seek(SeekFrom::End(-1)).await?, 4);
/// assert_eq!(cursor.read_u8().await?, b'o');
/// # Ok(())
/// # }
/// ```
pub trait AsyncSeekExt: AsyncSeek {
    /// Moves the position, and returns it, in bytes from the start.
    ///
    /// # Errors
    ///
    /// Fails with the error of what is moved in, for example if the position would be before the
    /// start.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped before it is ready, the position may have been moved or not.
    fn seek(&mut self, position: SeekFrom) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        Operation::new(self, Seek(position))
    }

    /// Moves the position to the start.
    ///
    /// # Errors
    ///
    /// As [`seek`](Self::seek).
    ///
    /// # Cancellation
    ///
    /// As `seek`.
    fn rewind(&mut self) -> Operation<'_, Self, Rewind>
    where
        Self: Unpin,
    {
        Operation::new(self, Rewind(()))
    }

    /// Returns the position, in bytes from the start.
    ///
    /// # Errors
    ///
    /// As [`seek`](Self::seek).
    ///
    /// # Cancellation
    ///
    /// Cancel safe: the position stays.
    fn stream_position(&mut self) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Current(0))
    }
}

impl<S: AsyncSeek + ?Sized> AsyncSeekExt for S {}

/// See [`AsyncSeekExt::seek`].
#[derive(Debug)]
pub struct Seek(SeekFrom);

impl<S: AsyncSeek + ?Sized> Operate<S> for Seek {
    type Output = u64;

    fn poll(&mut self, io: Pin<&mut S>, context: &mut Context<'_>) -> Poll<Result<u64>> {
        io.poll_seek(context, self.0)
    }
}

/// See [`AsyncSeekExt::rewind`].
#[derive(Debug)]
pub struct Rewind(());

impl<S: AsyncSeek + ?Sized> Operate<S> for Rewind {
    type Output = ();

    fn poll(&mut self, io: Pin<&mut S>, context: &mut Context<'_>) -> Poll<Result<()>> {
        io.poll_seek(context, SeekFrom::Start(0)).map_ok(drop)
    }
}
