//! What no other scenario notices when it breaks, and a program does: who is looked at how soon, in
//! turns and polls, and what is kept for how long.

use crate::net_common::*;
use arc::runtime::Builder;
use arc::task::{AbortHandle, yield_now};
use arc::time::{Instant, sleep};
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// After so many polls a worker looks at the clock and the kernel.
const INTERVAL: u32 = 8;

/// So many polls are few: the looks of some intervals.
const FEW: u32 = 4 * INTERVAL;

/// Blocks the thread until the timer has certainly expired: timers that are near to each other
/// share a wake-up.
fn let_expire(due: Instant) {
    while Instant::now() < due + millis(1) {
        spin(100);
    }
}

/// Yields until a timer is woken whose time passed before, and returns after how many polls that
/// was. How long it takes is counted in polls: the time of one depends on the machine.
async fn polls_until_a_timer_expires() -> u32 {
    let (wakes, waker) = Wakes::new();
    let mut timer = pin!(sleep(micros(100)));
    assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let_expire(timer.deadline());

    let mut polls = 0;
    while wakes.count() == 0 && polls <= FEW {
        polls += 1;
        yield_now().await;
    }
    polls
}

/// Most of the rounds took few polls. The monitor may come in between, and hold the seat or the
/// waker while the machine keeps its thread from running: that round says nothing.
fn expect_few_polls(mut rounds: Vec<u32>) {
    rounds.sort();
    let most = rounds[rounds.len() * 3 / 4];
    assert!(most <= FEW, "timers have not expired after so many polls: {rounds:?}");
}

#[test]
fn a_future_that_wakes_itself_for_ever_delays_a_timer_by_few_polls() {
    within_limit(|| {
        let round = || {
            let runtime = Builder::new_current_thread().event_interval(INTERVAL).build().unwrap();
            runtime.block_on(polls_until_a_timer_expires())
        };
        expect_few_polls((0..20).map(|_| round()).collect());
    });
}

/// The same of tasks that are always ready, in a program without sockets. A single worker is there,
/// so that no other one waits for the timer.
#[test]
fn tasks_that_are_always_ready_delay_a_timer_by_few_turns() {
    for tasks in [0, 1, 20] {
        within_limit(move || {
            let mut builder = Builder::new_multi_thread();
            let runtime = builder.workers(1).event_interval(INTERVAL).build().unwrap();
            let others: Vec<_> = (0..tasks)
                .map(|_| {
                    runtime.spawn(async {
                        loop {
                            yield_now().await;
                        }
                    })
                })
                .collect();
            let rounds = runtime.spawn(async {
                let mut rounds = Vec::new();
                for _ in 0..20 {
                    rounds.push(polls_until_a_timer_expires().await);
                }
                rounds
            });
            expect_few_polls(runtime.block_on(rounds).unwrap());
            others.iter().for_each(|task| task.abort());
        });
    }
}

/// How a task ends, once it may.
#[derive(Clone, Copy, Debug)]
enum End {
    Output,
    Panic,
    Abort,
}

/// Asks whether the task has ended, when it is dropped with the task's future.
struct Asks {
    task: Arc<Mutex<Option<AbortHandle>>>,
    has_ended: Arc<Mutex<Option<bool>>>,
}

impl Drop for Asks {
    fn drop(&mut self) {
        let task = self.task.lock().unwrap().take().expect("it is told before it ends");
        *self.has_ended.lock().unwrap() = Some(task.is_finished());
    }
}

/// What a future holds may be what others wait for the end of the task to use: so a task has not
/// ended before its future is dropped.
#[test]
fn a_task_has_not_ended_before_its_future_is_dropped() {
    run_each(|| async {
        for end in [End::Output, End::Panic, End::Abort] {
            let (told, has_ended) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
            let asks = Asks { task: told.clone(), has_ended: has_ended.clone() };
            let task = arc::spawn(poll_fn(move |context| {
                if asks.task.lock().unwrap().is_none() {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                match end {
                    End::Output => Poll::Ready(()),
                    End::Panic => resume_unwind(Box::new("on purpose")),
                    End::Abort => Poll::Pending,
                }
            }));
            let handle = task.abort_handle();
            *told.lock().unwrap() = Some(handle.clone());
            if let End::Abort = end {
                task.abort();
            }
            let _ = task.await;
            assert_eq!(*has_ended.lock().unwrap(), Some(false), "{end:?}");
            assert!(handle.is_finished());
        }
    });
}

/// A timeout that was not needed is gone from the wheel, and its waker with it. A server makes many
/// of them, and each would stay for as long as it was to last.
#[test]
fn sleeps_that_are_dropped_keep_nothing() {
    run_each(|| async {
        let (wakes, waker) = Wakes::new();
        let mut context = Context::from_waker(&waker);
        for _ in 0..1000 {
            let mut limit = Box::pin(sleep(HOUR));
            assert!(limit.as_mut().poll(&mut context).is_pending());
            drop(limit);
            let mut pause = Box::pin(sleep(HOUR));
            assert!(pause.as_mut().poll(&mut context).is_pending());
            pause.as_mut().reset(Instant::now() + 2 * HOUR);
        }
        assert_eq!(Arc::strong_count(&wakes), 2, "the test's own, and its waker");

        // Armed by a worker, and dropped by another thread.
        let (pauses, armed) = (Arc::new(Mutex::new(None)), wakes.clone());
        let arms = pauses.clone();
        arc::spawn(async move {
            let waker = Waker::from(armed);
            let mut pause = Box::pin(sleep(HOUR));
            assert!(pause.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            *arms.lock().unwrap() = Some(pause);
        })
        .await
        .unwrap();
        assert_eq!(Arc::strong_count(&wakes), 3);
        arc::task::spawn_blocking(move || drop(pauses)).await.unwrap();
        assert_eq!(Arc::strong_count(&wakes), 2);
    });
}

/// A time that passes before the first poll: the task has its turn behind the others, and is woken.
#[test]
fn a_sleep_whose_time_has_passed_lets_others_have_their_turn() {
    run_each(|| async {
        let late = [sleep(micros(50)), sleep(micros(60))];
        let_expire(late[1].deadline());
        for late in late {
            assert!(late.is_elapsed());
            let mut late = pin!(late);
            let mut polls = 0;
            poll_fn(|context| {
                polls += 1;
                late.as_mut().poll(context)
            })
            .await;
            assert_eq!(polls, 2);
        }
    });
}
