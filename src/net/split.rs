//! The two directions of a [`TcpStream`] apart, for two tasks.

use super::TcpStream;
use std::net::Shutdown;
use std::ops::Deref;
use std::sync::Arc;

/// The reading direction, from [`TcpStream::into_split`]. Dereferences to the
/// stream.
#[derive(Debug)]
pub struct OwnedReadHalf(Arc<TcpStream>);

/// The writing direction, from [`TcpStream::into_split`]. Dereferences to the
/// stream. Dropping it shuts the sending direction down, unless it is
/// [forgotten](Self::forget).
#[derive(Debug)]
pub struct OwnedWriteHalf(Arc<TcpStream>, bool);

/// The halves given to [`OwnedReadHalf::reunite`] are not of one stream.
#[derive(Debug)]
pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

impl std::error::Error for ReuniteError {}

impl std::fmt::Display for ReuniteError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the two halves are not of one stream")
    }
}

pub(super) fn into_split(stream: TcpStream) -> (OwnedReadHalf, OwnedWriteHalf) {
    let stream = Arc::new(stream);
    (OwnedReadHalf(stream.clone()), OwnedWriteHalf(stream, true))
}

impl OwnedReadHalf {
    /// Puts the two directions together again.
    ///
    /// # Errors
    ///
    /// When they are not of one stream; the error holds both.
    pub fn reunite(self, other: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
        if !Arc::ptr_eq(&self.0, &other.0) {
            return Err(ReuniteError(self, other));
        }
        other.forget();
        Ok(Arc::into_inner(self.0).unwrap_or_else(|| unreachable!("only halves own the stream")))
    }
}

impl OwnedWriteHalf {
    /// Drops it without shutting the sending direction down.
    pub fn forget(mut self) {
        self.1 = false;
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if self.1 {
            // It fails when the connection is gone: then nothing is left to do.
            let _ = self.0.shutdown(Shutdown::Write);
        }
    }
}

/// Each half can do what the stream can, except for the other half's part.
macro_rules! dereference {
    ($($half:ty),*) => {$(
        impl Deref for $half {
            type Target = TcpStream;

            fn deref(&self) -> &TcpStream {
                &self.0
            }
        }
    )*};
}

dereference!(OwnedReadHalf, OwnedWriteHalf);
