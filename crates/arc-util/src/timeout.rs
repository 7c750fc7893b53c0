//! Limit how long something may take.

use arc::task::without_budget;
use arc::time::{Duration, Instant, Sleep, sleep, sleep_until};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Awaits a future, but not for longer than `duration`.
///
/// The future is polled first, so a future that is ready wins over a timeout of zero. One that is
/// not ready is polled once more when its time is over. The timeout ends in time even if the future
/// uses up the task's budget in each poll. A duration that is too long for the clock counts as 30
/// years, and one of zero as [a millisecond](arc::time#a-deadline-that-has-passed).
///
/// # Errors
///
/// [`Elapsed`] when the time is over first.
///
/// # Panics
///
/// When it has to wait outside a runtime, or its runtime ends first.
///
/// # Cancellation
///
/// As cancel safe as the future: dropping the timeout drops the future.
///
/// # Examples
///
/// ```
/// use arc_util::time::{Duration, timeout};
/// # #[arc::main]
/// # async fn main() {
/// assert_eq!(timeout(Duration::from_secs(1), async { 7 }).await, Ok(7));
/// let never = std::future::pending::<()>();
/// assert!(timeout(Duration::from_millis(1), never).await.is_err());
/// # }
/// ```
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: future.into_future(), sleep: sleep(duration) }
}

/// Awaits a future, but not beyond the deadline. See [`timeout`].
///
/// # Errors
///
/// [`Elapsed`] when the deadline comes first.
///
/// # Panics
///
/// When it has to wait outside a runtime, or its runtime ends first.
///
/// # Cancellation
///
/// As [`timeout`].
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout { future: future.into_future(), sleep: sleep_until(deadline) }
}

pin_project_lite::pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Timeout<F> {
        #[pin]
        future: F,
        sleep: Sleep,
    }
}

impl<F> Timeout<F> {
    /// Returns a reference to the future that is awaited.
    pub fn get_ref(&self) -> &F {
        &self.future
    }

    /// Returns a mutable reference to the future that is awaited.
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.future
    }

    /// Returns the future. From now on nothing limits how long it may take.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::time::{Duration, timeout};
    /// # #[arc::main]
    /// # async fn main() {
    /// let mut slow = timeout(Duration::from_millis(1), Box::pin(async { 7 }));
    /// assert_eq!(slow.get_mut().await, 7);
    /// let without_limit = timeout(Duration::from_millis(1), async { 7 }).into_inner();
    /// assert_eq!(without_limit.await, 7);
    /// # }
    /// ```
    pub fn into_inner(self) -> F {
        self.future
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        #[cfg(feature = "trace")]
        arc_trace::tell!(begins_choice());
        let polled = match this.future.poll(context) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            // The future may have used up the task's budget, in each poll. The time is over all the
            // same.
            Poll::Pending => {
                let sleep = Pin::new(this.sleep);
                without_budget(|| sleep.poll(context)).map(|()| Err(Elapsed(())))
            }
        };
        #[cfg(feature = "trace")]
        arc_trace::tell!(ends_choice(polled.is_ready()));
        polled
    }
}

/// The error of a [`timeout`]: its time was over before its future was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(std::io::ErrorKind::TimedOut, elapsed)
    }
}
