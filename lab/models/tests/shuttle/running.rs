//! Tasks that run, wake each other, and are aborted; threads in `block_on`.

use crate::common::{
    OnDrop, Signal, current_thread, eager_runtime, frugal_runtime, model, model_with_monitor,
    runtime, wait,
};
use crate::runtime::Runtime;
use crate::sync::{Ordering, thread};
use crate::task;
use shuttle::thread::spawn;

/// Tasks that are spawned from outside by two threads are run, and joined.
#[test]
fn tasks_from_outside_are_run() {
    for workers in [1, 2] {
        model(move || {
            let runtime = runtime(workers);
            let handle = runtime.handle().clone();
            let other = spawn(move || wait(handle.spawn(async { 1 })).unwrap());
            assert_eq!(wait(runtime.spawn(async { 2 })).unwrap(), 2);
            assert_eq!(other.join().unwrap(), 1);
        });
    }
}

/// The same, one by one, to a worker that is about to fall asleep. While polls are short, nobody is
/// called but by the sleep protocol.
#[test]
fn tasks_from_outside_are_run_while_polls_are_short() {
    model(|| {
        let runtime = frugal_runtime(1);
        for number in 0..3 {
            assert_eq!(wait(runtime.spawn(async move { number })).unwrap(), number);
        }
    });
}

/// Two tasks wake each other, whichever workers run them.
#[test]
fn tasks_wake_each_other() {
    model(|| {
        let runtime = runtime(2);
        let (ping, pong) = (Signal::default(), Signal::default());
        let (theirs, mine) = (ping.clone(), pong.clone());
        let one = runtime.spawn(async move {
            for turn in 1..=3 {
                theirs.send();
                mine.sent(turn).await;
            }
        });
        let other = runtime.spawn(async move {
            for turn in 1..=3 {
                ping.sent(turn).await;
                pong.send();
            }
        });
        wait(one).unwrap();
        wait(other).unwrap();
    });
}

/// A task spawns children into its own worker's queue, where another worker may steal them.
#[test]
fn children_are_joined_wherever_they_run() {
    model(|| {
        let runtime = runtime(3);
        let parent = runtime.spawn(async {
            let children = [0, 1, 2].map(|number| {
                task::spawn(async move {
                    task::yield_now().await;
                    number
                })
            });
            let mut sum = 0;
            for child in children {
                sum += child.await.unwrap();
            }
            sum
        });
        assert_eq!(wait(parent).unwrap(), 3);
    });
}

/// A task is aborted and joined at once, and perhaps woken by another thread. It ends, and its
/// future is dropped before its joiner is woken.
#[test]
fn aborted_task_ends_and_tells_its_joiner() {
    for is_woken in [false, true] {
        model(move || {
            let runtime = runtime(2);
            let (signal, dropped) = (Signal::default(), Signal::default());
            let (inside, guard) = (signal.clone(), OnDrop(dropped.clone()));
            let task = runtime.spawn(async move {
                let _guard = guard;
                inside.sent(1).await;
            });
            let abort = task.abort_handle();
            let aborter = spawn(move || abort.abort());
            let waker = is_woken.then(|| spawn(move || signal.send()));
            let result = wait(task);
            assert!(result.is_err() || is_woken);
            assert_eq!(dropped.count(), 1);
            aborter.join().unwrap();
            waker.into_iter().for_each(|waker| waker.join().unwrap());
        });
    }
}

/// The next task gets the place of a task that has ended, in the list. An abort of the old task
/// does not hit it, and the old one does not take it out.
#[test]
fn abort_of_the_last_tenant_does_not_hit_the_next() {
    model(|| {
        let runtime = runtime(1);
        let last = runtime.spawn(async {});
        let abort = last.abort_handle();
        let aborter = spawn(move || abort.abort());
        let _ = wait(last);
        let next = runtime.spawn(async {
            task::yield_now().await;
            7
        });
        assert_eq!(wait(next).unwrap(), 7);
        aborter.join().unwrap();
    });
}

/// A task panics: its handle gives the panic, and the other tasks go on.
#[test]
fn panic_ends_its_task_alone() {
    model(|| {
        let runtime = runtime(2);
        let dropped = Signal::default();
        let guard = OnDrop(dropped.clone());
        let panics = runtime.spawn(async move {
            let _guard = guard;
            task::yield_now().await;
            // It does not call the hook, which prints.
            std::panic::resume_unwind(Box::new("oh"))
        });
        let other = runtime.spawn(async {
            task::yield_now().await;
            1
        });
        let error: task::JoinError = wait(panics).unwrap_err();
        assert!(error.is_panic());
        assert_eq!(dropped.count(), 1);
        assert_eq!(wait(other).unwrap(), 1);
    });
}

/// Two threads are in `block_on` of a multi-thread runtime at once, and a third one spawns.
#[test]
fn threads_in_block_on_wait_for_the_workers() {
    for workers in [1, 2] {
        model(move || {
            let runtime = runtime(workers);
            let threads = [1, 2].map(|number| {
                let handle = runtime.handle().clone();
                spawn(move || {
                    handle.block_on(async move { task::spawn(async move { number }).await })
                })
            });
            let outside = runtime.spawn(async {
                task::yield_now().await;
                3
            });
            assert_eq!(wait(outside).unwrap(), 3);
            let numbers = threads.map(|thread| thread.join().unwrap().unwrap());
            assert_eq!(numbers, [1, 2]);
        });
    }
}

/// A task that the future of `block_on` spawns goes on after `block_on` has returned.
#[test]
fn task_outlives_the_block_on_that_spawned_it() {
    model(|| {
        let runtime = runtime(2);
        let task = runtime.block_on(async { task::spawn(async { 7 }) });
        assert_eq!(wait(task).unwrap(), 7);
    });
}

/// Another thread wakes the future of `block_on`, again and again, while it is polled and while
/// its thread parks.
#[test]
fn main_future_is_woken_from_outside() {
    model(|| {
        let runtime = runtime(1);
        let signal = Signal::default();
        let sender = {
            let (signal, handle) = (signal.clone(), runtime.handle().clone());
            spawn(move || {
                let task = handle.spawn(async {});
                signal.send();
                signal.send();
                wait(task).unwrap();
                signal.send();
            })
        };
        runtime.block_on(async {
            for times in 1..=3 {
                signal.sent(times).await;
            }
        });
        sender.join().unwrap();
    });
}

/// The future of `block_on` blocks its thread after it has left its waker. The unpark of its own
/// wake-up may end that park instead.
#[test]
fn a_park_inside_the_future_does_not_lose_a_wake_up() {
    model(|| {
        let runtime = runtime(1);
        let (signal, unparks) = (Signal::default(), Signal::default());
        let (sends, parks) = (signal.clone(), unparks.clone());
        let sender = spawn(move || {
            sends.send();
            unparks.send();
        });
        let mut waits = Box::pin(signal.sent(1));
        runtime.block_on(std::future::poll_fn(|context| {
            let polled = waits.as_mut().poll(context);
            wait(parks.sent(1));
            polled
        }));
        sender.join().unwrap();
    });
}

/// Blocks in the poll in which it spawns another task, until that has run.
async fn wait_in_a_poll_for_another_task() {
    let other = Signal::default();
    let inside = other.clone();
    let task = task::spawn(async move { inside.send() });
    wait(other.sent(1));
    task.await.unwrap();
}

/// A worker is stuck in a poll. The monitor sees to it that another one takes over its queue.
#[test]
fn stuck_worker_is_relieved_by_the_monitor() {
    model_with_monitor(|| {
        let runtime = runtime(2);
        wait(runtime.spawn(wait_in_a_poll_for_another_task())).unwrap();
        assert!(!thread::panicking());
    });
}

fn until_the_monitor_sleeps(runtime: &Runtime) {
    while !runtime.handle().shared.monitor.asleep.load(Ordering::Relaxed) {
        shuttle::thread::yield_now();
    }
}

/// The same, while the monitor sleeps: the worker wakes it when it begins to poll.
#[test]
fn monitor_that_sleeps_hears_of_a_worker() {
    model_with_monitor(|| {
        let runtime = frugal_runtime(2);
        until_the_monitor_sleeps(&runtime);
        wait(runtime.spawn(wait_in_a_poll_for_another_task())).unwrap();
    });
}

/// No worker wakes it, as none runs: the end itself does.
#[test]
fn monitor_that_sleeps_hears_of_the_end() {
    model_with_monitor(|| {
        let runtime = current_thread();
        until_the_monitor_sleeps(&runtime);
        drop(runtime);
    });
}

/// The monitor tells those who inject that a worker is stuck, as long as one is.
#[test]
fn stuck_worker_is_known_to_those_who_inject() {
    model_with_monitor(|| {
        let runtime = frugal_runtime(2);
        let any_stuck = &runtime.handle().shared.any_stuck;
        let until = |expected| {
            while any_stuck.load(Ordering::Relaxed) != expected {
                shuttle::thread::yield_now();
            }
        };
        let is_over = Signal::default();
        let waits = is_over.clone();
        let stuck = runtime.spawn(async move { wait(waits.sent(1)) });
        until(true);
        is_over.send();
        wait(stuck).unwrap();
        until(false);
    });
}

/// A poll blocks until another task has run, which is spawned from outside meanwhile.
fn frees_a_poll_that_blocks(runtime: &Runtime) {
    let (blocks, other) = (Signal::default(), Signal::default());
    let (is_in_poll, is_free) = (blocks.clone(), other.clone());
    let blocked = runtime.spawn(async move {
        is_in_poll.send();
        wait(is_free.sent(1));
    });
    wait(blocks.sent(1));
    wait(runtime.spawn(async move { other.send() })).unwrap();
    wait(blocked).unwrap();
}

/// A task blocks its worker until another one has run, which is spawned from outside. While polls
/// count as long, no monitor is needed: a worker that sleeps is called, one that is about to sleep
/// sees the task, and a helper that is on its way comes to it. The first tasks are there to set all
/// that in motion.
#[test]
fn task_from_outside_begins_beside_a_poll_that_blocks() {
    model(|| {
        let runtime = eager_runtime(2);
        let handle = runtime.handle().clone();
        let spawner = spawn(move || wait(handle.spawn(async {})).unwrap());
        wait(runtime.spawn(async {})).unwrap();
        spawner.join().unwrap();

        frees_a_poll_that_blocks(&runtime);
    });
}

/// The same while polls are short. Whoever injects trusts that a worker which is awake comes by,
/// until the monitor has found out that it is stuck. What came before that, the monitor sees.
#[test]
fn task_from_outside_begins_beside_a_worker_that_is_stuck() {
    model_with_monitor(|| {
        let runtime = frugal_runtime(2);
        frees_a_poll_that_blocks(&runtime);
    });
}

/// The same, but the other task is spawned in the very poll that blocks until it has run.
#[test]
fn task_that_is_spawned_in_a_poll_begins_beside_it() {
    model(|| {
        let runtime = eager_runtime(2);
        wait(runtime.spawn(wait_in_a_poll_for_another_task())).unwrap();
    });
}

/// As many tasks as there are workers block until all of them run. They are spawned by a task, so
/// that they are all in one worker's queue. Whatever call is lost, the monitor makes it later.
#[test]
fn tasks_that_wait_for_each_other_in_their_polls_all_run() {
    model_with_monitor(|| {
        const TASKS: usize = 3;
        let runtime = runtime(TASKS);
        let here = Signal::default();
        let parent = runtime.spawn(async move {
            [(); TASKS].map(|()| {
                let here = here.clone();
                task::spawn(async move {
                    here.send();
                    wait(here.sent(TASKS));
                })
            })
        });
        for task in wait(parent).unwrap() {
            wait(task).unwrap();
        }
    });
}
