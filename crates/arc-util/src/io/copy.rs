//! Copying from one stream to another, and between two streams in both directions.

use arc::task::consume_budget;
use std::future::{Future, poll_fn};
use std::io::{Error, ErrorKind, Result};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

/// The size of the buffer of each direction, in bytes.
const BUFFER: usize = 8 << 10;

/// Copies all that a reader gives to a writer, until the reader has ended. Returns the number of
/// bytes.
///
/// The writer is flushed at the end, and whenever no more can be read for now: so a request that
/// is copied into a buffered writer goes out before the reader waits for its answer. The writer
/// is not closed. In a task, copying takes part in the budget: copying between streams that
/// never wait still lets other tasks run.
///
/// # Errors
///
/// Fails with the first error of reading or writing, except `Interrupted`, after which it tries
/// again. Before an error of reading is told, the writer gets what was read, but only as much as it
/// takes without waiting. Fails with `WriteZero` when the writer accepts no more bytes.
///
/// # Cancellation
///
/// Not cancel safe: bytes that were read and not written yet, up to 8 KiB, are lost.
///
/// # Examples
///
/// ```
/// use arc_util::io::copy;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (mut reader, mut writer) = (&b"hello"[..], Vec::new());
/// assert_eq!(copy(&mut reader, &mut writer).await?, 5);
/// assert_eq!(writer, b"hello");
/// # Ok(())
/// # }
/// ```
pub async fn copy<R, W>(reader: &mut R, writer: &mut W) -> Result<u64>
where
    R: AsyncRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut way = Way::new(BUFFER);
    poll_fn(|context| way.poll_copy(context, Pin::new(&mut *reader), Pin::new(&mut *writer))).await
}

/// Copies like [`copy`], from a reader that has a buffer of its own.
///
/// # Errors
///
/// Same as `copy`.
///
/// # Cancellation
///
/// Cancel safe: bytes that were not written yet stay in the reader's buffer. Only their number
/// is lost.
///
/// # Examples
///
/// ```
/// use arc_util::io::{BufReader, copy_buf};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (mut reader, mut writer) = (BufReader::new(&b"hello"[..]), Vec::new());
/// assert_eq!(copy_buf(&mut reader, &mut writer).await?, 5);
/// assert_eq!(writer, b"hello");
/// # Ok(())
/// # }
/// ```
pub async fn copy_buf<R, W>(reader: &mut R, writer: &mut W) -> Result<u64>
where
    R: AsyncBufRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    // Each piece takes a unit of the budget before it is looked for.
    let (mut copied, mut must_pay, mut must_flush) = (0, true, false);
    poll_fn(|context| {
        loop {
            if must_pay {
                ready!(pin!(consume_budget()).poll(context));
                must_pay = false;
            }

            // While the reader waits, the peer gets what was written so far: it may be what the
            // reader waits for an answer to.
            let filled = Pin::new(&mut *reader).poll_fill_buf(context);
            if filled.is_pending() && must_flush {
                ready!(poll_flush(Pin::new(&mut *writer), context))?;
                must_flush = false;
            }
            let Some(filled) = unless_interrupted(ready!(filled))? else {
                must_pay = true;
                continue;
            };

            // The reader has ended.
            if filled.is_empty() {
                ready!(poll_flush(Pin::new(&mut *writer), context))?;
                return Poll::Ready(Ok(copied));
            }

            let written = ready!(Pin::new(&mut *writer).poll_write(context, filled));
            must_pay = true;
            let Some(written) = unless_interrupted(written)? else {
                continue;
            };

            // A writer that takes nothing would be asked for ever.
            if written == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            Pin::new(&mut *reader).consume(written);
            copied += written as u64;
            must_flush = true;
        }
    })
    .await
}

/// Copies between two streams in both directions until both have ended. Returns the number of
/// bytes that went from the first to the second, and from the second to the first.
///
/// When one stream has ended, the sending direction of the other is closed, and the opposite
/// direction goes on. Copied bytes are flushed whenever no more can be read for now. In a task,
/// copying takes part in the budget.
///
/// # Errors
///
/// Fails with the first error of reading, writing or closing either stream, except `Interrupted`,
/// after which it tries again. Both directions stop then. What becomes of bytes that were read
/// before the error is as for [`copy`].
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
/// client.shutdown().await?;
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "question");
/// server.write_all(b"answer").await?;
/// server.shutdown().await?;
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
        // Each poll moves both directions, whichever of them has woken the task.
        let (mut there, mut here) = (Poll::Pending, Poll::Pending);
        for is_forth in [forth_is_first, !forth_is_first] {
            let (first, second) = (Pin::new(&mut *first), Pin::new(&mut *second));
            match is_forth {
                true => there = forth.poll_copy_and_close(context, first, second)?,
                false => here = back.poll_copy_and_close(context, second, first)?,
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
    /// The task's budget owes a unit for the start, or for bytes that were read.
    must_pay: bool,
    /// Bytes were written since the last flush, or the reader has ended since.
    must_flush: bool,
    /// The reader has ended, or failed.
    has_ended: bool,
    /// Its error, which is told when what it gave before has been written, or the writer waits.
    failed: Option<Error>,
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
            must_pay: true,
            must_flush: false,
            has_ended: false,
            failed: None,
            is_closed: false,
        }
    }

    /// Copies until one side is pending, or the reader has ended and the writer is flushed.
    /// Returns the number of bytes.
    fn poll_copy<R: AsyncRead + ?Sized, W: AsyncWrite + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<Result<u64>> {
        while !self.has_ended || !self.filled.is_empty() {
            // Streams in memory are always ready: the copying itself must let other tasks run.
            ready!(self.poll_pay(context));

            if self.filled.is_empty() {
                self.filled = 0..0;
                let read = self.poll_fill(context, reader.as_mut());

                // Nothing to read for now: let the peer have what was written so far. It may be
                // what the reader waits for an answer to.
                if read.is_pending() {
                    ready!(self.poll_flush(context, writer.as_mut()))?;
                }
                ready!(read);
                continue;
            }

            let rest = &self.buffer[self.filled.clone()];
            let written = writer.as_mut().poll_write(context, rest);

            // The writer waits, perhaps for a peer that first has to get rid of what this reader
            // gives. So read on while there is room.
            if written.is_pending() && !self.has_ended && self.filled.end < self.buffer.len() {
                ready!(self.poll_fill(context, reader.as_mut()));
                continue;
            }

            // The peer may keep the writer waiting for ever, and nothing will come any more.
            if written.is_pending()
                && let Some(error) = self.failed.take()
            {
                return Poll::Ready(Err(error));
            }
            let Some(written) = unless_interrupted(ready!(written))? else {
                self.must_pay = true;
                continue;
            };

            if written == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            self.filled.start += written;
            self.copied += written as u64;
            self.must_flush = true;
        }

        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        ready!(self.poll_flush(context, writer))?;
        Poll::Ready(Ok(self.copied))
    }

    /// Reads once into the free end of the buffer. An error is kept.
    fn poll_fill<R: AsyncRead + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        reader: Pin<&mut R>,
    ) -> Poll<()> {
        let mut room = ReadBuf::new(&mut self.buffer[self.filled.end..]);
        let read = match unless_interrupted(ready!(reader.poll_read(context, &mut room))) {
            Ok(Some(())) => room.filled().len(),
            // To try again is an attempt like another.
            Ok(None) => {
                self.must_pay = true;
                return Poll::Ready(());
            }
            Err(error) => {
                self.failed = Some(error);
                0
            }
        };

        // Nothing that was read is the end, also if there was an error.
        self.filled.end += read;
        self.has_ended = read == 0;
        // Once at the end, also if nothing was copied. Not later: the writer may be closing then.
        self.must_flush |= self.has_ended;
        self.must_pay = read > 0;
        Poll::Ready(())
    }

    /// Copies until one side is pending, or the writer is closed. Returns the number of bytes.
    fn poll_copy_and_close<R: AsyncRead + ?Sized, W: AsyncWrite + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<Result<u64>> {
        if !self.is_closed {
            ready!(self.poll_copy(context, reader, writer.as_mut()))?;

            // The other direction goes on: the peer gets to know that this one has ended.
            while unless_interrupted(ready!(writer.as_mut().poll_shutdown(context)))?.is_none() {}
            self.is_closed = true;
        }
        Poll::Ready(Ok(self.copied))
    }

    fn poll_pay(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.must_pay {
            ready!(pin!(consume_budget()).poll(context));
            self.must_pay = false;
        }
        Poll::Ready(())
    }

    fn poll_flush<W: AsyncWrite + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        writer: Pin<&mut W>,
    ) -> Poll<Result<()>> {
        if self.must_flush {
            ready!(poll_flush(writer, context))?;
            self.must_flush = false;
        }
        Poll::Ready(Ok(()))
    }
}

/// Returns `None` for an operation that was interrupted, and has to be tried again.
fn unless_interrupted<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
        result => result.map(Some),
    }
}

/// Flushes a writer. A buffered one may be interrupted as it writes: then it is flushed again.
fn poll_flush<W: AsyncWrite + ?Sized>(
    mut writer: Pin<&mut W>,
    context: &mut Context<'_>,
) -> Poll<Result<()>> {
    while unless_interrupted(ready!(writer.as_mut().poll_flush(context)))?.is_none() {}
    Poll::Ready(Ok(()))
}
