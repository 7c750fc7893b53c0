//! Reading up to a separator again and again.

use arc::io::AsyncBufRead;
use std::future::poll_fn;
use std::io::Result;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Adds `segments` to buffered readers. tokio calls it `split`, which is the name of another method
/// in the futures crates.
pub trait SegmentsExt: AsyncBufRead {
    /// Returns the parts of the input between separators.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::io::{BufReader, SegmentsExt};
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut segments = BufReader::new(&b"one,two"[..]).segments(b',');
    /// assert_eq!(segments.next_segment().await?.as_deref(), Some(&b"one"[..]));
    /// assert_eq!(segments.next_segment().await?.as_deref(), Some(&b"two"[..]));
    /// assert_eq!(segments.next_segment().await?, None);
    /// # Ok(())
    /// # }
    /// ```
    fn segments(self, separator: u8) -> Split<Self>
    where
        Self: Sized,
    {
        Split { reader: self, separator, segment: Vec::new() }
    }
}

impl<R: AsyncBufRead> SegmentsExt for R {}

/// The parts of an input between separators; made by [`SegmentsExt::segments`].
#[derive(Debug)]
#[must_use = "it reads nothing until it is asked for a segment"]
pub struct Split<R> {
    reader: R,
    separator: u8,
    /// What has been read of the next segment.
    segment: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Split<R> {
    /// Returns the next segment, without its separator, or `None` at the end of the input. The last
    /// segment needs no separator.
    ///
    /// # Errors
    ///
    /// Fails with the reader's error. What was read of the segment is kept.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: what was read of a segment is kept for the next call.
    pub async fn next_segment(&mut self) -> Result<Option<Vec<u8>>> {
        poll_fn(|context| self.poll_next_segment(context)).await
    }

    /// Polls for the next segment, for futures written by hand. See
    /// [`next_segment`](Self::next_segment). tokio's takes a pinned reference.
    ///
    /// # Errors
    ///
    /// Same as `next_segment`.
    pub fn poll_next_segment(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>>> {
        loop {
            let read = ready!(Pin::new(&mut self.reader).poll_fill_buf(context))?;
            let end = read.iter().position(|byte| *byte == self.separator);
            let part = &read[..end.unwrap_or(read.len())];
            self.segment.extend_from_slice(part);

            let is_at_the_end = read.is_empty();
            let used = part.len() + usize::from(end.is_some());
            Pin::new(&mut self.reader).consume(used);
            if end.is_some() || (is_at_the_end && !self.segment.is_empty()) {
                return Poll::Ready(Ok(Some(mem::take(&mut self.segment))));
            }
            if is_at_the_end {
                return Poll::Ready(Ok(None));
            }
        }
    }
}
