//! The policy in virtual time: a clock and queues that the test sets, and a count of how
//! often the clock was read.

use std::cell::Cell;

use proptest::prelude::*;

use crate::scheduler::share::*;
use crate::sync::{Duration, Instant};

const NANO: Duration = Duration::from_nanos(1);
const MICRO: Duration = Duration::from_micros(1);

/// What the policy sees.
struct Fake {
    epoch: Instant,
    time: Cell<Duration>,
    readings: Cell<u32>,
    queued: Cell<usize>,
    injected: Cell<usize>,
    asleep: Cell<bool>,
}

impl View for Fake {
    fn now(&self) -> Instant {
        self.readings.set(self.readings.get() + 1);
        self.epoch + self.time.get()
    }

    fn queued(&self) -> usize {
        self.queued.get()
    }

    fn injected(&self) -> usize {
        self.injected.get()
    }

    fn any_asleep(&self) -> bool {
        self.asleep.get()
    }
}

impl Fake {
    /// So many tasks wait, and some other worker sleeps.
    fn with_queue(queued: usize) -> Self {
        Self {
            epoch: Instant::now(),
            time: Cell::default(),
            readings: Cell::new(0),
            queued: Cell::new(queued),
            injected: Cell::new(0),
            asleep: Cell::new(true),
        }
    }

    fn pass(&self, time: Duration) {
        self.time.set(self.time.get() + time);
    }

    /// How often the clock was read since this was asked last.
    fn take_readings(&self) -> u32 {
        self.readings.take()
    }
}

/// A poll of this duration, and what the policy says before the next one.
fn poll(sharing: &mut Sharing, view: &Fake, lasts: Duration) -> u32 {
    view.pass(lasts);
    sharing.before_poll(view)
}

/// A worker that has just begun a sample.
fn sampled(view: &Fake) -> Sharing {
    let mut sharing = Sharing::default();
    assert_eq!(sharing.before_poll(view), 0);
    assert!(sharing.sample_began.is_some());
    view.take_readings();
    sharing
}

// Rule 1: a task waits for too long.

#[test]
fn task_that_waits_for_longer_than_the_limit_calls_for_help() {
    let view = Fake::with_queue(5);
    let mut sharing = sampled(&view);
    assert_eq!(poll(&mut sharing, &view, WAIT_MAX), 0, "a moment early");
    assert_eq!(poll(&mut sharing, &view, NANO), 1);
}

#[test]
fn task_that_goes_on_waiting_calls_again_at_each_look() {
    let view = Fake::with_queue(1_000);
    let mut sharing = sampled(&view);
    let calls: Vec<u32> = (1..=40).map(|_| poll(&mut sharing, &view, 2 * WAIT_MAX)).collect();
    let is_look = |number: u32| number.is_power_of_two();
    assert!(calls.iter().zip(1..).all(|(&wakes, number)| wakes == u32::from(is_look(number))));
}

#[test]
fn long_first_poll_of_a_sample_is_noticed_at_the_very_next_poll() {
    for queued in [1, 2, 100] {
        let view = Fake::with_queue(queued);
        let mut sharing = sampled(&view);
        assert!(poll(&mut sharing, &view, 5 * WAIT_MAX) > 0, "{queued} wait");
    }
}

#[test]
fn long_poll_before_a_look_is_noticed_at_it() {
    for look in [1, 2, 4, 8, 16, 64, 1 << 20] {
        let view = Fake::with_queue(1 << 21);
        let mut sharing = sampled(&view);
        (1..look).for_each(|_| assert_eq!(poll(&mut sharing, &view, Duration::ZERO), 0));
        assert_eq!(poll(&mut sharing, &view, WAIT_MAX + NANO), 1, "poll {look}");
    }
}

#[test]
fn followed_task_whose_turn_has_come_is_looked_at() {
    for ahead in [3, 5, 6, 7, 9, 10, 11, 100] {
        let view = Fake::with_queue(ahead);
        let mut sharing = sampled(&view);
        (1..ahead).for_each(|_| assert_eq!(poll(&mut sharing, &view, Duration::ZERO), 0));
        assert!(poll(&mut sharing, &view, WAIT_MAX + NANO) > 0, "{ahead} ahead");
    }
}

/// It was polled too late, but there is nothing that another worker could take.
#[test]
fn late_task_calls_for_nobody_if_none_waits_behind_it() {
    let view = Fake::with_queue(1);
    let mut sharing = sampled(&view);
    view.queued.set(0);
    assert_eq!(poll(&mut sharing, &view, 5 * WAIT_MAX), 0);
}

/// What comes later does not make it later.
#[test]
fn tasks_that_come_after_the_followed_one_do_not_count() {
    let view = Fake::with_queue(3);
    let mut sharing = sampled(&view);
    view.queued.set(1_000);
    (0..3).for_each(|_| assert_eq!(poll(&mut sharing, &view, MICRO), 0));
    // It has had its turn. Until the next sample nobody is followed.
    assert_eq!(poll(&mut sharing, &view, 5 * WAIT_MAX), 0);
}

// Rule 2: a task is going to wait for too long.

/// Polls of this duration until their mean is known.
fn with_mean(lasts: Duration) -> (Sharing, Fake) {
    let view = Fake::with_queue(1);
    let mut sharing = Sharing::default();
    for _ in 0..400 * SAMPLE_POLLS_MIN {
        // Nobody waits for long, and the queue is empty now and then.
        assert_eq!(poll(&mut sharing, &view, lasts), 0);
        if sharing.polls == 0 {
            sharing.standing_since = Some(view.epoch + view.time.get());
        }
    }
    view.take_readings();
    (sharing, view)
}

#[test]
fn mean_of_the_polls_is_what_they_take() {
    for micros in [1, 7, 50] {
        let (sharing, _) = with_mean(micros * MICRO);
        assert!(sharing.mean_poll <= micros * MICRO);
        assert!(sharing.mean_poll + 16 * NANO > micros * MICRO, "{:?}", sharing.mean_poll);
    }
}

#[test]
fn queue_that_will_take_longer_than_the_limit_calls_for_help_at_once() {
    let (sharing, view) = with_mean(10 * MICRO);
    let enough = (WAIT_MAX.as_nanos() / sharing.mean_poll.as_nanos()) as usize;
    for (queued, injected, wakes) in
        [(enough, 0, 0), (enough + 1, 0, 1), (1, enough - 1, 0), (1, enough, 1)]
    {
        let mut sharing = sharing;
        // The worker comes out of an empty queue, and remembers only the mean.
        sharing = sharing.after_empty_queue();
        view.queued.set(queued);
        view.injected.set(injected);
        assert_eq!(sharing.before_poll(&view), wakes, "{queued} and {injected}");
    }
}

#[test]
fn queue_that_will_take_just_as_long_as_the_limit_calls_for_nobody() {
    for (queued, wakes) in [(100, 0), (101, 1)] {
        let mut sharing = Sharing { mean_poll: WAIT_MAX / 100, ..Sharing::default() };
        assert_eq!(sharing.before_poll(&Fake::with_queue(queued)), wakes);
    }
}

#[test]
fn queue_of_unknown_polls_calls_for_nobody() {
    let view = Fake::with_queue(1_000_000);
    assert_eq!(Sharing::default().before_poll(&view), 0);
}

// Rule 3: the queue is never empty.

/// Two tasks that are always there, each polled briefly.
fn stand(sharing: &mut Sharing, view: &Fake, total: Duration) -> Option<Duration> {
    let begin = view.time.get();
    while view.time.get() - begin < total {
        if poll(sharing, view, MICRO) > 0 {
            return Some(view.time.get() - begin);
        }
    }
    None
}

#[test]
fn queue_that_stands_for_too_long_calls_for_help() {
    let view = Fake::with_queue(2);
    let mut sharing = sampled(&view);
    let sample = SAMPLE_POLLS_MIN * MICRO;
    let called = stand(&mut sharing, &view, 2 * STANDING_MAX).unwrap();
    assert!(called > STANDING_MAX && called <= STANDING_MAX + sample, "{called:?}");
    // The next call comes only if the helper does not help, and then as late.
    let called = stand(&mut sharing, &view, 2 * STANDING_MAX).unwrap();
    assert!(called > STANDING_MAX && called <= STANDING_MAX + sample, "{called:?}");
}

#[test]
fn queue_that_was_empty_once_begins_to_stand_anew() {
    let empty_for_the_worker =
        |sharing: &mut Sharing, _: &Fake| *sharing = sharing.after_empty_queue();
    let empty_for_a_sample = |sharing: &mut Sharing, view: &Fake| {
        let queued = view.queued.replace(0);
        (0..SAMPLE_POLLS_MIN).for_each(|_| assert_eq!(sharing.before_poll(view), 0));
        view.queued.set(queued);
    };
    let empties: [fn(&mut Sharing, &Fake); 2] = [empty_for_the_worker, empty_for_a_sample];
    for empty in empties {
        let view = Fake::with_queue(2);
        let mut sharing = sampled(&view);
        for _ in 0..5 {
            assert_eq!(stand(&mut sharing, &view, STANDING_MAX - MICRO), None);
            empty(&mut sharing, &view);
        }
        assert!(stand(&mut sharing, &view, 2 * STANDING_MAX).is_some());
    }
}

#[test]
fn empty_queue_takes_nothing_from_what_is_known_of_polls() {
    let (mut sharing, _) = with_mean(10 * MICRO);
    let mean = sharing.mean_poll;
    sharing = sharing.after_empty_queue();
    assert_eq!(sharing.mean_poll, mean);
    assert!(sharing.sample_began.is_none() && sharing.standing_since.is_none());
    assert_eq!((sharing.ahead, sharing.polls), (0, 0));
}

// What it costs.

#[test]
fn nothing_begins_and_no_clock_is_read_while_nobody_sleeps() {
    let view = Fake::with_queue(1_000);
    view.asleep.set(false);
    let mut sharing = Sharing::default();
    for _ in 0..1_000 {
        assert_eq!(poll(&mut sharing, &view, STANDING_MAX), 0);
    }
    assert_eq!(view.take_readings(), 0);
}

/// A sample that had begun before the last sleeper was woken ends by itself.
#[test]
fn no_new_sample_begins_after_the_last_sleeper_was_woken() {
    let view = Fake::with_queue(40);
    let mut sharing = sampled(&view);
    view.asleep.set(false);
    (0..40).for_each(|_| _ = poll(&mut sharing, &view, MICRO));
    view.take_readings();
    for _ in 0..1_000 {
        assert_eq!(poll(&mut sharing, &view, STANDING_MAX), 0);
    }
    assert_eq!(view.take_readings(), 0);
}

#[test]
fn worker_whose_queue_is_empty_reads_no_clock() {
    let view = Fake::with_queue(0);
    let mut sharing = Sharing::default();
    for _ in 0..1_000 {
        assert_eq!(poll(&mut sharing, &view, MICRO), 0);
    }
    assert_eq!(view.take_readings(), 0);
}

/// At each power of two, and twice for a sample: at its end, and when the task that it
/// follows has its turn.
#[test]
fn short_polls_read_the_clock_seldom() {
    const POLLS: u32 = 100_000;
    for queued in [1, 2, 15, 16, 17, 100, 10_000] {
        let view = Fake::with_queue(queued);
        let mut sharing = Sharing::default();
        (0..POLLS).for_each(|_| _ = poll(&mut sharing, &view, NANO));
        let sample = (queued as u32).max(SAMPLE_POLLS_MIN);
        let samples = POLLS.div_ceil(sample);
        let looks = (queued as u32).ilog2() + 1;
        let readings = view.take_readings();
        assert!(readings <= samples * (looks + 2), "{queued} wait: {readings} readings");
    }
}

// Against a model.

/// The same rules, told by the numbers of the polls since the beginning, in nanoseconds.
#[derive(Default)]
struct Model {
    polls: u64,
    sample: Option<Sample>,
    standing_since: Option<u64>,
    mean: u64,
}

#[derive(Clone, Copy)]
struct Sample {
    began: u64,
    /// The poll before which it began.
    first: u64,
    /// The poll that is the followed task's turn.
    turn: u64,
}

impl Model {
    /// How many to wake, and how often the clock is read for it.
    fn before_poll(&mut self, view: &Fake) -> (u32, u32) {
        let now = view.time.get().as_nanos() as u64;
        let (mut wakes, mut readings) = (0, 0);
        self.polls += 1;

        if let Some(sample) = self.sample {
            let is_look = (self.polls - sample.first).is_power_of_two();
            let is_turn = self.polls == sample.turn;
            let waits = self.polls <= sample.turn && view.queued.get() > 0;
            if waits && (is_look || is_turn) {
                readings += 1;
                wakes += u32::from(now - sample.began > 1_000_000);
            }
        }

        let is_over = |sample: Sample| {
            self.polls >= sample.turn && self.polls - sample.first >= u64::from(SAMPLE_POLLS_MIN)
        };
        if !self.sample.is_none_or(is_over) || !view.asleep.get() {
            return (wakes, readings);
        }
        let ahead = (view.queued.get() + view.injected.get()) as u64;
        if ahead == 0 {
            self.queue_is_empty();
            return (wakes, readings);
        }
        readings += 1;
        if let Some(sample) = self.sample {
            let mean = (now - sample.began) / (self.polls - sample.first);
            self.mean = (7 * self.mean + mean) / 8;
        }
        let stands = self.standing_since.is_some_and(|since| now - since > 10_000_000);
        if stands || self.mean * ahead > 1_000_000 {
            wakes += 1;
            self.standing_since = None;
        }
        self.standing_since.get_or_insert(now);
        self.sample = Some(Sample { began: now, first: self.polls, turn: self.polls + ahead });
        (wakes, readings)
    }

    fn queue_is_empty(&mut self) {
        (self.sample, self.standing_since) = (None, None);
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many polls of so many nanoseconds each.
    Polls(u32, u64),
    Queue(usize, usize),
    FindEmpty,
    Asleep(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let nanos =
        || prop_oneof![0..2_000_u64, 0..200_000_u64, 900_000..1_100_000_u64, 0..20_000_000_u64];
    prop_oneof![
        6 => (1..40_u32, nanos()).prop_map(|(count, nanos)| Step::Polls(count, nanos)),
        1 => (1..1_000_u32, 0..5_000_u64).prop_map(|(count, nanos)| Step::Polls(count, nanos)),
        3 => (0..50_usize, prop_oneof![3 => Just(0), 1 => 0..50_usize])
            .prop_map(|(queued, injected)| Step::Queue(queued, injected)),
        1 => (0..5_000_usize).prop_map(|queued| Step::Queue(queued, 0)),
        1 => Just(Step::FindEmpty),
        2 => prop::bool::weighted(0.8).prop_map(Step::Asleep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn policy_does_what_its_model_does(steps in prop::collection::vec(step(), 1..100)) {
        let view = Fake::with_queue(0);
        let (mut sharing, mut model) = (Sharing::default(), Model::default());
        for step in steps {
            match step {
                Step::Polls(count, nanos) => {
                    for _ in 0..count {
                        let wakes = poll(&mut sharing, &view, Duration::from_nanos(nanos));
                        let expected = model.before_poll(&view);
                        prop_assert_eq!((wakes, view.take_readings()), expected);
                    }
                }
                Step::Queue(queued, injected) => {
                    view.queued.set(queued);
                    view.injected.set(injected);
                }
                Step::FindEmpty => {
                    sharing = sharing.after_empty_queue();
                    model.queue_is_empty();
                }
                Step::Asleep(asleep) => view.asleep.set(asleep),
            }
        }
    }
}
