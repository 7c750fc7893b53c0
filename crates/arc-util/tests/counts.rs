//! What workers count.

use crate::watched::*;
use arc::task::yield_now;
use arc_util::runtime::{Handle, WorkerCounts};
use std::thread;

/// The sum over all workers.
fn sum_of(handle: &Handle, count: fn(WorkerCounts) -> u64) -> u64 {
    (0..handle.workers()).map(|worker| count(handle.worker_counts(worker))).sum()
}

fn polls(handle: &Handle) -> u64 {
    sum_of(handle, |counts| counts.polls)
}

#[test]
fn each_poll_is_counted_once() {
    with_each_flavor(|runtime| {
        for round in 1..=3 {
            runtime.block_on(async {
                crate::net_common::join((0..10).map(|_| arc::spawn(yields(4)))).await
            });
            assert_eq!(polls(&runtime), round * 10 * 5);
        }
    });
}

#[test]
fn tasks_that_wait_are_counted_in_the_queue_that_they_are_in() {
    with_short_polls(1, |runtime| {
        let (pause, before) = (Pause::new(), polls(runtime));
        let task = runtime.spawn(async move {
            (0..3).for_each(|_| drop(arc::spawn(async {})));
            pause.here();
        });
        pause.reached();
        (0..2).for_each(|_| drop(runtime.spawn(async {})));
        let waiting = (runtime.worker_counts(0).queued, runtime.global_queue_depth());
        // While polls are long, all tasks wait in the injector.
        assert!([(3, 2), (0, 5)].contains(&waiting), "{waiting:?}");

        pause.pass();
        runtime.block_on(task).unwrap();
        wait_until("nothing waits", || polls(runtime) == before + 6);
        assert_eq!((runtime.worker_counts(0).queued, runtime.global_queue_depth()), (0, 0));
        waiting == (3, 2)
    });
}

/// As long as nothing is known of polls, they count as long. A queue of one worker's own would keep
/// its tasks from the other workers.
#[test]
fn tasks_wait_in_one_queue_while_polls_are_long() {
    on_each([1], |runtime| {
        let handle = runtime.handle().clone();
        let task = runtime.spawn(async move {
            (0..3).for_each(|_| drop(arc::spawn(async {})));
            (handle.worker_counts(0).queued, handle.global_queue_depth())
        });
        assert_eq!(runtime.block_on(task).unwrap(), (0, 3));
    });
}

/// It is queued again when its own poll has ended, so that its worker takes it at once.
#[test]
fn a_task_that_yields_after_long_polls_wakes_no_other_worker() {
    const YIELDS: u64 = 300;
    on_each([2], |runtime| {
        let task = runtime.spawn(async {
            for _ in 0..YIELDS {
                thread::sleep(micros(200));
                yield_now().await;
            }
        });
        runtime.block_on(task).unwrap();
        // Whoever waits for the kernel does so all the time, but for a tick of the monitor's.
        let parks = sum_of(&runtime, |counts| counts.parks);
        assert!(parks < YIELDS / 6, "{parks} sleeps for {YIELDS} yields");
    });
}

#[test]
fn each_stolen_task_is_counted_by_the_thief() {
    with_short_polls(2, |runtime| {
        let steals = || [0, 1].map(|worker| runtime.worker_counts(worker).steals);
        let before = steals();
        // The tasks are in the queue of this worker, which does not come to them.
        tasks_behind_a_long_poll_run(runtime, 10);
        let mut stolen = [0, 1].map(|worker| steals()[worker] - before[worker]);
        stolen.sort_unstable();
        stolen == [0, 10]
    });
}

#[test]
fn each_sleep_of_a_worker_is_counted() {
    on_each([1], |runtime| {
        let sleeps = |parks| {
            wait_until("the worker sleeps", || runtime.worker_counts(0).parks >= parks);
        };
        for parks in 1..=5 {
            sleeps(parks);
            runtime.block_on(runtime.spawn(async {})).unwrap();
        }
        sleeps(6);
        assert_eq!(runtime.worker_counts(0).polls, 5);
    });
}

#[test]
fn a_worker_that_does_not_exist_has_no_counts() {
    on_each([2], |runtime| {
        let text = panic_of(|| runtime.worker_counts(2));
        assert!(text.contains("the len is 2 but the index is 2"), "{text}");
    });
}
