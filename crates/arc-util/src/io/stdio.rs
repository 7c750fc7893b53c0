//! Standard output and standard error, written by jobs.

use crate::blocking_io::{Shared, Target, Writer, written_by_jobs};
use crate::would_block;
use std::fmt;
use std::io::{self, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

/// Returns the standard output of the process, which jobs of
/// [`spawn_blocking`](arc::task::spawn_blocking) write.
///
/// A write copies up to 2 MiB into a queue, begins a job, and returns. The next operation waits for
/// that job, and returns its error. `flush` and `shutdown` wait until the system has the bytes. As
/// with `print!`, a line that has not ended may stay in a buffer of std's until then, or until the
/// process ends.
///
/// What was written is not lost if the handle is dropped or the runtime ends, only by
/// `std::process::exit` and what else ends the process at once. So the end of a runtime waits for a
/// write that has not begun. If nobody reads the output, the end of a current-thread runtime may
/// wait for longer than the limit of `shutdown`.
///
/// All handles write to one queue: what was written first comes out first. `print!` does not go
/// through it. While 128 writes of a runtime wait in the queue, or 2 MiB, its next write waits, so
/// that output which nobody reads takes neither all memory nor all threads for jobs.
///
/// If somebody has made the output non-blocking, as a program does that shares the terminal, a
/// write waits all the same: there is no error of the kind `WouldBlock`, and no byte is lost.
///
/// # Errors
///
/// Those of the system. If a handle is dropped before it was told of an error, the next operation
/// of any handle returns that: so a program may make a handle for each line, and still hears that
/// its reader has left. A write that returns an error has taken none of its own bytes, and may be
/// tried again. The error is that of an earlier operation. If that was a write, some of its bytes
/// may be out.
///
/// If the system starts no thread, a write is done on the calling thread, and a flush returns an
/// error.
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

macro_rules! write_to {
    ($($type:ty, $std:ty;)*) => {$(
        impl Target for $std {
            const HOLDS_BACK: bool = true;

            fn write_all(&self, bytes: &[u8]) -> Result<()> {
                would_block::write_all(&mut self.lock(), bytes)
            }

            fn flush(&self) -> Result<()> {
                would_block::flush(&mut self.lock())
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

debug! { Stdout Stderr }

/// The descriptors of the process's streams, as std's types give them.
#[cfg(unix)]
mod descriptors {
    use super::{Stderr, Stdout};
    use crate::io::stdin::Stdin;
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
    use std::sync::LazyLock;

    macro_rules! has_descriptor {
        ($($type:ty, $std:ty, $make:path;)*) => {$(
            impl AsFd for $type {
                fn as_fd(&self) -> BorrowedFd<'_> {
                    static STD: LazyLock<$std> = LazyLock::new($make);
                    STD.as_fd()
                }
            }

            impl AsRawFd for $type {
                fn as_raw_fd(&self) -> RawFd {
                    self.as_fd().as_raw_fd()
                }
            }
        )*};
    }

    has_descriptor! {
        Stdin, io::Stdin, io::stdin;
        Stdout, io::Stdout, io::stdout;
        Stderr, io::Stderr, io::stderr;
    }
}
