//! The budget: a task that is never kept waiting lets the others run.

use crate::common::*;
use arc::io::{AsyncReadExt, AsyncWriteExt};
use arc::net::TcpStream;
use arc::task::{consume_budget, has_budget_remaining, with_budget, yield_now};
use arc::time::sleep;
use std::future::{Future, pending, poll_fn};
use std::io::{Read, Write};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

const TICK: Duration = millis(1);

/// How often the future is polled until it is ready.
async fn polls_of<F: Future>(future: F) -> usize {
    let polls = Counter::new();
    polls.polls_of(future).await;
    polls.get()
}

/// Consumes so many units.
async fn consume(units: usize) {
    for _ in 0..units {
        consume_budget().await;
    }
}

/// Never waits, and never ends.
async fn greedy() {
    consume(usize::MAX).await;
}

/// Whether a task that runs on the only worker, and never has to wait, lets a
/// timer and another task through.
#[track_caller]
fn lets_others_run<F>(greedy: impl FnOnce(Gate) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    within_deadline(|| {
        let runtime = runtime(1);
        let stop = Gate::new();
        let task = runtime.spawn(greedy(stop));
        let timer = runtime.spawn(sleep(TICK));
        let sibling = runtime.spawn(yields(10));
        wait_for_all(&[timer, sibling]);
        assert!(!task.is_finished());
        stop.open();
        wait_until("the greedy one", || task.is_finished());
        runtime.block_on(task).unwrap();
    });
}

/// A peer on a thread of its own, which does this with the connection.
async fn connected(peer: impl FnOnce(std::net::TcpStream) + Send + 'static) -> TcpStream {
    let (near, far) = std_pair();
    thread::spawn(move || peer(far));
    TcpStream::from_std(near).unwrap()
}

#[test]
fn a_socket_that_is_always_readable_does_not_starve_a_timer() {
    lets_others_run(|stop| async move {
        let sends = |mut far: std::net::TcpStream| while far.write_all(&[1; 1 << 16]).is_ok() {};
        let mut stream = connected(sends).await;
        while !stop.is_open() {
            stream.read_exact(&mut [0]).await.unwrap();
        }
    });
}

#[test]
fn a_socket_that_is_always_writable_does_not_starve_a_timer() {
    lets_others_run(|stop| async move {
        let receives = |mut far: std::net::TcpStream| {
            while far.read(&mut [0; 1 << 16]).is_ok_and(|count| count > 0) {}
        };
        let mut stream = connected(receives).await;
        while !stop.is_open() {
            stream.write_all(b"x").await.unwrap();
        }
    });
}

#[test]
fn a_listener_with_a_full_backlog_does_not_starve_a_timer() {
    lets_others_run(|stop| async move {
        let (listener, address) = listen().await;
        for _ in 0..2 {
            thread::spawn(move || {
                while !stop.is_open() {
                    drop(std::net::TcpStream::connect(address));
                }
            });
        }
        while !stop.is_open() {
            // Without a limit it would wait for clients that have gone.
            drop(timeout(TICK, listener.accept()).await);
        }
    });
}

/// The same inside `block_on` of a current-thread runtime, whose only thread it is on.
#[test]
fn the_future_in_block_on_does_not_starve_a_timer() {
    on_current_thread(|runtime| {
        let stop = Gate::new();
        runtime.block_on(async {
            drop(arc::spawn(async move {
                sleep(TICK).await;
                stop.open();
            }));
            let start = Instant::now();
            while !stop.is_open() {
                assert!(start.elapsed() < DEADLINE, "the timer never fired");
                consume_budget().await;
            }
        });
    });
}

#[test]
fn consume_budget_in_a_loop_lets_others_run() {
    lets_others_run(|stop| async move {
        while !stop.is_open() {
            consume_budget().await;
        }
    });
}

#[test]
fn timers_that_are_over_at_once_let_others_run() {
    lets_others_run(|stop| async move {
        while !stop.is_open() {
            sleep(Duration::ZERO).await;
        }
    });
}

/// They are all ready, so nothing but the budget ends the poll.
#[test]
fn joining_tasks_that_have_ended_lets_others_run() {
    with_each_flavor(|runtime| {
        let polls = runtime.spawn(async {
            let tasks: Vec<_> = (0..1000).map(|_| arc::spawn(async {})).collect();
            while !tasks.iter().all(arc::task::JoinHandle::is_finished) {
                yield_now().await;
            }
            polls_of(join(tasks)).await
        });
        assert!(runtime.block_on(polls).unwrap() > 1);
    });
}

#[test]
fn the_budget_is_used_up_by_progress_and_fresh_in_each_poll() {
    with_each_flavor(|runtime| {
        let task = runtime.spawn(async {
            // Many operations take more than one poll, few take one.
            let many = polls_of(consume(10_000)).await;
            assert!((10..1000).contains(&many), "{many} polls");
            yield_now().await;
            assert_eq!(polls_of(consume(10)).await, 1);
            assert_eq!(polls_of(consume(1)).await, 1);
        });
        runtime.block_on(task).unwrap();
    });
}

#[test]
fn a_task_that_is_polled_later_has_a_budget_of_its_own() {
    on_each([1], |runtime| {
        let spender = runtime.spawn(consume(10_000));
        let sibling = runtime.spawn(polls_of(consume(10)));
        assert_eq!(runtime.block_on(sibling).unwrap(), 1);
        runtime.block_on(spender).unwrap();
    });
}

/// Whatever the inner poll does: it panics as well, here.
#[test]
fn a_poll_with_a_budget_of_its_own_leaves_the_tasks_as_it_was() {
    with_each_flavor(|runtime| {
        let left = || {
            let mut context = Context::from_waker(Waker::noop());
            (0..1_000).take_while(|_| pin!(consume_budget()).poll(&mut context).is_ready()).count()
        };
        let task = async move {
            let all = poll_fn(|_| Poll::Ready(left())).await;
            // The next poll begins with a fresh one.
            yield_now().await;
            consume(10).await;
            let inner = with_budget(left);
            assert!(std::panic::catch_unwind(|| with_budget(|| panic!("{ON_PURPOSE}"))).is_err());
            (all, inner, left())
        };
        let (all, inner, rest) = runtime.block_on(runtime.spawn(task)).unwrap();
        assert_eq!((inner, rest), (all, all - 10));
    });
}

/// The `block_on` of another crate polls again and again within one poll of the task. That one gets
/// a new budget whenever it was refused often enough, and so comes to its end.
#[test]
fn a_poll_that_polls_for_ever_gets_a_new_budget_each_time() {
    with_each_flavor(|runtime| {
        let polls_of = |units| {
            let mut future = pin!(consume(units));
            let is_pending = |_: &usize| poll_with(future.as_mut(), Waker::noop()).is_pending();
            (0..1_000_000).take_while(is_pending).count()
        };
        let task = async move {
            // A budget or two, and then eight.
            let few = poll_fn(|_| Poll::Ready(polls_of(200))).await;
            yield_now().await;
            (few, poll_fn(|_| Poll::Ready(polls_of(1000))).await)
        };
        let (few, many) = runtime.block_on(runtime.spawn(task)).unwrap();
        assert!((100..10_000).contains(&few), "{few} polls");
        assert!((4 * few..100_000).contains(&many), "{many} polls beside {few}");
    });
}

#[test]
fn outside_of_tasks_nothing_is_limited() {
    with_each_flavor(|runtime| {
        // Not polled by a worker: in a blocking job.
        let job = runtime.spawn_blocking(|| {
            let mut context = Context::from_waker(Waker::noop());
            (0..10_000).all(|_| pin!(consume_budget()).poll(&mut context).is_ready())
        });
        assert!(runtime.block_on(job).unwrap());
    });
}

/// The future is ready whenever it is asked, and takes all of the budget.
#[test]
fn a_timeout_fires_although_its_future_used_up_the_budget() {
    with_each_flavor(|runtime| {
        let task = runtime.spawn(timeout(TICK, greedy()));
        assert!(runtime.block_on(task).unwrap().is_err());
        runtime.block_on(async {
            assert!(timeout(TICK, greedy()).await.is_err());
            // One around the other.
            assert!(timeout(TICK, timeout(DEADLINE, greedy())).await.is_err());
        });
    });
}

#[test]
fn a_timeout_fires_although_a_sibling_used_up_the_budget() {
    with_each_size(|runtime| {
        let task = runtime.spawn(async {
            let mut limit = pin!(timeout(TICK, pending::<()>()));
            let mut spender = pin!(greedy());
            poll_fn(|context| {
                let _: Poll<()> = spender.as_mut().poll(context);
                limit.as_mut().poll(context)
            })
            .await
            .is_err()
        });
        wait_until("the timeout", || task.is_finished());
        assert!(runtime.block_on(task).unwrap());
    });
}

#[test]
fn a_task_can_ask_whether_it_has_any_budget_left() {
    assert!(has_budget_remaining(), "outside of a runtime nothing is limited");
    with_each_flavor(|runtime| {
        let task = runtime.spawn(async {
            let mut units = 0;
            while has_budget_remaining() {
                consume_budget().await;
                units += 1;
            }
            assert_eq!(polls_of(consume_budget()).await, 2, "it waits for the next poll");
            (units, has_budget_remaining())
        });
        assert_eq!(runtime.block_on(task).unwrap(), (128, true));
        assert!(has_budget_remaining());
    });
}
