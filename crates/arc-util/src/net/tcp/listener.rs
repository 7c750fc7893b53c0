//! TCP listeners.

use super::stream::TcpStream;
use crate::net::names::{ToSocketAddrs, first};
use crate::net::options::{hops as checked_hops, options, wraps};
use crate::net::pause::Pause;
use arc::io::{AsSource, Async, Direction};
use arc::net::SocketAddr;
use futures_core::Stream;
use std::io::{self, ErrorKind};
use std::net;
use std::task::{Context, Poll, ready};

/// Accepts TCP connections.
///
/// The listener dereferences to its [`Async`].
///
/// # Examples
///
/// ```
/// use arc_util::net::{TcpListener, TcpStream};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (server, from) = listener.accept().await?;
/// assert_eq!(from, client.local_addr()?);
/// assert_eq!(server.local_addr()?, client.peer_addr()?);
/// # Ok(())
/// # }
/// ```
pub struct TcpListener(Async<net::TcpListener>, Pause);

wraps!(TcpListener, net::TcpListener, Async::new, Pause::default());

impl TcpListener {
    /// Listens on an address. Of several addresses, it takes the first that works. Port 0 stands
    /// for any free port; [`local_addr`](Self::local_addr) says which one it is.
    ///
    /// On Unix the address may be in the TIME_WAIT state (`SO_REUSEADDR`). On Windows that option
    /// is not set, because it would let another process take the port over.
    ///
    /// # Errors
    ///
    /// The system's: the address is in use, or does not belong to this machine. Of several
    /// addresses it is the error of the last one. It does not say which address that is: say so
    /// where you print it. Those of [`lookup_host`](crate::net::lookup_host). `InvalidInput` when
    /// there is no address.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancellation
    ///
    /// Cancel safe. A name lookup goes on, on a thread of the blocking pool.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, arc::net::TcpListener::bind).await.map(Self::from)
    }

    /// Waits for a connection.
    ///
    /// A connection that was broken before it was accepted is skipped silently.
    ///
    /// # Errors
    ///
    /// * When there are no descriptors or no memory left. The connection waits in the kernel, and
    ///   the next call pauses until 50 ms have passed since. So a loop that reports the error and
    ///   goes on does the right thing. When the kernel watches as many descriptors as the user may
    ///   have (on Linux `fs.epoll.max_user_watches`), the connection is closed.
    /// * When the system refuses for another reason, for example because the socket is not a
    ///   listener. The next call pauses as well.
    /// * When the runtime has ended. This error is not the system's, and has no number. No pause
    ///   follows.
    ///
    /// # Panics
    ///
    /// Outside a runtime, when there is a connection or an error. The connection is closed.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no connection is lost.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.1.wait().await;
        let accepted = self.0.accept().await;
        self.1.note(&accepted);
        accepted.map(|(stream, address)| (stream.into(), address))
    }

    /// Polls for a connection, for futures written by hand. See [`accept`](Self::accept).
    ///
    /// # Errors
    ///
    /// As `accept`, but without a pause when there are no descriptors or no memory left.
    ///
    /// # Panics
    ///
    /// Outside a runtime when there is a connection. The connection is closed.
    #[track_caller]
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let (stream, address) = ready!(poll_accept(&self.0, context, |it| it.accept()))?;
        Poll::Ready(Ok((TcpStream::from_std(stream)?, address)))
    }

    /// Returns the connections as a stream, which never ends. Its errors are those of
    /// [`accept`](Self::accept).
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::net::{TcpListener, TcpStream};
    /// use futures_util::StreamExt;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let client = TcpStream::connect(listener.local_addr()?).await?;
    /// let mut incoming = std::pin::pin!(listener.incoming());
    /// let server = incoming.next().await.expect("it never ends")?;
    /// assert_eq!(server.peer_addr()?, client.local_addr()?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn incoming(&self) -> impl Stream<Item = io::Result<TcpStream>> + Send + '_ {
        futures_util::stream::unfold(self, async |listener| {
            Some((listener.accept().await.map(|(stream, _)| stream), listener))
        })
    }

    /// Sets the time to live of the packets that the socket sends, in hops.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when `hops` is not in 1 to 255. Otherwise any error of the system call.
    pub fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.0.get_ref().set_ttl(checked_hops(hops, 1..=255)?)
    }
}

options! { TcpListener, |this| this.0.get_ref();
    /// Returns the address that it listens on.
    fn local_addr = local_addr() -> SocketAddr;
    /// Returns the time to live of the packets that the socket sends, in hops.
    fn ttl = ttl() -> u32;
}

/// Polls for a connection to any listener. One that was broken before it was accepted is skipped.
pub(in crate::net) fn poll_accept<L: AsSource, R>(
    listener: &Async<L>,
    context: &mut Context<'_>,
    accept: impl Fn(&L) -> io::Result<R>,
) -> Poll<io::Result<R>> {
    let mut accepted = None;
    loop {
        let polled = listener.poll_transfer(Direction::Read, context, 0, |listener| {
            // An attempt returns a number of bytes, so the connection goes out by a variable.
            accepted = Some(accept(listener)?);
            Ok(0)
        });

        match ready!(polled) {
            // The next one may be there already.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Poll::Ready(Err(error)),
            Ok(_) => break,
        }
    }
    Poll::Ready(Ok(accepted.unwrap_or_else(|| unreachable!("an attempt has succeeded"))))
}
