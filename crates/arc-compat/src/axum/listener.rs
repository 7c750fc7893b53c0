//! arc's listeners for axum's own `serve`.

use arc_util::net::{SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use arc_util::net::{UnixListener, UnixStream, unix};
use axum::serve::{Listener, ListenerExt, TapIo};
use std::future::pending;
use std::io;

/// Makes a listener of arc's one for axum's own `serve`, which has its connections in tokio's
/// tasks.
///
/// [`serve`](super::serve) of this module is faster, as it uses all workers, and has limits. This
/// function is for a program whose `axum::serve` shall stay as it is, and for `axum::extract::ws`,
/// which needs it.
///
/// axum's `serve`, its `with_graceful_shutdown` and its WebSockets call `tokio::spawn`. So the
/// signal, the connections and the handlers run on the one thread of tokio's runtime. They may call
/// arc there: its timers and sockets work, and what `arc::spawn` is given runs on one more thread
/// that belongs to this. The runtime of the program is not waited for by them, and does not end
/// them: they end with the process.
///
/// `ConnectInfo<SocketAddr>` and [`tap_io`](ListenerExt::tap_io) of axum work as with tokio's
/// listener.
///
/// # Errors
///
/// A client that cannot be accepted is left out, as by tokio's listener. If the system has no
/// descriptors left, the server tries again after the pause of [`TcpListener::accept`].
///
/// # Cancellation
///
/// Dropping the server closes the listener. Connections go on.
///
/// # Examples
///
/// ```no_run
/// use arc_util::net::TcpListener;
/// use axum::{Router, routing::get};
///
/// # fn main() -> std::io::Result<()> {
/// # arc_util::runtime::Runtime::new()?.block_on(async {
/// let router = Router::new().route("/", get(|| async { "Hello, World!" }));
/// let listener = TcpListener::bind("127.0.0.1:8080").await?;
/// axum::serve(arc_compat::axum::listener(listener), router).await
/// # })
/// # }
/// ```
pub fn listener<L>(listener: L) -> TapIo<AxumListener<L>, Prepare<AxumListener<L>>>
where
    AxumListener<L>: Listener,
{
    // axum gives the address as `ConnectInfo` to its own listeners and to those that prepare their
    // connections. So this one prepares them, by doing nothing.
    let nothing: Prepare<AxumListener<L>> = |_| {};
    AxumListener(listener).tap_io(nothing)
}

/// What prepares a connection before it is served; see [`listener`].
pub type Prepare<L> = fn(&mut <L as Listener>::Io);

/// A listener of arc's with axum's trait; made by [`listener`].
#[derive(Debug)]
pub struct AxumListener<L>(L);

impl Listener for AxumListener<TcpListener> {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            match self.0.accept().await {
                Ok(accepted) => return accepted,
                // axum takes no error: the next client may be accepted.
                Err(error) => missed(error).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

#[cfg(unix)]
impl Listener for AxumListener<UnixListener> {
    type Io = UnixStream;
    type Addr = unix::SocketAddr;

    async fn accept(&mut self) -> (UnixStream, unix::SocketAddr) {
        loop {
            match self.0.accept().await {
                Ok(accepted) => return accepted,
                // axum takes no error: the next client may be accepted.
                Err(error) => missed(error).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<unix::SocketAddr> {
        self.0.local_addr()
    }
}

/// Returns after an error of the system, for which `accept` has paused. Any other error says that
/// the listener's runtime has ended. Nobody comes then, and axum has no way to be told so.
async fn missed(error: io::Error) {
    if error.raw_os_error().is_none() {
        pending::<()>().await;
    }
    #[cfg(feature = "tracing")]
    ::tracing::error!("accept error: {error}");
}
