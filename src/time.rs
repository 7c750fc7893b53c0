//! Sleeping and timeouts. (Intervals are in the crate `arc-util`.)
//!
//! A timer never fires early. It is late by what the kernel and the scheduler take,
//! and by up to 131 us, within which deadlines share a wake-up: there is no tick.
//! Names and meaning are tokio's.

use crate::timers::{self, Timers};
use crate::{context, coop, registry::Number};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

#[doc(no_inline)]
pub use crate::sync::{Duration, Instant};

/// As good as never: what a deadline is that the clock cannot express.
const FAR_AWAY: Duration = Duration::from_secs(30 * 365 * 86_400);

fn after(start: Instant, duration: Duration) -> Instant {
    start.checked_add(duration).unwrap_or(start + FAR_AWAY)
}

/// Waits until so much time has passed. A duration that is too long for the
/// clock is 30 years.
///
/// # Panics
///
/// When it is awaited outside a runtime, or its runtime ends first. (Who polls it in
/// another runtime only after that has it go on there.)
///
/// # Cancellation
///
/// Cancel safe: dropping it disarms the timer.
///
/// # Examples
///
/// ```
/// use arc::time::{Duration, Instant, sleep};
/// # #[arc::main]
/// # async fn main() {
/// let start = Instant::now();
/// sleep(Duration::from_millis(10)).await;
/// assert!(start.elapsed() >= Duration::from_millis(10));
/// # }
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    let mut sleep = sleep_until(after(Instant::now(), duration));
    sleep.is_new = !duration.is_zero();
    sleep
}

/// Waits until the deadline; one in the past is over at once, and one beyond all clocks
/// never comes.
///
/// # Panics
///
/// As [`sleep`].
///
/// # Cancellation
///
/// As [`sleep`].
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { deadline, armed: None, is_new: false }
}

/// The future of [`sleep`] and [`sleep_until`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep {
    deadline: Instant,
    /// Armed at the first poll, if there was time left when it was made, or is then:
    /// a timeout around something that is ready at once costs nothing.
    armed: Option<Armed>,
    /// It began with time left and has not been polled yet: it is armed without
    /// another look at the clock.
    is_new: bool,
}

#[derive(Debug)]
struct Armed(Number, timers::Key);

impl Armed {
    /// None: its runtime has ended.
    fn with_timers<R>(&self, act: impl FnOnce(&Timers) -> R) -> Option<R> {
        context::with_number(self.0, |runtime| act(&runtime.driver.timers))
    }

    /// Whether it is still armed; then it wakes `waker` from now on.
    fn rewake(&self, mut waker: Waker) -> bool {
        self.with_timers(|timers| timers.rewake(&self.1, &mut waker)) == Some(true)
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        drop(self.with_timers(|timers| timers.disarm(&self.1)).flatten());
    }
}

impl Sleep {
    /// When it is over.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether the deadline has passed.
    pub fn is_elapsed(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Sets another deadline, earlier or later, also after it was over.
    ///
    /// The future must be polled once more for the new deadline to count.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc::time::{Duration, Instant, sleep};
    /// # #[arc::main]
    /// # async fn main() {
    /// let mut pause = std::pin::pin!(sleep(Duration::from_secs(3600)));
    /// pause.as_mut().reset(Instant::now() + Duration::from_millis(1));
    /// pause.await;
    /// # }
    /// ```
    pub fn reset(mut self: Pin<&mut Self>, deadline: Instant) {
        self.set(sleep_until(deadline));
    }

    /// Like `poll`, but takes no notice of the task's budget.
    ///
    /// Whether the runtime has ended is looked at after arming: one that ends
    /// later wakes the timer, which then comes here once more. Nobody would find the
    /// timer after it, so its waker, which may hold the runtime, must not stay. While
    /// this thread runs a worker the end is still to come: a task is dropped then, and
    /// not made to panic.
    fn poll_elapsed(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.armed.as_ref().is_some_and(|armed| armed.rewake(context.waker().clone())) {
            return Poll::Pending;
        }
        if !std::mem::take(&mut self.is_new) && self.is_elapsed() {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        let (armed, left) = context::with_current("a timer", |runtime| {
            let worker = context::worker_of(runtime);
            let (key, too_late) = runtime.driver.timers.arm(worker, self.deadline, waker);
            if too_late {
                runtime.driver.notify();
            }
            if worker.is_none() {
                runtime.watch();
            }
            let has_ended = worker.is_none() && runtime.is_shutdown();
            let left = has_ended.then(|| runtime.driver.timers.disarm(&key));
            (Armed(runtime.number, key), left)
        });
        self.armed = Some(armed);
        assert!(left.is_none(), "a timer's arc runtime has ended");
        Poll::Pending
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        ready!(coop::poll_proceed(context));
        self.poll_elapsed(context).map(|()| coop::made_progress())
    }
}

/// Awaits a future, but not for longer than `duration`.
///
/// The future is polled first, so one that is ready wins over a timeout of
/// zero. It may use up the task's budget; the time is over all the same. A
/// duration that is too long for the clock is 30 years.
///
/// # Errors
///
/// [`Elapsed`] when the time is over first; the future has been dropped then.
///
/// # Panics
///
/// When it has to wait outside a runtime, or its runtime ends first.
///
/// # Cancellation
///
/// Dropping it drops the future: it is as cancel safe as the future is.
///
/// # Examples
///
/// ```
/// use arc::time::{Duration, timeout};
/// # #[arc::main]
/// # async fn main() {
/// assert_eq!(timeout(Duration::from_secs(1), async { 7 }).await, Ok(7));
/// let never = std::future::pending::<()>();
/// assert!(timeout(Duration::from_millis(1), never).await.is_err());
/// # }
/// ```
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    timeout_at(after(Instant::now(), duration), future)
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

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(context) {
            return Poll::Ready(Ok(output));
        }
        this.sleep.poll_elapsed(context).map(|()| Err(Elapsed(())))
    }
}

/// The time of a [`timeout`] was over before its future was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the deadline has passed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(std::io::ErrorKind::TimedOut, elapsed)
    }
}
