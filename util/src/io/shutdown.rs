//! tokio's name for closing a writer.

use arc::io::{AsyncWrite, AsyncWriteExt};
use std::future::Future;
use std::io;

/// `shutdown`, which futures-io calls `close`.
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
    /// Writes what is buffered, and tells the reader that nothing more comes.
    ///
    /// # Errors
    ///
    /// The writer's, when what is buffered cannot be written.
    ///
    /// # Cancellation
    ///
    /// It can be begun again.
    fn shutdown(&mut self) -> impl Future<Output = io::Result<()>> {
        self.close()
    }
}

impl<W: AsyncWrite + Unpin + ?Sized> AsyncShutdownExt for W {}
