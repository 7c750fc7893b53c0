//! Whether a poll that lasts for long is to blame (`crates/tasks/src/report.rs`).

use crate::registry::{Reporter, Stuck};
use crate::sync::{Duration, Instant, thread};
use rustix::time::{ClockId, clock_gettime};

const STEP: Duration = Duration::from_millis(1);

fn core_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

/// Ticks until the turn of the calling thread has been judged. Between two ticks, it does `pause`.
/// Returns whether its poll is to blame.
fn is_blamed(stuck: &Stuck, limit: Duration, pause: impl Fn()) -> bool {
    let reporter = Reporter::new(|_| ());
    loop {
        let before = stuck.time();
        stuck.tick(STEP);
        if stuck.has_reached(limit, STEP, &reporter) {
            return true;
        }
        // A judgement takes back what the turn has lasted for, in part.
        if stuck.time() < before {
            return false;
        }
        pause();
    }
}

/// The poll is judged by the time since the last judgement, also if it lasts for hours. (By all the
/// time since the first mark, this one would be to blame once it had had a core for a second.)
#[test]
fn thread_that_has_a_core_again_is_to_blame() {
    for limit in [100, 101].map(Duration::from_millis) {
        let stuck = Stuck::default();
        stuck.watch_this_thread();
        let start = Instant::now();
        stuck.tick(STEP);
        // It wants to run whenever it is looked at, and has had no core since the last time.
        while start.elapsed() < Duration::from_secs(1) {
            assert!(!is_blamed(&stuck, limit, || thread::sleep(2 * STEP)));
        }

        // Now it computes. On a busy machine it may have no core in fact, and if that is so all the
        // time, nothing is learned.
        for _ in 0..20 {
            let (start, used) = (Instant::now(), core_time());
            let compute = || {
                let used = core_time();
                while core_time() - used < STEP {}
            };
            let is_blamed = is_blamed(&stuck, limit, compute);
            let (time, used) = (start.elapsed(), core_time() - used);
            if is_blamed {
                break;
            }
            assert!(used < time * 7 / 10, "{limit:?}: had a core for {used:?} of {time:?}");
        }
    }
}

/// A limit of `Duration::MAX` is never reached.
#[test]
fn time_is_the_sum_of_the_steps() {
    let stuck = Stuck::default();
    assert!(stuck.has_moved());
    assert!(stuck.tick(Duration::MAX), "the turn has just begun");
    assert_eq!(stuck.time(), Duration::ZERO);
    assert!(!stuck.tick(STEP) && !stuck.tick(STEP / 2));
    assert_eq!(stuck.time(), STEP + STEP / 2);
    stuck.tick(Duration::MAX);
    stuck.tick(Duration::MAX);
    assert!(stuck.time() > Duration::from_secs(500 * 365 * 24 * 3600));
    assert!(!stuck.has_reached(Duration::MAX, Duration::MAX, &Reporter::new(|_| ())));
    stuck.reset();
    assert!(stuck.has_moved() && stuck.tick(STEP));
}

/// The hook may be busy when the limit is reached.
#[test]
fn what_could_not_be_told_is_reached_again() {
    let (reporter, stuck) = (Reporter::new(|_| ()), Stuck::default());
    let limit = 3 * STEP;
    stuck.tick(STEP);
    let told: Vec<_> = (0..6)
        .map(|step| {
            stuck.tick(STEP);
            let is_reached = stuck.has_reached(limit, STEP, &reporter);
            if is_reached && step < 4 {
                stuck.try_again(STEP);
            }
            is_reached
        })
        .collect();
    assert_eq!(told, [false, false, true, true, true, false]);
}

/// Other workers take the tasks of one that is stuck, also while its report waits for the hook.
#[test]
fn what_could_not_be_told_is_still_stuck() {
    for limit in [1, 1_000, 1_000_000, 1_500_000].map(Duration::from_nanos) {
        let (reporter, stuck) = (Reporter::new(|_| ()), Stuck::default());
        stuck.tick(STEP);
        assert!(!stuck.is_stuck());
        let mut told = 0;
        for _ in 0..10 {
            stuck.tick(STEP);
            assert!(stuck.is_stuck());
            if stuck.has_reached(limit, STEP, &reporter) {
                stuck.try_again(STEP);
                told += 1;
            }
            assert!(stuck.is_stuck(), "{limit:?}");
        }
        assert!(told >= 9, "{limit:?}: reached {told} times");
    }
}
