//! Sleep, and limit how long something may take. (Intervals are in the crate `arc-util`.)
//!
//! A timer never fires early. It is late by what the kernel and the scheduler take, and by up to
//! 131 us, because deadlines that are that close to each other share a wake-up. There is no
//! tick. Names and meaning are tokio's.

use crate::driver::timers::{Key, Timers};
use crate::{registry::RuntimeId, scheduler::context, scheduler::coop, sync::tell};
use std::{fmt, mem, pin::Pin, task::Context, task::Poll, task::Waker, task::ready};

pub use crate::sync::{Duration, Instant};

/// The deadline of a duration that the clock cannot express, from now: as good as never.
const FAR_AWAY: Duration = Duration::from_secs(30 * 365 * 86_400);

fn after(start: Instant, duration: Duration) -> Instant {
    start.checked_add(duration).unwrap_or(start + FAR_AWAY)
}

/// Waits until `duration` has passed. A duration that is too long for the clock counts as 30
/// years.
///
/// The time counts from this call, not from the first poll. If it is over before the first poll,
/// that poll may still return `Pending`, and the task is woken soon, as for any other timer. A
/// duration of zero is over at once.
///
/// # Panics
///
/// When the future is awaited outside a runtime, or when its runtime ends first. (If it is polled
/// in another runtime after that, it goes on there.)
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
    let deadline = after(Instant::now(), duration);
    Sleep { deadline, is_ahead: !duration.is_zero(), armed: None }
}

/// Waits until `deadline`. If that has passed already, the future is ready at once.
///
/// # Panics
///
/// As [`sleep`].
///
/// # Cancellation
///
/// As [`sleep`].
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { deadline, is_ahead: false, armed: None }
}

/// The future of [`sleep`] and [`sleep_until`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep {
    deadline: Instant,
    /// `sleep` has made this, and the deadline was still to come. Most often the first poll follows
    /// at once. So it does not read the clock again: that would take a fifth of the time that it
    /// takes to make, arm and drop a timer. If the deadline has passed meanwhile, the timer is
    /// armed nevertheless, and is late like any other. (A timeout polls a future first, which may
    /// take long. There the clock is read.)
    is_ahead: bool,
    /// None before the first poll: a timeout around a future that is ready at once costs nothing.
    /// The timer may have expired since.
    armed: Option<(RuntimeId, Key)>,
}

impl Sleep {
    /// The time at which the future is ready.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether the deadline has passed.
    pub fn is_elapsed(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Sets another deadline, earlier or later, also after the old one has passed.
    ///
    /// A task that waits for the future is woken at the new deadline. It need not poll the future
    /// again, and any thread may set the deadline. If the deadline has passed, the task is woken at
    /// once. (If the old deadline has woken it already, or the runtime has ended, nobody waits any
    /// more: then the new deadline counts from the next poll.)
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
        let before = mem::replace(&mut *self, sleep_until(deadline));
        let Some((runtime, _)) = before.armed else { return };
        let Some(waker) = before.with_timer(Timers::disarm).flatten() else { return };

        let rearmed = if self.is_elapsed() { Err(waker) } else { self.arm(runtime, waker) };
        if let Err(waker) = rearmed {
            waker.wake();
        }
    }

    /// Err: the runtime has ended, and the waker comes back.
    ///
    /// Once the runtime is out of the table `RUNTIMES`, nobody would find the timer, and its waker,
    /// which may hold the runtime, would stay. So the table's lock is held, except on a worker: the
    /// end waits for its poll. The end wakes all timers after it has changed the table.
    fn arm(&mut self, runtime: RuntimeId, waker: Waker) -> Result<(), Waker> {
        let key = context::hand_to(runtime, waker, |waker, runtime, worker| {
            let (worker, driver) = (worker.map(|worker| worker.index), &runtime.driver);
            let (key, alarm_is_late) = driver.timers.arm(worker, self.deadline, waker);
            if alarm_is_late && runtime.idle.any_seated() {
                driver.move_alarm();
            }
            key
        })?;
        self.armed = Some((runtime, key));
        Ok(())
    }

    /// None: the timer was not armed, or its runtime has ended.
    fn with_timer<R>(&self, act: impl FnOnce(&Timers, &Key) -> R) -> Option<R> {
        let (runtime, key) = self.armed.as_ref()?;
        context::find_runtime(*runtime, |runtime| act(&runtime.driver.timers, key))
    }

    /// As `poll`, but without regard to the task's budget.
    fn poll_elapsed(&mut self, context: &Context<'_>) -> Poll<()> {
        tell!(waits_for_time(self.deadline.saturating_duration_since(Instant::now())));
        let mut waker = context.waker().clone();
        let replace = |timers: &Timers, key: &Key| timers.replace_waker(key, &mut waker);
        if self.with_timer(replace) == Some(true) {
            return Poll::Pending; // the former waker is dropped here, outside of the timers' lock
        }
        if !mem::take(&mut self.is_ahead) && self.is_elapsed() {
            return Poll::Ready(());
        }

        let runtime = context::with_current("a timer was used", |runtime| runtime.id);
        assert!(self.arm(runtime, waker).is_ok(), "a timer's arc runtime has ended");
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        // The waker is foreign, and is dropped outside of the timers' lock.
        drop(self.with_timer(Timers::disarm));
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
/// The future is polled before the time is looked at, so a future that is ready wins over a timeout
/// of zero. The timeout ends in time even if the future uses up the task's budget in each poll. A
/// duration that is too long for the clock counts as 30 years.
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

/// The error of a [`timeout`]: its time was over before its future was ready.
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
