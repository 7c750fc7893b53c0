//! Reading and writing: the items of arc's core, in-memory pipes, copying, standard input and
//! output.
//!
//! The traits are futures-io's. tokio's `copy`, `BufReader`, `lines`, `read_exact` and so on
//! have the same names here. [`split`] and the sources and sinks come from futures-util.
//!
//! # Cancellation
//!
//! What happens to bytes if a future is dropped before it is ready, as by `timeout` or `select!`:
//!
//! * `read`, `write`, `fill_buf`, `flush`, `next_line` and the stream `lines()`: nothing is lost.
//!   The next call goes on.
//! * `read_exact`, `read_to_end`, `read_to_string`, `read_line`, `read_until`: what was read until
//!   then is taken from the reader, and may be lost. Keep the future, or use `lines()`.
//! * `write_all`, `copy`: some of the bytes were written, and nobody knows how many. After a
//!   `write_all_buf` the buffer has the rest.

#[cfg(feature = "bytes")]
mod buffers;
mod copy;
mod duplex;
mod join;
mod lines;
mod numbers;
mod ready;
mod segments;
mod shutdown;
mod stdin;
mod stdio;
#[cfg(unix)]
pub mod unix;

pub use arc::io::{
    Async, AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt,
    AsyncWrite, AsyncWriteExt, BufReader, BufWriter, Direction,
};
#[cfg(feature = "bytes")]
pub use buffers::{AsyncReadBufExt, AsyncWriteBufExt};
pub use copy::{copy, copy_bidirectional, copy_bidirectional_with_sizes, copy_buf};
pub use duplex::{DuplexStream, SimplexStream, duplex, simplex};
pub use futures_util::io::{
    Chain, Cursor, Empty, LineWriter, Lines, ReadHalf, Repeat, Sink, Take, WriteHalf, empty,
    repeat, sink,
};
pub use join::{BufStream, Join, join};
pub use lines::LinesExt;
pub use numbers::{AsyncReadNumbersExt, AsyncWriteNumbersExt};
pub use ready::{Interest, Ready, ReadyExt};
pub use segments::{SegmentsExt, Split};
pub use shutdown::AsyncShutdownExt;
pub use stdin::{Stdin, stdin};
pub use stdio::{Stderr, Stdout, stderr, stdout};

/// Splits any stream into two owned halves, one for each direction. A lock keeps the halves
/// from using the stream at once.
///
/// The streams of [`net`](crate::net) need no lock: see [`IntoSplit`](crate::net::IntoSplit).
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (near, mut far) = duplex(64);
/// let (mut read, mut write) = split(near);
/// write.write_all(b"ping").await?;
/// far.write_all(b"pong").await?;
/// let mut text = [0; 4];
/// read.read_exact(&mut text).await?;
/// assert_eq!(&text, b"pong");
/// # Ok(())
/// # }
/// ```
pub fn split<T: AsyncRead + AsyncWrite>(stream: T) -> (ReadHalf<T>, WriteHalf<T>) {
    stream.split()
}
