//! tokio's name for closing a writer.

use arc::io::{AsyncWrite, AsyncWriteExt};
use std::future::Future;
use std::io;

/// Adds `shutdown`, tokio's name for what futures-io calls `close`.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncShutdownExt, AsyncWriteExt, duplex};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (mut near, mut far) = duplex(64);
/// near.write_all(b"the end").await?;
/// near.shutdown().await?;
/// let mut text = String::new();
/// far.read_to_string(&mut text).await?;
/// assert_eq!(text, "the end");
/// # Ok(())
/// # }
/// ```
pub trait AsyncShutdownExt: AsyncWrite + Unpin {
    /// Writes what is buffered, and signals the end of the stream to the reader.
    ///
    /// # Errors
    ///
    /// Fails with the writer's error when the buffered data cannot be written.
    ///
    /// # Cancellation
    ///
    /// A `shutdown` that was dropped can be called again.
    fn shutdown(&mut self) -> impl Future<Output = io::Result<()>> {
        self.close()
    }
}

impl<W: AsyncWrite + Unpin + ?Sized> AsyncShutdownExt for W {}
