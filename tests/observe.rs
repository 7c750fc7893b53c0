//! What the core tells those who look at it. Without the feature `observe` nobody does.

use crate::common::*;
use arc::runtime::Handle;
use arc::task::spawn_blocking;

#[test]
fn the_tasks_in_the_queue_of_a_worker_are_counted() {
    with_short_polls(1, |runtime| {
        let waiting = || (runtime.worker_queue_depth(0), runtime.global_queue_depth());
        let pause = Pause::new();
        let task = runtime.spawn(async move {
            (0..3).for_each(|_| drop(arc::spawn(async {})));
            pause.here();
        });
        pause.reached();
        let behind = waiting();
        // While polls are long, tasks wait in the queue that belongs to all workers.
        assert!([(3, 0), (0, 3)].contains(&behind), "{behind:?}");

        pause.pass();
        runtime.block_on(task).unwrap();
        wait_for_no_tasks(runtime);
        assert_eq!(waiting(), (0, 0));
        behind == (3, 0)
    });
}

#[test]
fn each_worker_tells_which_task_it_polls() {
    with_each_size(|runtime| {
        let workers = runtime.workers();
        let polled = || (0..workers).filter_map(|worker| runtime.polled(worker).0);
        for blocked in 1..=workers {
            let tasks: Vec<_> = (0..blocked).map(|_| block_worker(&runtime)).collect();
            let mut ids: Vec<_> = polled().collect();
            ids.sort_unstable();
            assert_eq!(ids, tasks.iter().map(|(task, _)| task.id()).collect::<Vec<_>>());

            for (task, pause) in tasks {
                pause.pass();
                runtime.block_on(task).unwrap();
            }
            wait_until("no task is polled", || polled().next().is_none());
        }
    });
}

/// Whoever sees the same turn again has seen the same poll.
#[test]
fn a_worker_is_in_another_turn_at_each_poll() {
    on_each([1], |runtime| {
        let mut last = 0;
        for _ in 0..10 {
            let (task, pause) = block_worker(&runtime);
            let (polled, turn) = runtime.polled(0);
            assert_eq!(polled, Some(task.id()));
            assert!(turn > last, "turn {turn} after {last}");
            assert_eq!(runtime.polled(0).1, turn, "the poll goes on");

            last = turn;
            pause.pass();
            runtime.block_on(task).unwrap();
        }
    });
}

/// Neither the future in `block_on` nor a job is a task that a worker polls.
#[test]
fn on_the_thread_in_block_on_only_tasks_are_told() {
    on_current_thread(|runtime| {
        let polled = || Handle::current().polled(0).0;
        runtime.block_on(async {
            assert_eq!(polled(), None);
            let task = arc::spawn(async move { polled() });
            let id = task.id();
            assert_eq!(task.await.unwrap(), Some(id));
            assert_eq!(spawn_blocking(polled).await.unwrap(), None);
        });
    });
}

#[test]
fn there_is_nothing_to_tell_of_a_worker_that_does_not_exist() {
    on_each([2], |runtime| {
        let of_queue = panic_of(|| runtime.worker_queue_depth(2));
        let of_poll = panic_of(|| runtime.polled(2));
        for text in [of_queue, of_poll] {
            assert!(text.contains("the len is 2 but the index is 2"), "{text}");
        }
    });
}
