//! Reading up to a byte, which lines and segments are made of.

use super::operation::unless_interrupted;
use arc::io::AsyncBufRead;
use memchr::memchr;
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Reads up to a byte, and with it, or up to the end of the input. What was read is in
/// `bytes`, also while this is pending.
pub(super) fn poll_read_until<R: AsyncBufRead + ?Sized>(
    mut reader: Pin<&mut R>,
    context: &mut Context<'_>,
    byte: u8,
    bytes: &mut Vec<u8>,
) -> Poll<Result<()>> {
    loop {
        let read = ready!(reader.as_mut().poll_fill_buf(context));
        let Some(read) = unless_interrupted(read)? else { continue };
        let end = memchr(byte, read);
        let count = end.map_or(read.len(), |end| end + 1);
        bytes.extend_from_slice(&read[..count]);
        let is_done = end.is_some() || read.is_empty();
        reader.as_mut().consume(count);
        if is_done {
            return Poll::Ready(Ok(()));
        }
    }
}
