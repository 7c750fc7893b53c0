//! The two directions of a [`TcpStream`] apart.

use super::TcpStream;
use crate::io::{forward_read, forward_write};
use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;

/// The reading direction, lent by [`TcpStream::split`].
#[derive(Debug)]
pub struct ReadHalf<'a>(&'a TcpStream);

/// The writing direction, lent by [`TcpStream::split`].
#[derive(Debug)]
pub struct WriteHalf<'a>(&'a TcpStream);

impl<'a> ReadHalf<'a> {
    pub(super) fn new(stream: &'a TcpStream) -> Self {
        Self(stream)
    }
}

impl<'a> WriteHalf<'a> {
    pub(super) fn new(stream: &'a TcpStream) -> Self {
        Self(stream)
    }
}

/// The reading direction, from [`TcpStream::into_split`].
#[derive(Debug)]
pub struct OwnedReadHalf {
    stream: Arc<TcpStream>,
}

/// The writing direction, from [`TcpStream::into_split`]. Dropping it shuts the
/// sending direction down, unless it is [forgotten](Self::forget).
#[derive(Debug)]
pub struct OwnedWriteHalf {
    stream: Arc<TcpStream>,
    shut_down_on_drop: bool,
}

pub(super) fn into_split(stream: TcpStream) -> (OwnedReadHalf, OwnedWriteHalf) {
    let stream = Arc::new(stream);
    let read = OwnedReadHalf {
        stream: stream.clone(),
    };
    (
        read,
        OwnedWriteHalf {
            stream,
            shut_down_on_drop: true,
        },
    )
}

impl OwnedReadHalf {
    /// Puts the two directions together again.
    ///
    /// # Errors
    ///
    /// When they are not of one stream; the error holds both.
    pub fn reunite(self, other: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
        if !Arc::ptr_eq(&self.stream, &other.stream) {
            return Err(ReuniteError(self, other));
        }
        other.forget();
        // The two halves were the only owners.
        let Some(stream) = Arc::into_inner(self.stream) else {
            unreachable!("only the halves own the stream")
        };
        Ok(stream)
    }
}

impl OwnedWriteHalf {
    /// Puts the two directions together again. See [`OwnedReadHalf::reunite`].
    ///
    /// # Errors
    ///
    /// When they are not of one stream; the error holds both.
    pub fn reunite(self, other: OwnedReadHalf) -> Result<TcpStream, ReuniteError> {
        other.reunite(self)
    }

    /// Drops it without shutting the sending direction down.
    pub fn forget(mut self) {
        self.shut_down_on_drop = false;
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if self.shut_down_on_drop {
            // It fails when the connection is gone: then nothing is left to do.
            let _ = self.stream.shutdown(Shutdown::Write);
        }
    }
}

/// What both kinds of halves have in common.
macro_rules! common {
    ($([$($generics:tt)*] $type:ty, $field:tt);*) => {$(
        impl<$($generics)*> $type {
            /// The address of this end.
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn local_addr(&self) -> io::Result<SocketAddr> {
                self.$field.local_addr()
            }

            /// The address of the other end.
            ///
            /// # Errors
            ///
            /// When it is not connected any more.
            pub fn peer_addr(&self) -> io::Result<SocketAddr> {
                self.$field.peer_addr()
            }
        }

        impl<$($generics)*> AsRef<TcpStream> for $type {
            fn as_ref(&self) -> &TcpStream {
                &self.$field
            }
        }
    )*};
}

common!(['a] ReadHalf<'a>, 0; ['a] WriteHalf<'a>, 0; [] OwnedReadHalf, stream; [] OwnedWriteHalf, stream);
forward_read!([] ReadHalf<'_>, |this| this.0);
forward_read!([] OwnedReadHalf, |this| &*this.stream);
forward_write!([] WriteHalf<'_>, |this| this.0);
forward_write!([] OwnedWriteHalf, |this| &*this.stream);

/// The halves given to `reunite` are not of one stream.
#[derive(Debug)]
pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

impl fmt::Display for ReuniteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the two halves are not of one stream")
    }
}

impl std::error::Error for ReuniteError {}
