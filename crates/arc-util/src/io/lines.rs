//! Reading line after line.

use super::read::not_text;
use super::until::poll_read_until;
use arc::io::AsyncBufRead;
use futures_core::Stream;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::io::Result;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The lines of a reader; made by [`lines`](super::AsyncBufReadExt::lines). It is also a stream
    /// of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::io::{AsyncBufReadExt, BufReader};
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut lines = BufReader::new(&b"one\r\ntwo"[..]).lines();
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("one"));
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("two"));
    /// assert_eq!(lines.next_line().await?, None);
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug)]
    #[must_use = "it reads nothing until it is asked for a line"]
    pub struct Lines<R> {
        #[pin]
        reader: R,
        // What has been read of the next line.
        line: Vec<u8>,
    }
}

impl<R> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, line: Vec::new() }
    }

    /// Returns a reference to the reader.
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// Returns a mutable reference to the reader. What is read from it directly is in no line.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Returns the reader. What was read of the next line by a `next_line` that failed, or whose
    /// future was dropped, is lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

impl<R: AsyncBufRead> Lines<R> {
    /// Returns the next line, without its end (`\n` or `\r\n`), or `None` at the end of the input.
    /// The last line needs no end.
    ///
    /// # Errors
    ///
    /// Fails with the reader's error, but for `Interrupted`: then it reads again. What was read of
    /// the line is kept. Fails with `InvalidData` if the line is not UTF-8. The next call returns
    /// the line after it then.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: what was read of a line is kept for the next call.
    pub async fn next_line(&mut self) -> Result<Option<String>>
    where
        R: Unpin,
    {
        poll_fn(|context| Pin::new(&mut *self).poll_next_line(context)).await
    }

    /// Polls for the next line, for futures written by hand. See [`next_line`](Self::next_line).
    ///
    /// # Errors
    ///
    /// As `next_line`.
    pub fn poll_next_line(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<String>>> {
        let this = self.project();
        ready!(poll_read_until(this.reader, context, b'\n', this.line))?;
        if this.line.is_empty() {
            return Poll::Ready(Ok(None));
        }

        let mut line = mem::take(this.line);
        if line.pop_if(|last| *last == b'\n').is_some() {
            line.pop_if(|last| *last == b'\r');
        }
        Poll::Ready(String::from_utf8(line).map(Some).map_err(|error| not_text(error.utf8_error())))
    }
}

impl<R: AsyncBufRead> Stream for Lines<R> {
    type Item = Result<String>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_next_line(context).map(Result::transpose)
    }
}
