//! The clock: the system's or, on a thread that runs a simulation, the simulated one.

use std::cell::Cell;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::sync::OnceLock;
use std::time::{self, Duration};

/// Stands for the system's clock.
const REAL: u64 = u64::MAX;

thread_local! {
    /// Nanoseconds since the simulation of this thread began.
    static ELAPSED: Cell<u64> = const { Cell::new(REAL) };
}

/// How long before the system's present the simulated clocks begin: 100 years.
const HEAD_START: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// What the simulated clocks begin with. It is the same for all simulations of a process.
///
/// A runtime that a simulation builds, but that is not its own, takes this thread's clock for the
/// beginning of its time, and lives by the system's clock. So the simulated clock must not have
/// passed that, however far it has jumped. (Windows counts from its start. There it may.)
fn beginning() -> time::Instant {
    static BEGINNING: OnceLock<time::Instant> = OnceLock::new();
    *BEGINNING.get_or_init(|| {
        // A system that counts from its start may not have counted that far.
        let now = time::Instant::now();
        now.checked_sub(HEAD_START).unwrap_or(now)
    })
}

pub(crate) fn begin() {
    ELAPSED.set(0);
}

pub(crate) fn end() {
    ELAPSED.set(REAL);
}

/// Nanoseconds since the simulation of this thread began. Zero outside of simulations.
pub fn elapsed_nanos() -> u64 {
    let elapsed = ELAPSED.get();
    if elapsed == REAL { 0 } else { elapsed }
}

/// Called in simulations only. The clock stops short of its end, which is 584 years away.
pub(crate) fn advance(nanos: u64) {
    ELAPSED.set(ELAPSED.get().saturating_add(nanos).min(REAL - 1));
}

/// Called in simulations only. The clock does not go back.
pub(crate) fn advance_to(deadline: Instant) {
    let since = deadline.0.saturating_duration_since(beginning());
    let nanos = u64::try_from(since.as_nanos()).unwrap_or(REAL);
    ELAPSED.set(nanos.clamp(ELAPSED.get(), REAL - 1));
}

/// A time of the clock: of the system's or, in a simulation, of the simulated one.
///
/// This is [`std::time::Instant`] but for [`now`](Self::now) and [`elapsed`](Self::elapsed). Names
/// and meaning are those of tokio's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(time::Instant);

impl Instant {
    /// Returns what time it is.
    pub fn now() -> Self {
        match ELAPSED.get() {
            // No simulation runs on this thread.
            REAL => Self(time::Instant::now()),
            nanos => Self(beginning() + Duration::from_nanos(nanos)),
        }
    }

    /// Makes one of std's.
    pub fn from_std(std: time::Instant) -> Self {
        Self(std)
    }

    /// Turns it into std's.
    pub fn into_std(self) -> time::Instant {
        self.0
    }

    /// Returns how much time has passed since then, or zero if that is in the future.
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// Returns the time from `earlier` to this, or zero if that is later.
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// Returns the time from `earlier` to this, or `None` if that is later.
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// Returns the time from `earlier` to this, or zero if that is later.
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns a later time, or `None` if the clock cannot express it.
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }

    /// Returns an earlier time, or `None` if the clock cannot express it.
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        self.0.checked_sub(duration).map(Self)
    }
}

impl From<time::Instant> for Instant {
    fn from(std: time::Instant) -> Self {
        Self(std)
    }
}

impl From<Instant> for time::Instant {
    fn from(instant: Instant) -> Self {
        instant.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0 - duration)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}
