//! `select!`, `join!` and `try_join!` with the syntax of existing code.

#![cfg(feature = "sync")]

mod common;

use arc::task::{consume_budget, yield_now};
use arc::time::sleep;
use arc_util::sync::{mpmc, oneshot};
use arc_util::{join, race, select, try_join};
use common::{CountDrop, soon};
use std::cell::Cell;
use std::collections::HashSet;
use std::future::{pending, ready};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[arc::test]
async fn the_first_that_ends_wins_and_the_others_are_dropped_before_its_handler() {
    let (sender, receiver) = oneshot::channel::<u8>();
    let mut log = vec!["begun"];
    let output = select! {
        () = async {
            // Both a branch that loses and the handler of the one that wins borrow `log`.
            log.push("polled");
            let _ = receiver.await;
        } => "wrong",
        value = ready(1) => {
            log.push("won");
            assert_eq!(value, 1);
            "right"
        }
    };
    assert_eq!(output, "right");
    assert_eq!(log.last(), Some(&"won"));
    assert!(sender.send(1).is_err(), "the other branch is dropped");
}

#[arc::test]
async fn patterns_that_do_not_match_are_out() {
    let number = select! {
        Some(number) = ready(None::<i32>) => number,
        Ok(mut number) | Err(mut number) = ready(Ok::<i32, i32>(4)) => {
            number += 1;
            number
        }
    };
    assert_eq!(number, 5);
    let number = select! {
        Some((1, _)) = ready(Some((2, 3))) => 1,
        Some(Point { x, y: 5 }) = ready(Some(Point { x: 1, y: 6 })) => x,
        [_, ref x] = ready([String::new(), "x".to_owned()]), if false => i32::from(x == "x"),
        else => 7,
    };
    assert_eq!(number, 7);
    let number = select! {
        Some(&Point { x, .. }) = ready(Some(&Point { x: 8, y: 6 })) => x,
    };
    assert_eq!(number, 8);
}

struct Point {
    x: i32,
    y: i32,
}

#[arc::test]
#[should_panic(expected = "all branches of select! are disabled")]
async fn without_an_else_it_panics_when_all_are_out() {
    select! {
        Some(()) = ready(None) => {},
        _ = ready(()), if false => {},
    }
}

#[arc::test]
async fn preconditions_come_first_and_futures_of_others_are_not_polled() {
    let polled = Cell::new(false);
    let is_ready = |yes: bool| !polled.get() && yes;
    let output = select! {
        _ = async { polled.set(true) }, if is_ready(false) => "polled",
        output = async { "other" }, if is_ready(true) => output,
    };
    assert_eq!(output, "other");
    assert!(!polled.get());
}

#[arc::test]
async fn biased_keeps_the_order_and_chance_is_fair() {
    let (mut biased, mut fair) = ([0; 3], [0; 3]);
    for _ in 0..1000 {
        select! {
            biased;
            _ = ready(()) => biased[0] += 1,
            _ = ready(()) => biased[1] += 1,
            _ = ready(()) => biased[2] += 1,
        }
        select! {
            _ = ready(()) => fair[0] += 1,
            _ = ready(()) => fair[1] += 1,
            _ = ready(()) => fair[2] += 1,
        }
    }
    assert_eq!(biased, [1000, 0, 0]);
    // Expected are 333 each, with a standard deviation of 15: less than 100 is not chance.
    assert!(fair.iter().all(|&count| count > 100), "{fair:?}");
}

#[arc::test]
async fn loops_break_continue_return_and_ask() {
    async fn sum(receiver: mpmc::Receiver<Result<i32, String>>) -> Result<i32, String> {
        let mut sum = 0;
        let mut never = pin!(pending::<()>());
        loop {
            select! {
                received = receiver.recv() => match received {
                    Ok(result) => {
                        let number = result?;
                        if number == 0 {
                            continue;
                        }
                        sum += async { number }.await;
                    }
                    Err(_) => break,
                },
                () = &mut never => return Err("never".to_owned()),
            }
        }
        Ok(sum)
    }
    for (last, expected) in [(Ok(3), Ok(5)), (Err("oh".to_owned()), Err("oh".to_owned()))] {
        let (sender, receiver) = mpmc::unbounded();
        for result in [Ok(2), Ok(0), last] {
            sender.try_send(result).unwrap();
        }
        drop(sender);
        assert_eq!(soon(sum(receiver)).await, expected);
    }
}

#[arc::test(flavor = "multi_thread")]
async fn it_is_woken_by_any_branch() {
    for winner in 0..2 {
        let (left, left_received) = oneshot::channel::<()>();
        let (right, right_received) = oneshot::channel::<()>();
        let task = arc::spawn(async {
            select! {
                Ok(()) = left_received => 0,
                Ok(()) = right_received => 1,
            }
        });
        arc::task::yield_now().await;
        let mut senders = [Some(left), Some(right)];
        senders[winner].take().unwrap().send(()).unwrap();
        assert_eq!(soon(task).await.unwrap(), winner);
    }
}

#[arc::test]
async fn many_branches_and_nested_ones() {
    let letter = select! {
        biased;
        _ = pending::<()>() => 'a', _ = pending::<()>() => 'b', _ = pending::<()>() => 'c',
        _ = pending::<()>() => 'd', _ = pending::<()>() => 'e', _ = pending::<()>() => 'f',
        _ = pending::<()>() => 'g', _ = pending::<()>() => 'h', _ = pending::<()>() => 'i',
        Some(Some(_)) = ready(Some(None::<()>)) => 'j',
        c = async { select! { inner = ready('k') => inner } } => select! { () = ready(()) => c },
    };
    assert_eq!(letter, 'k');
}

#[arc::test]
async fn join_waits_for_all_and_try_join_for_the_first_error() {
    let (sender, receiver) = oneshot::channel();
    let outputs = join!(
        async { receiver.await.unwrap() },
        async { sender.send(2).unwrap() },
        ready("three"),
    );
    assert_eq!(outputs, (2, (), "three"));
    assert_eq!(join!(), ());
    assert_eq!(join!(biased; ready(1)), (1,));
    let ended = try_join!(pending::<Result<(), &str>>(), async { Err::<(), _>("oh") });
    assert_eq!(ended, Err("oh"));
    let ended: Result<_, ()> = try_join!(async { Ok(1) }, async {
        arc::task::yield_now().await;
        Ok("two")
    });
    assert_eq!(ended, Ok((1, "two")));
}

/// The first future is always ready. Polled first each time, it would always use up the budget.
#[arc::test(flavor = "multi_thread")]
async fn a_busy_future_does_not_starve_those_that_are_joined_with_it() {
    let stop = std::cell::Cell::new(false);
    let busy = async || {
        let mut rounds = 0;
        while !stop.get() {
            arc::task::consume_budget().await;
            rounds += 1;
            assert!(rounds < 50_000_000, "the other one is never let run");
        }
        Ok::<_, ()>(())
    };
    let other = async || {
        arc::time::sleep(std::time::Duration::from_micros(100)).await;
        arc::task::consume_budget().await;
        stop.set(true);
        Ok(())
    };
    assert_eq!(soon(async { join!(busy(), other()) }).await, (Ok(()), Ok(())));
    stop.set(false);
    assert_eq!(soon(async { try_join!(busy(), other()) }).await, Ok(((), ())));
}

/// Without `biased`, the future that is polled first changes.
#[arc::test]
async fn join_takes_turns_and_biased_keeps_the_order() {
    let order = std::cell::RefCell::new(String::new());
    let twice = async |name| {
        order.borrow_mut().push(name);
        arc::task::yield_now().await;
        order.borrow_mut().push(name);
    };
    let mut orders = HashSet::new();
    for _ in 0..100 {
        join!(twice('a'), twice('b'), twice('c'));
        orders.insert(order.take());
        join!(biased; twice('a'), twice('b'), twice('c'));
        assert_eq!(order.take(), "abcabc");
    }
    assert_eq!(orders, ["abcabc", "abcbca", "abccab"].map(String::from).into());
}

/// If the futures strictly took turns in being first, a nested future could be first only in the
/// polls whose budget is used up already.
#[arc::test(flavor = "multi_thread", workers = 1)]
async fn joins_in_a_join_do_not_starve_each_other() {
    let stop = Cell::new(false);
    let busy = async || {
        while !stop.get() {
            consume_budget().await;
        }
    };
    let ends = async {
        consume_budget().await;
        yield_now().await;
        consume_budget().await;
        stop.set(true);
    };
    soon(async { join!(busy(), async { join!(ends, busy()) }) }).await;
}

/// 26 branches stay below the compiler's recursion limit for macros.
#[arc::test]
async fn as_many_branches_as_there_are_letters() {
    for wanted in 0..26 {
        assert_eq!(one_of_many(wanted).await, wanted);
    }
}

async fn found(number: u8) -> Result<Option<(u8, char)>, ()> {
    Ok(Some((number, '!')))
}

#[rustfmt::skip]
async fn one_of_many(wanted: u8) -> u8 {
    select! {
        Ok(Some((it, _))) = found(0), if wanted == 0 => it,
        Ok(Some((mut it, _))) = found(1), if wanted == 1 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(2), if wanted == 2 => it,
        Ok(Some((mut it, _))) = found(3), if wanted == 3 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(4), if wanted == 4 => it,
        Ok(Some((mut it, _))) = found(5), if wanted == 5 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(6), if wanted == 6 => it,
        Ok(Some((mut it, _))) = found(7), if wanted == 7 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(8), if wanted == 8 => it,
        Ok(Some((mut it, _))) = found(9), if wanted == 9 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(10), if wanted == 10 => it,
        Ok(Some((mut it, _))) = found(11), if wanted == 11 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(12), if wanted == 12 => it,
        Ok(Some((mut it, _))) = found(13), if wanted == 13 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(14), if wanted == 14 => it,
        Ok(Some((mut it, _))) = found(15), if wanted == 15 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(16), if wanted == 16 => it,
        Ok(Some((mut it, _))) = found(17), if wanted == 17 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(18), if wanted == 18 => it,
        Ok(Some((mut it, _))) = found(19), if wanted == 19 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(20), if wanted == 20 => it,
        Ok(Some((mut it, _))) = found(21), if wanted == 21 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(22), if wanted == 22 => it,
        Ok(Some((mut it, _))) = found(23), if wanted == 23 => { it += 1; it - 1 }
        Ok(Some((it, _))) = found(24), if wanted == 24 => it,
        Ok(Some((mut it, _))) = found(25), if wanted == 25 => { it += 1; it - 1 }
    }
}

#[arc::test]
async fn race_gives_the_first_output_and_drops_the_others() {
    let dropped = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let guard = CountDrop(dropped.clone());
        let never = async {
            let _guard = guard;
            pending::<u32>().await
        };
        assert_eq!(race!(never, async { 7 }), 7);
    }
    assert_eq!(dropped.load(Ordering::SeqCst), 100);
    assert_eq!(race!(biased; async { 1 }, async { 2 }), 1);
}

#[arc::test(flavor = "multi_thread", workers = 1)]
async fn a_busy_branch_does_not_starve_the_others() {
    async fn busy() {
        loop {
            consume_budget().await;
        }
    }
    for _ in 0..20 {
        soon(async {
            select! {
                () = busy() => unreachable!("it has no end"),
                () = sleep(Duration::from_millis(1)) => {}
            }
        })
        .await;
    }
}
