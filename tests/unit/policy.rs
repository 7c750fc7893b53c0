//! The policy in virtual time: how long a poll takes, and when a stretch ends.

use std::cell::Cell;

use proptest::prelude::*;

use crate::scheduler::policy::*;
use crate::sync::{Duration, Instant};

const POLLS_MAX: u32 = 61;

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// Has the mean learn of many stretches whose polls took so long.
fn mean_of(poll: Duration) -> MeanPoll {
    let mean = MeanPoll::new();
    for _ in 0..1000 {
        mean.learn(10, 10 * poll);
    }
    mean
}

#[test]
fn unknown_polls_count_as_long() {
    assert!(MeanPoll::new().is_long());
}

#[test]
fn polls_are_long_if_the_mean_is_above_the_limit() {
    assert!(!mean_of(Duration::ZERO).is_long());
    assert!(!mean_of(LONG_POLL - micros(1)).is_long());
    assert!(mean_of(LONG_POLL + micros(1)).is_long());
}

#[test]
fn a_single_long_poll_does_not_make_polls_long_and_one_in_a_hundred_does() {
    let mean = mean_of(micros(5));
    mean.learn(1, micros(2000));
    assert!(!mean.is_long());
    for _ in 0..100 {
        mean.learn(99, 99 * micros(5));
        mean.learn(1, micros(2000));
    }
    assert!(mean.is_long());
}

#[test]
fn stretches_are_weighted_by_their_polls() {
    // A hundred polls of 10 us beside one of 100 us: the mean is near 11 us, and not 55.
    let mean = MeanPoll::new();
    for _ in 0..1000 {
        mean.learn(100, 100 * micros(10));
        mean.learn(1, micros(100));
    }
    assert!(!mean.is_long());
}

#[test]
fn numbers_that_are_too_large_do_no_harm() {
    let mean = mean_of(micros(1));
    mean.learn(1, Duration::MAX);
    assert!(mean.is_long());
    mean.learn(u32::MAX, Duration::ZERO);
    mean.learn(u32::MAX, Duration::ZERO);
    assert!(!mean.is_long());
}

#[test]
fn clock_that_goes_back_does_no_harm() {
    let now = Instant::now();
    let mut stretch = Stretch::new(now + micros(1000));
    stretch.count_poll();
    assert!(!stretch.is_over(POLLS_MAX, || now));
    let mean = mean_of(micros(5));
    stretch.end(&mean, now);
    assert!(!mean.is_long());
}

#[test]
fn a_stretch_without_polls_is_never_over_and_teaches_nothing() {
    let now = Instant::now();
    let mut stretch = Stretch::new(now);
    assert!(!stretch.is_over(POLLS_MAX, || now + micros(1_000_000)));
    assert!(!stretch.is_over(1, || now));
    let mean = mean_of(micros(1));
    stretch.end(&mean, now + micros(1_000_000));
    assert!(!mean.is_long(), "the worker slept, or looked for work");
}

#[test]
fn a_stretch_is_over_after_so_many_polls() {
    let now = Instant::now();
    for polls_max in [1, 2, 61, 1000] {
        let mut stretch = Stretch::new(now);
        for polls in 1..=polls_max {
            stretch.count_poll();
            assert_eq!(stretch.is_over(polls_max, || now), polls == polls_max);
        }
        stretch.end(&mean_of(micros(1)), now);
        assert!(!stretch.is_over(polls_max, || now), "the next one begins");
    }
}

#[test]
fn a_stretch_is_over_when_it_has_lasted_for_long() {
    let now = Instant::now();
    let mut stretch = Stretch::new(now);
    stretch.count_poll();
    assert!(!stretch.is_over(POLLS_MAX, || now + STRETCH_MAX));
    assert!(stretch.is_over(POLLS_MAX, || now + STRETCH_MAX + micros(1)));
}

#[test]
fn the_clock_is_read_after_1_2_4_8_and_then_every_16_polls() {
    let now = Instant::now();
    let mut stretch = Stretch::new(now);
    let mut read = Vec::new();
    for polls in 1..=100 {
        stretch.count_poll();
        let is_read = Cell::new(false);
        stretch.is_over(u32::MAX, || {
            is_read.set(true);
            now
        });
        if is_read.get() {
            read.push(polls);
        }
    }
    assert_eq!(read, [1, 2, 4, 8, 16, 32, 48, 64, 80, 96]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever the stretches were, the mean is between the shortest and the longest poll once it
    /// has forgotten what it began with.
    #[test]
    fn the_mean_is_a_mean(polls in prop::collection::vec((1_u32..100, 0_u64..100), 1..20)) {
        let mean = MeanPoll::new();
        for _ in 0..2000 {
            for (count, each) in &polls {
                mean.learn(*count, *count * micros(*each));
            }
        }
        let shortest = polls.iter().map(|poll| poll.1).min().unwrap();
        let longest = polls.iter().map(|poll| poll.1).max().unwrap();
        if shortest > 20 {
            prop_assert!(mean.is_long());
        }
        if longest <= 20 {
            prop_assert!(!mean.is_long());
        }
    }
}
