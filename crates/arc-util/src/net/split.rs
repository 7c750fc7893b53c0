//! The two directions of a stream as two owned halves.

use crate::forward::{reads_by, writes_by};
use arc::io::{AsyncRead, AsyncWrite};
use arc::net::TcpStream;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::{fmt, net};

/// Splits a stream into two owned halves, one for each direction.
///
/// [`AsyncReadExt`](crate::io::AsyncReadExt) has the method, too. Import one of the traits: in the
/// scope of both, a call is ambiguous.
///
/// [`TcpStream`] implements this trait, and so does [`UnixStream`](super::UnixStream) on Unix.
/// Other crates cannot implement it.
///
/// # Examples
///
/// ```
/// use arc::io::{AsyncReadExt, AsyncWriteExt};
/// use arc_util::net::{IntoSplit, TcpListener, TcpStream};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (mut server, _) = listener.accept().await?;
///
/// let (mut read, mut write) = client.into_split();
/// let sending = arc::spawn(async move { write.write_all(b"ping").await });
/// let mut text = [0; 4];
/// server.read_exact(&mut text).await?;
/// server.write_all(&text).await?;
/// read.read_exact(&mut text).await?;
/// assert_eq!(&text, b"ping");
/// # sending.await?
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no socket that can be split by this method",
    label = "not a `TcpStream` or `UnixStream`",
    note = "for other streams, there is the function `io::split(stream)`"
)]
pub trait IntoSplit: sealed::Stream {
    /// Splits the stream into a reading and a writing half, which two tasks can own. The halves
    /// share an allocation.
    ///
    /// Dropping the writing half shuts down the sending direction.
    fn into_split(self) -> (OwnedReadHalf<Self>, OwnedWriteHalf<Self>) {
        let stream = Arc::new(self);
        let write = OwnedWriteHalf { stream: stream.clone(), shuts_down: true };
        (OwnedReadHalf { stream }, write)
    }
}

impl<S: sealed::Stream> IntoSplit for S {}

pub(super) mod sealed {
    /// What an `OwnedWriteHalf` needs of its stream.
    pub trait Stream: Sized {
        /// Shuts the sending direction down. This fails only when the connection is gone, and
        /// then there is nothing left to do.
        fn end_sending(&self);
    }
}

impl sealed::Stream for TcpStream {
    fn end_sending(&self) {
        let _ = self.get_ref().shutdown(net::Shutdown::Write);
    }
}

/// The reading half of a stream; made by [`IntoSplit::into_split`]. Dereferences to the stream.
///
/// # Examples
///
/// See [`IntoSplit`].
pub struct OwnedReadHalf<S = TcpStream> {
    stream: Arc<S>,
}

/// The writing half of a stream; made by [`IntoSplit::into_split`]. Dereferences to the stream.
///
/// Dropping the half shuts the sending direction down, unless it is dropped by
/// [`forget`](Self::forget).
///
/// # Examples
///
/// See [`IntoSplit`].
pub struct OwnedWriteHalf<S: IntoSplit = TcpStream> {
    stream: Arc<S>,
    shuts_down: bool,
}

impl<S: IntoSplit> OwnedReadHalf<S> {
    /// Puts the two halves of a stream together again.
    ///
    /// # Errors
    ///
    /// Fails when the halves belong to different streams. The error contains both.
    pub fn reunite(self, other: OwnedWriteHalf<S>) -> std::result::Result<S, ReuniteError<S>> {
        if !Arc::ptr_eq(&self.stream, &other.stream) {
            return Err(ReuniteError(self, other));
        }
        other.forget();
        let stream = Arc::into_inner(self.stream);
        Ok(stream.unwrap_or_else(|| unreachable!("only halves own the stream")))
    }
}

impl<S: IntoSplit> OwnedWriteHalf<S> {
    /// Does the same as [`OwnedReadHalf::reunite`].
    ///
    /// # Errors
    ///
    /// Fails when the halves belong to different streams. The error contains both.
    pub fn reunite(self, other: OwnedReadHalf<S>) -> std::result::Result<S, ReuniteError<S>> {
        other.reunite(self)
    }

    /// Drops the half without shutting the sending direction down.
    pub fn forget(mut self) {
        self.shuts_down = false;
    }
}

impl<S: IntoSplit> Drop for OwnedWriteHalf<S> {
    fn drop(&mut self) {
        if self.shuts_down {
            self.stream.end_sending();
        }
    }
}

reads_by! {
    [S] OwnedReadHalf<S> where [for<'a> &'a S: AsyncRead + Unpin],
    |this| Pin::new(&mut &*this.stream)
}

// Closing it shuts down the sending direction.
writes_by! {
    [S: IntoSplit] OwnedWriteHalf<S> where [for<'a> &'a S: AsyncWrite + Unpin],
    |this| Pin::new(&mut &*this.stream)
}

/// Defines what both halves have.
macro_rules! half {
    ($half:ident) => {
        impl<S: IntoSplit> Deref for $half<S> {
            type Target = S;

            fn deref(&self) -> &S {
                &self.stream
            }
        }

        impl<S: IntoSplit> AsRef<S> for $half<S> {
            fn as_ref(&self) -> &S {
                &self.stream
            }
        }

        impl<S: IntoSplit + fmt::Debug> fmt::Debug for $half<S> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{}({:?})", stringify!($half), self.stream)
            }
        }
    };
}

half!(OwnedReadHalf);
half!(OwnedWriteHalf);

/// The error of [`OwnedReadHalf::reunite`]: the halves belong to different streams. Contains
/// both.
#[derive(Debug)]
pub struct ReuniteError<S: IntoSplit = TcpStream>(pub OwnedReadHalf<S>, pub OwnedWriteHalf<S>);

impl<S: IntoSplit + fmt::Debug> std::error::Error for ReuniteError<S> {}

impl<S: IntoSplit> fmt::Display for ReuniteError<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the two halves are not of one stream")
    }
}
