//! Reading and writing: tokio's traits and adapters, in-memory pipes, copying, standard input and
//! output.
//!
//! The traits, their extension traits and the adapters are tokio's own items, which need no runtime
//! of tokio's: `impl AsyncRead` and `BufReader` are what they are in a program for tokio, and a
//! stream of arc's goes wherever a crate asks for tokio's traits. What has no end of its own and
//! would never let others run is arc's, with tokio's name and arc's budget: [`empty`], [`sink`],
//! [`repeat`], [`duplex`], [`simplex`], [`copy`] and so on.
//!
//! Every stream of arc's has the traits of futures-io as well. They are in [`futures`]. In the
//! scope of both extension traits, what both have is ambiguous: import one of them.
//!
//! # Cancellation
//!
//! What happens to bytes if a future is dropped before it is ready, as by `timeout` or `select!`:
//!
//! * `read`, `read_buf`, `write`, `fill_buf`, `flush`, `next_line`: nothing is lost. The next call
//!   goes on.
//! * `read_until`, `read_to_end`: what was read until then is in the vector.
//! * `read_exact`, `read_to_string`, `read_line`: what was read until then is taken from the
//!   reader, and may be lost. Keep the future, or use `lines()`.
//! * `write_all`, `copy`: some of the bytes were written, and nobody knows how many. After a
//!   `write_all_buf` the buffer has the rest.

mod copy;
mod duplex;
mod interest;
#[cfg(unix)]
mod news;
mod nothing;
mod ready;
mod stdin;
mod stdio;
#[cfg(unix)]
pub mod unix;

pub use arc::io::{Async, Direction};
pub use copy::{copy, copy_bidirectional, copy_bidirectional_with_sizes, copy_buf};
pub use duplex::{DuplexStream, SimplexStream, duplex, simplex};
pub use interest::{Interest, Ready};
pub use nothing::{Empty, Repeat, Sink, empty, repeat, sink};
pub use ready::ReadyExt;
pub use std::io::SeekFrom;
pub use stdin::{Stdin, stdin};
pub use stdio::{Stderr, Stdout, stderr, stdout};
pub use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite,
    AsyncWriteExt, BufReader, BufStream, BufWriter, Chain, Join, Lines, ReadBuf, ReadHalf, Split,
    Take, WriteHalf, join, split,
};

/// futures-io's traits, and futures-util's methods and adapters for them.
///
/// Every stream of arc's has these traits, too: for crates that ask for them, such as
/// async-tungstenite and futures-rustls, and for code that runs on the small core, which speaks
/// these alone.
pub mod futures {
    pub use futures_io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite};
    pub use futures_util::io::{
        AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, BufWriter, Cursor,
        LineWriter,
    };
}
