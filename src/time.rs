//! Sleep. Time limits and intervals are in the crate `arc-util`.
//!
//! A timer never fires early. It is late by what the kernel and the scheduler take, and by up to
//! 131 us, because deadlines that are that close to each other share a wake-up. There is no
//! tick. Names and meaning are tokio's.
//!
//! # A deadline that has passed
//!
//! One rule holds for [`sleep`], [`sleep_until`], [`Sleep::reset`] and all that is made of them.
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
use crate::scheduler::budget;
use crate::scheduler::context;
use crate::scheduler::shared::Shared;
use crate::sync::Arc;
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
    let due = if deadline > now { deadline } else { deadline + PAUSE };
    (due > now).then_some(due)
}

/// The future of [`sleep`] and [`sleep_until`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep {
    deadline: Instant,
    due: Option<Instant>,
    /// Where the timer was armed last. It may have expired since.
    armed: Option<(Arc<Shared>, Armed)>,
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

        // By the rule of the module, which asks what time it is now.
        self.due = due(deadline, Instant::now());

        // Before the first poll, and after the timer has expired, no task waits.
        let Some((runtime, waker)) = self.disarm() else { return };
        tell!(waits_for_time(from_ref(&*self).addr(), self.left()));

        // It is over already, or armed anew. If the runtime has ended meanwhile, its end does not
        // wake this task.
        let is_armed = self.due.is_some_and(|due| self.arm(runtime, due, waker.clone()));
        if !is_armed {
            waker.wake();
        }
    }

    /// Disarms the timer. Returns where it was armed, and the waker of the task that waits, which
    /// must be dropped or woken outside of any lock.
    fn disarm(&mut self) -> Option<(Arc<Shared>, Waker)> {
        let (runtime, armed) = self.armed.take()?;
        let waker = runtime.driver.timers.disarm(&armed)?;
        Some((runtime, waker))
    }

    /// Arms the timer. Returns false if the runtime has ended.
    fn arm(&mut self, runtime: Arc<Shared>, due: Instant, waker: Waker) -> bool {
        let worker = context::worker_of(runtime.id).map(|worker| worker.index);
        let armed = runtime.driver.timers.arm(worker, due, waker);
        let Some((armed, alarm_is_late)) = armed else { return false };

        // The worker in the seat would sleep too long.
        if alarm_is_late && runtime.sleepers.is_seat_taken() {
            runtime.driver.notify();
        }
        self.armed = Some((runtime, armed));
        true
    }

    /// How much time is left until it is due.
    fn left(&self) -> Duration {
        let due = self.due.unwrap_or(self.deadline);
        due.saturating_duration_since(Instant::now())
    }

    fn poll_timer(&mut self, context: &Context<'_>) -> Poll<()> {
        let Some(due) = self.due else { return Poll::Ready(()) };

        // Cloned and dropped outside of any lock, as that is user code. The waker may be another
        // one than the last time.
        let mut waker = context.waker().clone();
        if let Some((runtime, armed)) = &self.armed {
            // Most often it is armed still, and only the waker is another one.
            if runtime.driver.timers.replace_waker(armed, &mut waker) {
                return Poll::Pending;
            }

            // The timer has expired, or the runtime in which it was armed has ended.
            if self.is_elapsed() {
                return Poll::Ready(());
            }
        }

        // The first poll does not read the clock, which would take a fifth of the time that a timer
        // takes. A time that has passed expires at the next look.
        let runtime = context::current("a timer was used").runtime.clone();
        assert!(self.arm(runtime, due, waker), "a timer's arc runtime has ended");
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
        let timer = from_ref(&*self).addr();
        if self.poll_timer(context).is_pending() {
            tell!(waits_for_time(timer, self.left()));
            return Poll::Pending;
        }

        tell!(no_longer_waits(timer));
        budget::made_progress();
        Poll::Ready(())
    }
}
