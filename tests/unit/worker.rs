//! A worker whose turns the test takes itself: that of a current-thread runtime which nobody is in.

use std::cell::{Cell, RefCell};
use std::thread;

use crate::runtime::Builder;
use crate::scheduler::share::{LOOKS, SHORT_IDLE};
use crate::scheduler::worker::Worker;
use crate::sync::Duration;

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
    assert_eq!(turn(&worker, 0), 1 + AROUND_SLEEP, "no search");
    assert_eq!(runtime.worker_counts(0).parks, 0);
}
