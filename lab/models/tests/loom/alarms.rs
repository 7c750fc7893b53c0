//! Timers that are armed while another thread sets the alarm.

use crate::driver::timers::Timers;
use crate::scheduler::context::{self, Role};
use crate::sync::{Duration, Instant};
use crate::world::{Crew, frugal, make_polls_short, shared};
use crate::{model, model_within, race, time};
use loom::sync::Arc;
use loom::thread;
use std::pin::pin;
use std::task::{Context, Waker};

const HOUR: Duration = Duration::from_secs(3600);
/// Deadlines that are this near to each other share a wake-up.
const SLACK: Duration = Duration::from_micros(132);

/// The timers of workers one of which has slept before. (In new ones the alarm is 0, for a worker
/// that is awake. loom lets a `fetch_min` read that after another one has replaced it, which the
/// language forbids.)
fn timers(workers: usize) -> Timers {
    let timers = Timers::new(workers);
    assert_eq!(timers.next_alarm(), None);
    timers
}

/// Whether a sleep ends by `limit`.
fn ends_by(until: Option<Instant>, limit: Instant) -> bool {
    until.is_some_and(|deadline| deadline <= limit)
}

/// timers.rs, T1 to T4 against A1 to A3: a timer is armed while another
/// thread sets the alarm, with and without a later one armed before. Either the alarm
/// is early enough, or the thread that armed the timer has to set it again.
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
            |(timers, start)| timers.arm(Some(0), *start + HOUR, Waker::noop().clone()).unwrap().1,
            |(timers, _)| timers.next_alarm(),
            |(_, start), oversleeps, until| {
                assert!(oversleeps || ends_by(until, *start + HOUR + SLACK));
            },
        );
    }
}

/// The whole of it: a task, or a thread from outside, arms a timer while a worker takes the seat.
/// The kernel is asked to wait no longer than until then.
#[test]
fn worker_that_takes_the_seat_sets_the_alarm() {
    model_within(3, || {
        let shared = frugal(1);
        let crew = Crew::start(&shared);
        let _context = context::enter(Role::Outside, shared.clone(), None);
        let start = Instant::now();
        let mut sleep = pin!(time::sleep(HOUR));
        assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        shared.driver.kernel.until_alarm_is_set(start + HOUR + SLACK);
        crew.stop();
    });
}

/// The same with two threads that arm at once, and an alarm that is set twice.
#[test]
fn neither_of_two_timers_is_slept_through() {
    model(|| {
        let timers = Arc::new(timers(2));
        let start = Instant::now();
        let armers = [0, 1].map(|shard| {
            let timers = timers.clone();
            let deadline = start + (1 + shard as u32) * HOUR;
            thread::spawn(move || {
                timers.arm(Some(shard), deadline, Waker::noop().clone()).unwrap().1
            })
        });
        let until = timers.next_alarm();
        let oversleeps = armers.map(|armer| armer.join().unwrap());
        for shard in 0..2 {
            // Whoever has an earlier deadline may be the one that sees to it.
            let is_seen_to = oversleeps[..=shard].contains(&true);
            let limit = start + (1 + shard as u32) * HOUR + SLACK;
            assert!(is_seen_to || ends_by(until, limit));
        }
        // The next alarm is early enough by itself.
        timers.expire(timers.nanos(Instant::now()), &mut Vec::new());
        assert!(ends_by(timers.next_alarm(), start + HOUR + SLACK));
    });
}

/// The same in one wheel. If the earlier timer is there first, who arms the later one does not
/// ask about the alarm. Who armed the earlier one does.
#[test]
fn neither_of_two_timers_in_one_wheel_is_slept_through() {
    model(|| {
        let timers = Arc::new(timers(1));
        let start = Instant::now();
        let armers = [1, 2].map(|hours| {
            let (timers, deadline) = (timers.clone(), start + hours * HOUR);
            thread::spawn(move || timers.arm(Some(0), deadline, Waker::noop().clone()).unwrap().1)
        });
        let until = timers.next_alarm();
        let [first, _] = armers.map(|armer| armer.join().unwrap());
        assert!(first || ends_by(until, start + HOUR + SLACK));
    });
}

/// A timer is armed while another one of its wheel, which is due earlier, expires. Then the
/// next alarm is the new one's.
#[test]
fn timer_is_not_slept_through_when_an_earlier_one_expires() {
    race(
        || {
            let (timers, start) = (Timers::new(1), Instant::now());
            let _ = timers.arm(Some(0), timers.epoch, Waker::noop().clone());
            (timers, start)
        },
        |(timers, start)| timers.arm(Some(0), *start + HOUR, Waker::noop().clone()).unwrap().1,
        |(timers, _)| {
            timers.expire(timers.nanos(Instant::now()), &mut Vec::new());
            timers.next_alarm()
        },
        |(_, start), oversleeps, until| {
            assert!(oversleeps || ends_by(until, *start + HOUR + SLACK));
        },
    );
}
