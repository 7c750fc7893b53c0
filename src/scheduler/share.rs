//! When a busy worker wakes another one to share its load.
//!
//! To wake a worker costs some microseconds on both sides, and moves data to the caches of
//! another core. Whether that is worth it depends on three things, which each worker measures.
//!
//! **How long a poll takes.** If the mean is above [`LONG_POLL`], a wake-up is cheap beside a
//! poll, and whatever waits behind a poll waits for long. The workers are then *eager*: before
//! each poll a worker wakes another one if tasks wait, or if no thread waits for the kernel. Only
//! one helper is on its way at a time. It wakes the next one, if there is more to do.
//!
//! If polls are shorter, a worker wakes no other as soon as two tasks wait in its queue. It does so
//! when they wait for too long: if the length of the queue times the mean is more than
//! [`WAIT_MAX`], or if the queue has not been empty for some time. Such a *standing* queue is more
//! than one core can drain, however short each wait is. (The idea comes from CoDel, which judges
//! the queues of a network by the time that is spent in them, and by whether they ever drain.)
//!
//! **Whether the worker has its core to itself.** A thread that is alone on its core uses as much
//! CPU time as time goes by. If a worker loses an eighth or more while all others sleep, then
//! other programs take its core away, and while they do nobody serves its tasks. So it is eager for
//! a while: a second worker gets a second share of the machine.
//!
//! **Whether helpers find a free core.** If workers lose time while several are awake, they take it
//! from each other or from the program that they serve. Then a queue must stand for longer until
//! it is worth a helper. If they lose none, a short time is enough.
//!
//! Time is measured by the *stretch*: the polls from one look at the kernel, or a sleep, to the
//! next. So a short poll pays next to nothing for a reading of the clock.
//!
//! This is a pure structure. Times and counts go in, and whether to wake a worker comes out, so
//! tests and simulations can drive it in virtual time. What costs something to find out is passed
//! as a function, and asked for only if it matters.

use crate::sync::{AtomicU64, Duration, Instant, Ordering};
use std::mem::{replace, take};

/// Polls are long if their mean is above this: some times what it costs to wake a worker.
pub(crate) const LONG_POLL: Duration = Duration::from_micros(20);

/// How long a task may wait in a worker's queue before another worker is woken. Waking one is
/// then cheap by comparison, and the delay is one that people do not notice.
pub(crate) const WAIT_MAX: Duration = Duration::from_millis(1);

/// A stretch that has lasted for this long ends, however few polls it had. It bounds how long the
/// kernel and the injector are not looked at.
pub(crate) const STRETCH_MAX: Duration = Duration::from_micros(300);

/// After this much time of polling a worker compares it with its CPU time. To ask for that is a
/// system call.
pub(crate) const SPAN: Duration = Duration::from_millis(4);

/// For how many spans a worker is eager after its core was taken away.
pub(crate) const EAGER_SPANS: u32 = 5;

/// For how long a queue must stand, at least and at most.
pub(crate) const PATIENCE_MIN: Duration = Duration::from_millis(1);
pub(crate) const PATIENCE_MAX: Duration = Duration::from_millis(64);

/// Over how many polls the mean is taken.
pub(crate) const MEAN_POLLS: u64 = 512;

/// What all workers have learned together, in nanoseconds.
pub(crate) struct Learned {
    mean_poll: AtomicU64,
    patience: AtomicU64,
}

impl Default for Learned {
    /// As long as nothing is known, polls count as long: a few wake-ups cost little, and to wait
    /// behind a poll may cost much.
    fn default() -> Self {
        let [mean_poll, patience] = [5 * LONG_POLL, 10 * PATIENCE_MIN].map(nanos);
        Self { mean_poll: AtomicU64::new(mean_poll), patience: AtomicU64::new(patience) }
    }
}

impl Learned {
    pub(crate) fn polls_are_long(&self) -> bool {
        self.mean_poll.load(Ordering::Relaxed) > nanos(LONG_POLL)
    }

    /// Workers that do this at once may overwrite each other's part, which does no harm.
    fn learn_polls(&self, polls: u64, took: Duration) {
        let known = self.mean_poll.load(Ordering::Relaxed) * MEAN_POLLS;
        let mean = known.saturating_add(nanos(took)) / (MEAN_POLLS + polls);
        self.mean_poll.store(mean, Ordering::Relaxed);
    }

    fn learn_patience(&self, cores_are_free: bool) {
        let patience = self.patience.load(Ordering::Relaxed);
        let patience = if cores_are_free { patience / 2 } else { patience * 2 };
        let patience = patience.clamp(nanos(PATIENCE_MIN), nanos(PATIENCE_MAX));
        self.patience.store(patience, Ordering::Relaxed);
    }
}

/// What a worker remembers.
pub(crate) struct Sharing {
    /// When the current stretch began, and how many polls it has had.
    began: Instant,
    polls: u32,
    /// Since when every look has found a task waiting.
    standing_since: Option<Instant>,
    core: Core,
}

/// What a worker remembers of the core that it runs on.
#[derive(Default)]
struct Core {
    /// How long the worker has polled in the current span.
    polled: Duration,
    /// What the thread's CPU time was when the span began.
    cpu_time: Option<Duration>,
    /// For how many more spans the worker is eager.
    eager_spans: u32,
}

impl Sharing {
    pub(crate) fn new(now: Instant) -> Self {
        Self { began: now, polls: 0, standing_since: None, core: Core::default() }
    }

    /// A stretch begins after a sleep.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.began = now;
    }

    /// The worker found its queue empty.
    pub(crate) fn queue_is_empty(&mut self) {
        self.standing_since = None;
    }

    /// Whether the worker should look at the kernel now: after `polls_max` polls, or when the
    /// stretch has lasted for long. The clock is read after 1, 2, 4, 8 ... polls.
    pub(crate) fn is_time_to_look(&self, polls_max: u32, now: impl Fn() -> Instant) -> bool {
        let is_time_to_ask = self.polls.is_power_of_two();
        self.polls >= polls_max || (is_time_to_ask && now() - self.began > STRETCH_MAX)
    }

    /// Called before each poll. Returns whether to wake another worker now.
    pub(crate) fn before_poll(
        &mut self,
        learned: &Learned,
        waiting: impl Fn() -> usize,
        kernel_is_watched: impl Fn() -> bool,
    ) -> bool {
        self.polls = self.polls.saturating_add(1);
        let is_eager = self.core.eager_spans > 0 || learned.polls_are_long();
        is_eager && (waiting() > 0 || !kernel_is_watched())
    }

    /// Called when a stretch ends, with a look at the kernel or with a sleep. `is_alone` says
    /// whether all other workers sleep.
    pub(crate) fn end_stretch(
        &mut self,
        learned: &Learned,
        now: Instant,
        is_alone: impl Fn() -> bool,
        cpu_time: impl Fn() -> Option<Duration>,
    ) {
        let took = now.saturating_duration_since(self.began);
        learned.learn_polls(self.polls.into(), took);
        self.began = now;
        self.polls = 0;

        self.core.polled += took;
        if self.core.polled > SPAN {
            let has_lost = self.core.end_span(cpu_time());
            match is_alone() {
                true if has_lost => self.core.eager_spans = EAGER_SPANS,
                true => {}
                false => learned.learn_patience(!has_lost),
            }
        }
    }

    /// Called at each look, at the end of a stretch, with the number of tasks that wait. Returns
    /// whether they are more than this worker should do alone.
    pub(crate) fn is_overloaded(&mut self, learned: &Learned, waiting: usize) -> bool {
        if waiting == 0 {
            self.standing_since = None;
            return false;
        }
        let since = *self.standing_since.get_or_insert(self.began);
        let stands = nanos(self.began - since) > learned.patience.load(Ordering::Relaxed);
        let takes = learned.mean_poll.load(Ordering::Relaxed).saturating_mul(waiting as u64);

        let is_too_much = stands || takes > nanos(WAIT_MAX);
        if is_too_much {
            // The next wake-up for this reason comes only if the helper does not help.
            self.standing_since = None;
        }
        is_too_much
    }
}

impl Core {
    /// Compares the time of polling with the CPU time of the thread. Returns whether an eighth or
    /// more was lost.
    fn end_span(&mut self, cpu_time: Option<Duration>) -> bool {
        let polled = take(&mut self.polled);
        let before = replace(&mut self.cpu_time, cpu_time);
        self.eager_spans = self.eager_spans.saturating_sub(1);
        let used = cpu_time.zip(before).map(|(now, before)| now - before);
        used.is_some_and(|used| used + polled / 8 < polled)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
