//! Reading up to a separator again and again.

use super::until::poll_read_until;
use arc::io::AsyncBufRead;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::io::Result;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The parts of an input between separators; made by
    /// [`split`](super::AsyncBufReadExt::split).
    #[derive(Debug)]
    #[must_use = "it reads nothing until it is asked for a segment"]
    pub struct Split<R> {
        #[pin]
        reader: R,
        separator: u8,
        // What has been read of the next segment.
        segment: Vec<u8>,
    }
}

impl<R> Split<R> {
    pub(super) fn new(reader: R, separator: u8) -> Self {
        Self { reader, separator, segment: Vec::new() }
    }
}

impl<R: AsyncBufRead> Split<R> {
    /// Returns the next segment, without its separator, or `None` at the end of the input. The last
    /// segment needs no separator.
    ///
    /// # Errors
    ///
    /// Fails with the reader's error, but for `Interrupted`: then it reads again. What was read of
    /// the segment is kept.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: what was read of a segment is kept for the next call.
    pub async fn next_segment(&mut self) -> Result<Option<Vec<u8>>>
    where
        R: Unpin,
    {
        poll_fn(|context| Pin::new(&mut *self).poll_next_segment(context)).await
    }

    /// Polls for the next segment, for futures written by hand. See
    /// [`next_segment`](Self::next_segment).
    ///
    /// # Errors
    ///
    /// Same as `next_segment`.
    pub fn poll_next_segment(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>>> {
        let this = self.project();
        ready!(poll_read_until(this.reader, context, *this.separator, this.segment))?;
        if this.segment.is_empty() {
            return Poll::Ready(Ok(None));
        }

        let mut segment = mem::take(this.segment);
        segment.pop_if(|last| last == this.separator);
        Poll::Ready(Ok(Some(segment)))
    }
}
