//! Accepts connections of the Unix domain.

use super::{SocketAddr, UnixStream, address_of, explain};
use crate::net::options::{options, wraps};
use arc::io::Async;
use std::io::{self, ErrorKind};
use std::os::unix::net;
use std::path::Path;
use std::time::Duration;

/// For how long accepting pauses when the process or the system has no descriptors or
/// memory left.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections of the Unix domain.
///
/// The path of the socket stays when the listener is dropped: remove it before binding
/// to it again. Dereferences to its [`Async`].
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
pub struct UnixListener(Async<net::UnixListener>);

wraps!(UnixListener, net::UnixListener);

impl UnixListener {
    /// Listens on a path, or on Linux, after a null byte, on an abstract name.
    ///
    /// # Errors
    ///
    /// When the path exists, or its folder does not; `InvalidInput` when it is empty, has a
    /// null byte inside, or is too long (over 107 bytes on Linux). The error says which path.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let bound = address_of(path).and_then(|address| Self::bind_addr(&address));
        bound.map_err(|error| explain("listening on", path, &error))
    }

    /// Listens on an address. See [`bind`](Self::bind). To one that has no name, Linux gives
    /// an abstract name.
    ///
    /// # Errors
    ///
    /// As `bind`.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn bind_addr(address: &SocketAddr) -> io::Result<Self> {
        Self::from_std(net::UnixListener::bind_addr(address)?)
    }

    /// Waits for a connection.
    ///
    /// A connection that was broken before it was accepted is passed over without a
    /// word.
    ///
    /// # Errors
    ///
    /// When there are no descriptors or no memory left. The connection waits in the
    /// kernel, and the error is returned after a pause of 50 ms: a loop that reports it
    /// and goes on does the right thing. (When the kernel watches as many descriptors as
    /// the user may, on Linux `fs.epoll.max_user_watches`, the connection is closed.)
    ///
    /// # Panics
    ///
    /// Outside a runtime, when there is a connection, which is closed.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no connection is lost.
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        loop {
            let accepted = self.0.read_with(|listener| {
                let (stream, address) = listener.accept()?;
                Ok((UnixStream::from_std(stream)?, address))
            });
            match accepted.await {
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                // When the runtime has ended, the error is not the system's.
                Err(error) if error.raw_os_error().is_some() => {
                    arc::time::sleep(PAUSE).await;
                    return Err(error);
                }
                result => return result,
            }
        }
    }

    /// The connections as a stream, which never ends. See [`accept`](Self::accept).
    pub fn incoming(&self) -> impl futures_core::Stream<Item = io::Result<UnixStream>> + '_ {
        futures_util::stream::unfold(self, async |listener| {
            Some((listener.accept().await.map(|(stream, _)| stream), listener))
        })
    }
}

options! { UnixListener, |this| this.0.get_ref();
    /// The address it listens on.
    fn local_addr = local_addr() -> SocketAddr;
    /// The error that the socket holds, which is cleared.
    fn take_error = take_error() -> Option<io::Error>;
}
