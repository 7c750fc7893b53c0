//! Abort, in every state a task can be in: the joiner is always woken, and the
//! future is dropped exactly once.

use crate::common::*;
use arc::io::AsyncReadExt;
use arc::net::TcpStream;
use arc::task::{JoinHandle, yield_now};
use arc::time::sleep;
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::thread;

/// Joins on this thread; true: it was cancelled.
#[track_caller]
fn joins_as_cancelled<T>(task: JoinHandle<T>) -> bool {
    match foreign_block_on(task) {
        Ok(_) => false,
        Err(error) => {
            assert!(error.is_cancelled(), "{error}");
            true
        }
    }
}

#[test]
fn an_idle_task() {
    with_each_size(|runtime| {
        for _ in 0..200 {
            let (drops, polls) = (Counter::new(), Counter::new());
            let task = runtime.spawn(polls.polls_of(drops.never()));
            polls.wait_for(1);
            task.abort();
            assert!(joins_as_cancelled(task));
            assert_eq!(drops.get(), 1);
        }
        wait_for_no_tasks(&runtime);
    });
}

#[test]
fn a_queued_task_is_dropped_without_being_polled() {
    on_each([1], |runtime| {
        for _ in 0..100 {
            let (blocked, pause) = block_worker(&runtime);
            let (drops, polls) = (Counter::new(), Counter::new());
            let task = runtime.spawn(polls.polls_of(drops.never()));
            task.abort();
            pause.pass();
            assert!(joins_as_cancelled(task));
            assert_eq!((polls.get(), drops.get()), (0, 1));
            assert!(!joins_as_cancelled(blocked));
        }
    });
}

/// Queued again, after it was polled.
#[test]
fn a_task_that_was_woken_and_waits_for_its_turn() {
    on_each([1], |runtime| {
        for _ in 0..100 {
            let (slot, polls) = (Slot::default(), Counter::new());
            let task = runtime.spawn(polls.polls_of(slot.never()));
            polls.wait_for(1);
            let waker = slot.take();
            let (blocked, pause) = block_worker(&runtime);
            waker.wake();
            task.abort();
            pause.pass();
            assert!(joins_as_cancelled(task));
            assert_eq!(polls.get(), 1);
            assert!(!joins_as_cancelled(blocked));
        }
    });
}

/// The poll goes on to its end, and there the future is dropped.
#[test]
fn a_running_task_ends_after_the_poll() {
    with_each_size(|runtime| {
        for ready in [false, true] {
            for _ in 0..100 {
                let drops = Counter::new();
                let pause = Pause::new();
                let held = drops.on_drop();
                let task = runtime.spawn(async move {
                    let _held = held;
                    poll_fn(|_| {
                        pause.here();
                        if ready { Poll::Ready(()) } else { Poll::Pending }
                    })
                    .await;
                });
                pause.reached();
                task.abort();
                assert!(!task.is_finished());
                assert_eq!(drops.get(), 0);
                pause.pass();
                // Ready in the poll that was going on: then it has finished.
                assert_eq!(joins_as_cancelled(task), !ready);
                assert_eq!(drops.get(), 1);
            }
        }
    });
}

#[test]
fn a_task_that_aborts_itself_ends_at_its_next_await() {
    with_each_size(|runtime| {
        for _ in 0..100 {
            let (sender, receiver) = async_channel::bounded::<Arc<JoinHandle<()>>>(1);
            let reached = Counter::new();
            let task = Arc::new(runtime.spawn(async move {
                receiver.recv().await.unwrap().abort();
                reached.add();
                yield_now().await;
                reached.add();
            }));
            sender.send_blocking(task.clone()).unwrap();
            wait_until("it has ended", || task.is_finished());
            assert_eq!(reached.get(), 1);
            wait_until("the task has let go of its handle", || Arc::strong_count(&task) == 1);
            let task = Arc::try_unwrap(task).expect("the last handle");
            assert!(joins_as_cancelled(task));
        }
    });
}

#[test]
fn a_finished_task_keeps_its_output() {
    with_each_size(|runtime| {
        let task = runtime.spawn(async { "output" });
        wait_until("it has finished", || task.is_finished());
        task.abort();
        task.abort();
        assert_eq!(runtime.block_on(task).unwrap(), "output");
        let task = runtime.spawn(async { panic!("{ON_PURPOSE}") });
        wait_until("it has finished", || task.is_finished());
        task.abort();
        let error: arc::task::JoinError = runtime.block_on(task).unwrap_err();
        assert!(error.is_panic());
    });
}

#[test]
fn twice_is_as_good_as_once() {
    with_each_flavor(|runtime| {
        for _ in 0..200 {
            let drops = Counter::new();
            let task = runtime.spawn(drops.never());
            task.abort();
            task.abort();
            runtime.block_on(yield_now());
            task.abort();
            assert!(joins_as_cancelled(task));
            assert_eq!(drops.get(), 1);
        }
    });
}

#[test]
fn and_then_dropping_the_handle_drops_the_future_all_the_same() {
    with_each_size(|runtime| {
        let drops = Counter::new();
        for round in 0..500 {
            let task = runtime.spawn(drops.never());
            spin(round % 100);
            task.abort();
            drop(task);
        }
        drops.wait_for(500);
        wait_for_no_tasks(&runtime);
        assert_eq!(drops.get(), 500);
    });
}

/// The joiner waits already when the abort comes.
#[test]
fn wakes_a_joiner_that_waits() {
    with_each_size(|runtime| {
        for _ in 0..200 {
            let mut task = runtime.spawn(pending::<()>());
            let (waker, wakes) = counting_waker();
            assert!(poll_with(Pin::new(&mut task), &waker).is_pending());
            task.abort();
            wakes.wait_for(1);
            assert!(joins_as_cancelled(task));
        }
        // And one that is a task itself, in `block_on`.
        runtime.block_on(async {
            let task = arc::spawn(pending::<()>());
            let handle = Arc::new(Mutex::new(task));
            let other = handle.clone();
            let aborter = arc::spawn(async move {
                sleep(micros(100)).await;
                other.lock().unwrap().abort();
            });
            poll_fn(|context| Pin::new(&mut *handle.lock().unwrap()).poll(context).map(drop)).await;
            aborter.await.unwrap();
        });
    });
}

#[test]
fn takes_a_task_out_of_timers_sockets_channels_and_joins() {
    with_each_flavor(|runtime| {
        let drops = Counter::new();
        runtime.block_on(async move {
            let listener = Arc::new(listen().await.0);
            let address = listener.get_ref().local_addr().unwrap();
            let mut stream = TcpStream::connect(address).await.unwrap();
            let (_peer, _) = listener.accept().await.unwrap();
            let (sender, receiver) = async_channel::bounded::<()>(1);
            let spawn = |future: Pin<Box<dyn Future<Output = ()> + Send>>| {
                let held = drops.on_drop();
                arc::spawn(async move {
                    let _held = held;
                    future.await;
                })
            };
            let tasks = [
                spawn(Box::pin(sleep(DEADLINE))),
                spawn(Box::pin(async move { stream.read_exact(&mut [0]).await.unwrap() })),
                spawn(Box::pin(async move { drop(listener.accept().await.unwrap()) })),
                spawn(Box::pin(async move { receiver.recv().await.unwrap() })),
                spawn(Box::pin(async {
                    arc::spawn(sleep(millis(1))).await.unwrap();
                    pending::<()>().await;
                })),
            ];
            sleep(millis(2)).await;
            for task in &tasks {
                task.abort();
            }
            for task in tasks {
                assert!(task.await.unwrap_err().is_cancelled());
            }
            assert_eq!(drops.get(), 5);
            // The other half finds out.
            assert!(sender.send(()).await.is_err());
            // The fifth may have been aborted before the task that it had spawned ended. That one
            // goes on, and a current-thread runtime polls it only while it is in `block_on`.
            #[cfg(feature = "observe")]
            while count_tasks(&arc::runtime::Handle::current()) > 0 {
                yield_now().await;
            }
        });
        assert_eq!(drops.get(), 5);
    });
}

/// From another thread, at every distance from the task's own end.
#[test]
fn racing_with_completion_wakes_the_joiner_and_drops_the_future_once() {
    with_each_flavor(|runtime| {
        let (tasks, aborts) = mpsc::sync_channel::<Arc<JoinHandle<usize>>>(64);
        let aborter = thread::spawn(move || {
            for (round, task) in aborts.into_iter().enumerate() {
                spin(round % 97);
                task.abort();
                if round % 5 == 0 {
                    task.abort();
                }
            }
        });
        let drops = Counter::new();
        for batch in 1..=rounds(600) {
            let spawn = |index| {
                let held = drops.on_drop();
                let task = Arc::new(runtime.spawn(async move {
                    let _held = held;
                    yields(index % 4).await;
                    index
                }));
                tasks.send(task.clone()).unwrap();
                task
            };
            let spawned: Vec<_> = (0..50).map(spawn).collect();
            for (index, task) in spawned.into_iter().enumerate() {
                // Until the aborter has let go of it.
                spin_until("the handle", || Arc::strong_count(&task) == 1);
                match runtime.block_on(Arc::try_unwrap(task).unwrap()) {
                    Ok(output) => assert_eq!(output, index),
                    Err(error) => assert!(error.is_cancelled()),
                }
            }
            assert_eq!(drops.get(), 50 * batch);
        }
        drop(tasks);
        aborter.join().unwrap();
        wait_for_no_tasks(&runtime);
    });
}

/// By many threads at once, while others wake the task.
#[test]
fn racing_with_wakes_and_other_aborts() {
    with_each_size(|runtime| {
        let drops = Counter::new();
        for round in 1..=rounds(300) {
            let (slot, held) = (Slot::default(), drops.on_drop());
            let leaves = slot.never();
            let task = runtime.spawn(async move {
                let _held = held;
                leaves.await;
            });
            let waker = slot.waker();
            on_threads(4, |index| {
                if index % 2 == 0 {
                    task.abort();
                }
                (0..10).for_each(|_| waker.wake_by_ref());
            });
            assert!(joins_as_cancelled(task));
            assert_eq!(drops.get(), round);
        }
    });
}

/// The place of a task that was aborted is used again, and its next tenant lives.
#[test]
fn an_old_handle_does_nothing_to_the_next_tenant_of_its_place() {
    with_each_flavor(|runtime| {
        for _ in 0..200 {
            let old = runtime.spawn(async {});
            let abort = old.abort_handle();
            assert_eq!(abort.id(), old.id());
            runtime.block_on(old).unwrap();
            assert!(abort.is_finished());
            let next = runtime.spawn(async {
                yield_now().await;
                7
            });
            abort.abort();
            assert_eq!(runtime.block_on(next).unwrap(), 7);
            let aborted = runtime.spawn(pending::<()>());
            let abort = aborted.abort_handle();
            assert!(!abort.is_finished());
            abort.clone().abort();
            assert!(runtime.block_on(aborted).unwrap_err().is_cancelled());
            wait_until("it has ended", || abort.is_finished());
        }
    });
}

#[test]
fn after_the_runtime_has_ended_does_nothing() {
    with_each_size(|runtime| {
        let handle = runtime.handle().clone();
        let task = runtime.spawn(pending::<()>());
        let finished = runtime.spawn(async { 1 });
        wait_until("it has finished", || finished.is_finished());
        drop(runtime);
        task.abort();
        finished.abort();
        assert!(joins_as_cancelled(task));
        assert!(!joins_as_cancelled(finished));
        let late = handle.spawn(async {});
        late.abort();
        assert!(joins_as_cancelled(late));
    });
}
