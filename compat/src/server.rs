//! An HTTP server for any tower service, such as one of tonic.

use crate::{ArcExecutor, ArcTimer, HyperIo};
use arc::net::{SocketAddr, TcpListener, TcpStream};
use hyper::body::{Body, Incoming};
use hyper::service::{Service as _, service_fn};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::error::Error;
use std::fmt;
use std::future::{Future, IntoFuture, Pending, pending, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use tokio::sync::watch;
use tower_service::Service;

/// How connections are served: both versions of HTTP, by what the client begins with.
pub type Builder = auto::Builder<ArcExecutor>;

/// How often a connection that pauses goes on at the end: a client that never stops is not
/// to keep the server.
const LAST_TURNS: usize = 64;

/// The client's address, in the extensions of each request of [`serve`].
///
/// # Examples
///
/// ```
/// use arc_compat::server::ConnectInfo;
/// use axum::Extension;
///
/// async fn handler(Extension(ConnectInfo(address)): Extension<ConnectInfo>) -> String {
///     format!("you are {address}")
/// }
/// # let _: axum::Router = axum::Router::new().route("/", axum::routing::get(handler));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectInfo(pub SocketAddr);

/// Whether a request that asked for an upgrade was granted it; false until it is answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer(Arc<AtomicBool>);

#[cfg(feature = "axum")]
impl Answer {
    pub(crate) fn is_upgrade(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Serves HTTP/1 and HTTP/2 (with prior knowledge), upgrades included, by a tower service:
/// a service of tonic, or a stack of tower's layers. For axum's Router there is
/// `arc_compat::axum::serve`. Each connection is a task of the current runtime, and so is
/// each stream of HTTP/2. Each request is given to a clone of the service.
///
/// It begins when it is awaited, and goes on until the future of
/// [`with_graceful_shutdown`](Serve::with_graceful_shutdown) is ready.
///
/// # Errors
///
/// When the runtime has ended. A connection that breaks is dropped without a word. When there
/// are no descriptors left, it waits for some, as [`TcpListener::accept`] does.
///
/// # Panics
///
/// Outside a runtime. A panic of the service ends the task it is in, which is the
/// connection for HTTP/1 and the stream for HTTP/2.
///
/// # Cancellation
///
/// When it is dropped the listener is closed; each connection goes on until the requests
/// that have begun are finished.
///
/// # Examples
///
/// ```
/// use arc::net::TcpListener;
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
    Serve { listener, service, builder: builder(), signal: pending() }
}

/// What [`serve`] begins with: arc's tasks, and arc's timers, so that a client which takes
/// longer than 30 s for a request's head is dropped; everything else is as hyper has it. So
/// a client that has sent nothing yet, not as much as shows its version of HTTP, may stay.
pub fn builder() -> Builder {
    let mut builder = Builder::new(ArcExecutor);
    builder.http1().timer(ArcTimer);
    builder.http2().timer(ArcTimer);
    builder
}

/// A server; see [`serve`].
#[must_use = "a server does nothing unless awaited"]
pub struct Serve<S, F = Pending<()>> {
    listener: TcpListener,
    service: S,
    builder: Builder,
    signal: F,
}

impl<S, F> fmt::Debug for Serve<S, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Serve").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl<S, F> Serve<S, F> {
    /// Ends when the future is ready: no connection is accepted any more, those without a
    /// request are closed, and the requests that have begun are finished first, however
    /// long they take. A connection that has been upgraded is not waited for. HTTP/2 asks
    /// its client whether it is still there: one that is gone without a word is waited for,
    /// unless the [builder](Self::with_builder) sets `keep_alive_interval`.
    ///
    /// By HTTP/1, requests that have come are answered though nobody had looked at them yet;
    /// but those behind one that is still worked on are not: its answer says `connection:
    /// close`. Of a connection that was used before, a head of which only a part has come is
    /// no request: it is closed.
    pub fn with_graceful_shutdown<G: Future<Output = ()>>(self, signal: G) -> Serve<S, G> {
        Serve { listener: self.listener, service: self.service, builder: self.builder, signal }
    }

    /// Serves connections otherwise than [`builder`] does. What the builder says of one
    /// version alone (`http1_only`, `http2_only`) is not heard: hyper-util knows no
    /// upgrades then.
    ///
    /// A builder other than [`builder`]'s needs a timer for each limit of time that it is
    /// told: without one hyper panics in each connection, which is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_compat::server::{builder, serve};
    /// use std::time::Duration;
    /// # #[arc::main]
    /// # async fn main() -> std::io::Result<()> {
    /// # let listener = arc::net::TcpListener::bind("127.0.0.1:0").await?;
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

    /// The address that it listens on.
    ///
    /// # Errors
    ///
    /// The system's.
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
        let Self { listener, service, builder, signal } = self;
        let service = TowerToHyperService::new(service);
        Box::pin(async move {
            let (end, ending) = watch::channel(());
            let mut signal = pin!(signal);
            while let Some((stream, peer)) = accept(&listener, signal.as_mut()).await? {
                let (builder, service) = (builder.clone(), service.clone());
                let service = service_fn(move |mut request: Request<Incoming>| {
                    let extensions = request.extensions_mut();
                    extensions.insert(ConnectInfo(peer));
                    let answer = extensions.get::<OnUpgrade>().map(|_| Answer::default());
                    if let Some(answer) = &answer {
                        extensions.insert(answer.clone());
                    }
                    let response = service.call(request);
                    async move {
                        let response = response.await?;
                        if let Some(Answer(is_upgrade)) = answer {
                            let status = response.status();
                            is_upgrade.store(
                                status == StatusCode::SWITCHING_PROTOCOLS,
                                Ordering::Release,
                            );
                        }
                        Ok::<_, S::Error>(response)
                    }
                });
                let mut ending = ending.clone();
                drop(arc::spawn(async move {
                    let stream = HyperIo::new(stream);
                    let connection = builder.serve_connection_with_upgrades(stream, service);
                    let mut connection = pin!(connection);
                    // It comes first: a request that is there already has begun.
                    let is_served = unless(connection.as_mut(), ending.changed()).await.is_some()
                        || last_turns(connection.as_mut()).await.is_some();
                    if !is_served {
                        connection.as_mut().graceful_shutdown();
                        // The client knows better what has become of it.
                        let _ = connection.await;
                    }
                }));
            }
            drop((listener, ending));
            let _ = end.send(());
            end.closed().await;
            Ok(())
        })
    }
}

/// What the future gives; None if the other one is ready before it.
async fn unless<T>(mut future: Pin<&mut impl Future<Output = T>>, other: impl Future) -> Option<T> {
    let mut other = pin!(other);
    let first = poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => other.as_mut().poll(context).map(|_| None),
    });
    first.await
}

/// Polls a future until it waits for something: None then. hyper pauses after 16 requests,
/// and wakes itself, though it may have read more.
async fn last_turns<T>(mut future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let mut turns = 0..LAST_TURNS;
    let last = poll_fn(|context| {
        let own = OwnWaker { task: context.waker().clone(), is_woken: false.into() };
        let own = Arc::new(own);
        let waker = own.clone().into();
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if own.is_woken.load(Ordering::Relaxed) && turns.next().is_some() => {
                Poll::Pending
            }
            Poll::Pending => Poll::Ready(None),
        }
    });
    last.await
}

/// Tells whether a future has woken itself while it was polled.
struct OwnWaker {
    task: Waker,
    is_woken: AtomicBool,
}

impl Wake for OwnWaker {
    fn wake(self: Arc<Self>) {
        // Read by the thread that polls: what others do may count or not.
        self.is_woken.store(true, Ordering::Relaxed);
        self.task.wake_by_ref();
    }
}

/// The next connection, unless the signal comes first.
async fn accept(
    listener: &TcpListener,
    mut signal: Pin<&mut impl Future<Output = ()>>,
) -> io::Result<Option<(TcpStream, SocketAddr)>> {
    loop {
        let mut accepted = pin!(listener.accept());
        let accepted = poll_fn(|context| match signal.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => accepted.as_mut().poll(context).map(Some),
        });
        match accepted.await {
            None => return Ok(None),
            Some(Ok((stream, peer))) => {
                // hyper puts together what belongs together: to wait for more would only
                // delay it. Where the system refuses, it is slower.
                let _ = stream.set_nodelay(true);
                return Ok(Some((stream, peer)));
            }
            // The system's, and after a pause: there will be descriptors again.
            Some(Err(error)) if error.raw_os_error().is_some() => {}
            Some(Err(error)) => return Err(error),
        }
    }
}
