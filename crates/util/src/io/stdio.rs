//! Standard input and output, on threads that may block.

use arc::io::{AsyncRead, AsyncWrite};
use blocking::Unblock;
use std::fmt;
use std::io::{self, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How far a thread reads ahead, or lags behind with writing, in bytes.
const BUFFER: usize = 64 << 10;

/// Returns the standard input of the process, which a thread of its own reads.
///
/// The thread reads ahead: bytes that it has read for one `Stdin` are not available to another.
/// So create one and keep it. A read that waits does not delay the end of the program.
///
/// # Examples
///
/// ```no_run
/// use arc_util::io::{AsyncBufReadExt, BufReader, stdin};
/// use futures_util::TryStreamExt;
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut lines = BufReader::new(stdin()).lines();
/// while let Some(line) = lines.try_next().await? {
///     println!("{} bytes", line.len());
/// }
/// # Ok(())
/// # }
/// ```
pub fn stdin() -> Stdin {
    Stdin(Unblock::with_capacity(BUFFER, io::stdin()))
}

/// Returns the standard output of the process, which a thread of its own writes.
///
/// Flush it before the program ends: bytes that the thread has not written yet are lost.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncWriteExt, stdout};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut out = stdout();
/// out.write_all(b"hello\n").await?;
/// out.flush().await
/// # }
/// ```
pub fn stdout() -> Stdout {
    Stdout(Unblock::with_capacity(BUFFER, io::stdout()))
}

/// Returns the standard error of the process, which a thread of its own writes. See [`stdout`].
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncWriteExt, stderr};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut out = stderr();
/// out.write_all(b"something is wrong\n").await?;
/// out.flush().await
/// # }
/// ```
pub fn stderr() -> Stderr {
    Stderr(Unblock::with_capacity(BUFFER, io::stderr()))
}

/// Reads the standard input; made by [`stdin`].
///
/// # Cancellation
///
/// A read that is dropped loses nothing: the next one returns the bytes that came.
pub struct Stdin(Unblock<io::Stdin>);

/// Writes the standard output; made by [`stdout`].
pub struct Stdout(Unblock<io::Stdout>);

/// Writes the standard error; made by [`stderr`].
pub struct Stderr(Unblock<io::Stderr>);

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

macro_rules! write_to {
    ($($type:ty)*) => {$(
        /// An error is returned by a later call than the one that took the bytes. Flushing
        /// returns any error of the calls before it.
        impl AsyncWrite for $type {
            fn poll_write(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<Result<usize>> {
                loop {
                    let written = ready!(Pin::new(&mut self.0).poll_write(context, bytes))?;
                    if written > 0 || bytes.is_empty() {
                        return Poll::Ready(Ok(written));
                    }

                    // An earlier write failed: flushing returns its error.
                    ready!(Pin::new(&mut self.0).poll_flush(context))?;
                }
            }

            fn poll_flush(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Result<()>> {
                Pin::new(&mut self.0).poll_flush(context)
            }

            /// Flushes the stream. The stream of the process stays open.
            fn poll_close(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Result<()>> {
                self.poll_flush(context)
            }
        }
    )*};
}

write_to! { Stdout Stderr }

macro_rules! debug {
    ($($type:ident)*) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(stringify!($type))
            }
        }
    )*};
}

debug! { Stdin Stdout Stderr }
