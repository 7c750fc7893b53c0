//! A worker whose turns the test takes itself: that of a current-thread runtime which nobody is in.

use std::cell::{Cell, RefCell};
use std::thread;

use crate::runtime::Builder;
use crate::scheduler::share::{LOOKS, SHORT_IDLE};
use crate::scheduler::worker::Worker;
use crate::sync::{Duration, Instant};

/// What comes during a search is polled without a sleep. And the time of a search is idle time: if
/// that was long, the next turn does not search.
#[test]
fn search_finds_what_comes_meanwhile_and_counts_as_idle_time() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let shared = &runtime.handle().shared;

    // `stop` is asked once before a search, once before each of its looks, and three times around
    // the sleep: before a yield, just before the sleep, and after it. The second of these ends the
    // turn, as nobody would end that sleep.
    const AROUND_SLEEP: u32 = 3;
    let (asked, task) = (Cell::new(0), RefCell::new(None));
    let turn = |worker: &Worker, spawns_at: u32| {
        asked.set(0);
        worker.run_one(&|| {
            asked.set(asked.get() + 1);
            if asked.get() == spawns_at {
                thread::sleep(2 * SHORT_IDLE);
                *task.borrow_mut() = Some(runtime.spawn(async {}));
            }
            shared.idle.asleep() != 0
        });
        asked.get()
    };
    let new_worker = || {
        shared.mean_poll.learn(u32::MAX, Duration::ZERO); // polls are short
        Worker::new(shared.clone(), 0)
    };

    assert_eq!(
        turn(&new_worker(), 0),
        1 + LOOKS + AROUND_SLEEP,
        "a search that finds nothing ends"
    );
    let worker = new_worker();
    assert_eq!(turn(&worker, 4), 4, "the third look finds the task");
    assert!(task.take().unwrap().is_finished());
    shared.mean_poll.learn(u32::MAX, Duration::ZERO); // also if that poll took long
    assert_eq!(turn(&worker, 0), 1 + AROUND_SLEEP, "no search");
    assert_eq!(runtime.worker_counts(0).parks, 0);
}

/// The time of a search and of a yield is not taken for time of the polls that follow, also if
/// there is something to do before the worker sleeps.
#[test]
fn stretch_begins_when_a_worker_that_was_about_to_sleep_goes_on() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let shared = &runtime.handle().shared;
    shared.mean_poll.learn(u32::MAX, Duration::ZERO); // polls are short
    let worker = Worker::new(shared.clone(), 0);

    // Asked for the last time before a yield, `stop` sees to it that the worker does not sleep.
    let (asked, injected) = (Cell::new(0), Cell::new(None));
    worker.run_one(&|| {
        asked.set(asked.get() + 1);
        if asked.get() == 1 + LOOKS + 1 {
            drop(runtime.spawn(async {}));
            injected.set(Some(Instant::now()));
        }
        false
    });
    assert_eq!(runtime.worker_counts(0).parks, 0);
    assert!(worker.sharing.borrow().began > injected.get());
}
