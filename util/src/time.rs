//! Intervals; and what [`arc::time`] has, so that a program finds all of tokio's in one
//! place.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

pub use arc::time::*;

/// A tick that is later than this was missed.
const TICK_LATE: Duration = Duration::from_millis(5);

/// Ticks every `period`, the first time at once.
///
/// # Panics
///
/// When the period is zero.
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

/// Ticks every `period`, the first time at `start`. See [`interval`].
///
/// # Panics
///
/// When the period is zero.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "an interval's period must not be zero");
    let (sleep, behavior) = (sleep_until(start), MissedTickBehavior::Burst);
    Interval { sleep, due: start, period, behavior }
}

/// The stream of ticks of [`interval`].
#[derive(Debug)]
pub struct Interval {
    /// After a reset it may end before the next tick is due.
    sleep: Sleep,
    due: Instant,
    period: Duration,
    behavior: MissedTickBehavior,
}

impl Interval {
    /// Waits for the next tick, and gives the instant it was due.
    ///
    /// # Panics
    ///
    /// Outside a runtime, if it has to wait.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no tick is lost.
    pub async fn tick(&mut self) -> Instant {
        std::future::poll_fn(|context| self.poll_tick(context)).await
    }

    /// What [`tick`](Self::tick) does, for futures written by hand.
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Instant> {
        ready!(Pin::new(&mut self.sleep).poll(context));
        if self.sleep.deadline() < self.due {
            self.sleep = sleep_until(self.due);
            ready!(Pin::new(&mut self.sleep).poll(context));
        }
        let due = self.due;
        let late = due.elapsed();
        // Less than `late`, and 2^64 ns are 584 years.
        let over = Duration::from_nanos((late.as_nanos() % self.period.as_nanos()) as u64);
        let last = match self.behavior {
            MissedTickBehavior::Delay if late > TICK_LATE => due + late,
            MissedTickBehavior::Skip if late > TICK_LATE => due + late - over,
            _ => due,
        };
        // None, where the clock ends: that tick never comes.
        self.sleep =
            last.checked_add(self.period).map_or_else(|| sleep(Duration::MAX), sleep_until);
        self.due = self.sleep.deadline();
        Poll::Ready(due)
    }

    /// The next tick comes one period from now, also for whoever waits for it already: unless
    /// that is earlier than it was (before the first tick of [`interval_at`]), when it has to
    /// be polled once more.
    pub fn reset(&mut self) {
        let next = sleep(self.period);
        self.due = next.deadline();
        if self.due < self.sleep.deadline() {
            self.sleep = next;
        }
    }

    /// What becomes of ticks that were missed.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.behavior
    }

    /// Says what becomes of ticks that were missed.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.behavior = behavior;
    }

    /// The time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }
}

/// What an [`Interval`] does when a tick was awaited more than 5 ms too late.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MissedTickBehavior {
    /// Catches up: the ticks that were missed come at once.
    #[default]
    Burst,
    /// The next tick comes one period after the late one.
    Delay,
    /// The ticks that were missed are left out; those that come stay multiples
    /// of the period.
    Skip,
}
