//! Timers that are armed while the thread in the seat computes how long to sleep.

use crate::timers::Timers;
use crate::{model, race};
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
// ~ src/timers.rs
// - fence(Ordering::SeqCst);
// - let too_late
// + let too_late
// ~ src/timers.rs
// - fence(Ordering::SeqCst);
// - let until
// + let until
// ~ src/timers.rs
// - self.sleeping_until.store(NEVER, Ordering::Relaxed);
// ~ src/timers.rs
// - self.sleeping_until.store(NEVER, Ordering::Relaxed);
// - fence(Ordering::SeqCst);
// - let until = self.earliest()? | SLACK;
// + let earliest = self.earliest();
// + self.sleeping_until.store(NEVER, Ordering::Relaxed);
// + fence(Ordering::SeqCst);
// + let until = earliest? | SLACK;
// ~ src/timers.rs
// - let key = wheel.insert(deadline, waker);
// - earliest.store(wheel.next_expiry().unwrap_or(NEVER), Ordering::Relaxed);
// - fence(Ordering::SeqCst);
// - let too_late = deadline | SLACK < self.sleeping_until.load(Ordering::Relaxed);
// + let too_late = deadline | SLACK < self.sleeping_until.load(Ordering::Relaxed);
// + let key = wheel.insert(deadline, waker);
// + earliest.store(wheel.next_expiry().unwrap_or(NEVER), Ordering::Relaxed);
// + fence(Ordering::SeqCst);
#[test]
fn timer_is_never_slept_through() {
    for later in [false, true] {
        race(
            move || {
                let (timers, start) = (Timers::new(2), Instant::now());
                if later {
                    let _ = timers.arm(Some(1), start + 3 * HOUR, Waker::noop().clone());
                }
                (timers, start)
            },
            |(timers, start)| timers.arm(Some(0), *start + HOUR, Waker::noop().clone()).1,
            |(timers, _)| timers.sleep_until_next(),
            |(_, start), too_late, until| {
                assert!(too_late || until.is_some_and(|until| until <= *start + HOUR + SLACK));
            },
        );
    }
}

/// (c) The same with two that arm at once, and a seat that is taken twice.
// ~ src/timers.rs
// - self.sleeping_until.store(until, Ordering::Relaxed);
// + self.sleeping_until.store(0, Ordering::Relaxed);
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
