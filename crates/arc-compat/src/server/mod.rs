//! An HTTP server for any tower service, such as a tonic service.

mod connection;
mod limits;

pub use connection::Connection;
pub use limits::CutOff;

use crate::{ArcExecutor, ArcTimer};
use arc::task::spawn_named;
use arc_util::net::{SocketAddr, TcpListener, TcpStream};
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use limits::Limits;
use std::error::Error;
use std::fmt;
use std::future::{Future, IntoFuture, Pending, pending, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tower_service::Service;

/// Configures the connections of a server.
///
/// A connection uses HTTP/1 or HTTP/2, depending on the client's first bytes.
pub type Builder = auto::Builder<ArcExecutor>;

/// How many more times a connection that keeps waking itself is polled before its graceful
/// shutdown. Without a limit, a client that never stops sending would keep the server running.
const LAST_TURNS: usize = 64;

/// The client's address. [`serve`] adds it to the extensions of each request.
///
/// In a handler of axum it is an extractor, as axum's own is, which needs axum's feature `tokio`.
/// The type parameter is there for axum's way to write it: `ConnectInfo<SocketAddr>`.
///
/// # Examples
///
/// ```
/// use arc_compat::server::ConnectInfo;
/// use std::net::SocketAddr;
///
/// async fn handler(ConnectInfo(address): ConnectInfo<SocketAddr>) -> String {
///     format!("you are {address}")
/// }
/// # let _: axum::Router = axum::Router::new().route("/", axum::routing::get(handler));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectInfo<T = SocketAddr>(pub T);

/// Says whether the server granted the upgrade that a request asked for. False until the
/// request is answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer(Arc<AtomicBool>);

#[cfg(feature = "axum")]
impl Answer {
    pub(crate) fn is_upgrade(&self) -> bool {
        // Acquire: pairs with the Release in `answering`.
        self.0.load(Ordering::Acquire)
    }
}

/// Serves HTTP/1 and HTTP/2 with a tower service, such as a tonic service or a stack of
/// tower layers.
///
/// The server supports upgrades. It supports HTTP/2 with prior knowledge. For axum's Router
/// use `arc_compat::axum::serve`.
///
/// Each connection is a task of the current runtime, and each HTTP/2 stream is another. A
/// clone of the service handles each request.
///
/// # Limits
///
/// The defaults are meant for a server that faces the internet. [`Duration::MAX`] switches a
/// time limit off.
///
/// - 10,000 connections at once. New ones wait until others have ended
///   ([`with_max_connections`]).
/// - 30 s until the first bytes show the version of HTTP. Then the connection is closed
///   ([`with_first_bytes_timeout`]).
/// - 30 s for the head of an HTTP/1 request, with the time before it. Then the connection is
///   closed ([`with_header_timeout`]).
/// - 30 s without a word from an HTTP/2 client. Then it is asked whether it is still there, and
///   the connection is closed if it does not answer within 20 s ([`with_http2_keep_alive`]).
/// - 60 s in which a client reads nothing of what is written. Then the connection is closed
///   ([`with_write_timeout`]).
/// - 20 s for a graceful shutdown. Then connections are cut off and counted
///   ([`with_shutdown_timeout`]).
///
/// A handler may take as long as it likes, also while it reads a request's body: use tower's
/// layers, such as `arc_compat::tower::TimeoutLayer`, to limit it. The page SECURITY.md of the
/// repository lists what else a server is protected from by default, and what not.
///
/// [`with_max_connections`]: Serve::with_max_connections
/// [`with_first_bytes_timeout`]: Serve::with_first_bytes_timeout
/// [`with_header_timeout`]: Serve::with_header_timeout
/// [`with_http2_keep_alive`]: Serve::with_http2_keep_alive
/// [`with_write_timeout`]: Serve::with_write_timeout
/// [`with_shutdown_timeout`]: Serve::with_shutdown_timeout
///
/// The server starts when it is awaited. It runs until the future of
/// [`with_graceful_shutdown`](Serve::with_graceful_shutdown) is ready, or for ever if there
/// is none.
///
/// # Errors
///
/// Returns an error of kind [`TimedOut`](io::ErrorKind::TimedOut), with a [`CutOff`] inside, if
/// connections had to be cut off at the end of a graceful shutdown. Returns another error if the
/// listener's runtime has ended. A broken connection is no error of the server: it is dropped
/// silently. If the system refuses a connection, for example
/// because no descriptors are left, the server tries again after the pause of
/// [`TcpListener::accept`].
///
/// # Panics
///
/// Panics if it is polled outside a runtime. A panic of the service ends the task that it
/// runs in: the whole connection for HTTP/1, one stream for HTTP/2.
///
/// # Cancellation
///
/// Dropping the server closes the listener. Each connection continues until the requests
/// that have begun are finished, but no longer than a graceful shutdown may take.
///
/// # Examples
///
/// ```
/// use arc_util::net::TcpListener;
/// use http_body_util::Full;
/// use hyper::{Request, Response, body::{Bytes, Incoming}};
/// use tower::{ServiceBuilder, service_fn};
///
/// async fn hello(_: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
///     Ok(Response::new(Full::new(Bytes::from("Hello, World!"))))
/// }
///
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let service = ServiceBuilder::new().concurrency_limit(100).service(service_fn(hello));
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// # let signal = async {};
/// arc_compat::server::serve(listener, service).with_graceful_shutdown(signal).await
/// # }
/// ```
pub fn serve<S>(listener: TcpListener, service: S) -> Serve<S> {
    Serve { listener, service, builder: builder(), limits: Limits::default(), signal: pending() }
}

/// Returns the default configuration of [`serve`].
///
/// The builder uses arc's tasks and arc's timers, and has the time limits of HTTP/1's heads and
/// HTTP/2's pings that [`serve`] lists. Everything else has hyper's default.
pub fn builder() -> Builder {
    let mut builder = Builder::new(ArcExecutor);
    set_header_timeout(&mut builder, limits::HEAD);
    set_keep_alive(&mut builder, limits::PING_EVERY, limits::PONG);
    builder
}

fn set_header_timeout(builder: &mut Builder, timeout: Duration) {
    builder.http1().timer(ArcTimer).header_read_timeout(limits::for_hyper(timeout));
}

fn set_keep_alive(builder: &mut Builder, interval: Duration, timeout: Duration) {
    let interval = limits::for_hyper(interval);
    // Without a limit for the answer, there is nothing to ask for.
    let timeout = limits::for_hyper(timeout);
    let interval = interval.filter(|_| timeout.is_some());
    builder.http2().timer(ArcTimer).keep_alive_interval(interval);
    if let Some(timeout) = timeout {
        builder.http2().keep_alive_timeout(timeout);
    }
}

/// A server. See [`serve`].
#[must_use = "a server does nothing unless awaited"]
pub struct Serve<S, F = Pending<()>> {
    listener: TcpListener,
    service: S,
    builder: Builder,
    limits: Limits,
    signal: F,
}

impl<S, F> fmt::Debug for Serve<S, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Serve").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl<S, F> Serve<S, F> {
    /// Shuts the server down gracefully when `signal` is ready.
    ///
    /// The server stops accepting connections, closes those without a request, and waits
    /// until the requests that have begun are finished. Connections that are left when the time
    /// of [`with_shutdown_timeout`](Self::with_shutdown_timeout) is over are cut off. The server
    /// does not wait for upgraded connections.
    ///
    /// For HTTP/1:
    ///
    /// - A request that arrived before the signal is answered, even if the server had not
    ///   read it yet.
    /// - A pipelined request behind one that is still being handled is not answered. The
    ///   response to the earlier request says `connection: close`.
    /// - A partial head is not a request on a connection that has already served one. Such a
    ///   connection is closed.
    ///
    /// For HTTP/2, the server asks the client whether it is still there, and waits for the
    /// reply, at most for the time of the shutdown.
    pub fn with_graceful_shutdown<G: Future<Output = ()>>(self, signal: G) -> Serve<S, G> {
        let Self { listener, service, builder, limits, .. } = self;
        Serve { listener, service, builder, limits, signal }
    }

    /// Sets how long a graceful shutdown may take: 20 s by default, [`Duration::MAX`] for no
    /// limit.
    ///
    /// When the time is over, the server cuts off the connections that are left. Then it returns
    /// an error of kind [`TimedOut`](io::ErrorKind::TimedOut), whose [`CutOff`] says how many
    /// they were. They had requests without a complete response, or were HTTP/2 clients that
    /// did not reply. (`axum::serve` on tokio waits without a limit.)
    pub fn with_shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.limits.shutdown = timeout;
        self
    }

    /// Sets how many connections there may be at once: 10,000 by default.
    ///
    /// Further clients are not refused: their connections wait in the listener's backlog until
    /// others have ended. An upgraded connection, such as a WebSocket, counts until it is
    /// dropped.
    ///
    /// # Panics
    ///
    /// Panics if `connections` is 0.
    #[track_caller]
    pub fn with_max_connections(mut self, connections: usize) -> Self {
        assert!(connections > 0, "a server needs at least one connection");
        self.limits.connections = connections;
        self
    }

    /// Sets how long a client may take until its first bytes show which version of HTTP it
    /// speaks: 30 s by default, [`Duration::MAX`] for no limit.
    ///
    /// That is one byte for most HTTP/1 requests, and 24 bytes for HTTP/2. Then the connection
    /// is closed without a response.
    pub fn with_first_bytes_timeout(mut self, timeout: Duration) -> Self {
        self.limits.first_bytes = timeout;
        self
    }

    /// Sets how long a client may take for the head of an HTTP/1 request: 30 s by default,
    /// [`Duration::MAX`] for no limit.
    ///
    /// The time begins with the first byte of the connection, and again when a response is
    /// finished: it is also the time that a connection may be idle between two requests. Then
    /// the connection is closed without a response.
    ///
    /// This changes the [builder](Self::with_builder).
    pub fn with_header_timeout(mut self, timeout: Duration) -> Self {
        set_header_timeout(&mut self.builder, timeout);
        self
    }

    /// Sets when an HTTP/2 client is asked whether it is still there, and how long it may take
    /// to reply: 30 s and 20 s by default, [`Duration::MAX`] for no limit.
    ///
    /// A ping is sent after `interval` without a frame from the client, also while no request is
    /// being handled. Without a reply within `timeout`, the connection is closed.
    ///
    /// This changes the [builder](Self::with_builder).
    ///
    /// # Panics
    ///
    /// Panics if `interval` is zero.
    #[track_caller]
    pub fn with_http2_keep_alive(mut self, interval: Duration, timeout: Duration) -> Self {
        assert!(!interval.is_zero(), "there must be some time between two pings");
        set_keep_alive(&mut self.builder, interval, timeout);
        self
    }

    /// Sets how long a client may read nothing of what the server writes: 60 s by default,
    /// [`Duration::MAX`] for no limit.
    ///
    /// The time begins when the system takes no more bytes for this client, and ends when it
    /// takes one. Then the connection is closed, also if it was upgraded: its next write, or its
    /// next read in the case of a WebSocket that answers pings, returns an error of kind
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    pub fn with_write_timeout(mut self, timeout: Duration) -> Self {
        self.limits.write = timeout;
        self
    }

    /// Replaces the default configuration, [`builder`].
    ///
    /// This also replaces what [`with_header_timeout`](Self::with_header_timeout) and
    /// [`with_http2_keep_alive`](Self::with_http2_keep_alive) have set before, but no other limit.
    ///
    /// A builder that was not made by [`builder`] needs a timer for each version of HTTP for
    /// which it sets a time limit. Without a timer hyper panics in each connection, which
    /// closes it.
    ///
    /// `http1_only` and `http2_only` have no effect, because hyper-util ignores them on
    /// connections that support upgrades.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_compat::server::{builder, serve};
    /// use std::time::Duration;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let listener = arc_util::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let service = tower::service_fn(|_| async {
    /// #     hyper::Result::Ok(hyper::Response::new(http_body_util::Empty::<&[u8]>::new()))
    /// # });
    /// let mut builder = builder();
    /// builder.http1().header_read_timeout(Duration::from_secs(5));
    /// builder.http2().max_concurrent_streams(100);
    /// let server = serve(listener, service).with_builder(builder);
    /// # server.with_graceful_shutdown(async {}).await
    /// # }
    /// ```
    pub fn with_builder(self, builder: Builder) -> Self {
        Self { builder, ..self }
    }

    /// Returns the address that the server listens on.
    ///
    /// # Errors
    ///
    /// Returns the system's error.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl<S, B, F> IntoFuture for Serve<S, F>
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    F: Future<Output = ()> + Send + 'static,
{
    type Output = io::Result<()>;
    type IntoFuture = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { listener, service, builder, limits, signal } = self;
        let service = TowerToHyperService::new(service);

        // The service may call what needs tokio. So may a test beside the server, before the server
        // is polled for the first time.
        Box::pin(async move {
            let (end, ending) = watch::channel(());
            let most = limits.connections.min(Semaphore::MAX_PERMITS);
            let places = Arc::new(Semaphore::new(most));
            let cut_off = Arc::new(AtomicUsize::new(0));
            let mut signal = pin!(signal);

            // A place first: a client that is accepted is served.
            while let Some(place) = enter(&places, signal.as_mut()).await
                && let Some((stream, peer)) = accept(&listener, signal.as_mut()).await?
            {
                let stream = Connection::new(stream, place, &limits);
                let builder = builder.clone();
                let service = answering(service.clone(), peer);
                let mut ending = ending.clone();
                let cut_off = cut_off.clone();

                // The name tells in reports which client a poll that does not end is for.
                drop(spawn_named(&format!("connection of {peer}"), async move {
                    let mut connection =
                        pin!(builder.serve_connection_with_upgrades(stream, service));

                    // The connection is polled before `ending`: a request that has already
                    // arrived counts as begun.
                    let served = unless(connection.as_mut(), ending.changed()).await;
                    let is_served =
                        served.is_some() || last_turns(connection.as_mut()).await.is_some();
                    if is_served {
                        return;
                    }

                    // The requests that have begun are finished, for as long as the limit is.
                    connection.as_mut().graceful_shutdown();

                    // Ignore an error of the connection: a broken one is no error of the server.
                    if arc_util::time::timeout(limits.shutdown, connection).await.is_err() {
                        // Relaxed: the end of `ending` orders it before the load below.
                        cut_off.fetch_add(1, Ordering::Relaxed);
                    }
                }));
            }

            // Refuse new connections while the last requests are finished.
            drop(listener);

            // Each connection holds a clone of `ending`: the last one to end closes the channel.
            drop(ending);
            // Ignore an error: it only says that no connection is left.
            let _ = end.send(());
            end.closed().await;

            match cut_off.load(Ordering::Relaxed) {
                0 => Ok(()),
                connections => {
                    let timeout = limits.shutdown;
                    Err(CutOff { connections, timeout }.into())
                }
            }
        })
    }
}

/// Tells the service who asks, and the task that waits for an upgrade whether it was granted.
fn answering<S, B, F>(
    service: S,
    peer: SocketAddr,
) -> impl hyper::service::Service<
    Request<Incoming>,
    Response = Response<B>,
    Error = S::Error,
    Future: Future<Output = Result<Response<B>, S::Error>> + Send + 'static,
>
where
    S: hyper::service::Service<Request<Incoming>, Response = Response<B>, Future = F>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + 'static,
    F: Future<Output = Result<Response<B>, S::Error>> + Send + 'static,
{
    service_fn(move |mut request: Request<Incoming>| {
        let extensions = request.extensions_mut();
        extensions.insert(ConnectInfo(peer));

        // hyper adds `OnUpgrade` to a request that asks for an upgrade. Later the task that waits
        // for the upgrade reads in `answer` whether it was granted.
        let answer = extensions.get::<OnUpgrade>().map(|_| Answer::default());
        if let Some(answer) = &answer {
            extensions.insert(answer.clone());
        }

        let response = service.call(request);
        async move {
            let response = response.await?;

            // Nobody waits where the request has not asked for an upgrade.
            if let Some(Answer(is_upgrade)) = answer {
                let is_granted = response.status() == StatusCode::SWITCHING_PROTOCOLS;
                // Release: pairs with the Acquire in `Answer::is_upgrade`.
                is_upgrade.store(is_granted, Ordering::Release);
            }
            Ok(response)
        }
    })
}

/// Waits for a place among the connections, or returns `None` if the signal comes first.
async fn enter(
    places: &Arc<Semaphore>,
    signal: Pin<&mut impl Future<Output = ()>>,
) -> Option<OwnedSemaphorePermit> {
    let place = pin!(places.clone().acquire_owned());
    let place = unless(place, signal).await?;
    Some(place.expect("nobody closes it"))
}

/// Returns the output of `future`, or `None` if `other` is ready first.
async fn unless<T, F>(mut future: Pin<&mut F>, other: impl Future) -> Option<T>
where
    F: Future<Output = T>,
{
    let mut other = pin!(other);

    // Not by chance, as `select!`: what is ready is taken.
    let first = poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => other.as_mut().poll(context).map(|_| None),
    });
    first.await
}

/// Polls a future again as long as it wakes itself, at most [`LAST_TURNS`] times more.
///
/// Returns its output, or `None` if it waits for something or has used up its turns. hyper
/// yields after 16 requests and wakes itself, although it may already have read more of them.
async fn last_turns<T>(mut future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let mut turns = 0..LAST_TURNS;
    let last = poll_fn(|context| {
        // A new one for each turn: a wake-up of the one before does not count.
        let own = OwnWaker { task: context.waker().clone(), is_woken: false.into() };
        let own = Arc::new(own);
        let waker = own.clone().into();

        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        if let Poll::Ready(output) = polled {
            return Poll::Ready(Some(output));
        }

        // Who has woken itself has also woken the task, which comes here again.
        let has_more = own.is_woken.load(Ordering::Relaxed) && turns.next().is_some();
        if has_more { Poll::Pending } else { Poll::Ready(None) }
    });
    last.await
}

/// A waker that records whether a future woke itself while it was polled.
struct OwnWaker {
    task: Waker,
    is_woken: AtomicBool,
}

impl Wake for OwnWaker {
    fn wake(self: Arc<Self>) {
        // Relaxed: only a wake on the polling thread must be seen by that thread. A wake by
        // another thread may be counted or missed.
        self.is_woken.store(true, Ordering::Relaxed);
        self.task.wake_by_ref();
    }
}

/// Accepts a connection, or returns `None` if the signal comes first.
async fn accept(
    listener: &TcpListener,
    mut signal: Pin<&mut impl Future<Output = ()>>,
) -> io::Result<Option<(TcpStream, SocketAddr)>> {
    loop {
        // The signal first, however many clients there are.
        let mut accepted = pin!(listener.accept());
        let accepted = poll_fn(|context| match signal.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => accepted.as_mut().poll(context).map(Some),
        });
        match accepted.await {
            None => return Ok(None),
            Some(Ok((stream, peer))) => {
                // hyper already combines small writes, so Nagle's algorithm would only delay
                // them. If the system refuses the option, the connection is just slower.
                let _ = stream.set_nodelay(true);
                return Ok(Some((stream, peer)));
            }
            // A system error, such as no descriptors left. `accept` has paused: try again.
            Some(Err(error)) if error.raw_os_error().is_some() => {
                #[cfg(feature = "tracing")]
                ::tracing::error!("accept error: {error}");
            }
            // The runtime has ended.
            Some(Err(error)) => return Err(error),
        }
    }
}
