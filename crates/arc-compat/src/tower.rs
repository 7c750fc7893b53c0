//! A timeout for tower services, on arc's timers.

use pin_project_lite::pin_project;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tower_layer::Layer;
use tower_service::Service;

type BoxError = Box<dyn Error + Send + Sync>;

/// A tower layer that wraps services in a [`Timeout`].
///
/// tower's own timeout layer uses tokio's timers, and panics without a tokio runtime.
///
/// # Examples
///
/// ```
/// use arc_compat::tower::TimeoutLayer;
/// use std::time::Duration;
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
/// # #[arc::main]
/// # async fn main() {
/// let never = service_fn(|_: ()| std::future::pending::<Result<(), std::io::Error>>());
/// let layer = TimeoutLayer::new(Duration::from_millis(1));
/// let service = ServiceBuilder::new().layer(layer).service(never);
/// let error = service.oneshot(()).await.unwrap_err();
/// assert!(error.is::<arc_util::time::Elapsed>());
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TimeoutLayer {
    duration: Duration,
}

impl TimeoutLayer {
    /// Creates a layer that limits each call to `duration`.
    pub const fn new(duration: Duration) -> Self {
        Self { duration }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, service: S) -> Timeout<S> {
        Timeout::new(service, self.duration)
    }
}

/// A service whose calls fail if they take longer than a given duration.
///
/// The time starts when `call` is called, not when the response is first polled.
///
/// # Errors
///
/// Returns the service's own error, or [`Elapsed`](arc_util::time::Elapsed) if the call took too
/// long. Both are boxed.
///
/// # Panics
///
/// The response future panics if it is polled outside an arc runtime.
///
/// # Cancellation
///
/// Dropping the response future drops the call, also after the time is over.
#[derive(Debug, Clone)]
pub struct Timeout<S> {
    inner: S,
    duration: Duration,
}

impl<S> Timeout<S> {
    /// Wraps a service, and limits each call of it to `duration`.
    pub const fn new(inner: S, duration: Duration) -> Self {
        Self { inner, duration }
    }

    /// Returns a reference to the service.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the service.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, R> Service<R> for Timeout<S>
where
    S: Service<R>,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let response = self.inner.call(request);
        ResponseFuture { response: arc_util::time::timeout(self.duration, response) }
    }
}

pin_project! {
    /// The response future of a [`Timeout`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct ResponseFuture<F> {
        #[pin]
        response: arc_util::time::Timeout<F>,
    }
}

impl<F, T, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<T, E>>,
    E: Into<BoxError>,
{
    type Output = Result<T, BoxError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let in_time = ready!(self.project().response.poll(context))?;
        Poll::Ready(in_time.map_err(Into::into))
    }
}
