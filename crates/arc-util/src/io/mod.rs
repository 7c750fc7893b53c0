//! Reading and writing: the items of arc's core, in-memory pipes, copying, standard input and
//! output.
//!
//! The traits that a type implements are futures-io's. The methods that call them are tokio's, by
//! the traits [`AsyncReadExt`], [`AsyncWriteExt`], [`AsyncBufReadExt`] and [`AsyncSeekExt`].
//! tokio's `copy`, `BufReader` and so on have the same names here.
//!
//! # Cancellation
//!
//! What happens to bytes if a future is dropped before it is ready, as by `timeout` or `select!`:
//!
//! * `read`, `write`, `fill_buf`, `flush`, `next_line` and the stream `lines()`: nothing is lost.
//!   The next call goes on.
//! * `read_until`, `read_to_end`: what was read until then is in the vector.
//! * `read_exact`, `read_to_string`, `read_line`: what was read until then is taken from the
//!   reader, and may be lost. Keep the future, or use `lines()`.
//! * `write_all`, `copy`: some of the bytes were written, and nobody knows how many. After a
//!   `write_all_buf` the buffer has the rest.

mod buf_read;
mod buf_writer;
mod copy;
mod duplex;
mod interest;
mod join;
mod lines;
#[cfg(unix)]
mod news;
mod nothing;
mod operation;
mod read;
pub(crate) mod ready;
mod seek;
mod segments;
mod split;
mod stdin;
mod stdio;
#[cfg(unix)]
pub mod unix;
mod until;
mod write;

pub use arc::io::{Async, AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, BufReader, Direction};
pub use buf_read::AsyncBufReadExt;
pub use buf_writer::BufWriter;
pub use copy::{copy, copy_bidirectional, copy_bidirectional_with_sizes, copy_buf};
pub use duplex::{DuplexStream, SimplexStream, duplex, simplex};
pub use futures_util::io::{Chain, Cursor, LineWriter, Take};
pub use interest::{Interest, Ready};
pub use join::{BufStream, Join, join};
pub use lines::Lines;
pub use nothing::{Empty, Repeat, Sink, empty, repeat, sink};
pub use read::AsyncReadExt;
pub use ready::ReadyExt;
pub use seek::AsyncSeekExt;
pub use segments::Split;
pub use split::{ReadHalf, WriteHalf, split};
pub use std::io::SeekFrom;
pub use stdin::{Stdin, stdin};
pub use stdio::{Stderr, Stdout, stderr, stdout};
pub use write::AsyncWriteExt;
