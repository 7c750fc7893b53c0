//! tokio's methods of buffered readers, for the buffered readers of futures-io.

use super::lines::Lines;
use super::operation::{Operate, Operation};
use super::read::not_text;
use super::segments::Split;
use super::until::poll_read_until;
use arc::io::AsyncBufRead;
use futures_util::io::FillBuf;
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Adds tokio's methods to all that implements futures-io's `AsyncBufRead`.
///
/// futures-util has a trait of this name, too. Import one of them. In the scope of both, calls of
/// what both have are ambiguous.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncBufReadExt, BufReader};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut reader = BufReader::new(&b"name: one\ntwo\nthree"[..]);
/// let mut name = Vec::new();
/// assert_eq!(reader.read_until(b' ', &mut name).await?, 6);
/// let mut line = String::new();
/// assert_eq!(reader.read_line(&mut line).await?, 4);
/// assert_eq!(line, "one\n");
///
/// let mut lines = reader.lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{line}");
/// }
/// # Ok(())
/// # }
/// ```
pub trait AsyncBufReadExt: AsyncBufRead {
    /// Reads up to a byte, and with it, or up to the end of the input. Adds what it has read to the
    /// vector, and returns how many bytes these are: 0 at the end of the input.
    ///
    /// # Errors
    ///
    /// Fails with the reader's error, but for `Interrupted`: then it reads again. What was read
    /// until then is in the vector.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped before it is ready, what was read until then is in the vector, so
    /// that the call can be repeated.
    fn read_until<'a>(
        &'a mut self,
        byte: u8,
        bytes: &'a mut Vec<u8>,
    ) -> Operation<'a, Self, ReadUntil<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadUntil { byte, bytes, read: 0 })
    }

    /// Reads a line with its end (`\n` or `\r\n`), or up to the end of the input. Adds what it has
    /// read to the text, and returns how many bytes these are: 0 at the end of the input.
    ///
    /// # Errors
    ///
    /// Fails with `InvalidData` if the line is not UTF-8: it is lost, and the text is as it was.
    /// Fails with the reader's error, but for `Interrupted`: then it reads again. What was read
    /// until then is in the text, if it is UTF-8.
    ///
    /// # Cancellation
    ///
    /// Not cancel safe: what was read until then is lost, and the text is as it was. Use
    /// [`lines`](Self::lines) instead.
    fn read_line<'a>(&'a mut self, text: &'a mut String) -> Operation<'a, Self, ReadLine<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadLine { text, bytes: Vec::new() })
    }

    /// Returns the parts of the input between separators.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::io::{AsyncBufReadExt, BufReader};
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut segments = BufReader::new(&b"one,two"[..]).split(b',');
    /// assert_eq!(segments.next_segment().await?.as_deref(), Some(&b"one"[..]));
    /// assert_eq!(segments.next_segment().await?.as_deref(), Some(&b"two"[..]));
    /// assert_eq!(segments.next_segment().await?, None);
    /// # Ok(())
    /// # }
    /// ```
    fn split(self, separator: u8) -> Split<Self>
    where
        Self: Sized + Unpin,
    {
        Split::new(self, separator)
    }

    /// Returns what is in the buffer. If that is nothing, it reads first. No bytes are returned at
    /// the end of the input only.
    ///
    /// The bytes stay in the buffer until [`consume`](Self::consume) is called.
    ///
    /// # Errors
    ///
    /// Fails with the reader's error.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: what was read is in the buffer.
    fn fill_buf(&mut self) -> FillBuf<'_, Self>
    where
        Self: Unpin,
    {
        futures_util::AsyncBufReadExt::fill_buf(self)
    }

    /// Removes bytes from the beginning of the buffer: they have been used.
    ///
    /// # Panics
    ///
    /// May panic if the buffer has fewer bytes.
    fn consume(&mut self, count: usize)
    where
        Self: Unpin,
    {
        Pin::new(self).consume(count);
    }

    /// Returns the lines of the input.
    ///
    /// # Examples
    ///
    /// See [`Lines`].
    fn lines(self) -> Lines<Self>
    where
        Self: Sized,
    {
        Lines::new(self)
    }
}

impl<R: AsyncBufRead + ?Sized> AsyncBufReadExt for R {}

/// See [`AsyncBufReadExt::read_until`].
#[derive(Debug)]
pub struct ReadUntil<'a> {
    byte: u8,
    bytes: &'a mut Vec<u8>,
    read: usize,
}

impl<R: AsyncBufRead + ?Sized> Operate<R> for ReadUntil<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        let before = self.bytes.len();
        let polled = poll_read_until(reader, context, self.byte, self.bytes);
        self.read += self.bytes.len() - before;
        polled.map_ok(|()| self.read)
    }
}

/// See [`AsyncBufReadExt::read_line`].
#[derive(Debug)]
pub struct ReadLine<'a> {
    text: &'a mut String,
    /// What has been read of the line.
    bytes: Vec<u8>,
}

impl<R: AsyncBufRead + ?Sized> Operate<R> for ReadLine<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, context: &mut Context<'_>) -> Poll<Result<usize>> {
        let read = ready!(poll_read_until(reader, context, b'\n', &mut self.bytes));
        let line = std::str::from_utf8(&self.bytes).map_err(not_text);
        if let Ok(line) = line {
            self.text.push_str(line);
        }

        // Of two errors, the reader's is told.
        read?;
        Poll::Ready(line.map(str::len))
    }
}
