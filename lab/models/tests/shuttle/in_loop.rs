//! A current-thread runtime: threads in `block_on` that enter the loop in turn.

use crate::common::{
    OnDrop, Signal, current_thread, holds, model, read_a_byte, wait, write_a_byte,
};
use crate::runtime::Runtime;
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::task;
use shuttle::thread::{JoinHandle, spawn, yield_now};
use std::os::unix::net::UnixStream;

/// One thread in `block_on` runs its own future, what that spawns, and what comes from outside.
#[test]
fn everything_runs_while_a_thread_is_in_block_on() {
    model(|| {
        let runtime = current_thread();
        let (handle, signal) = (runtime.handle().clone(), Signal::default());
        let sends = signal.clone();
        let outside = spawn(move || {
            let task = handle.spawn(async { task::yield_now().await });
            sends.send();
            wait(task).unwrap();
            sends.send();
        });
        let numbers = runtime.block_on(async {
            let children = [1, 2].map(|number| task::spawn(async move { number }));
            signal.sent(1).await;
            let mut sum = 0;
            for child in children {
                sum += child.await.unwrap();
            }
            signal.sent(2).await;
            sum
        });
        assert_eq!(numbers, 3);
        outside.join().unwrap();
    });
}

/// A task that is always ready does not keep the future of `block_on` from its next poll.
#[test]
fn future_of_block_on_is_polled_beside_a_task_that_goes_on() {
    model(|| {
        let runtime = current_thread();
        let is_over = Arc::new(AtomicBool::new(false));
        let inside = is_over.clone();
        let goes_on = runtime.spawn(async move {
            while !inside.load(Ordering::SeqCst) {
                task::yield_now().await;
            }
        });
        runtime.block_on(async {
            task::yield_now().await;
            is_over.store(true, Ordering::SeqCst);
            goes_on.await.unwrap();
        });
    });
}

/// Two threads enter `block_on` again and again, and a third one spawns: two tasks never run at
/// once, whichever thread runs them.
#[test]
fn one_thread_at_a_time_runs_the_tasks() {
    model(|| {
        let runtime = current_thread();
        let is_running = Arc::new(AtomicBool::new(false));
        let task = move || {
            let is_running = is_running.clone();
            async move {
                for _ in 0..2 {
                    assert!(!is_running.swap(true, Ordering::SeqCst), "two tasks run");
                    yield_now();
                    is_running.store(false, Ordering::SeqCst);
                    task::yield_now().await;
                }
            }
        };
        let threads = [0, 1].map(|_| {
            let (handle, task) = (runtime.handle().clone(), task.clone());
            spawn(move || {
                for _ in 0..2 {
                    handle.block_on(async { task::spawn(task()).await.unwrap() });
                }
            })
        });
        let last = runtime.spawn(task());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        runtime.block_on(last).unwrap();
    });
}

/// A thread enters `block_on`, spawns a task that sends the signal in its second poll, and leaves.
fn leave_a_task_behind(runtime: &Runtime, signal: &Signal) -> JoinHandle<task::JoinHandle<()>> {
    let (handle, sends) = (runtime.handle().clone(), signal.clone());
    spawn(move || {
        handle.block_on(async {
            // By the next poll this thread is in the loop, or waits for it.
            task::yield_now().await;
            task::spawn(async move {
                task::yield_now().await;
                sends.send();
            })
        })
    })
}

/// A thread leaves `block_on`, and leaves a task in the queue that the other thread in `block_on`
/// waits for.
#[test]
fn another_thread_runs_what_one_leaves_behind() {
    model(|| {
        let runtime = current_thread();
        let signal = Signal::default();
        let leaves = leave_a_task_behind(&runtime, &signal);
        runtime.block_on(signal.sent(1));
        let task = leaves.join().unwrap();
        runtime.block_on(task).unwrap();
    });
}

/// The same, but the future of the thread that takes over blocks its thread when it is polled,
/// and the unpark by the thread that leaves the loop may end that park instead.
#[test]
fn a_park_inside_the_future_does_not_lose_the_worker() {
    model(|| {
        let runtime = current_thread();
        let signal = Signal::default();
        let leaves = leave_a_task_behind(&runtime, &signal);
        let (parks, other) = (Signal::default(), runtime.handle().clone());
        let unparks = parks.clone();
        let takes_over = spawn(move || {
            other.block_on(async {
                wait(parks.sent(1));
                signal.sent(1).await;
            });
        });
        let task = leaves.join().unwrap();
        unparks.send();
        takes_over.join().unwrap();
        runtime.block_on(task).unwrap();
    });
}

/// The thread in the loop has the seat, or is about to take it, when its own future is woken.
/// Another thread in `block_on`, which is not in the loop, is woken by a task.
#[test]
fn roots_are_woken_in_the_loop_and_outside_of_it() {
    model(|| {
        let runtime = current_thread();
        let (first, second) = (Signal::default(), Signal::default());
        let (handle, sends) = (runtime.handle().clone(), first.clone());
        let waits = second.clone();
        let other = spawn(move || {
            handle.block_on(async {
                waits.sent(1).await;
                task::spawn(async move { sends.send() }).await.unwrap();
            });
        });
        let outside = spawn(move || second.send());
        runtime.block_on(first.sent(1));
        other.join().unwrap();
        outside.join().unwrap();
    });
}

/// A byte comes for a task, and one for the future in `block_on`, while one thread takes the
/// worker over from another one.
#[test]
fn sockets_are_served_whoever_is_in_the_loop() {
    model(|| {
        let runtime = current_thread();
        let (far, near) = UnixStream::pair().unwrap();
        let registered = Signal::default();
        let writer = write_a_byte(far, registered.clone());
        let handle = runtime.handle().clone();
        let leaves = spawn(move || handle.block_on(task::yield_now()));
        let byte = runtime.block_on(read_a_byte(near, registered));
        assert_eq!(byte, 7);
        leaves.join().unwrap();
        writer.join().unwrap();
    });
}

/// The guard of a task that was left behind is dropped with the runtime, which nobody runs.
#[test]
fn runtime_that_nobody_runs_drops_its_tasks() {
    model(|| {
        let runtime = current_thread();
        let dropped = Signal::default();
        let (one, other) = (OnDrop(dropped.clone()), OnDrop(dropped.clone()));
        runtime.block_on(async {
            drop(task::spawn(holds(one)));
            task::yield_now().await;
        });
        drop(runtime.spawn(async move {
            let _guard = other;
        }));
        drop(runtime);
        assert_eq!(dropped.count(), 2);
    });
}

/// The runtime is dropped while a thread enters `block_on`: the drop returns only after all tasks
/// were dropped, also if that thread has just entered the loop.
#[test]
fn a_drop_waits_for_a_thread_that_has_just_entered_the_loop() {
    model(|| {
        let runtime = current_thread();
        let (handle, is_dropped) = (runtime.handle().clone(), Signal::default());
        let tells = OnDrop(is_dropped.clone());
        drop(runtime.spawn(holds(tells)));
        let enters = spawn(move || handle.block_on(task::yield_now()));
        drop(runtime);
        assert_eq!(is_dropped.count(), 1);
        enters.join().unwrap();
    });
}
