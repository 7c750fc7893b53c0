//! Between two streams, in both directions.

use arc::io::{AsyncRead, AsyncWrite};
use std::future::poll_fn;
use std::io::{ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What each direction holds at most.
const BUFFER: usize = 8 << 10;

/// Copies what each of two streams reads to the other, until both have ended; gives how
/// many bytes went from the first to the second, and back.
///
/// When one has ended, the other's sending direction is closed, and the other way goes
/// on. What was read is flushed when nothing more comes for now.
///
/// # Errors
///
/// The first of either stream's, of reading, writing or closing; the copying ends then.
///
/// # Cancellation
///
/// What was read and not yet written, up to 8 KiB each way, is lost.
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

/// As [`copy_bidirectional`], with buffers of these sizes: for what goes from the first
/// to the second, and for what comes back.
///
/// # Errors
///
/// As `copy_bidirectional`.
///
/// # Panics
///
/// When a size is 0, or more than memory can be (`isize::MAX`).
///
/// # Cancellation
///
/// As `copy_bidirectional`.
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
        // Left to chance: a way that never waits uses up the task's budget.
        forth_is_first = fastrand::bool();
        Poll::Ready(Ok((ready!(there), ready!(here))))
    })
    .await
}

/// One direction.
struct Way {
    buffer: Box<[u8]>,
    /// What of the buffer is still to be written.
    filled: std::ops::Range<usize>,
    copied: u64,
    must_flush: bool,
    has_ended: bool,
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

    fn poll<R: AsyncRead + ?Sized, W: AsyncWrite + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<Result<u64>> {
        while !self.has_ended || !self.filled.is_empty() {
            if self.filled.is_empty() {
                let read = reader.as_mut().poll_read(context, &mut self.buffer)?;
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
