//! Copying between two streams in both directions.

use arc::io::{AsyncRead, AsyncWrite};
use std::future::poll_fn;
use std::io::{ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The size of the buffer of each direction, in bytes.
const BUFFER: usize = 8 << 10;

/// Copies between two streams in both directions until both have ended. Returns the number of
/// bytes that went from the first to the second, and from the second to the first.
///
/// When one stream has ended, the sending direction of the other is closed, and the opposite
/// direction goes on. Copied bytes are flushed whenever no more can be read for now.
///
/// # Errors
///
/// Fails with the first error of reading, writing or closing either stream. Both directions
/// stop then.
///
/// # Cancellation
///
/// Not cancel safe: bytes that were read and not written yet, up to 8 KiB in each direction,
/// are lost.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional, duplex};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (mut client, mut near) = duplex(64);
/// let (mut far, mut server) = duplex(64);
/// let proxy = arc::spawn(async move { copy_bidirectional(&mut near, &mut far).await });
/// client.write_all(b"question").await?;
/// client.close().await?;
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "question");
/// server.write_all(b"answer").await?;
/// server.close().await?;
/// assert_eq!(proxy.await??, (8, 6));
/// # Ok(())
/// # }
/// ```
pub async fn copy_bidirectional<A, B>(first: &mut A, second: &mut B) -> Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    copy_bidirectional_with_sizes(first, second, BUFFER, BUFFER).await
}

/// Copies like [`copy_bidirectional`], with buffers of the given sizes: `forth_size` from the
/// first stream to the second, and `back_size` from the second to the first.
///
/// # Errors
///
/// Same as `copy_bidirectional`.
///
/// # Panics
///
/// Panics when a size is 0, or more than memory can be (`isize::MAX`).
///
/// # Cancellation
///
/// Same as `copy_bidirectional`, with buffers of these sizes.
pub async fn copy_bidirectional_with_sizes<A, B>(
    first: &mut A,
    second: &mut B,
    forth_size: usize,
    back_size: usize,
) -> Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let (mut forth, mut back) = (Way::new(forth_size), Way::new(back_size));
    let mut forth_is_first = true;
    poll_fn(|context| {
        let (mut there, mut here) = (Poll::Pending, Poll::Pending);
        for is_forth in [forth_is_first, !forth_is_first] {
            let (first, second) = (Pin::new(&mut *first), Pin::new(&mut *second));
            match is_forth {
                true => there = forth.poll(context, first, second)?,
                false => here = back.poll(context, second, first)?,
            }
        }

        // The first direction of the next poll is random: one that never waits uses up the
        // task's budget, and the other must get a share of it.
        forth_is_first = fastrand::bool();
        Poll::Ready(Ok((ready!(there), ready!(here))))
    })
    .await
}

/// One direction of the copying.
struct Way {
    buffer: Box<[u8]>,
    /// The part of the buffer that has not been written yet.
    filled: std::ops::Range<usize>,
    copied: u64,
    /// Bytes were written since the last flush.
    must_flush: bool,
    /// The reader has ended.
    has_ended: bool,
    /// The writer was closed.
    is_closed: bool,
}

impl Way {
    #[track_caller]
    fn new(size: usize) -> Self {
        assert!(size > 0, "nothing can be copied through a buffer of no size");
        Self {
            buffer: vec![0; size].into(),
            filled: 0..0,
            copied: 0,
            must_flush: false,
            has_ended: false,
            is_closed: false,
        }
    }

    /// Copies until one side is pending, or the writer is closed. Returns the number of bytes.
    fn poll<R: AsyncRead + ?Sized, W: AsyncWrite + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<Result<u64>> {
        while !self.has_ended || !self.filled.is_empty() {
            if self.filled.is_empty() {
                let read = reader.as_mut().poll_read(context, &mut self.buffer)?;

                // Nothing to read for now: let the peer have what was written so far.
                if read.is_pending() && self.must_flush {
                    ready!(writer.as_mut().poll_flush(context))?;
                    self.must_flush = false;
                }

                self.filled = 0..ready!(read);
                self.has_ended = self.filled.is_empty();
                continue;
            }

            let rest = &self.buffer[self.filled.clone()];
            let written = ready!(writer.as_mut().poll_write(context, rest))?;
            if written == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            self.filled.start += written;
            self.copied += written as u64;
            self.must_flush = true;
        }

        if !self.is_closed {
            ready!(writer.poll_close(context))?;
            self.is_closed = true;
        }
        Poll::Ready(Ok(self.copied))
    }
}
