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
//! tests and simulations can drive it in virtual time.

use crate::sync::{AtomicU64, Duration, Instant, Ordering};
use std::mem::replace;

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
pub(crate) const PATIENCE: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(64)];

/// Over how many polls the mean is taken.
pub(crate) const MEAN_POLLS: u64 = 512;

/// What the policy may look at. Each look costs something, so the policy asks only for what it
/// needs at the moment.
pub(crate) trait View {
    fn now(&self) -> Instant;
    /// How much CPU time this thread has used. None: the system does not tell.
    fn cpu_time(&self) -> Option<Duration>;
    /// How many tasks wait in the worker's own queue and in the injector.
    fn waiting(&self) -> usize;
    /// Whether no thread waits for the kernel.
    fn kernel_is_unwatched(&self) -> bool;
    /// Whether a worker sleeps, and no helper is on its way.
    fn may_call_helper(&self) -> bool;
    /// Whether this worker is the only one that is awake.
    fn is_alone(&self) -> bool;
}

/// What all workers have learned together, in nanoseconds.
pub(crate) struct Learned {
    mean_poll: AtomicU64,
    patience: AtomicU64,
}

impl Default for Learned {
    /// As long as nothing is known, polls count as long: a few wake-ups cost little, and to wait
    /// behind a poll may cost much.
    fn default() -> Self {
        let [mean_poll, patience] = [5 * LONG_POLL, 10 * PATIENCE[0]].map(nanos);
        Self { mean_poll: AtomicU64::new(mean_poll), patience: AtomicU64::new(patience) }
    }
}

impl Learned {
    pub(crate) fn polls_are_long(&self) -> bool {
        self.mean_poll.load(Ordering::Relaxed) > nanos(LONG_POLL)
    }

    /// Workers that do this at once may overwrite each other's part, which does no harm.
    fn learn(&self, polls: u64, took: Duration) {
        let known = self.mean_poll.load(Ordering::Relaxed) * MEAN_POLLS;
        let mean = known.saturating_add(nanos(took)) / (MEAN_POLLS + polls);
        self.mean_poll.store(mean, Ordering::Relaxed);
    }
}

/// What a worker remembers.
pub(crate) struct Sharing {
    /// When the current stretch began, and how many polls it has had.
    began: Instant,
    polls: u32,
    /// Since when every look has found a task waiting.
    standing_since: Option<Instant>,
    /// How long the worker has polled in the current span.
    span: Duration,
    /// What the thread's CPU time was when the span began.
    cpu_time: Option<Duration>,
    eager_spans: u32,
}

impl Sharing {
    pub(crate) fn new(now: Instant, cpu_time: Option<Duration>) -> Self {
        Self {
            began: now,
            polls: 0,
            standing_since: None,
            span: Duration::ZERO,
            cpu_time,
            eager_spans: 0,
        }
    }

    /// A stretch begins after a sleep.
    pub(crate) fn begin(&mut self, view: &impl View) {
        self.began = view.now();
    }

    /// The worker found its queue empty.
    pub(crate) fn queue_is_empty(&mut self) {
        self.standing_since = None;
    }

    /// Whether the worker should look at the kernel now: after `polls_max` polls, or when the
    /// stretch has lasted for long. The clock is read after 1, 2, 4, 8 ... polls.
    pub(crate) fn is_time_to_look(&self, polls_max: u32, view: &impl View) -> bool {
        let is_time_to_ask = self.polls.is_power_of_two();
        self.polls >= polls_max || (is_time_to_ask && view.now() - self.began > STRETCH_MAX)
    }

    pub(crate) fn count_poll(&mut self) {
        self.polls = self.polls.saturating_add(1);
    }

    /// Called before each poll. Returns whether to wake another worker now.
    pub(crate) fn before_poll(&mut self, learned: &Learned, view: &impl View) -> bool {
        self.count_poll();
        let is_eager = self.eager_spans > 0 || learned.polls_are_long();
        is_eager && view.may_call_helper() && (view.waiting() > 0 || view.kernel_is_unwatched())
    }

    /// Called when a stretch ends, with a look at the kernel or with a sleep.
    pub(crate) fn end_stretch(&mut self, learned: &Learned, view: &impl View) {
        let now = view.now();
        let took = now.saturating_duration_since(self.began);
        if self.polls > 0 {
            learned.learn(self.polls.into(), took);
        }
        self.began = now;
        self.polls = 0;

        self.span += took;
        if self.span >= SPAN {
            self.end_span(learned, view);
        }
    }

    /// Compares the time of polling with the CPU time of the thread.
    fn end_span(&mut self, learned: &Learned, view: &impl View) {
        let before = replace(&mut self.cpu_time, view.cpu_time());
        let used = self.cpu_time.zip(before).map_or(self.span, |(now, before)| now - before);
        let lost = self.span.saturating_sub(used);
        let has_lost = lost > self.span / 8;
        self.span = Duration::ZERO;
        self.eager_spans = self.eager_spans.saturating_sub(1);

        if !view.is_alone() {
            let patience = learned.patience.load(Ordering::Relaxed);
            let patience = if has_lost { 2 * patience } else { patience / 2 };
            let [least, most] = PATIENCE.map(nanos);
            learned.patience.store(patience.clamp(least, most), Ordering::Relaxed);
        } else if has_lost {
            self.eager_spans = EAGER_SPANS;
        }
    }

    /// Called at each look, at the end of a stretch. Returns whether the queue is more than this
    /// worker should drain alone.
    pub(crate) fn is_overloaded(&mut self, learned: &Learned, view: &impl View) -> bool {
        let waiting = view.waiting() as u64;
        if waiting == 0 {
            self.standing_since = None;
            return false;
        }
        let since = *self.standing_since.get_or_insert(self.began);
        let patience = learned.patience.load(Ordering::Relaxed);
        let stands = nanos(self.began - since) > patience;
        let takes = learned.mean_poll.load(Ordering::Relaxed).saturating_mul(waiting);

        let is_too_much = stands || takes > nanos(WAIT_MAX);
        if is_too_much {
            // The next wake-up for this reason comes only if the helper does not help.
            self.standing_since = None;
        }
        is_too_much && view.may_call_helper()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
