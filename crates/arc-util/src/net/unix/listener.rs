//! Listeners of the Unix domain.

use super::address::{address_of, explain};
use super::stream::UnixStream;
use crate::net::options::{options, wraps};
use crate::net::pause::Pause;
use crate::net::tcp::listener::poll_accept;
use arc::io::Async;
use std::io::{self, ErrorKind};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::task::{Context, Poll, ready};

/// Accepts connections of the Unix domain.
///
/// The path of the socket stays when the listener is dropped: remove it before you bind to it
/// again. The listener dereferences to its [`Async`].
///
/// # Examples
///
/// ```
/// use arc_util::net::{UnixListener, UnixStream};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// # let folder = std::env::temp_dir().join(format!("arc-listener-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("socket");
/// let listener = UnixListener::bind(&path)?;
/// let _client = UnixStream::connect(&path).await?;
/// let (server, _) = listener.accept().await?;
/// assert_eq!(server.local_addr()?.as_pathname(), Some(&*path));
/// # std::fs::remove_dir_all(&folder)
/// # }
/// ```
pub struct UnixListener(Async<net::UnixListener>, Pause);

wraps!(UnixListener, net::UnixListener, Async::new, Pause::default());

impl UnixListener {
    /// Listens on a path. On Linux, a path that begins with a null byte is an abstract name.
    ///
    /// # Errors
    ///
    /// Fails when the path exists, and when its directory does not. Fails with `InvalidInput`
    /// when the path is empty, has a null byte inside, or is too long (over 107 bytes on Linux).
    /// The message of that error contains the path.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let bound = address_of(path).and_then(|address| Self::bind_addr(&address));
        bound.map_err(|error| explain("listening on", path, error))
    }

    /// Listens on an address. See [`bind`](Self::bind). If the address has no name, Linux gives
    /// it an abstract name.
    ///
    /// # Errors
    ///
    /// Same as `bind`, but no message contains the path.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn bind_addr(address: &SocketAddr) -> io::Result<Self> {
        Self::from_std(net::UnixListener::bind_addr(address)?)
    }

    /// Waits for a connection and accepts it.
    ///
    /// A connection that was aborted before it was accepted is skipped.
    ///
    /// # Errors
    ///
    /// Fails when there are no descriptors or no memory left. The connection stays in the
    /// kernel's queue, and the next call pauses until 50 ms have passed since, so a loop can
    /// report the error and call `accept` again without spinning. The exception is a kernel that
    /// watches as many descriptors as the user may have (on Linux
    /// `fs.epoll.max_user_watches`): then the connection is closed.
    ///
    /// Fails when the runtime has ended.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime when there is a connection. The connection is closed.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no connection is lost.
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        self.1.wait().await;
        loop {
            let accepted = self.0.read_with(|listener| {
                let (stream, address) = listener.accept()?;
                Ok((UnixStream::from_std(stream)?, address))
            });

            match accepted.await {
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                result => {
                    self.1.note(&result);
                    return result;
                }
            }
        }
    }

    /// Polls for a connection, for futures written by hand. See [`accept`](Self::accept).
    ///
    /// # Errors
    ///
    /// As `accept`, but without a pause when there are no descriptors or no memory left.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime when there is a connection. The connection is closed.
    #[track_caller]
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        let (stream, address) = ready!(poll_accept(&self.0, context, |it| it.accept()))?;
        Poll::Ready(Ok((UnixStream::from_std(stream)?, address)))
    }

    /// Returns the connections as a stream, which never ends. Its errors are those of
    /// [`accept`](Self::accept).
    pub fn incoming(&self) -> impl futures_core::Stream<Item = io::Result<UnixStream>> + '_ {
        futures_util::stream::unfold(self, async |listener| {
            Some((listener.accept().await.map(|(stream, _)| stream), listener))
        })
    }
}

options! { UnixListener, |this| this.0.get_ref();
    /// Returns the address that the listener is bound to.
    fn local_addr = local_addr() -> SocketAddr;
    /// Returns the error that the socket holds, and clears it.
    fn take_error = take_error() -> Option<io::Error>;
}
