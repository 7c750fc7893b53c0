//! The policy in virtual time: a clock, a thread's CPU time and queues that the test sets, and a
//! count of how often each clock was read.

use std::cell::Cell;

use proptest::prelude::*;

use crate::scheduler::share::*;
use crate::sync::{Duration, Instant};

mod losses;
mod search;

const NANO: Duration = Duration::from_nanos(1);
const MICRO: Duration = Duration::from_micros(1);

/// What the policy measures: of one thread that polls, or of several one after the other.
struct Clocks {
    epoch: Instant,
    time: Cell<Duration>,
    /// How often the clock was read since this was asked last.
    readings: Cell<u32>,
    /// None: the system does not tell.
    used: Cell<Option<Duration>>,
    /// For how long the thread was ready to run, and had no core.
    waited: Cell<Duration>,
    /// How often it was asked for both times.
    core_readings: Cell<u32>,
}

impl Clocks {
    fn new() -> Self {
        Self {
            epoch: Instant::now(),
            time: Cell::default(),
            readings: Cell::default(),
            // The thread has done something before it became a worker's.
            used: Cell::new(Some(Duration::from_secs(7))),
            waited: Cell::new(Duration::from_secs(3)),
            core_readings: Cell::default(),
        }
    }

    /// What the test itself reads does not count.
    fn time(&self) -> Instant {
        self.epoch + self.time.get()
    }

    fn now(&self) -> Instant {
        self.readings.set(self.readings.get() + 1);
        self.time()
    }

    fn core_times(&self) -> Option<(Duration, Duration)> {
        self.core_readings.set(self.core_readings.get() + 1);
        self.used.get().map(|used| (used, self.waited.get()))
    }

    /// Time passes. For some of it the thread has a core, and for the rest it waits for one.
    fn pass(&self, time: Duration, used: Duration) {
        self.block(time);
        self.used.set(self.used.get().map(|before| before + used));
        self.waited.set(self.waited.get() + time.saturating_sub(used));
    }

    /// Time passes while the thread is not ready to run.
    fn block(&self, time: Duration) {
        self.time.set(self.time.get() + time);
    }
}

/// A worker, and what it measures.
struct Worker {
    sharing: Sharing,
    clocks: Clocks,
    /// All other workers sleep.
    is_alone: bool,
}

impl Worker {
    fn new() -> Self {
        let clocks = Clocks::new();
        let mut worker = Worker { sharing: Sharing::default(), clocks, is_alone: true };
        worker.wake_up();
        worker
    }

    /// A poll of this duration, with a core to itself.
    fn poll(&mut self, mean: &MeanPoll, lasts: Duration) {
        self.poll_with(mean, lasts, lasts);
    }

    /// A poll during which the thread has a core for a part of the time.
    fn poll_with(&mut self, mean: &MeanPoll, lasts: Duration, used: Duration) {
        self.sharing.before_poll(mean, || 0, || true);
        self.clocks.pass(lasts, used);
    }

    /// With so many tasks that wait. Returns whether they are too many.
    fn look(&mut self, mean: &MeanPoll, waiting: usize) -> bool {
        let (now, is_alone) = (self.clocks.time(), || self.is_alone);
        self.sharing.end_stretch(mean, now, waiting, is_alone, || self.clocks.core_times())
    }

    fn end_stretch(&mut self, mean: &MeanPoll) {
        assert!(!self.look(mean, 0));
    }

    /// A stretch of one poll.
    fn stretch(&mut self, mean: &MeanPoll, lasts: Duration, used: Duration) {
        self.poll_with(mean, lasts, used);
        self.end_stretch(mean);
    }

    /// A span that begins and ends with a stretch, so that the core times are looked at.
    fn span(&mut self, mean: &MeanPoll, lost: Duration) {
        let before = self.clocks.core_readings.take();
        self.stretch(mean, WHOLE_SPAN, WHOLE_SPAN - lost);
        assert_eq!(self.clocks.core_readings.take(), 1, "after {before} readings");
    }

    fn sleep(&mut self, mean: &MeanPoll, lasts: Duration) {
        self.end_stretch(mean);
        self.clocks.block(lasts);
        self.wake_up();
    }

    fn wake_up(&mut self) {
        self.sharing.began = Some(self.clocks.time());
    }

    fn is_time_to_look(&self, polls_max: u32) -> bool {
        self.sharing.is_time_to_look(polls_max, || self.clocks.now())
    }

    /// What a look says of the queue, if nothing was polled before it.
    fn is_overloaded(&mut self, mean: &MeanPoll, waiting: usize) -> bool {
        self.wake_up();
        self.look(mean, waiting)
    }

    /// Whether it would wake another worker to wait for the kernel.
    fn watches(&mut self, mean: &MeanPoll) -> bool {
        self.sharing.before_poll(mean, || 0, || false)
    }

    /// Whether it would wake another worker if a task waited.
    fn shares(&mut self, mean: &MeanPoll) -> bool {
        self.sharing.before_poll(mean, || 1, || true)
    }

    /// Makes it find out that it is pressed, with short polls.
    fn press(&mut self) {
        let mean = mean_of(Duration::ZERO);
        self.span(&mean, Duration::ZERO);
        (0..2).for_each(|_| self.span(&mean, WHOLE_SPAN / 2));
    }

    /// Makes it find out that the cores are crowded, with short polls.
    fn crowd(&mut self) {
        let mean = mean_of(Duration::ZERO);
        self.is_alone = false;
        self.span(&mean, Duration::ZERO);
        self.span(&mean, WHOLE_SPAN / 2);
        self.is_alone = true;
    }
}

/// The shortest time that is longer than a span and has an eighth.
const WHOLE_SPAN: Duration = Duration::from_nanos((SPAN.as_nanos() as u64 / 8 + 1) * 8);

/// What is known when each of the last polls took this long.
fn mean_of(lasts: Duration) -> MeanPoll {
    let mean = MeanPoll::new();
    let mut teacher = Worker::new();

    // Nothing is left of what counts at first. Then one poll weighs as much as all before it do.
    for _ in 0..12 {
        (0..2 * MEAN_POLLS).for_each(|_| teacher.poll(&mean, Duration::ZERO));
        teacher.end_stretch(&mean);
    }
    teacher.poll(&mean, lasts * (MEAN_POLLS as u32 + 1));
    teacher.end_stretch(&mean);
    assert_mean(&mean, lasts);
    mean
}

/// The mean is to be seen in how many tasks may wait. It must divide the limit.
fn assert_mean(mean: &MeanPoll, expected: Duration) {
    let is_too_much = |waiting| Worker::new().is_overloaded(mean, waiting);
    if expected.is_zero() {
        return assert!(!is_too_much(WAIT_MAX.as_nanos() as usize));
    }
    let enough = (WAIT_MAX.as_nanos() / expected.as_nanos()) as usize;
    assert!(!is_too_much(enough), "{enough} would wait for longer than {expected:?} each");
    assert!(is_too_much(enough + 1), "{} would wait for less than {expected:?} each", enough + 1);
}

// How long a poll takes.

/// The mean of the polls is longer than is short, and short enough not to be watched.
fn is_long(mean: &MeanPoll) -> bool {
    let mut crowded = Worker::new();
    crowded.crowd();
    crowded.shares(mean)
}

#[test]
fn unknown_polls_count_as_long() {
    let mean = MeanPoll::new();
    assert!(is_long(&mean));
    assert!(Worker::new().watches(&mean));
}

#[test]
fn polls_are_long_if_the_mean_is_above_the_limit() {
    for (limit, is_above) in [
        (LONG_POLL, is_long as fn(&MeanPoll) -> bool),
        (LONG_POLL, |mean| mean.get() > LONG_POLL),
        (LONG_POLL, |mean| Worker::new().watches(mean)),
    ] {
        assert!(!is_above(&mean_of(limit)), "just as long as the limit");
        assert!(is_above(&mean_of(limit + NANO)));
        assert!(!is_above(&mean_of(Duration::ZERO)));
    }
}

/// Short polls are known as such soon, and long ones as well.
#[test]
fn mean_follows_the_polls() {
    let mean = MeanPoll::new();
    let mut worker = Worker::new();
    let mut learn = |lasts: Duration| {
        for polls in 0..20 * MEAN_POLLS {
            worker.poll(&mean, lasts);
            if polls % 50 == 0 {
                worker.end_stretch(&mean);
            }
        }
        is_long(&mean)
    };
    assert!(!learn(LONG_POLL / 2));
    assert!(learn(LONG_POLL * 2));
    assert!(!learn(NANO));
}

/// What was known is worth [`MEAN_POLLS`] polls.
#[test]
fn as_many_polls_as_the_mean_is_taken_over_are_half_of_it() {
    let mean = mean_of(Duration::ZERO);
    let mut worker = Worker::new();
    (0..MEAN_POLLS).for_each(|_| worker.poll(&mean, 2 * MICRO));
    worker.end_stretch(&mean);
    assert_mean(&mean, MICRO);
}

#[test]
fn stretches_are_weighted_by_their_polls() {
    for polls in [1, 2, 61, 1_000] {
        let mean = mean_of(Duration::ZERO);
        let mut worker = Worker::new();
        let total = MICRO * (MEAN_POLLS as u32 + polls);

        // One long poll among many short ones counts as if all of them had taken a part of it.
        worker.poll(&mean, total);
        (1..polls).for_each(|_| worker.poll(&mean, Duration::ZERO));
        worker.end_stretch(&mean);
        assert_mean(&mean, MICRO);
    }
}

/// As many short ones are known, one long poll does not make polls long.
#[test]
fn single_long_poll_does_not_make_polls_long() {
    let mean = mean_of(MICRO);
    let mut worker = Worker::new();
    worker.stretch(&mean, LONG_POLL * (MEAN_POLLS as u32 / 2), Duration::ZERO);
    assert!(!is_long(&mean));
}

#[test]
fn polls_of_a_stretch_are_counted_in_it_alone() {
    let mean = mean_of(Duration::ZERO);
    let mut worker = Worker::new();
    (0..1_000).for_each(|_| worker.poll(&mean, Duration::ZERO));
    worker.end_stretch(&mean);
    let lasts = MICRO * (MEAN_POLLS as u32 + 1);
    worker.stretch(&mean, lasts, lasts);
    assert_mean(&mean, MICRO);
}

#[test]
fn what_one_worker_learns_all_of_them_know() {
    let mean = mean_of(MICRO);
    let mut other = Worker::new();
    assert!(!other.watches(&mean));
    Worker::new().stretch(&mean, Duration::from_secs(1), Duration::from_secs(1));
    assert!(other.watches(&mean));
}

#[test]
fn worker_that_begins_looks_after_its_first_poll() {
    let (mean, clocks) = (mean_of(MICRO), Clocks::new());
    let mut worker = Worker { sharing: Sharing::default(), clocks, is_alone: true };
    assert!(!worker.is_time_to_look(61));
    worker.poll(&mean, STRETCH_MAX);
    assert!(worker.is_time_to_look(61));
    worker.end_stretch(&mean);
    worker.poll(&mean, STRETCH_MAX);
    assert!(!worker.is_time_to_look(61));
}

#[test]
fn time_asleep_is_no_poll_time() {
    let mean = mean_of(MICRO);
    let mut worker = Worker::new();
    for _ in 0..10 {
        worker.sleep(&mean, Duration::from_secs(3600));
    }
    assert_mean(&mean, MICRO);
    // Nor does a sleep, during which the thread uses no CPU time, look like a core that was lost.
    worker.span(&mean, Duration::ZERO);
    for _ in 0..10 {
        worker.sleep(&mean, Duration::from_secs(3600));
    }
    assert_eq!(worker.clocks.core_readings.take(), 0);
    worker.poll(&mean, MICRO);
    assert!(!worker.is_time_to_look(u32::MAX), "the stretch began after the sleep");
}

/// A look that brings nothing, and what the worker does around it.
#[test]
fn time_without_polls_is_no_poll_time() {
    let mean = mean_of(MICRO);
    let mut worker = Worker::new();
    for _ in 0..1_000 {
        worker.clocks.pass(SPAN, SPAN);
        worker.end_stretch(&mean);
    }
    assert_mean(&mean, MICRO);
}

/// Beside floods of short polls, which are most of the mean.
#[test]
fn tasks_of_a_worker_whose_polls_are_longer_than_most_do_not_wait_for_too_long() {
    let long = Duration::from_micros(500);
    for polls in [1, 40] {
        let mean = mean_of(Duration::ZERO);
        let mut worker = Worker::new();
        (0..polls).for_each(|_| worker.poll(&mean, long));
        assert!(worker.look(&mean, 3), "{polls} polls before, and three to come");
        worker.poll(&mean, long);
        assert!(!worker.look(&mean, 2), "which takes a millisecond");
    }
}

// Who else is on the worker's core.

/// Yields, if the worker does so before it sleeps now. Others then have the core for this long.
fn yields(worker: &mut Worker, lasts: Duration) -> bool {
    worker.end_stretch(&mean_of(Duration::ZERO));
    let (clocks, yielded) = (&worker.clocks, Cell::new(false));
    let yield_core = || {
        yielded.set(true);
        clocks.pass(lasts, Duration::ZERO);
    };
    worker.sharing.before_sleep(yield_core, || clocks.now());
    yielded.get()
}

/// Yields often enough to know how long it takes. Returns how many yields that took.
fn learn_to_yield(worker: &mut Worker, lasts: Duration) -> u32 {
    let needs = |_: &u32| {
        worker.clocks.pass(SPAN * TRIAL_FACTOR, Duration::ZERO);
        yields(worker, lasts) && !yields(worker, lasts)
    };
    (0..1_000).take_while(needs).count() as u32
}

#[test]
fn worker_yields_to_threads_that_soon_give_the_core_back() {
    let mut worker = Worker::new();
    assert!(learn_to_yield(&mut worker, YIELD_MAX / 2) < MEAN_YIELDS);
    for _ in 0..1_000 {
        assert!(yields(&mut worker, YIELD_MAX / 2));
    }
    // Once in a while it may take longer.
    for _ in 0..10 {
        assert!(yields(&mut worker, 3 * YIELD_MAX));
        (0..100).for_each(|_| assert!(yields(&mut worker, YIELD_MAX / 4)));
    }
}

#[test]
fn worker_does_not_yield_to_threads_that_compute() {
    let mut worker = Worker::new();
    learn_to_yield(&mut worker, YIELD_MAX / 2);
    let slice = 3 * YIELD_MAX;
    let given = (0..MEAN_YIELDS).take_while(|_| yields(&mut worker, slice)).count();
    assert!(given < MEAN_YIELDS as usize / 2, "{given} slices were given away");
    assert!(given > 1, "the first said nothing");
    tries_now_and_then(&mut worker, slice);

    // When a client runs there again, it lets its core go at every sleep.
    assert!(learn_to_yield(&mut worker, YIELD_MAX / 2) < 2 * MEAN_YIELDS);
    assert!((0..100).all(|_| yields(&mut worker, YIELD_MAX / 2)));
}

#[test]
fn worker_does_not_yield_for_an_answer_or_two() {
    let mut worker = Worker::new();
    learn_to_yield(&mut worker, 2 * YIELD_MIN);
    let answer = YIELD_MIN / 4;
    let given = (0..100).take_while(|_| yields(&mut worker, answer)).count();
    assert!((2..MEAN_YIELDS as usize).contains(&given), "{given} yields");
    tries_now_and_then(&mut worker, answer);

    // Nor where nobody waits for the core, and yields take no time.
    let mut worker = Worker::new();
    assert!(yields(&mut worker, Duration::ZERO), "that is to be found out");
    tries_now_and_then(&mut worker, Duration::ZERO);
}

/// It tries again, but the time that this takes is a small part of all.
fn tries_now_and_then(worker: &mut Worker, lasts: Duration) {
    for _ in 0..10 {
        worker.clocks.pass((lasts * TRIAL_FACTOR).max(SPAN) - NANO, Duration::ZERO);
        assert!(!yields(worker, lasts));
        worker.clocks.pass(2 * NANO, Duration::ZERO);
        assert!(yields(worker, lasts));
    }
}

/// A virtual machine was stopped, or a terminal stopped the process.
#[test]
fn yield_of_an_hour_is_soon_forgotten() {
    let mut worker = Worker::new();
    learn_to_yield(&mut worker, YIELD_MAX / 4);
    for _ in 0..3 {
        yields(&mut worker, Duration::from_secs(3600));
    }
    assert!(!yields(&mut worker, YIELD_MAX / 4), "it has had three slices");
    assert!(learn_to_yield(&mut worker, YIELD_MAX / 4) < 2 * MEAN_YIELDS);
}

#[test]
fn numbers_that_are_too_large_do_no_harm() {
    let years = Duration::from_secs(1 << 40);
    let mean = MeanPoll::new();
    for _ in 0..3 {
        let mut worker = Worker::new();
        worker.stretch(&mean, years, years);
        assert!(worker.watches(&mean));
        assert!(worker.is_overloaded(&mean, usize::MAX));
    }

    // As nanoseconds, a multiple of 1 << 64.
    let mean = mean_of(LONG_POLL);
    assert!(Worker::new().is_overloaded(&mean, 1 << 60));
}

/// The clocks of some virtual machines do so.
#[test]
fn clock_that_goes_back_does_no_harm() {
    let mean = mean_of(MICRO);
    let mut worker = Worker::new();
    let before = worker.clocks.time();
    worker.clocks.pass(Duration::from_secs(1), Duration::ZERO);
    worker.wake_up();
    worker.sharing.before_poll(&mean, || 0, || true);
    assert!(!worker.sharing.is_time_to_look(61, || before));
    worker.sharing.end_stretch(&mean, before, 0, || true, || None);
    assert!(!is_long(&mean));

    worker.wake_up();
    worker.span(&mean, Duration::ZERO);
    worker.clocks.used.set(Some(Duration::ZERO));
    worker.clocks.pass(WHOLE_SPAN, Duration::ZERO);
    worker.end_stretch(&mean);
}

// Whom a worker wakes before a poll.

#[test]
fn pressed_worker_and_one_with_long_polls_call_if_tasks_wait_or_nobody_is_at_the_kernel() {
    let pressed = {
        let mut worker = Worker::new();
        worker.press();
        (worker, mean_of(Duration::ZERO))
    };
    let long_polls = (Worker::new(), MeanPoll::new());
    for (mut worker, mean) in [pressed, long_polls] {
        let mut calls =
            |waiting, is_watched| worker.sharing.before_poll(&mean, || waiting, || is_watched);
        assert!(calls(1, true));
        assert!(calls(1_000, false));
        assert!(calls(0, false));
        assert!(!calls(0, true), "nothing waits, and somebody is at the kernel");
    }
}

#[test]
fn worker_with_free_cores_calls_if_tasks_wait() {
    let (mean, mut worker) = (mean_of(LONG_POLL), Worker::new());
    let mut calls = |waiting| {
        let is_watched = || unreachable!("who is at the kernel does not matter");
        worker.sharing.before_poll(&mean, || waiting, is_watched)
    };
    assert!(calls(1));
    assert!(!calls(0));
}

/// It does not even ask for what others have written to.
#[test]
fn worker_on_crowded_cores_never_calls_before_a_short_poll() {
    let mean = mean_of(LONG_POLL);
    let mut worker = Worker::new();
    worker.crowd();
    for _ in 0..100 {
        let called = worker.sharing.before_poll(
            &mean,
            || unreachable!("how many wait does not matter"),
            || unreachable!("who is at the kernel does not matter"),
        );
        assert!(!called);
        worker.clocks.pass(LONG_POLL, LONG_POLL);
    }
}

// When it looks outside.

#[test]
fn worker_looks_after_so_many_polls() {
    for polls_max in [1, 2, 3, 61, 64, 1_000] {
        let mean = mean_of(Duration::ZERO);
        let mut worker = Worker::new();
        for _ in 0..2 {
            for polls in 0..polls_max {
                assert!(!worker.is_time_to_look(polls_max), "after {polls} polls");
                worker.poll(&mean, Duration::ZERO);
            }
            worker.clocks.readings.take();
            assert!(worker.is_time_to_look(polls_max), "after {polls_max} polls");
            assert_eq!(worker.clocks.readings.take(), 0, "the clock does not matter");
            worker.end_stretch(&mean);
        }
    }
}

#[test]
fn worker_looks_when_the_stretch_has_lasted_for_long() {
    for polls in [1, 2, 4, 8, 16, 1 << 10] {
        let mean = mean_of(Duration::ZERO);
        let mut worker = Worker::new();
        for _ in 0..2 {
            (1..polls).for_each(|_| worker.poll(&mean, Duration::ZERO));
            worker.poll(&mean, STRETCH_MAX);
            assert!(!worker.is_time_to_look(u32::MAX), "a moment early");
            worker.clocks.pass(NANO, NANO);
            assert!(worker.is_time_to_look(u32::MAX), "after {polls} polls");
            worker.end_stretch(&mean);
        }
    }
}

/// Between two readings the stretch becomes at most twice as long, if polls are equal. If they are
/// not, at most sixteen of them go by.
#[test]
fn clock_is_read_after_1_2_4_8_and_then_every_16_polls() {
    let mean = mean_of(Duration::ZERO);
    let mut worker = Worker::new();
    for polls in 0..2_000_u32 {
        assert!(!worker.is_time_to_look(u32::MAX));
        let expected = u32::from([1, 2, 4, 8].contains(&polls) || polls > 0 && polls % 16 == 0);
        assert_eq!(worker.clocks.readings.take(), expected, "after {polls} polls");
        worker.poll(&mean, Duration::ZERO);
    }
}

/// At the default interval: seven times for 61 polls, besides once when the stretch ends.
#[test]
fn short_polls_read_the_clock_seldom() {
    let mean = mean_of(Duration::ZERO);
    let mut worker = Worker::new();
    for _ in 0..61_000 {
        if worker.is_time_to_look(61) {
            worker.end_stretch(&mean);
        }
        worker.poll(&mean, NANO);
    }
    assert!(worker.clocks.readings.take() <= 7_000);
    assert_eq!(worker.clocks.core_readings.take(), 0);
}

/// When polls become long at once, in the middle of a stretch, at most sixteen go by unseen.
#[test]
fn polls_that_become_long_at_once_are_soon_seen() {
    for short in 0..100 {
        let (mean, mut worker) = (mean_of(MICRO), Worker::new());
        (0..short).for_each(|_| worker.poll(&mean, NANO));
        let long = (1..).find(|_| {
            worker.poll(&mean, 2 * STRETCH_MAX);
            worker.is_time_to_look(u32::MAX)
        });
        assert!(long <= Some(16), "after {short} short polls");
    }
}

// Short polls: how long tasks wait.

#[test]
fn queue_that_takes_longer_than_the_limit_is_too_much() {
    for (mean, enough) in [(MICRO, 1_000), (10 * MICRO, 100), (LONG_POLL, 50), (WAIT_MAX, 1)] {
        let enough = enough * (WAIT_MAX.as_micros() / 1_000) as usize;
        let mean = mean_of(mean);
        let mut worker = Worker::new();
        assert!(!worker.is_overloaded(&mean, 0));
        assert!(!worker.is_overloaded(&mean, enough), "just as long as the limit");
        // As long as that is so, every look says it.
        (0..3).for_each(|_| assert!(worker.is_overloaded(&mean, enough + 1)));
        assert!(!worker.is_overloaded(&mean, enough));
    }
}

/// A stretch has to be short beside what it measures, and a long poll short beside that.
#[test]
fn limits_are_in_order() {
    let limits = [LONG_POLL, STRETCH_MAX, WAIT_MAX, SPAN];
    assert!(limits.is_sorted(), "{limits:?}");
}

// Against a model.

/// The same rules, told by all that has happened, in nanoseconds.
#[derive(Default)]
struct Model {
    /// How long each stretch took, and how many polls it had. The last one goes on.
    stretches: Vec<(u64, u64)>,
    /// Since the thread's times were asked for.
    span: u64,
    /// For how long it had had a core and had waited for one, each time that this was told.
    told: Vec<Option<(u64, u64)>>,
    /// Of each span: its length, how much of it was lost, and whether all others slept then.
    spans: Vec<(u64, u64, bool)>,
    /// What a poll of those that wait is taken to last.
    poll: u64,
}

impl Model {
    fn stretch(&mut self) -> &mut (u64, u64) {
        if self.stretches.is_empty() {
            self.stretches.push((0, 0));
        }
        self.stretches.last_mut().unwrap()
    }

    /// Whether the cores count as crowded, and the worker as pressed.
    fn counts(&self) -> [bool; 2] {
        let (mut losses, mut until) = ([0_i32; 2], [0; 2]);
        for (index, &(span, lost, is_alone)) in self.spans.iter().enumerate() {
            for (kind, lasts) in [[0, 3, 12, 50], [0, 0, 50, 50]].into_iter().enumerate() {
                if index < until[kind] {
                    continue;
                }
                if lost <= span / 8 {
                    losses[kind] = 0.max(losses[kind] - 1);
                } else if kind == usize::from(is_alone) {
                    losses[kind] = 3.min(losses[kind] + 1);
                    until[kind] = index + 1 + lasts[losses[kind] as usize];
                }
            }
        }
        until.map(|until| self.spans.len() < until)
    }

    fn before_poll(&mut self, mean: u64, waiting: usize, is_watched: bool) -> bool {
        self.stretch().1 += 1;
        let [is_crowded, is_pressed] = self.counts();
        let needs_watch = is_pressed || mean > LONG_POLL.as_nanos() as u64;
        let needs_share = needs_watch || !is_crowded;
        (needs_share && waiting > 0) || (needs_watch && !is_watched)
    }

    /// Whether to look, and how often the clock is read for it.
    fn is_time_to_look(&mut self, polls_max: u64) -> (bool, u32) {
        let (took, polls) = *self.stretch();
        if polls >= polls_max {
            return (true, 0);
        }
        let is_asked = [1, 2, 4, 8].contains(&polls) || (polls > 0 && polls % 16 == 0);
        let is_long = took > STRETCH_MAX.as_nanos() as u64;
        (is_asked && is_long, u32::from(is_asked))
    }

    /// Returns how often the thread's times were asked for.
    fn end_stretch(&mut self, mean: &mut u64, now: Option<(u64, u64)>, is_alone: bool) -> u32 {
        let (took, polls) = *self.stretch();
        self.stretches.push((0, 0));
        if polls > 0 {
            *mean = (*mean * MEAN_POLLS + took) / (MEAN_POLLS + polls);
        }
        self.poll = (*mean).max(took / polls.max(1));
        self.span += took;
        if self.span <= SPAN.as_nanos() as u64 {
            return 0;
        }
        let before = self.told.last().copied().flatten();
        self.told.push(now);
        let lost = match (before, now) {
            (Some(before), Some(now)) => {
                self.span.saturating_sub(now.0 - before.0).min(now.1 - before.1)
            }
            _ => 0,
        };
        self.spans.push((self.span, lost, is_alone));
        self.span = 0;
        1
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many polls of so many nanoseconds each, of which a part is lost, in 1/256.
    Polls(u32, u64, u8),
    /// How many tasks wait, and whether somebody is at the kernel.
    Sees(usize, bool),
    Sleep(u64),
    /// Whether all other workers sleep.
    Alone(bool),
    PollsMax(u32),
    TellsTimes(bool),
    /// A poll that blocks for so many nanoseconds.
    Blocks(u64),
    /// Another worker goes on.
    Worker(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let nanos = || prop_oneof![0..2_000_u64, 0..60_000_u64, 250_000..350_000_u64, 0..9_000_000_u64];
    let lost = || prop_oneof![2 => Just(0), 2 => 28..36_u8, 1 => any::<u8>()];
    prop_oneof![
        6 => (1..40_u32, nanos(), lost())
            .prop_map(|(count, each, lost)| Step::Polls(count, each, lost)),
        2 => (1..1_000_u32, 0..5_000_u64, lost())
            .prop_map(|(count, each, lost)| Step::Polls(count, each, lost)),
        3 => (prop_oneof![0..3_usize, 0..2_000_usize], any::<bool>())
            .prop_map(|(waiting, is_watched)| Step::Sees(waiting, is_watched)),
        1 => nanos().prop_map(Step::Sleep),
        1 => any::<bool>().prop_map(Step::Alone),
        1 => prop_oneof![1..5_u32, 1..200_u32, Just(u32::MAX)].prop_map(Step::PollsMax),
        1 => prop::bool::weighted(0.9).prop_map(Step::TellsTimes),
        1 => nanos().prop_map(Step::Blocks),
        1 => (0..2_usize).prop_map(Step::Worker),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Two workers take turns, as one that is called does, and share what they know of polls.
    #[test]
    fn policy_does_what_its_model_does(steps in prop::collection::vec(step(), 1..120)) {
        let mean = mean_of(Duration::ZERO);
        let mut workers = [Worker::new(), Worker::new()];
        let mut models = [Model::default(), Model::default()];
        let mut model_mean = 0;
        let (mut waiting, mut is_watched, mut polls_max, mut index) = (0, true, 61, 0);

        for step in steps {
            let (worker, model) = (&mut workers[index], &mut models[index]);
            let is_alone = worker.is_alone;
            let times = |Worker { clocks, .. }: &Worker| {
                clocks.used.get().map(|used| (nanos(used), nanos(clocks.waited.get())))
            };
            match step {
                Step::Polls(count, each, lost) => for _ in 0..count {
                    let look = worker.is_time_to_look(polls_max);
                    let expected = model.is_time_to_look(polls_max.into());
                    prop_assert_eq!((look, worker.clocks.readings.take()), expected);
                    if look {
                        let is_too_much = worker.look(&mean, waiting);
                        let asked = model.end_stretch(&mut model_mean, times(worker), is_alone);
                        prop_assert_eq!(worker.clocks.core_readings.take(), asked);
                        let takes = model.poll * waiting as u64;
                        prop_assert_eq!(is_too_much, takes > WAIT_MAX.as_nanos() as u64);
                    }
                    let called = worker.sharing.before_poll(&mean, || waiting, || is_watched);
                    prop_assert_eq!(called, model.before_poll(model_mean, waiting, is_watched));
                    let used = each - each * u64::from(lost) / 256;
                    worker.clocks.pass(Duration::from_nanos(each), Duration::from_nanos(used));
                    model.stretch().0 += each;
                },
                Step::Sees(tasks, somebody) => (waiting, is_watched) = (tasks, somebody),
                Step::Sleep(lasts) => {
                    worker.sleep(&mean, Duration::from_nanos(lasts));
                    let asked = model.end_stretch(&mut model_mean, times(worker), is_alone);
                    prop_assert_eq!(worker.clocks.core_readings.take(), asked);
                }
                Step::Alone(others_sleep) => worker.is_alone = others_sleep,
                Step::PollsMax(polls) => polls_max = polls,
                Step::Blocks(lasts) => {
                    let called = worker.sharing.before_poll(&mean, || waiting, || is_watched);
                    prop_assert_eq!(called, model.before_poll(model_mean, waiting, is_watched));
                    worker.clocks.block(Duration::from_nanos(lasts));
                    model.stretch().0 += lasts;
                }
                Step::TellsTimes(tells) => {
                    // It never goes back.
                    let now = Duration::from_secs(7) + worker.clocks.time.get();
                    worker.clocks.used.set(tells.then_some(now));
                }
                Step::Worker(other) => index = other,
            }
        }
    }
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}
