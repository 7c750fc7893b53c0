//! Standard input and output, on threads that may block.

use crate::blocking_io::{Shared, Target, Writer, written_by_jobs};
use arc::io::{AsyncRead, AsyncWrite};
use blocking::Unblock;
use std::fmt;
use std::io::{self, ErrorKind, IoSlice, Result, Write};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

/// How far the thread of the standard input reads ahead, in bytes.
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

/// Returns the standard output of the process, which jobs of
/// [`spawn_blocking`](arc::task::spawn_blocking) write.
///
/// A write copies up to 2 MiB, begins a job, and returns. The next operation waits for that job,
/// and returns its error. `flush` and `close` wait until the system has the bytes. As with
/// `print!`, a line that has not ended may stay in a buffer of std's until then, or until the
/// process ends.
///
/// What was written is not lost if the handle is dropped or the runtime ends, only by
/// `std::process::exit` and what else ends the process at once. So the end of a runtime waits for a
/// write that has not begun. If nobody reads the output, the end of a current-thread runtime may
/// wait for longer than the limit of `shutdown`.
///
/// All handles write to one queue: what was written first comes out first. `print!` does not go
/// through it.
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
    static STDOUT: LazyLock<Arc<Shared<io::Stdout>>> = LazyLock::new(|| Shared::new(io::stdout()));
    Stdout(Writer::new(STDOUT.clone()))
}

/// Returns the standard error of the process, which jobs of
/// [`spawn_blocking`](arc::task::spawn_blocking) write. See [`stdout`].
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
    static STDERR: LazyLock<Arc<Shared<io::Stderr>>> = LazyLock::new(|| Shared::new(io::stderr()));
    Stderr(Writer::new(STDERR.clone()))
}

/// Reads the standard input; made by [`stdin`].
///
/// # Cancellation
///
/// A read that is dropped loses nothing: the next one returns the bytes that came.
pub struct Stdin(Unblock<io::Stdin>);

/// Writes the standard output; made by [`stdout`].
///
/// # Panics
///
/// Operations panic outside a runtime.
///
/// # Cancellation
///
/// Cancel safe: a `write` that is dropped has written nothing, and a `flush` goes on.
pub struct Stdout(Writer<io::Stdout>);

/// Writes the standard error; made by [`stderr`]. As [`Stdout`] in all else.
pub struct Stderr(Writer<io::Stderr>);

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
    ($($type:ty, $std:ty;)*) => {$(
        impl Target for $std {
            const HOLDS_BACK: bool = true;

            fn write_all(&self, bytes: &[u8]) -> Result<()> {
                (&mut &*self).write_all(bytes)
            }

            fn flush(&self) -> Result<()> {
                (&mut &*self).flush()
            }

            fn move_back(&self, _: i64) -> Result<()> {
                Err(ErrorKind::NotSeekable.into())
            }
        }

        written_by_jobs!($type);
    )*};
}

write_to! {
    Stdout, io::Stdout;
    Stderr, io::Stderr;
}

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
