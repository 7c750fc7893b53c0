//! The two directions of a TCP or Unix stream as two halves, borrowed or owned.

use super::tcp::stream::TcpStream;
#[cfg(unix)]
use super::unix::stream::UnixStream;
use crate::forward::{reads_by, writes_by};
use futures_io::{AsyncRead, AsyncWrite};
use std::fmt;
use std::net::Shutdown;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

mod sealed {
    /// What a half needs of its stream. `TcpStream` and `UnixStream` have it.
    pub trait Stream: Sized {
        /// Shuts the sending direction down. This fails only when the connection is gone, and
        /// then there is nothing left to do.
        fn end_sending(&self);
    }
}

/// Defines how a stream becomes two halves.
macro_rules! splits {
    ($stream:ident) => {
        /// The two directions apart.
        impl $stream {
            /// Splits the stream into a reading and a writing half, for use in one task: both
            /// borrow the stream.
            pub fn split(&mut self) -> (ReadHalf<'_, Self>, WriteHalf<'_, Self>) {
                (ReadHalf { stream: self }, WriteHalf { stream: self })
            }

            /// Splits the stream into a reading and a writing half, which two tasks can own. The
            /// halves share an allocation.
            ///
            /// Dropping the writing half shuts down the sending direction.
            pub fn into_split(self) -> (OwnedReadHalf<Self>, OwnedWriteHalf<Self>) {
                let stream = Arc::new(self);
                let write = OwnedWriteHalf { stream: stream.clone(), shuts_down: true };
                (OwnedReadHalf { stream }, write)
            }
        }

        impl sealed::Stream for $stream {
            fn end_sending(&self) {
                let _ = self.get_ref().shutdown(Shutdown::Write);
            }
        }
    };
}

splits!(TcpStream);
#[cfg(unix)]
splits!(UnixStream);

/// A borrowed reading half of a stream; made by [`TcpStream::split`]. Dereferences to the stream.
pub struct ReadHalf<'stream, S = TcpStream> {
    stream: &'stream S,
}

/// A borrowed writing half of a stream; made by [`TcpStream::split`]. Dereferences to the stream.
///
/// Dropping the half does not shut the sending direction down.
pub struct WriteHalf<'stream, S = TcpStream> {
    stream: &'stream S,
}

/// The reading half of a stream; made by [`TcpStream::into_split`]. Dereferences to the stream.
///
/// # Examples
///
/// See [`TcpStream`].
pub struct OwnedReadHalf<S = TcpStream> {
    stream: Arc<S>,
}

/// The writing half of a stream; made by [`TcpStream::into_split`]. Dereferences to the stream.
///
/// Dropping the half shuts the sending direction down, unless it is dropped by
/// [`forget`](Self::forget).
///
/// # Examples
///
/// See [`TcpStream`].
pub struct OwnedWriteHalf<S: sealed::Stream = TcpStream> {
    stream: Arc<S>,
    shuts_down: bool,
}

impl<S: sealed::Stream> OwnedReadHalf<S> {
    /// Puts the two halves of a stream together again.
    ///
    /// # Errors
    ///
    /// Fails when the halves belong to different streams. The error contains both.
    pub fn reunite(self, other: OwnedWriteHalf<S>) -> Result<S, ReuniteError<S>> {
        if !Arc::ptr_eq(&self.stream, &other.stream) {
            return Err(ReuniteError(self, other));
        }
        other.forget();
        let stream = Arc::into_inner(self.stream);
        Ok(stream.unwrap_or_else(|| unreachable!("only halves own the stream")))
    }
}

impl<S: sealed::Stream> OwnedWriteHalf<S> {
    /// Does the same as [`OwnedReadHalf::reunite`].
    ///
    /// # Errors
    ///
    /// Fails when the halves belong to different streams. The error contains both.
    pub fn reunite(self, other: OwnedReadHalf<S>) -> Result<S, ReuniteError<S>> {
        other.reunite(self)
    }

    /// Drops the half without shutting the sending direction down.
    pub fn forget(mut self) {
        self.shuts_down = false;
    }
}

impl<S: sealed::Stream> Drop for OwnedWriteHalf<S> {
    fn drop(&mut self) {
        if self.shuts_down {
            self.stream.end_sending();
        }
    }
}

reads_by! {
    [S] ReadHalf<'_, S> where [for<'a> &'a S: AsyncRead + Unpin],
    |this| Pin::new(&mut &*this.stream)
}

reads_by! {
    [S] OwnedReadHalf<S> where [for<'a> &'a S: AsyncRead + Unpin],
    |this| Pin::new(&mut &*this.stream)
}

// Closing one shuts down the sending direction.
writes_by! {
    [S] WriteHalf<'_, S> where [for<'a> &'a S: AsyncWrite + Unpin],
    |this| Pin::new(&mut &*this.stream)
}

writes_by! {
    [S: sealed::Stream] OwnedWriteHalf<S> where [for<'a> &'a S: AsyncWrite + Unpin],
    |this| Pin::new(&mut &*this.stream)
}

/// Defines what all halves have.
macro_rules! half {
    ($half:ident, [$($params:tt)*], $type:ty) => {
        impl<$($params)*> Deref for $type {
            type Target = S;

            fn deref(&self) -> &S {
                &self.stream
            }
        }

        impl<$($params)*> AsRef<S> for $type {
            fn as_ref(&self) -> &S {
                &self.stream
            }
        }

        impl<$($params)* + fmt::Debug> fmt::Debug for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{}({:?})", stringify!($half), self.stream)
            }
        }
    };
}

half!(ReadHalf, [S: sealed::Stream], ReadHalf<'_, S>);
half!(WriteHalf, [S: sealed::Stream], WriteHalf<'_, S>);
half!(OwnedReadHalf, [S: sealed::Stream], OwnedReadHalf<S>);
half!(OwnedWriteHalf, [S: sealed::Stream], OwnedWriteHalf<S>);

/// The error of [`OwnedReadHalf::reunite`]: the halves belong to different streams. Contains
/// both.
#[derive(Debug)]
pub struct ReuniteError<S: sealed::Stream = TcpStream>(pub OwnedReadHalf<S>, pub OwnedWriteHalf<S>);

impl<S: sealed::Stream + fmt::Debug> std::error::Error for ReuniteError<S> {}

impl<S: sealed::Stream> fmt::Display for ReuniteError<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the two halves are not of one stream")
    }
}
