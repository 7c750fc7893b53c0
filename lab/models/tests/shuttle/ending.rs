//! The end of a runtime, whatever goes on meanwhile: every future is dropped exactly once, and no
//! thread waits for ever.

use crate::common::{OnDrop, Signal, current_thread, holds, model, runtime, wait};
use crate::runtime::{Builder, Handle, Runtime};
use crate::sync::{Duration, Instant};
use crate::{task, time};
use shuttle::thread::spawn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Tasks are woken, and new ones are spawned, while the runtime ends.
#[test]
fn every_future_is_dropped_whoever_wakes_it_meanwhile() {
    model(|| {
        let runtime = runtime(2);
        let (signal, dropped) = (Signal::default(), Signal::default());
        let spawned = [0, 1].map(|_| {
            let (signal, guard) = (signal.clone(), OnDrop(dropped.clone()));
            runtime.spawn(async move {
                let _guard = guard;
                signal.sent(2).await;
            })
        });
        let handle = runtime.handle().clone();
        // Otherwise the queues would be dropped with the runtime, and what is left in them.
        let _kept = handle.clone();
        let (late, guard) = (signal.clone(), OnDrop(dropped.clone()));
        let waker = spawn(move || {
            late.send();
            let task = handle.spawn(async move {
                let _guard = guard;
                task::yield_now().await;
            });
            late.send();
            task
        });
        drop(runtime);
        for task in spawned {
            let _ = wait(task);
        }
        let _ = wait(waker.join().unwrap());
        // A task that was woken after the end is dropped by another thread.
        wait(dropped.sent(3));
        assert_eq!(dropped.count(), 3);
    });
}

/// A task is woken just as its runtime is closed. Few steps are taken here, so that many
/// schedules come to that moment.
#[test]
fn a_task_that_is_woken_as_its_runtime_is_closed_is_dropped() {
    model(|| {
        let runtime = current_thread();
        let (begun, signal, dropped) = (Signal::default(), Signal::default(), Signal::default());
        let (begins, waits, guard) = (begun.clone(), signal.clone(), OnDrop(dropped.clone()));
        runtime.block_on(async {
            drop(task::spawn(async move {
                let _guard = guard;
                begins.send();
                waits.sent(1).await;
            }));
            begun.sent(1).await;
        });
        // Otherwise the queues would be dropped with the runtime, and what is left in them.
        let _kept = runtime.handle().clone();
        let waker = spawn(move || signal.send());
        drop(runtime);
        waker.join().unwrap();
        wait(dropped.sent(1));
        assert_eq!(dropped.count(), 1);
    });
}

/// Workers that have run out of work sleep when the end comes, or are about to.
#[test]
fn workers_that_sleep_are_woken_by_the_end() {
    model(|| {
        let runtime = runtime(3);
        wait(runtime.spawn(async {})).unwrap();
        (0..3).for_each(|_| shuttle::thread::yield_now());
        drop(runtime);
    });
}

/// Tasks that never end by themselves: in a queue, polled, and waiting.
#[test]
fn tasks_everywhere_are_dropped_at_the_end() {
    for waits in [false, true] {
        model(move || {
            let runtime = runtime(2);
            // Otherwise the queues would be dropped with the runtime.
            let _kept = runtime.handle().clone();
            let (begun, dropped) = (Signal::default(), Signal::default());
            let [yields, parent, child] = [0; 3].map(|_| OnDrop(dropped.clone()));
            let begins = begun.clone();
            let tasks = [
                runtime.spawn(async move {
                    let _guard = yields;
                    loop {
                        // The thread yields as well, or PCT would never let another one run.
                        shuttle::thread::yield_now();
                        task::yield_now().await;
                    }
                }),
                runtime.spawn(async move {
                    let _guard = parent;
                    let own = async move {
                        let _guard = child;
                        begins.send();
                        std::future::pending::<()>().await
                    };
                    // It is cancelled if the runtime ends already.
                    let _ = task::spawn(own).await;
                    std::future::pending().await
                }),
            ];
            if waits {
                wait(begun.sent(1));
            }
            drop(runtime);
            if waits {
                // The end waits for the worker that drops them.
                assert_eq!(dropped.count(), 3);
            }
            wait(dropped.sent(3));
            assert_eq!(dropped.count(), 3);
            for task in tasks {
                assert!(wait(task).unwrap_err().is_cancelled());
            }
        });
    }
}

/// A task ends its own runtime, while another thread spawns and joins.
#[test]
fn task_may_end_its_runtime() {
    model(|| {
        let runtime = runtime(2);
        let waits = runtime.spawn(std::future::pending::<()>());
        let ends = runtime.spawn(async { Handle::current().shutdown_background() });
        assert!(wait(waits).unwrap_err().is_cancelled());
        // It was polled: nothing else ends the runtime.
        wait(ends).unwrap();
        assert!(wait(runtime.spawn(async {})).unwrap_err().is_cancelled());
    });
}

/// One worker, on its own thread or on one in `block_on`.
const BOTH: [fn() -> Builder; 2] = [Builder::new_multi_thread, Builder::new_current_thread];

/// Two threads are in `block_on`, or on their way there, when a task ends the runtime. The future
/// of each is polled after that, although it has left its waker nowhere. On a current-thread
/// runtime one of the threads runs the worker.
#[test]
fn end_wakes_every_future_in_block_on() {
    for new in BOTH {
        model(move || {
            let runtime = new().workers(1).build().unwrap();
            let dropped = Signal::default();
            let threads = [0, 1].map(|_| {
                let (handle, guard) = (runtime.handle().clone(), OnDrop(dropped.clone()));
                spawn(move || {
                    let _child = handle.spawn(holds(guard));
                    let ended = || handle.spawn(std::future::pending::<()>()).is_finished();
                    handle.block_on(std::future::poll_fn(|_| match ended() {
                        true => Poll::Ready(()),
                        false => Poll::Pending,
                    }));
                })
            });
            drop(runtime.spawn(async { Handle::current().shutdown_background() }));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            drop(runtime);
            wait(dropped.sent(2));
            assert_eq!(dropped.count(), 2);
        });
    }
}

/// A shutdown with a limit that may be over at any time.
#[test]
fn shutdown_with_a_limit_leaves_nobody_waiting() {
    model(|| {
        let runtime = runtime(2);
        let signal = Signal::default();
        let (begun, waits) = (Signal::default(), signal.clone());
        let begins = begun.clone();
        let task = runtime.spawn(async move {
            begins.send();
            waits.sent(1).await;
        });
        wait(begun.sent(1));
        runtime.shutdown(Duration::from_secs(1));
        signal.send();

        // If the limit was over first, a worker may have been about to poll the task.
        let _ = wait(task);
    });
}

/// A thread that does not belong to the runtime resets a timer while the runtime ends: the end
/// wakes the timer's task, or the reset does, and no waker stays behind.
#[test]
fn timer_that_is_reset_while_the_runtime_ends_is_woken() {
    model(|| {
        let runtime = current_thread();
        let woken = Signal::default();
        let waker = Arc::new(Sends(woken.clone()));
        let mut timer = Box::pin(time::sleep(Duration::from_secs(3600)));
        {
            let _guard = runtime.enter();
            let waker = Waker::from(waker.clone());
            assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let resetter = spawn(move || {
            timer.as_mut().reset(Instant::now() + Duration::from_secs(7200));
            timer
        });
        drop(runtime);
        let timer = resetter.join().unwrap();
        wait(woken.sent(1));
        assert_eq!(Arc::strong_count(&waker), 1);
        drop(timer);
    });
}

/// Is woken as a task of another executor.
struct Sends(Signal);

impl std::task::Wake for Sends {
    fn wake(self: Arc<Self>) {
        self.0.send();
    }
}

/// A thread is in `block_on`, or on its way there, while another one drops the runtime. The future
/// goes on, and its child ends or is cancelled.
#[test]
fn block_on_outlives_its_runtime() {
    for (new, has_run) in BOTH.into_iter().flat_map(|new| [(new, false), (new, true)]) {
        model(move || {
            let runtime = new().workers(1).build().unwrap();
            let handle = runtime.handle().clone();
            let (signal, begun) = (Signal::default(), Signal::default());
            let (inside, begins) = (signal.clone(), begun.clone());
            let thread = spawn(move || {
                handle.block_on(async {
                    let child = task::spawn(async { 1 });
                    begins.send();
                    inside.sent(1).await;
                    assert!(child.await.map_or(true, |number| number == 1));
                });
            });
            if has_run {
                wait(begun.sent(1));
            }
            drop(runtime);
            signal.send();
            thread.join().unwrap();
        });
    }
}

/// Two threads are in `block_on` of a current-thread runtime while a third one drops it: one is
/// in the loop, and the other one waits for it, or enters it just then.
#[test]
fn threads_in_the_loop_and_outside_of_it_outlive_their_runtime() {
    model(|| {
        let runtime = current_thread();
        let (signal, dropped) = (Signal::default(), Signal::default());
        let threads = [0, 1].map(|number| {
            let (handle, guard) = (runtime.handle().clone(), OnDrop(dropped.clone()));
            let signal = signal.clone();
            spawn(move || {
                handle.block_on(async {
                    let child = task::spawn(holds(guard));
                    // The first one may leave before the end.
                    signal.sent(number).await;
                    if number == 1 {
                        assert!(child.await.unwrap_err().is_cancelled());
                    }
                });
            })
        });
        drop(runtime);
        signal.send();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        wait(dropped.sent(2));
        assert_eq!(dropped.count(), 2);
    });
}

/// A task runs on the thread in the loop when another thread drops the runtime: the drop
/// returns after the task's future was dropped.
#[test]
fn end_waits_for_the_thread_in_the_loop() {
    model(|| {
        let runtime = current_thread();
        let (signal, begun, dropped) = (Signal::default(), Signal::default(), Signal::default());
        let (begins, guard) = (begun.clone(), OnDrop(dropped.clone()));
        let task = runtime.spawn(async move {
            let _guard = guard;
            begins.send();
            std::future::pending::<()>().await;
        });
        let (handle, inside) = (runtime.handle().clone(), signal.clone());
        let thread = spawn(move || handle.block_on(inside.sent(1)));
        wait(begun.sent(1));
        drop(runtime);
        assert_eq!(dropped.count(), 1);
        signal.send();
        thread.join().unwrap();
        assert!(wait(task).unwrap_err().is_cancelled());
    });
}

/// A thread wakes tasks of a current-thread runtime, and spawns new ones, while the runtime ends,
/// and a thread is in `block_on`.
#[test]
fn every_future_of_a_current_thread_is_dropped_once() {
    model(|| {
        let runtime = current_thread();
        let _kept = runtime.handle().clone();
        let (signal, dropped) = (Signal::default(), Signal::default());
        let (waits, guard) = (signal.clone(), OnDrop(dropped.clone()));
        let waiting = runtime.spawn(async move {
            let _guard = guard;
            waits.sent(1).await;
        });
        let (handle, done) = (runtime.handle().clone(), signal.clone());
        let thread = spawn(move || handle.block_on(done.sent(2)));
        let (handle, guard) = (runtime.handle().clone(), OnDrop(dropped.clone()));
        let waker = spawn(move || {
            signal.send();
            let late = handle.spawn(async move {
                let _guard = guard;
                task::yield_now().await;
            });
            signal.send();
            late
        });
        drop(runtime);
        let _ = wait(waker.join().unwrap());
        thread.join().unwrap();
        let _ = wait(waiting);
        wait(dropped.sent(2));
        assert_eq!(dropped.count(), 2);
    });
}

/// A task, or the future of `block_on`, ends its own runtime in the background. Another thread is
/// in `block_on`, too.
#[test]
fn runtime_ends_itself_in_the_background() {
    for (new, by_task) in BOTH.into_iter().flat_map(|new| [(new, false), (new, true)]) {
        model(move || {
            let runtime = new().workers(1).build().unwrap();
            let (handle, other) = (runtime.handle().clone(), runtime.handle().clone());
            let (begun, dropped) = (Signal::default(), Signal::default());
            let (guard, begins) = (OnDrop(dropped.clone()), begun.clone());
            let ends = move |runtime: Runtime| {
                drop(task::spawn(holds(guard)));
                runtime.shutdown_background();
            };
            let waits = spawn(move || {
                other.block_on(async {
                    let child = task::spawn(std::future::pending::<()>());
                    begins.send();
                    assert!(child.await.unwrap_err().is_cancelled());
                });
            });
            handle.block_on(async {
                begun.sent(1).await;
                if by_task {
                    task::spawn(async move { ends(runtime) }).await.unwrap();
                } else {
                    ends(runtime);
                }
            });
            waits.join().unwrap();
            wait(dropped.sent(1));
            assert_eq!(dropped.count(), 1);
        });
    }
}
