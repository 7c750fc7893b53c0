//! The budget of a task, around futures that do not take part in it.

use crate::common::soon;
use crate::net_common::{Counter, foreign_block_on};
use arc::runtime::Builder;
use arc::task::{consume_budget, yield_now};
use arc_util::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, SeekFrom, copy, copy_bidirectional,
    copy_buf, duplex, empty, repeat, sink, split,
};
use arc_util::sync::{Mutex, RwLock, Semaphore};
use arc_util::sync::{broadcast, mpsc, oneshot, watch};
use arc_util::task::{cooperative, unconstrained};
use futures_util::FutureExt;
use futures_util::future::select_all;
use std::future::{Future, poll_fn, ready};
use std::io::IoSlice;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// Runs futures in a loop on the only thread of a current-thread runtime, until another task
/// has run.
fn lets_others_run(mut next: impl AsyncFnMut()) {
    Builder::new_current_thread().build().unwrap().block_on(async {
        let other = arc::spawn(async {});
        let mut rounds = 0;
        while !other.is_finished() {
            next().await;
            rounds += 1;
            assert!(rounds < 10_000_000, "nobody else was let run");
        }
    });
}

#[test]
fn what_reads_and_writes_nothing_lets_others_run() {
    lets_others_run(async || assert_eq!(empty().read(&mut [0]).await.unwrap(), 0));
    lets_others_run(async || assert!(empty().fill_buf().await.unwrap().is_empty()));
    lets_others_run(async || assert_eq!(empty().seek(SeekFrom::End(7)).await.unwrap(), 0));
    lets_others_run(async || empty().write_all(b"x").await.unwrap());
    lets_others_run(async || repeat(1).read_exact(&mut [0; 2]).await.map(drop).unwrap());
    lets_others_run(async || sink().write_all(b"x").await.unwrap());
    lets_others_run(async || {
        let parts = [IoSlice::new(b"one"), IoSlice::new(b"two")];
        assert_eq!(sink().write_vectored(&parts).await.unwrap(), 6);
    });
    lets_others_run(async || sink().flush().await.unwrap());
    lets_others_run(async || sink().shutdown().await.unwrap());
}

#[arc::test]
async fn a_time_limit_ends_a_loop_over_what_is_always_ready() {
    let limit = std::time::Duration::from_millis(1);
    let forever = async {
        loop {
            sink().write_all(b"x").await.unwrap();
        }
    };
    let ended: Result<(), _> = arc::time::timeout(limit, forever).await;
    assert!(ended.is_err());
}

#[test]
fn a_pipe_in_memory_lets_others_run() {
    let (mut near, mut far) = duplex(8);
    lets_others_run(async || {
        near.write_all(b"x").await.unwrap();
        far.read_exact(&mut [0]).await.unwrap();
    });
}

#[test]
fn copying_lets_others_run() {
    lets_others_run(async || {
        copy(&mut &b"hello"[..], &mut Vec::new()).await.unwrap();
    });
    lets_others_run(async || drop(copy(&mut empty(), &mut sink()).await));
    lets_others_run(async || {
        copy_buf(&mut &b"hello"[..], &mut Vec::new()).await.unwrap();
    });
    lets_others_run(async || {
        let (mut first, mut second) =
            (std::io::Cursor::new(vec![1; 4]), std::io::Cursor::new(vec![]));
        copy_bidirectional(&mut first, &mut second).await.unwrap();
    });
}

/// A branch that takes part in the budget has none, and the other one does not.
#[test]
fn select_lets_others_run() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    lets_others_run(async || {
        sender.send(()).unwrap();
        arc_util::select! {
            biased;
            received = receiver.recv() => received.unwrap(),
            () = ready(()) => {}
        }
    });
    lets_others_run(async || arc_util::race!(ready(()), ready(())));
}

/// Each waits for its own unit of the budget once. There are more of them than a budget has units.
#[arc::test]
async fn all_of_many_selects_are_polled() {
    let (sender, receiver) = watch::channel(0);
    let waiting = |number| {
        let mut receiver = receiver.clone();
        Box::pin(async move {
            arc_util::select! {
                Ok(_) = receiver.wait_for(|wanted| *wanted == number) => number,
                else => unreachable!("the sender lives"),
            }
        })
    };
    let first = arc::spawn(select_all((1..=400).map(waiting)));
    yield_now().await;
    sender.send(399).unwrap();
    assert_eq!(soon(first).await.unwrap().0, 399);
}

#[test]
fn a_watch_channel_that_is_closed_lets_others_run() {
    let (sender, receiver) = watch::channel(0);
    drop(receiver);
    lets_others_run(async || sender.closed().await);
}

#[test]
fn channels_for_one_value_let_others_run() {
    lets_others_run(async || {
        let (sender, receiver) = oneshot::channel();
        sender.send(1).unwrap();
        receiver.await.unwrap();
    });
}

#[test]
fn what_is_around_tokios_lets_others_run() {
    let (sender, mut receiver) = broadcast::channel(1);
    lets_others_run(async || {
        sender.send(1).unwrap();
        assert_eq!(receiver.recv().await, Ok(1));
    });
    let (mutex, lock) = (Mutex::new(0), RwLock::new(0));
    lets_others_run(async || *mutex.lock().await += 1);
    lets_others_run(async || *lock.write().await += 1);
    lets_others_run(async || drop(lock.read().await));
}

/// tokio's own types and those of other crates know nothing of arc's budget.
#[test]
fn what_is_not_arcs_lets_others_run_if_it_is_cooperative() {
    let lock = tokio::sync::Mutex::new(0);
    lets_others_run(async || *cooperative(lock.lock()).await += 1);
    let (sender, receiver) = async_channel::bounded(1);
    lets_others_run(async || {
        sender.try_send(()).unwrap();
        cooperative(receiver.recv()).await.unwrap();
    });
}

#[arc::test]
async fn a_receiver_of_tokios_may_not_block_in_a_task() {
    let (_sender, mut receiver) = broadcast::channel::<u8>(1);
    let blocks = arc::spawn(async move { receiver.blocking_recv() });
    assert!(soon(blocks).await.unwrap_err().is_panic());
}

#[test]
fn permits_and_values_that_are_always_there_let_others_run() {
    let semaphore = Semaphore::new(1);
    lets_others_run(async || drop(semaphore.acquire().await));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    lets_others_run(async || {
        sender.send(()).unwrap();
        receiver.recv().await.unwrap();
    });
}

/// One copy that has no end.
#[arc::test(flavor = "multi_thread", workers = 1)]
async fn a_copy_without_an_end_lets_others_run() {
    let endless = arc::spawn(async { copy(&mut repeat(1), &mut sink()).await });
    soon(arc::spawn(async {})).await.unwrap();
    endless.abort();
    assert!(soon(endless).await.unwrap_err().is_cancelled());
}

#[test]
fn a_watched_value_lets_others_run() {
    let (sender, mut receiver) = watch::channel(0);
    let mut watches = receiver.clone();
    lets_others_run(async || {
        sender.send_modify(|number| *number += 1);
        receiver.changed().await.unwrap();
    });
    lets_others_run(async || drop(watches.wait_for(|_| true).await));
}

/// There are more pipes than a budget has units.
#[arc::test(flavor = "multi_thread", workers = 1)]
async fn pipes_in_memory_that_wait_take_nothing_of_the_budget() {
    let (near, mut far): (Vec<_>, Vec<_>) = (0..200).map(|_| duplex(1)).unzip();
    let (read, mut ends): (Vec<_>, Vec<_>) = near.into_iter().map(split).unzip();
    let first = arc::spawn(select_all(read.into_iter().enumerate().map(|(index, mut end)| {
        Box::pin(async move { end.read_exact(&mut [0]).await.map(|_| index) })
    })));
    for end in &mut ends {
        end.write_all(b"f").await.unwrap();
    }
    let written = arc::spawn(select_all(ends.into_iter().enumerate().map(|(index, mut end)| {
        Box::pin(async move { end.write_all(b"ull").await.map(|_| index) })
    })));
    // Both tasks have been polled, and wait.
    yield_now().await;
    soon(far[150].write_all(b"x")).await.unwrap();
    assert_eq!(soon(first).await.unwrap().0.unwrap(), 150);
    soon(far[160].read_exact(&mut [0; 4])).await.unwrap();
    assert_eq!(soon(written).await.unwrap().0.unwrap(), 160);
}

/// One value of many has changed. It is found in one poll, however many are looked at before it.
#[arc::test]
async fn a_look_at_what_has_not_changed_costs_nothing() {
    let mut channels: Vec<_> = (0..200).map(watch::channel).collect();
    channels[150].0.send(7).unwrap();
    arc::task::yield_now().await;
    let found = channels.iter_mut().position(|it| it.1.changed().now_or_never().is_some());
    assert_eq!(found, Some(150));
}

#[arc::test]
async fn changes_that_came_while_there_was_no_budget_are_told_once() {
    let (sender, mut receiver) = watch::channel(0);
    sender.send(1).unwrap();
    while arc::task::consume_budget().now_or_never().is_some() {}
    let mut changed = Box::pin(receiver.changed());
    assert!(changed.as_mut().now_or_never().is_none());
    sender.send(2).unwrap();
    soon(changed).await.unwrap();
    assert_eq!(*receiver.borrow(), 2);
    assert!(receiver.changed().now_or_never().is_none(), "it has been told");
}

#[arc::test]
async fn an_unconstrained_future_yields_only_when_it_has_to_wait() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    for number in 0..1000 {
        sender.send(number).expect("it is open");
    }
    let mut all = Box::pin(unconstrained(async {
        for number in 0..1000 {
            assert_eq!(receiver.recv().await, Some(number));
        }
        receiver.recv().await
    }));
    assert!(all.as_mut().now_or_never().is_none());
    sender.send(1000).expect("it is open");
    assert_eq!(all.as_mut().now_or_never(), Some(Some(1000)), "all others were received");

    // The budget of the task itself is what it was.
    assert!(arc::task::consume_budget().now_or_never().is_some());
    while arc::task::consume_budget().now_or_never().is_some() {}
    assert_eq!(unconstrained(ready(1)).now_or_never(), Some(1));
    assert!(arc::task::consume_budget().now_or_never().is_none());
}

/// Not by polling it again: its own loop goes on within one poll.
#[arc::test]
async fn an_unconstrained_loop_over_polls_finds_all_that_is_ready() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    for _ in 0..1000 {
        sender.send(()).expect("it is open");
    }
    let mut take_all = poll_fn(|context| {
        let mut ready = 0;
        while ready < 1000 && receiver.poll_recv(context).is_ready() {
            ready += 1;
        }
        Poll::Ready(ready)
    });
    assert_eq!((&mut take_all).await, 128, "what a budget allows");
    assert_eq!(unconstrained(take_all).await, 1000 - 128);
}

/// Blocks on a future, as another crate's `block_on` does. Returns the number of polls.
fn block_on<F: Future>(future: F) -> usize {
    let (polls, mut future) = (Counter::default(), pin!(future));
    foreign_block_on(poll_fn(|context| {
        polls.add();
        assert!(polls.get() < 1_000_000, "it polls for ever");
        future.as_mut().poll(context).map(drop)
    }));
    polls.get()
}

/// Without this, it would spin for ever: the task's poll, which would bring a new budget, does not
/// end before it.
#[arc::test]
async fn a_foreign_block_on_in_a_task_ends_although_the_budget_is_used_up() {
    let task = arc::spawn(async {
        let mut polls = Vec::new();
        for _ in 0..300 {
            polls.push(block_on(async {
                arc_util::select! { () = ready(()) => {} }
            }));
        }
        // Other operations find the new budget as well.
        let (sender, mut receiver) = mpsc::unbounded_channel();
        for number in 0..300 {
            sender.send(number).expect("it is open");
            block_on(receiver.recv());
        }
        polls
    });
    let polls = soon(task).await.unwrap();
    let refused: Vec<_> = polls.iter().filter(|polls| **polls > 1).collect();
    assert_eq!(refused, [&4097, &4097], "of {polls:?}");
}

/// They are refused more often than that in one poll, which ends all the same.
#[arc::test]
async fn many_futures_of_one_task_do_not_keep_it_from_yielding() {
    let mut waiting: Vec<_> = (0..10_000).map(|_| Box::pin(consume_budget())).collect();
    let mut polls = 0;
    poll_fn(|context| {
        polls += 1;
        waiting.retain_mut(|future| future.as_mut().poll(context).is_pending());
        if waiting.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    // In a poll, at most two budgets come after the first one.
    assert!(polls >= 10_000 / (3 * 128), "{polls} polls");
}

#[arc::test]
async fn an_unconstrained_future_that_yields_by_itself_lets_others_run() {
    let stop = Arc::new(AtomicBool::new(false));
    drop(arc::spawn({
        let stop = stop.clone();
        async move { stop.store(true, Ordering::SeqCst) }
    }));
    // It uses up a budget to its last unit, so that its yield looks like the budget's.
    unconstrained(async {
        while !stop.load(Ordering::SeqCst) {
            for _ in 0..128 {
                arc::task::consume_budget().await;
            }
            yield_now().await;
        }
    })
    .await;
}
