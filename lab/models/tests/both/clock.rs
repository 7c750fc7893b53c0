//! The clock of the models, which only they move.

use std::cell::Cell;
use std::time::Duration;

/// A time of that clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

std::thread_local!(static CLOCK: Cell<Duration> = const { Cell::new(Duration::ZERO) });

/// Sets how much time has passed since the clock began.
pub(crate) fn set_clock(time: Duration) {
    CLOCK.set(time);
}

impl Instant {
    pub(crate) fn now() -> Self {
        Self(CLOCK.get())
    }

    pub(crate) fn elapsed(self) -> Duration {
        Self::now().saturating_duration_since(self)
    }

    pub(crate) fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub(crate) fn checked_add(self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }
}

impl std::ops::Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

impl std::ops::Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}
