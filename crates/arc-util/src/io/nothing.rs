//! A reader of nothing, a reader of one byte without end, and a writer to nowhere.
//!
//! They are always ready. So each operation takes a unit of the task's budget: otherwise a loop
//! over them would never let others run, and no time limit would end it.

use crate::forward::{also_reads, also_writes};
use arc::task::consume_budget;
use std::io::{IoSlice, Result, SeekFrom};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many bytes `repeat` writes at once.
const PIECE: usize = 1 << 10;

/// Takes a unit of the budget, and then returns the result.
fn poll_pay<T>(context: &mut Context<'_>, result: T) -> Poll<Result<T>> {
    pin!(consume_budget()).poll(context).map(|()| Ok(result))
}

/// Creates a reader that has ended already. What is written to it is dropped.
///
/// In a task, each operation takes a unit of the budget.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, empty};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut text = String::new();
/// assert_eq!(empty().read_to_string(&mut text).await?, 0);
/// # Ok(())
/// # }
/// ```
pub fn empty() -> Empty {
    Empty(())
}

/// A reader that has ended already; made by [`empty`].
///
/// # Examples
///
/// See [`empty`].
#[derive(Debug)]
pub struct Empty(());

/// Creates a reader of one byte, again and again, which never ends.
///
/// In a task, each read takes a unit of the budget.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, repeat};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut bytes = [0; 3];
/// repeat(b'x').read_exact(&mut bytes).await?;
/// assert_eq!(&bytes, b"xxx");
/// # Ok(())
/// # }
/// ```
pub fn repeat(byte: u8) -> Repeat {
    Repeat(byte)
}

/// A reader of one byte, again and again; made by [`repeat`].
///
/// # Examples
///
/// See [`repeat`].
#[derive(Debug)]
pub struct Repeat(u8);

/// Creates a writer that drops what is written to it.
///
/// In a task, each operation takes a unit of the budget.
///
/// # Examples
///
/// ```
/// use arc_util::io::{copy, sink};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// assert_eq!(copy(&mut &b"hello"[..], &mut sink()).await?, 5);
/// # Ok(())
/// # }
/// ```
pub fn sink() -> Sink {
    Sink(())
}

/// A writer that drops what is written to it; made by [`sink`].
///
/// # Examples
///
/// See [`sink`].
#[derive(Debug)]
pub struct Sink(());

impl AsyncRead for Empty {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        poll_pay(context, ())
    }
}

impl AsyncRead for Repeat {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        ready!(poll_pay(context, ()))?;
        let piece = [self.0; PIECE];
        while buffer.remaining() > 0 {
            buffer.put_slice(&piece[..buffer.remaining().min(PIECE)]);
        }
        Poll::Ready(Ok(()))
    }
}

/// Implements what has nothing, for one family of traits.
macro_rules! has_nothing {
    ($($family:ident)::+) => {
        impl $($family)::+::AsyncBufRead for Empty {
            fn poll_fill_buf(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Result<&[u8]>> {
                poll_pay(context, &[])
            }

            fn consume(self: Pin<&mut Self>, _: usize) {}
        }
    };
}

has_nothing!(tokio::io);
has_nothing!(futures_io);

impl tokio::io::AsyncSeek for Empty {
    fn start_seek(self: Pin<&mut Self>, _: SeekFrom) -> Result<()> {
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<u64>> {
        poll_pay(context, 0)
    }
}

impl futures_io::AsyncSeek for Empty {
    fn poll_seek(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        _: SeekFrom,
    ) -> Poll<Result<u64>> {
        poll_pay(context, 0)
    }
}

/// Implements writing to nowhere.
macro_rules! drops_what_is_written {
    ($($type:ty),*) => {$(
        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<Result<usize>> {
                poll_pay(context, bytes.len())
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                parts: &[IoSlice<'_>],
            ) -> Poll<Result<usize>> {
                poll_pay(context, parts.iter().map(|part| part.len()).sum())
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
                poll_pay(context, ())
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
                poll_pay(context, ())
            }
        }
    )*};
}

drops_what_is_written!(Empty, Sink);

also_reads!(Empty, Repeat);
also_writes!(Empty, Sink);
