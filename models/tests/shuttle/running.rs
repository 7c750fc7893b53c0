//! Tasks that run, wake each other, and are aborted; threads in `block_on`.

use crate::common::{OnDrop, Signal, model, model_with_monitor, runtime, wait};
use crate::sync::{Arc, AtomicBool, Ordering, thread};
use crate::task;
use shuttle::thread::{spawn, yield_now};

/// Tasks that are spawned from outside by two threads are run, and joined.
// ~ src/worker.rs
// - if stop() || !shared.injector.is_empty() {
// + if stop() {
// ~ src/scheduler.rs
// - queue::push(&self.injector, runnable);
// - self.wake_if_all_asleep();
// + self.wake_if_all_asleep();
// + queue::push(&self.injector, runnable);
// ~ src/driver.rs
// - let sleeper = worker.filter(|&worker| idle.is_asleep(worker));
// + let sleeper = worker;
// ~ src/scheduler.rs
// - Some(_) if self.driver.holder() == claimed => self.driver.notify(),
#[test]
fn tasks_from_outside_are_run() {
    model(|| {
        let runtime = runtime(2);
        let handle = runtime.handle().clone();
        let other = spawn(move || wait(handle.spawn(async { 1 })).unwrap());
        assert_eq!(wait(runtime.spawn(async { 2 })).unwrap(), 2);
        assert_eq!(other.join().unwrap(), 1);
    });
}

/// Two tasks wake each other, wherever each is run.
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

/// A task spawns others into its own worker's queue, where others may steal them.
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

/// A task is aborted and joined at once, and perhaps woken by somebody else: it ends, and
/// its future is dropped before whoever joins is told.
// ~ src/task.rs
// - self.0.waker(true).into_iter().for_each(Waker::wake);
// + drop(self.0.waker(true));
// ~ src/task.rs
// - (key.is_aborted(), this.future.as_mut().as_pin_mut())
// + (false, this.future.as_mut().as_pin_mut())
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

/// The place of a task that has ended is given to the next one, which an abort of the last
/// one does not hit.
// ~ src/registry.rs
// - tenant.as_ref().filter(|tenant| tenant.id == self.id)?
// + tenant.as_ref()?
// ~ src/registry.rs
// - place.aborted.store(false, Ordering::Relaxed);
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

/// A task panics: its handle tells, and the others go on.
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

/// Two threads are in `block_on` at once, and a third spawns: with one worker, which is
/// lent to one of them at a time, and with two.
// ~ src/guest.rs 2
// - shared.look_after();
// ~ src/guest.rs
// - shared.unpark_thread(index);
// - shared.look_after();
// + shared.look_after();
#[test]
fn workers_are_lent_and_given_back() {
    for workers in [1, 2] {
        model(move || {
            let runtime = runtime(workers);
            let handle = runtime.handle().clone();
            let guest = move |number| {
                let handle = handle.clone();
                spawn(move || {
                    handle.block_on(async move { task::spawn(async move { number }).await })
                })
            };
            let guests = [1, 2].map(guest);
            let outside = runtime.spawn(async {
                task::yield_now().await;
                3
            });
            assert_eq!(wait(outside).unwrap(), 3);
            let numbers = guests.map(|guest| guest.join().unwrap().unwrap());
            assert_eq!(numbers, [1, 2]);
        });
    }
}

/// Two threads enter `block_on` again and again, and a third spawns: what a single worker
/// runs never runs at once, whichever thread does.
// ~ src/guest.rs
// - shared.idle.fall_asleep(index);
// - remote.lent.store(false, Ordering::SeqCst);
// + remote.lent.store(false, Ordering::SeqCst);
// + shared.idle.fall_asleep(index);
#[test]
fn one_worker_is_run_by_one_thread_at_a_time() {
    model(|| {
        let runtime = runtime(1);
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
        let guest = || {
            let (handle, task) = (runtime.handle().clone(), task.clone());
            spawn(move || {
                for _ in 0..2 {
                    handle.block_on(async { task::spawn(task()).await.unwrap() });
                }
            })
        };
        let guests = [guest(), guest()];
        wait(runtime.spawn(task())).unwrap();
        guests.into_iter().for_each(|guest| guest.join().unwrap());
    });
}

/// A thread leaves `block_on`, and a task in the queue of the worker that it ran.
// ~ src/guest.rs
// - remote.local.spill(&shared.injector);
// ~ src/scheduler.rs
// - if !self.injector.is_empty() {
// + if self.injector.is_empty() {
#[test]
fn what_a_guest_leaves_behind_is_run() {
    for workers in [1, 2] {
        model(move || {
            let runtime = runtime(workers);
            let task = runtime.block_on(async { task::spawn(async { 7 }) });
            assert_eq!(wait(task).unwrap(), 7);
        });
    }
}

/// The future of `block_on` is woken by another thread while tasks come from outside.
// ~ src/guest.rs
// - self.shared.unpark(self.shared.idle.wake(worker).then_some(worker))
// + drop(self.shared.idle.wake(worker))
// ~ src/guest.rs
// - main.worker.store(index + 1, Ordering::SeqCst);
// ~ src/worker.rs
// - shared.unpark_thread(self.index);
// - shared.watch();
// + shared.watch();
#[test]
fn main_future_is_woken_from_outside() {
    for workers in [1, 2] {
        model(move || {
            let runtime = runtime(workers);
            let signal = Signal::default();
            let sender = {
                let (signal, handle) = (signal.clone(), runtime.handle().clone());
                spawn(move || {
                    let task = handle.spawn(async {});
                    signal.send();
                    wait(task).unwrap();
                })
            };
            runtime.block_on(signal.sent(1));
            sender.join().unwrap();
        });
    }
}

/// A job on a thread of its own wakes the task that waits for it.
#[test]
fn blocking_job_is_joined() {
    model(|| {
        let runtime = runtime(2);
        let task = runtime.spawn(async { task::spawn_blocking(|| 7).await.unwrap() });
        assert_eq!(wait(task).unwrap(), 7);
    });
}

/// What waits in the queue of a worker that is stuck is brought to another one by the
/// monitor.
// ~ src/monitor.rs
// - stranded |= remote.local.len() > 0;
// ~ src/worker.rs
// - victims.find_map(|victim| local.steal_from(&victim.local))
// + victims.find_map(|_| local.pop())
#[test]
fn stuck_worker_is_relieved_by_the_monitor() {
    model_with_monitor(|| {
        let runtime = runtime(2);
        let task = runtime.spawn(async {
            let other = Signal::default();
            let inside = other.clone();
            let task = task::spawn(async move { inside.send() });
            wait(other.sent(1));
            task.await.unwrap();
        });
        wait(task).unwrap();
        assert!(!thread::panicking());
    });
}
