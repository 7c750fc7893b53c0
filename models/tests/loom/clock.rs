//! Timers that are armed while the thread in the seat computes how long to sleep.

use crate::model;
use crate::timers::Timers;
use loom::sync::Arc;
use loom::thread;
use std::task::Waker;
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);
/// Deadlines this near to each other share a wake-up.
const SLACK: Duration = Duration::from_micros(132);

/// (c) timers.rs, T1 to T4 against A1 to A3: a timer is armed while the thread in
/// the seat computes how long to sleep, with and without a later one armed before.
/// Either the sleep is short enough, or the one who armed is told to end it.
///
/// Caught: no fence in `arm`; no fence in `sleep_until_next`; T1 left out; the
/// deadlines read (T3) before T1; `sleeping_until` read (A3) before the insertion.
#[test]
fn timer_is_never_slept_through() {
    for later in [false, true] {
        model(move || {
            let timers = Arc::new(Timers::new(2));
            let start = Instant::now();
            if later {
                let _ = timers.arm(Some(1), start + 3 * HOUR, Waker::noop().clone());
            }
            let armer = {
                let timers = timers.clone();
                thread::spawn(move || timers.arm(Some(0), start + HOUR, Waker::noop().clone()).1)
            };
            let until = timers.sleep_until_next();
            let too_late = armer.join().unwrap();
            assert!(too_late || until.is_some_and(|until| until <= start + HOUR + SLACK));
        });
    }
}

/// (c) The same with two that arm at once, and a seat that is taken twice.
///
/// Caught: what the model above catches; and `expire` not saying that nobody sleeps
/// any more makes needless notifications, which no model minds.
#[test]
fn neither_of_two_timers_is_slept_through() {
    model(|| {
        let timers = Arc::new(Timers::new(2));
        let start = Instant::now();
        let armers = [0, 1].map(|shard| {
            let timers = timers.clone();
            let deadline = start + (1 + shard as u32) * HOUR;
            thread::spawn(move || timers.arm(Some(shard), deadline, Waker::noop().clone()).1)
        });
        let until = timers.sleep_until_next();
        let too_late = armers.map(|armer| armer.join().unwrap());
        for (shard, too_late) in too_late.into_iter().enumerate() {
            let limit = start + (1 + shard as u32) * HOUR + SLACK;
            assert!(too_late || until.is_some_and(|until| until <= limit));
        }
        // Whoever was told ends this sleep; the next one is short enough by itself.
        timers.expire(&mut Vec::new());
        let until = timers.sleep_until_next();
        assert!(until.is_some_and(|until| until <= start + HOUR + SLACK));
    });
}
