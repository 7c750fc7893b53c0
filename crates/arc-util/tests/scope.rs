//! Tasks that borrow: all have ended when the scope returns or panics.

use crate::common::CountDrop;
use crate::core_common::SpawnBlocking;
use crate::net_common::{runtime, within_limit};
use arc_util::task::{Scope, scope};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

const PAUSE: Duration = Duration::from_micros(100);

/// Runs a test on a thread that a runtime is entered on, within the limit.
#[track_caller]
fn inside(workers: usize, test: fn()) {
    within_limit(move || {
        let runtime = runtime(workers);
        let _guard = runtime.enter();
        test();
    });
}

/// Counts that one more task has ended.
fn add(ended: &AtomicUsize) {
    ended.fetch_add(1, Ordering::SeqCst);
}

fn panic_of(function: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(function)).unwrap_err();
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap()
}

#[test]
fn what_tasks_write_into_what_they_borrow_is_there() {
    for workers in [1, 2, 4] {
        inside(workers, || {
            for _ in 0..20 {
                let mut squares = vec![0; 100];
                let factor = String::from("7");
                let (text, count) = (&factor, squares.len());
                let returned = scope(|scope| {
                    for (index, square) in squares.iter_mut().enumerate() {
                        scope.spawn(async move {
                            arc::time::sleep(PAUSE).await;
                            *square = index * text.len();
                        });
                    }
                    count
                });
                assert_eq!(returned, squares.len());
                assert!(squares.iter().enumerate().all(|(index, &square)| square == index));
            }
        });
    }
}

#[test]
fn a_closure_may_wait_for_a_task() {
    for workers in [1, 2, 4] {
        inside(workers, || {
            let received = scope(|scope| {
                let (sender, receiver) = std::sync::mpsc::channel();
                scope.spawn(async move {
                    arc::time::sleep(PAUSE).await;
                    sender.send(7).unwrap();
                });
                receiver.recv().unwrap()
            });
            assert_eq!(received, 7);
        });
    }
}

/// The wake comes from a thread outside, and the poll that it interrupts ends after it.
#[test]
fn a_wake_during_a_poll_is_not_lost() {
    inside(1, || {
        let mut polls = 0;
        let count = &mut polls;
        scope(|scope| {
            scope.spawn(std::future::poll_fn(move |context| {
                *count += 1;
                if *count == 2 {
                    return Poll::Ready(());
                }
                let waker = context.waker().clone();
                std::thread::spawn(move || waker.wake()).join().unwrap();
                Poll::Pending
            }));
        });
        assert_eq!(polls, 2);
    });
}

/// Each task sends what it receives on to the next one: all of them wait, and wake each other from
/// several threads.
#[test]
fn tasks_that_wake_each_other_all_come_to_their_end() {
    const TASKS: usize = 50;
    inside(4, || {
        let sums: Vec<AtomicUsize> = (0..TASKS).map(|_| AtomicUsize::new(0)).collect();
        let pipes = (0..TASKS).map(|_| arc_util::sync::mpsc::channel(1));
        let (senders, receivers): (Vec<_>, Vec<_>) = pipes.unzip();
        scope(|scope| {
            for (index, (mut receiver, sum)) in receivers.into_iter().zip(&sums).enumerate() {
                let next = senders[(index + 1) % TASKS].clone();
                let is_last = index + 1 == TASKS;
                scope.spawn(async move {
                    for _ in 0..100 {
                        sum.fetch_add(receiver.recv().await.unwrap(), Ordering::Relaxed);
                        if !is_last {
                            next.send(1).await.unwrap();
                        }
                    }
                });
            }
            let first = senders[0].clone();
            scope.spawn(async move {
                for _ in 0..100 {
                    first.send(1).await.unwrap();
                }
            });
        });
        assert!(sums.iter().all(|sum| sum.load(Ordering::Relaxed) == 100));
    });
}

#[test]
fn sockets_and_tasks_of_the_runtime_work_in_them() {
    inside(2, || {
        let sum = AtomicUsize::new(0);
        scope(|scope| {
            for number in 0..10 {
                let sum = &sum;
                scope.spawn(async move {
                    let (client, server) = crate::common::tcp_pair().await;
                    let sent = arc::spawn(async move {
                        use arc_util::io::AsyncWriteExt;
                        (&client).write_all(&[number]).await
                    });
                    let mut byte = [0];
                    arc::io::AsyncReadExt::read_exact(&mut &server, &mut byte).await.unwrap();
                    sent.await.unwrap().unwrap();
                    sum.fetch_add(byte[0].into(), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(sum.into_inner(), 45);
    });
}

/// Each task spins until the other has arrived: one thread could never run both.
#[test]
fn they_run_on_several_threads() {
    inside(2, || {
        let arrived = AtomicUsize::new(0);
        scope(|scope| {
            for _ in 0..2 {
                scope.spawn(async {
                    arrived.fetch_add(1, Ordering::SeqCst);
                    while arrived.load(Ordering::SeqCst) < 2 {
                        std::thread::yield_now();
                    }
                });
            }
        });
    });
}

#[test]
fn a_panic_of_a_task_comes_out_when_all_have_ended() {
    inside(2, || {
        let (dropped, ended) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let text = panic_of(|| {
            scope(|scope| {
                for number in 0..10 {
                    let (guard, ended) = (CountDrop(dropped.clone()), &ended);
                    scope.spawn(async move {
                        let _guard = guard;
                        arc::time::sleep(PAUSE * number).await;
                        assert!(number != 3, "the third");
                        add(ended);
                    });
                }
            });
        });
        assert_eq!(text, "the third");
        assert_eq!((dropped.load(Ordering::SeqCst), ended.into_inner()), (10, 9));
    });
}

/// The drop of a task's future panics, after the future was ready.
#[test]
fn a_panic_of_a_drop_comes_out_when_all_have_ended() {
    struct Breaks;
    impl Future for Breaks {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            Poll::Ready(())
        }
    }
    impl Drop for Breaks {
        fn drop(&mut self) {
            panic!("a drop panics on purpose");
        }
    }
    for workers in [1, 2] {
        inside(workers, || {
            let ended = AtomicUsize::new(0);
            let text = panic_of(|| {
                scope(|scope| {
                    scope.spawn(Breaks);
                    scope.spawn(async {
                        arc::task::yield_now().await;
                        add(&ended);
                    });
                });
            });
            assert!(text.contains("a drop panics on purpose"), "{text}");
            assert_eq!(ended.load(Ordering::SeqCst), 1);
        });
    }
}

#[test]
fn a_panic_of_the_closure_comes_out_when_all_have_ended() {
    inside(2, || {
        let ended = AtomicUsize::new(0);
        let text = panic_of(|| {
            scope(|scope: &Scope<'_>| {
                scope.spawn(async {
                    arc::time::sleep(PAUSE).await;
                    add(&ended);
                });
                panic!("half-way");
            });
        });
        assert_eq!((text.as_str(), ended.into_inner()), ("half-way", 1));
    });
}

#[test]
fn an_empty_scope_returns_at_once() {
    inside(4, || {
        assert_eq!(scope(|_| 7), 7);
    });
}

/// It would block the thread. A job may do that.
#[test]
fn inside_a_task_or_block_on_a_scope_is_refused_and_says_what_to_do() {
    within_limit(|| {
        let runtime = runtime(2);
        let text = runtime.block_on(async { panic_of(|| scope(|scope| scope.spawn(pending()))) });
        assert!(text.contains("`scope` was called inside a task or block_on"), "{text}");
        assert!(text.contains("spawn_blocking"), "{text}");
        let task = runtime.spawn(async { panic_of(|| scope(|_| ())) });
        assert_eq!(runtime.block_on(task).unwrap(), text);

        let job = runtime.spawn_blocking(|| {
            let ended = AtomicUsize::new(0);
            scope(|scope| scope.spawn(async { add(&ended) }));
            ended.into_inner()
        });
        assert_eq!(runtime.block_on(job).unwrap(), 1);
    });
}

/// The threads that did start must end, too.
#[cfg(target_os = "linux")]
#[test]
fn without_threads_the_caller_runs_the_tasks() {
    let name = "scope::without_threads_the_caller_runs_the_tasks";
    let test = move || {
        crate::thread_limit::with_limited_threads(name, || {
            let runtime = runtime(4);
            let _guard = runtime.enter();
            for more in [0, 1] {
                crate::thread_limit::allow_threads(more);
                let ended = AtomicUsize::new(0);
                scope(|scope| {
                    for _ in 0..10 {
                        scope.spawn(async {
                            arc::time::sleep(PAUSE).await;
                            add(&ended);
                        });
                    }
                });
                assert_eq!(ended.into_inner(), 10);
                crate::thread_limit::allow_threads(1000);
            }
        });
    };
    within_limit(test);
}

/// A panic payload that panics when it is dropped.
struct Breaks;

impl Drop for Breaks {
    fn drop(&mut self) {
        panic!("a payload panics on purpose");
    }
}

/// One payload is dropped while the other one unwinds.
#[test]
fn a_panic_of_the_closure_and_one_of_a_task_come_out_as_one() {
    inside(2, || {
        let text = panic_of(|| {
            scope(|scope| {
                scope.spawn(async { std::panic::panic_any(Breaks) });
                panic!("half-way");
            })
        });
        assert_eq!(text, "half-way");
    });
}

#[test]
fn of_two_panics_of_tasks_the_first_comes_out_when_all_have_ended() {
    inside(1, || {
        let ended = AtomicUsize::new(0);
        let thrown = catch_unwind(AssertUnwindSafe(|| {
            scope(|scope| {
                scope.spawn(async { std::panic::panic_any(Breaks) });
                scope.spawn(async { std::panic::panic_any(Breaks) });
                scope.spawn(async {
                    arc::task::yield_now().await;
                    add(&ended);
                });
            })
        }));
        let payload = thrown.expect_err("a task has panicked");
        assert!(payload.is::<Breaks>());
        std::mem::forget(payload);
        assert_eq!(ended.load(Ordering::SeqCst), 1);
    });
}
