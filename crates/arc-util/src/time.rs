//! Time limits, intervals, and all of [`arc::time`]: everything that tokio has in `time`.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use arc::task::consume_budget;

pub use crate::timeout::{Elapsed, Timeout, timeout, timeout_at};
pub use arc::time::*;

/// tokio's names for what turns an [`Instant`] into std's, and std's into an `Instant`.
///
/// `Instant` is std's own type, so nothing is done. In a program that is built with arc-sim, such
/// as a test, it is another type, which has these names itself. Code that calls them compiles in
/// both.
///
/// # Examples
///
/// ```
/// use arc_util::time::{Instant, InstantExt};
///
/// let start: std::time::Instant = Instant::now().into_std();
/// assert!(Instant::from_std(start) <= Instant::now());
/// ```
pub trait InstantExt {
    /// Makes one of std's.
    fn from_std(std: std::time::Instant) -> Self;

    /// Turns it into std's.
    fn into_std(self) -> std::time::Instant;
}

impl InstantExt for std::time::Instant {
    fn from_std(std: std::time::Instant) -> Self {
        std
    }

    fn into_std(self) -> std::time::Instant {
        self
    }
}

/// A tick that is awaited later than this after it was due counts as missed.
const TICK_LATE: Duration = Duration::from_millis(5);

/// Creates an [`Interval`] that ticks every `period`. The first tick completes at once.
///
/// A tick whose time has come completes at once, too. The rule for [deadlines that have
/// passed](arc::time#a-deadline-that-has-passed) is for a [`Sleep`]: an interval never ticks more
/// often than once in a period, and needs no other pause.
///
/// # Panics
///
/// Panics when the period is zero.
///
/// # Examples
///
/// ```
/// use arc_util::time::{Duration, interval};
/// # #[arc::main]
/// # async fn main() {
/// let mut interval = interval(Duration::from_millis(1));
/// let first = interval.tick().await;
/// let second = interval.tick().await;
/// assert_eq!(second - first, Duration::from_millis(1));
/// # }
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Creates an [`Interval`] that ticks every `period`, first at `start`. See [`interval`].
///
/// # Panics
///
/// Panics when the period is zero.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "an interval's period must not be zero");
    let (sleep, behavior) = (sleep_until(start), MissedTickBehavior::Burst);
    Interval { sleep, period, behavior }
}

/// A sequence of ticks, one per period; made by [`interval`] or [`interval_at`].
#[derive(Debug)]
pub struct Interval {
    /// Ends when the next tick is due.
    sleep: Sleep,
    period: Duration,
    behavior: MissedTickBehavior,
}

impl Interval {
    /// Waits for the next tick and returns the instant at which it was due.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime if it has to wait.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no tick is lost.
    pub async fn tick(&mut self) -> Instant {
        std::future::poll_fn(|context| self.poll_tick(context)).await
    }

    /// Polls for the next tick, for futures written by hand. See [`tick`](Self::tick).
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Instant> {
        let due = self.sleep.deadline();
        if due <= Instant::now() {
            ready!(pin!(consume_budget()).poll(context));
        } else {
            ready!(Pin::new(&mut self.sleep).poll(context));
        }

        let late = due.elapsed();
        // The cast loses nothing: this is at most `late`, and 2^64 ns are 584 years.
        let over = Duration::from_nanos((late.as_nanos() % self.period.as_nanos()) as u64);
        let last = match self.behavior {
            MissedTickBehavior::Delay if late > TICK_LATE => due + late,
            MissedTickBehavior::Skip if late > TICK_LATE => due + late - over,
            _ => due,
        };

        // `None` means that the next tick lies beyond the end of the clock: it never comes.
        self.sleep =
            last.checked_add(self.period).map_or_else(|| sleep(Duration::MAX), sleep_until);
        Poll::Ready(due)
    }

    /// Makes the next tick due one period from now.
    ///
    /// A task that already waits for a tick is woken for the new one, without polling again.
    pub fn reset(&mut self) {
        let next = sleep(self.period).deadline();
        self.reset_at(next);
    }

    /// Makes the next tick due now. See [`reset`](Self::reset).
    pub fn reset_immediately(&mut self) {
        self.reset_at(Instant::now());
    }

    /// Makes the next tick due after this time from now, whatever the period is. See
    /// [`reset`](Self::reset).
    pub fn reset_after(&mut self, after: Duration) {
        // `sleep` brings a time that the clock does not have back into it.
        let next = sleep(after).deadline();
        self.reset_at(next);
    }

    /// Makes the next tick due at this time. Those after it follow a period apart.
    /// See [`reset`](Self::reset).
    pub fn reset_at(&mut self, deadline: Instant) {
        Pin::new(&mut self.sleep).reset(deadline);
    }

    /// Returns what the interval does about missed ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.behavior
    }

    /// Sets what the interval does about missed ticks.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.behavior = behavior;
    }

    /// Returns the time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }
}

/// What an [`Interval`] does when a tick is awaited more than 5 ms after it was due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MissedTickBehavior {
    /// Catches up: the missed ticks complete at once, one after the other.
    #[default]
    Burst,
    /// Starts anew: the next tick is due one period after the late one was awaited.
    Delay,
    /// Leaves the missed ticks out: the next tick is the first one in the future that is due
    /// whole periods after the late one was.
    Skip,
}
