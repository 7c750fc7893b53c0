//! The clock that arc's policy reads: virtual time.
//!
//! A cell is simulated by a single thread, which sets its clock before it asks the policy.

use crate::machine::Nanos;
use std::cell::Cell;
use std::ops::Sub;
use std::time::Duration;

thread_local! {
    static NOW: Cell<Nanos> = const { Cell::new(0) };
    static READINGS: Cell<u64> = const { Cell::new(0) };
}

/// From now on it is so late.
pub fn set(now: Nanos) {
    NOW.set(now);
}

/// How often the clock was read since the last call of this.
pub fn take_readings() -> u64 {
    READINGS.take()
}

/// A point in virtual time, in the place of the standard library's `Instant`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instant(Nanos);

impl Instant {
    /// Reads the clock.
    pub fn now() -> Self {
        READINGS.set(READINGS.get() + 1);
        Self(NOW.get())
    }

    /// Reads the clock, too.
    pub fn elapsed(self) -> Duration {
        Self::now() - self
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0 - earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reading_is_counted() {
        set(1_000);
        let began = Instant::now();
        set(4_000);
        assert_eq!(began.elapsed(), Duration::from_micros(3));
        assert_eq!(take_readings(), 2);
        assert_eq!(take_readings(), 0);
    }
}
