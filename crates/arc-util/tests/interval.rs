//! Intervals against a model of tokio's rules: when the next tick is due, after
//! one that was in time and after one that was missed.

use crate::net_common::*;
use arc_util::time::{
    Duration, Instant, Interval, MissedTickBehavior, interval, interval_at, sleep, timeout,
};
use futures_util::FutureExt;
use proptest::prelude::*;
use std::task::{Context, Waker};

/// tokio's rule: a tick that is awaited more than 5 ms late was missed.
fn next_tick(
    behavior: MissedTickBehavior,
    due: Instant,
    now: Instant,
    period: Duration,
) -> Instant {
    if now <= due + millis(5) {
        return due + period;
    }
    match behavior {
        MissedTickBehavior::Burst => due + period,
        MissedTickBehavior::Delay => now + period,
        MissedTickBehavior::Skip => {
            let late = (now - due).as_nanos() % period.as_nanos();
            now + period - Duration::from_nanos(u64::try_from(late).unwrap())
        }
    }
}

/// Takes one tick for each lateness, and checks it against the model.
async fn check(interval: &mut Interval, start: Instant, lateness: &[Duration]) {
    let (behavior, period) = (interval.missed_tick_behavior(), interval.period());
    // The earliest and the latest time at which the next tick may be due.
    let mut expected = (start, start);
    for &late in lateness {
        // Blocks the thread, like a task that cannot keep up.
        let until = expected.1 + late;
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        let before = Instant::now();
        let due = interval.tick().await;
        let after = Instant::now();
        assert!(due <= after, "a tick {:?} early", due - after);
        assert!(expected.0 <= due && due <= expected.1, "{behavior:?}");
        // The tick read the clock between `before` and `after`. The model is monotone in that.
        expected = (
            next_tick(behavior, due, before.max(due), period),
            next_tick(behavior, due, after, period),
        );
        if behavior == MissedTickBehavior::Skip {
            assert_eq!((due - start).as_nanos() % period.as_nanos(), 0);
        }
        if behavior == MissedTickBehavior::Burst {
            assert_eq!(expected.0, expected.1);
        }
    }
}

const BEHAVIORS: [MissedTickBehavior; 3] =
    [MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn ticks_are_due_when_the_model_says(
        behavior in prop::sample::select(&BEHAVIORS[..]),
        period in 500_u64..12_000,
        lateness in prop::collection::vec(prop_oneof![
            2 => Just(0),
            1 => 0_u64..5_000,
            1 => 5_000_u64..40_000,
        ], 1..8),
    ) {
        run(1, move || async move {
            let lateness: Vec<Duration> = lateness.into_iter().map(micros).collect();
            let start = Instant::now();
            let mut interval = interval_at(start, micros(period));
            interval.set_missed_tick_behavior(behavior);
            prop_assert_eq!(interval.missed_tick_behavior(), behavior);
            check(&mut interval, start, &lateness).await;
            Ok(())
        })?;
    }
}

#[test]
fn first_tick_comes_at_once_and_the_others_a_period_apart() {
    run_each(|| async {
        let start = Instant::now();
        let mut interval = interval(millis(3));
        assert_eq!(interval.period(), millis(3));
        assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Burst);
        let first = interval.tick().await;
        assert!(start <= first && first <= Instant::now());
        for number in 1..=10 {
            assert_eq!(interval.tick().await, first + number * millis(3));
            assert!(Instant::now() >= first + number * millis(3));
        }
    });
}

#[test]
fn missed_ticks_come_at_once_in_a_burst() {
    run_each(|| async {
        let start = Instant::now();
        let mut interval = interval_at(start, millis(10));
        std::thread::sleep(millis(100));
        for number in 0..=10 {
            // Each missed tick is ready when polled, without waiting.
            let mut context = Context::from_waker(Waker::noop());
            let tick = interval.poll_tick(&mut context);
            assert_eq!(tick, std::task::Poll::Ready(start + number * millis(10)));
        }
    });
}

#[test]
fn missed_ticks_are_skipped_or_delayed() {
    run_each(|| async {
        let start = Instant::now();
        let mut skipping = interval_at(start, millis(20));
        skipping.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut delaying = interval_at(start, millis(20));
        delaying.set_missed_tick_behavior(MissedTickBehavior::Delay);
        std::thread::sleep(millis(50));
        assert_eq!(skipping.tick().await, start);
        let before = Instant::now();
        assert_eq!(delaying.tick().await, start);
        let skipped = skipping.tick().await;
        // 60 ms, or a later multiple of the period if the machine was suspended.
        assert!(skipped >= start + millis(60));
        assert_eq!((skipped - start).as_nanos() % millis(20).as_nanos(), 0);
        assert!(delaying.tick().await >= before + millis(20));
    });
}

#[test]
fn interval_begins_when_it_is_told_to() {
    run_each(|| async {
        let start = Instant::now() + millis(15);
        let mut interval = interval_at(start, HOUR);
        assert_eq!(interval.tick().await, start);
        assert!(Instant::now() >= start);
        assert!(timeout(millis(5), interval.tick()).await.is_err());
    });
}

/// Resets an interval in this way: its next tick comes so long after that.
async fn ticks_after(interval: &mut Interval, pause: Duration, reset: impl FnOnce(&mut Interval)) {
    let before = Instant::now();
    reset(interval);
    let after = Instant::now();
    let tick = interval.tick().await;
    assert!(before + pause <= tick && tick <= after + pause);
}

#[test]
fn reset_interval_ticks_one_period_later() {
    run_each(|| async {
        let mut interval = interval(millis(10));
        interval.tick().await;
        sleep(millis(8)).await;
        ticks_after(&mut interval, millis(10), Interval::reset).await;

        // Also before its first tick, which is earlier then.
        let mut later = interval_at(Instant::now() + HOUR, millis(5));
        assert!(later.tick().now_or_never().is_none());
        ticks_after(&mut later, millis(5), Interval::reset).await;
    });
}

/// A keep-alive timer works this way: each message resets it.
#[test]
fn who_waits_for_a_tick_is_woken_by_the_one_after_a_reset() {
    run_each(|| async {
        let mut interval = interval(millis(5));
        interval.tick().await;
        for _ in 0..3 {
            let (wakes, waker) = Wakes::new();
            let mut context = Context::from_waker(&waker);
            assert!(interval.poll_tick(&mut context).is_pending());
            interval.reset();
            let before = Instant::now();
            wakes.wait_for(1);
            // The wake may have been for the old tick.
            let tick = interval.tick().await;
            assert!(tick <= before + millis(5) && Instant::now() >= tick);
            interval.reset();
        }
    });
}

#[test]
fn who_waits_for_the_first_tick_is_woken_by_the_earlier_one_after_a_reset() {
    run_each(|| async {
        let (wakes, waker) = Wakes::new();
        let mut interval = interval_at(Instant::now() + HOUR, millis(5));
        assert!(interval.poll_tick(&mut Context::from_waker(&waker)).is_pending());
        interval.reset();
        wakes.wait_for(1);
        interval.tick().await;
    });
}

#[test]
fn tick_that_is_given_up_is_not_lost() {
    run_each(|| async {
        let start = Instant::now();
        let mut interval = interval_at(start, millis(2));
        let (mut ticks, mut given_up) = (0, 0);
        while ticks < 50 {
            let limit = micros(fastrand::u64(0..3_000));
            match timeout(limit, interval.tick()).await {
                Ok(tick) => {
                    assert_eq!(tick, start + ticks * millis(2));
                    ticks += 1;
                }
                Err(_) => given_up += 1,
            }
            assert!(given_up < 1_000_000, "only {ticks} ticks");
        }
    });
}

#[test]
fn periods_beyond_the_clock_tick_once() {
    run_each(|| async {
        for behavior in BEHAVIORS {
            for late in [Duration::ZERO, millis(10)] {
                let mut interval = interval(Duration::MAX);
                interval.set_missed_tick_behavior(behavior);
                std::thread::sleep(late);
                interval.tick().await;
                assert!(timeout(millis(2), interval.tick()).await.is_err());
                interval.reset();
                assert!(timeout(millis(2), interval.tick()).await.is_err());
            }
        }
    });
}

#[test]
fn one_that_catches_up_lets_others_run() {
    run(1, || async {
        let other = arc::spawn(async {});
        let mut interval = interval(Duration::from_nanos(1));
        while !other.is_finished() {
            interval.tick().await;
        }
    });
}

#[test]
fn reset_to_a_time_makes_the_next_tick_due_then() {
    run_each(|| async {
        let mut interval = interval(HOUR);
        interval.tick().await;
        assert!(interval.tick().now_or_never().is_none());

        let due = Instant::now() + millis(3);
        interval.reset_at(due);
        assert_eq!(interval.tick().await, due);

        ticks_after(&mut interval, millis(3), |it| it.reset_after(millis(3))).await;
        ticks_after(&mut interval, Duration::ZERO, Interval::reset_immediately).await;
        ticks_after(&mut interval, Duration::ZERO, |it| it.reset_after(Duration::ZERO)).await;

        // The one after it is a period away again.
        assert!(interval.tick().now_or_never().is_none());
        interval.reset_after(Duration::MAX);
        assert!(interval.tick().now_or_never().is_none());
    });
}
