//! When a busy worker wakes another one, and when it looks at the kernel: four rules.
//!
//! To wake a worker costs some microseconds on both sides, and moves data to the caches of another
//! core. Beside a poll of a microsecond that is much, and beside one of a millisecond it is
//! nothing.
//!
//! 1. Before a poll, a worker that leaves tasks behind, in its queue or in the injector, wakes one
//!    sleeping worker, if none is on its way. That one does the same. So a burst wakes the workers
//!    one after the other. The chain ends at a worker that leaves nothing behind, even if something
//!    waits in the queue of another one: that one calls again. (`Worker::share_load`)
//! 2. While polls are long, which means that the mean is above [`LONG_POLL`], there is one queue
//!    for all: what waits in the queue of one worker would wait for that worker, however soon
//!    another one is free. And if nobody has the seat, a worker wakes another one before it polls.
//!    That one waits for the kernel, so events need not wait until the poll ends. (`Worker::push`,
//!    `Worker::share_load`)
//! 3. A worker looks at the kernel and the injector after `event_interval` polls, which are 61
//!    unless the program sets another number, or after [`STRETCH_MAX`]. (`Worker::look_outside`)
//! 4. At one such look in [`EVEN_OUT_ONE_IN`], it asks another worker instead of the injector, and
//!    takes half of its tasks if that one has far more, or is stuck. Otherwise tasks that are many
//!    in one queue would be polled far less often than those that are few in another.
//!    (`Worker::even_out`)
//!
//! Time is measured by the *stretch*: the polls from one look outside, or a sleep, to the next. So
//! a short poll pays next to nothing for a reading of the clock, and a poll counts only when its
//! stretch has ended. What others take of the core during a stretch is part of it, because the
//! tasks behind a poll wait all the same.
//!
//! To look outside is to look at the kernel and into the injector. While another thread has the
//! seat, it looks at the kernel, and the worker into the injector alone.

use crate::sync::{AtomicU64, Duration, Instant, Ordering};

/// Polls are long if their mean is above this, which is twice what it costs both sides to wake a
/// worker.
pub(crate) const LONG_POLL: Duration = Duration::from_micros(20);

/// A stretch that has lasted for this long ends when the clock is read next, which is up to 16
/// polls later. A look at the kernel costs less than a hundredth of this.
pub(crate) const STRETCH_MAX: Duration = Duration::from_micros(300);

/// Of so many looks outside of its queue, a worker spends one on another worker.
pub(crate) const EVEN_OUT_ONE_IN: u32 = 4;

/// The mean is that of about the last 512 polls of all workers: a single poll of 2 ms among polls
/// of 5 µs raises it by 4 µs, and one in a hundred makes polls long.
const MEAN_POLLS: u64 = 512;

/// What all workers know of how long a poll takes: the mean, in nanoseconds.
pub(crate) struct MeanPoll(AtomicU64);

impl MeanPoll {
    /// As long as nothing is known, polls count as long: a few wake-ups cost little, and to wait
    /// behind a poll may cost much.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(2 * LONG_POLL.as_nanos() as u64))
    }

    /// This is asked at each push, so it compares numbers: a `Duration` would be made by a
    /// division.
    pub(crate) fn is_long(&self) -> bool {
        self.0.load(Ordering::Relaxed) > LONG_POLL.as_nanos() as u64
    }

    /// Workers that do this at once may overwrite each other's part, which does no harm.
    pub(crate) fn learn(&self, polls: u32, took: Duration) {
        let known = self.0.load(Ordering::Relaxed).saturating_mul(MEAN_POLLS);
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let mean = known.saturating_add(took) / (MEAN_POLLS + u64::from(polls));
        self.0.store(mean, Ordering::Relaxed);
    }
}

/// The current stretch of a worker.
///
/// This is a pure structure: times go in, and whether to look comes out. So tests and simulations
/// can drive it in virtual time.
pub(crate) struct Stretch {
    began: Instant,
    polls: u32,
}

impl Stretch {
    pub(crate) fn new(now: Instant) -> Self {
        Self { began: now, polls: 0 }
    }

    pub(crate) fn count_poll(&mut self) {
        self.polls += 1;
    }

    /// Rule 3: whether the worker should look outside now.
    pub(crate) fn is_over(&self, polls_max: u32, now: impl FnOnce() -> Instant) -> bool {
        if self.polls == 0 || self.polls >= polls_max {
            return self.polls > 0;
        }

        // To read the clock takes a third as long as a poll that does next to nothing. So it is
        // read after 1, 2, 4 and 8 polls, and then after every sixteenth.
        let reads_clock = self.polls.is_power_of_two() || self.polls.is_multiple_of(16);
        reads_clock && now().saturating_duration_since(self.began) > STRETCH_MAX
    }

    /// The stretch ends, with a look outside or because there is nothing to do. The mean learns how
    /// long its polls took. Then the next one begins.
    pub(crate) fn end(&mut self, mean: &MeanPoll, now: Instant) {
        if self.polls > 0 {
            mean.learn(self.polls, now.saturating_duration_since(self.began));
        }
        *self = Self::new(now);
    }
}
