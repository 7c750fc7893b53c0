//! Sleep, and limit how long something may take. Intervals are in the crate `arc-util`.
//!
//! A timer never fires early. It is late by what the kernel and the scheduler take, and by up to
//! 131 us, because deadlines that are that close to each other share a wake-up. There is no
//! tick. Names and meaning are tokio's.
//!
//! # A deadline that has passed
//!
//! One rule holds for [`sleep`], [`sleep_until`], [`timeout`], [`timeout_at`] and [`Sleep::reset`].
//! A deadline that is not in the future when it is set counts one millisecond later. So a program
//! that paces itself by delays of zero, or by deadlines that are due at once, pauses, as it does on
//! a runtime whose clock ticks once in a millisecond. A deadline that was over more than a
//! millisecond ago is over by this rule as well: the future is ready at its first poll.
//!
//! A deadline that is in the future when it is set is exact. If it passes before the first poll,
//! that poll returns `Pending` all the same, and the task is woken soon: other tasks have their
//! turn.

use crate::driver::timers::Armed;
use crate::hooks::tell;
use crate::registry::RuntimeId;
use crate::scheduler::budget;
use crate::scheduler::context;
use crate::scheduler::shared::Shared;
use std::fmt;
use std::pin::Pin;
use std::ptr::from_ref;
use std::task::{Context, Poll, Waker, ready};

pub use crate::sync::{Duration, Instant};

/// The deadline of a duration that the clock cannot express, from now: as good as never.
const FAR_AWAY: Duration = Duration::from_secs(30 * 365 * 86_400);

/// By how much a deadline counts later that is not in the future when it is set.
const PAUSE: Duration = Duration::from_millis(1);

/// Waits until `duration` has passed. A duration that is too long for the clock counts as 30
/// years. One of zero is a [pause of a millisecond](self#a-deadline-that-has-passed).
///
/// The time counts from this call, not from the first poll. The first poll returns `Pending` even
/// if the time is over by then.
///
/// # Panics
///
/// When the future is awaited outside a runtime, or when its runtime ends first. If it is polled in
/// another runtime after that, it goes on there.
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
    let now = Instant::now();
    let deadline = now.checked_add(duration).unwrap_or(now + FAR_AWAY);
    Sleep { deadline, due: due(deadline, now), armed: None }
}

/// Waits until `deadline`. [The rule](self#a-deadline-that-has-passed) says how long that is if it
/// has passed already.
///
/// # Panics
///
/// As [`sleep`].
///
/// # Cancellation
///
/// As [`sleep`].
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { deadline, due: due(deadline, Instant::now()), armed: None }
}

/// When a sleep is ready whose deadline is set now. `None` if it is ready already.
fn due(deadline: Instant, now: Instant) -> Option<Instant> {
    let is_ahead = deadline > now;
    let due = if is_ahead { deadline } else { deadline + PAUSE };
    (due > now).then_some(due)
}

/// The future of [`sleep`] and [`sleep_until`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep {
    deadline: Instant,
    due: Option<Instant>,
    /// Where the timer was armed last. It may have expired since.
    armed: Option<(RuntimeId, Armed)>,
}

impl Sleep {
    /// The deadline that was set last.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether the time is over.
    pub fn is_elapsed(&self) -> bool {
        self.due.is_none_or(|due| Instant::now() >= due)
    }

    /// Sets another deadline, earlier or later, even after the old one has passed.
    ///
    /// A task that waits for the future is woken at the new deadline. It need not poll the future
    /// again, and any thread may set the deadline. If the deadline was over more than a millisecond
    /// ago, the task is woken at once ([the rule](self#a-deadline-that-has-passed)). If the old
    /// deadline has woken the task already, or the runtime has ended, no task waits any more. Then
    /// the new deadline counts from the next poll.
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
        self.deadline = deadline;
        self.due = due(deadline, Instant::now());

        // Before the first poll, and after the timer has expired, no task waits.
        let Some((id, waker)) = self.disarm() else { return };
        tell!(waits_for_time(from_ref(&*self).addr(), self.left()));

        // It is over already, or armed anew. If the runtime has ended meanwhile, its end does not
        // wake this task.
        let is_armed = self.due.is_some_and(|due| self.arm(id, due, waker.clone()));
        if !is_armed {
            waker.wake();
        }
    }

    /// Disarms the timer. Returns where it was armed, and the waker of the task that waits, which
    /// must be dropped or woken outside of any lock.
    fn disarm(&mut self) -> Option<(RuntimeId, Waker)> {
        let (id, armed) = self.armed.take()?;
        let disarm = |runtime: &Shared, _| runtime.driver.timers.disarm(&armed);
        Some((id, context::with_runtime(id, disarm).flatten()?))
    }

    /// Arms the timer. Returns false if the runtime has ended.
    ///
    /// The end takes the runtime out of the table `RUNTIMES`, and then wakes all timers. A waker
    /// that is armed after that would stay, and may hold the runtime. So the table's lock is held,
    /// except on a worker, as the end waits for its poll.
    fn arm(&mut self, id: RuntimeId, due: Instant, waker: Waker) -> bool {
        let armed = context::with_runtime(id, |runtime, worker| {
            let (armed, alarm_is_late) = runtime.driver.timers.arm(worker, due, waker);
            // The worker in the seat would sleep too long.
            if alarm_is_late && runtime.sleepers.is_seat_taken() {
                runtime.driver.notify();
            }
            armed
        });

        self.armed = armed.map(|armed| (id, armed));
        self.armed.is_some()
    }

    /// How much time is left until it is due.
    fn left(&self) -> Duration {
        let due = self.due.unwrap_or(self.deadline);
        due.saturating_duration_since(Instant::now())
    }

    /// As `poll`, but without regard to the task's budget.
    fn poll_elapsed(&mut self, context: &Context<'_>) -> Poll<()> {
        let polled = self.poll_timer(context);
        if polled.is_pending() {
            tell!(waits_for_time(from_ref(self).addr(), self.left()));
        } else {
            tell!(no_longer_waits(from_ref(self).addr()));
        }
        polled
    }

    fn poll_timer(&mut self, context: &Context<'_>) -> Poll<()> {
        let Some(due) = self.due else { return Poll::Ready(()) };

        // Cloned and dropped outside of any lock, as that is user code. The waker may be another
        // one than the last time.
        let mut waker = context.waker().clone();
        if let Some((id, armed)) = &self.armed {
            // Most often it is armed still, and only the waker is another one.
            let exchange =
                |runtime: &Shared, _| runtime.driver.timers.replace_waker(armed, &mut waker);
            if context::with_runtime(*id, exchange) == Some(true) {
                return Poll::Pending;
            }

            // The timer has expired, or the runtime in which it was armed has ended.
            if self.is_elapsed() {
                return Poll::Ready(());
            }
        }

        // The first poll does not read the clock, which would take a fifth of the time that a timer
        // takes. A time that has passed expires at the next look.
        let id = context::current("a timer was used").runtime.id;
        assert!(self.arm(id, due, waker), "a timer's arc runtime has ended");
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if self.armed.is_some() {
            tell!(no_longer_waits(from_ref(self).addr()));
        }
        drop(self.disarm());
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        ready!(budget::poll_proceed(context));
        self.poll_elapsed(context).map(|()| budget::made_progress())
    }
}

/// Awaits a future, but not for longer than `duration`.
///
/// The future is polled first, so a future that is ready wins over a timeout of zero. One that is
/// not ready is polled once more when its time is over. The timeout ends in time even if the future
/// uses up the task's budget in each poll. A duration that is too long for the clock counts as 30
/// years, and one of zero as [a millisecond](self#a-deadline-that-has-passed).
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

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        tell!(begins_choice());
        let polled = match this.future.poll(context) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => this.sleep.poll_elapsed(context).map(|()| Err(Elapsed(()))),
        };
        tell!(ends_choice(polled.is_ready()));
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
