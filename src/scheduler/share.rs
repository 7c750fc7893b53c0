//! When a busy worker wakes another one to share its load.
//!
//! To wake a worker costs some microseconds on both sides, and moves data to the caches of
//! another core. So a worker does not wake another one as soon as two tasks wait in its queue.
//! It does so when a task waits there for too long, or is going to:
//!
//! 1. One task at a time is *followed* through the queue. It is the last one in line when the
//!    sample begins. If it still waits after `WAIT_MAX`, another worker is woken. The clock
//!    is read before the 1st, 2nd, 4th, 8th ... poll after the sample began, and when the
//!    followed task's turn has come. So short polls pay next to nothing. A long poll is noticed at
//!    the next of these moments, or by the monitor.
//! 2. When a sample begins, the length of the queue times the mean duration of a poll estimates
//!    how long the last task is going to wait. If that is more than `WAIT_MAX`, another worker is
//!    woken at once.
//! 3. A queue that no sample has found empty for `STANDING_MAX` is more than one core can drain,
//!    even if each task waits only briefly.
//!
//! The idea comes from CoDel, which judges the queues of a network in the same way: by the time
//! that is spent in them, and by whether they ever drain, not by their length.
//!
//! This is a pure structure. Times and counts go in, and a number of workers to wake comes
//! out, so tests and simulations can drive it in virtual time.

use crate::sync::{Duration, Instant};

/// How long a task may wait in a worker's queue before another worker is woken. Waking one is
/// then cheap by comparison, and the delay is one that people do not notice.
pub(crate) const WAIT_MAX: Duration = Duration::from_millis(1);

/// How long a queue may stand without ever being empty.
pub(crate) const STANDING_MAX: Duration = Duration::from_millis(10);

/// A sample lasts at least this many polls: short polls must not pay for a reading of the clock
/// each.
pub(crate) const SAMPLE_POLLS_MIN: u32 = 16;

/// What the policy may look at. Each look costs something, so the policy asks only for what it
/// needs at the moment.
pub(crate) trait View {
    fn now(&self) -> Instant;
    /// How many tasks wait in the worker's own queue.
    fn queued(&self) -> usize;
    /// How many tasks wait in the injector.
    fn injected(&self) -> usize;
    /// Whether there is a worker that could be woken.
    fn any_asleep(&self) -> bool;
}

/// What a worker remembers of its queue.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sharing {
    /// When the current sample began. None: there is none.
    pub(crate) sample_began: Option<Instant>,
    /// How many tasks are polled before the followed one. 0: it has had its turn.
    pub(crate) ahead: usize,
    /// How many polls there were since the sample began.
    pub(crate) polls: u32,
    /// Since when every sample has found a task waiting.
    pub(crate) standing_since: Option<Instant>,
    /// A running mean of the time from poll to poll.
    pub(crate) mean_poll: Duration,
}

impl Sharing {
    /// The worker found its queue empty. What it knows of the duration of polls stays.
    pub(crate) fn after_empty_queue(self) -> Self {
        Self { mean_poll: self.mean_poll, ..Self::default() }
    }

    /// Called before each poll. Returns how many other workers to wake now.
    pub(crate) fn before_poll(&mut self, view: &impl View) -> u32 {
        let mut wakes = 0;
        let is_followed = self.ahead > 0;
        self.ahead = self.ahead.saturating_sub(1);
        self.polls = self.polls.saturating_add(1);

        // Rule 1.
        let is_time_to_look = self.ahead == 0 || self.polls.is_power_of_two();
        if is_followed && is_time_to_look && view.queued() > 0 {
            let waited = elapsed(self.sample_began, view.now());
            if waited.is_some_and(|waited| waited > WAIT_MAX) {
                wakes += 1;
            }
        }

        let may_begin = self.sample_began.is_none() || self.polls >= SAMPLE_POLLS_MIN;
        if self.ahead == 0 && may_begin && view.any_asleep() {
            wakes += self.begin_sample(view);
        }
        wakes
    }

    /// Rules 2 and 3, with the last task in line as the one to follow.
    fn begin_sample(&mut self, view: &impl View) -> u32 {
        let ahead = view.queued() + view.injected();
        if ahead == 0 {
            *self = self.after_empty_queue();
            return 0;
        }
        let now = view.now();

        // The last sample gives a new value of the mean, which counts for an eighth.
        if let Some(taken) = elapsed(self.sample_began, now) {
            self.mean_poll = (7 * self.mean_poll + taken / self.polls) / 8;
        }

        let estimate = self.mean_poll.as_nanos() * ahead as u128;
        let stands = elapsed(self.standing_since, now).is_some_and(|time| time > STANDING_MAX);
        let is_too_much = estimate > WAIT_MAX.as_nanos() || stands;
        if is_too_much {
            // The next wake-up for this reason comes only if the helper does not help.
            self.standing_since = None;
        }

        self.standing_since = self.standing_since.or(Some(now));
        self.sample_began = Some(now);
        self.ahead = ahead;
        self.polls = 0;
        u32::from(is_too_much)
    }
}

fn elapsed(since: Option<Instant>, now: Instant) -> Option<Duration> {
    since.map(|since| now.saturating_duration_since(since))
}
