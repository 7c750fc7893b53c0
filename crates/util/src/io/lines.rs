//! tokio's name for reading the next line.

use arc::io::AsyncBufRead;
use futures_core::Stream;
use futures_util::io::Lines;
use std::future::{Future, poll_fn};
use std::io::Result;
use std::pin::Pin;

/// Adds `next_line` to the lines of a reader, which are a `Stream` in the futures crates.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncBufReadExt, BufReader, LinesExt};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut lines = BufReader::new(&b"one\r\ntwo"[..]).lines();
/// assert_eq!(lines.next_line().await?.as_deref(), Some("one"));
/// assert_eq!(lines.next_line().await?.as_deref(), Some("two"));
/// assert_eq!(lines.next_line().await?, None);
/// # Ok(())
/// # }
/// ```
pub trait LinesExt {
    /// Returns the next line, without its end (`\n` or `\r\n`), or `None` at the end of the input.
    ///
    /// # Errors
    ///
    /// Fails with the reader's error, and with `InvalidData` if the line is not UTF-8.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: what was read of a line is kept for the next call.
    fn next_line(&mut self) -> impl Future<Output = Result<Option<String>>>;
}

impl<R: AsyncBufRead + Unpin> LinesExt for Lines<R> {
    async fn next_line(&mut self) -> Result<Option<String>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await.transpose()
    }
}
