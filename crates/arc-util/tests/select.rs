//! `select!`, `join!` and `try_join!` with the syntax of existing code.

use crate::common::{CountDrop, soon};
use arc::task::{consume_budget, yield_now};
use arc::time::sleep;
use arc_util::sync::{mpmc, oneshot};
use arc_util::{join, race, select, try_join};
use std::cell::Cell;
use std::collections::HashSet;
use std::future::{IntoFuture, pending, ready};
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

/// 64 branches stay below the compiler's recursion limit for macros.
#[arc::test]
async fn as_many_branches_as_tokio_takes() {
    for wanted in 0..64 {
        assert_eq!(one_of_many(wanted).await, wanted);
    }
}

async fn found(number: u8) -> Result<Option<(u8, char)>, ()> {
    Ok(Some((number, '!')))
}

/// Branches for these numbers, in pairs, written in two ways.
macro_rules! select_of {
    ($wanted:ident: $($even:literal $odd:literal)*) => {
        select! {
            $(
                Ok(Some((it, _))) = found($even), if $wanted == $even => it,
                Ok(Some((mut it, _))) = found($odd), if $wanted == $odd => { it += 1; it - 1 }
            )*
        }
    };
}

async fn one_of_many(wanted: u8) -> u8 {
    select_of! {
        wanted: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
        31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60
        61 62 63
    }
}

#[arc::test]
#[rustfmt::skip]
async fn as_many_futures_are_joined() {
    let joined = join!(
        ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1),
        ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1),
        ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1),
        ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1),
        ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1),
        ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1),
        ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1),
        ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1), ready(1),
    );
    assert_eq!(joined.63, 1);
}

#[arc::test]
async fn patterns_borrow_mutably_or_take_what_they_match() {
    let text = select! {
        Some(ref mut text) = ready(Some("a".to_owned())) => {
            text.push('b');
            text.clone()
        }
        else => unreachable!("it matches"),
    };
    assert_eq!(text, "ab");
    let length = select! {
        Ok(ref text) | Err(ref text) = ready(Ok::<_, String>("abc".to_owned())) => text.len(),
    };
    assert_eq!(length, 3);
    let mut number = 1;
    select! {
        (&mut ref mut place, _) = ready((&mut number, ())) => *place += 1,
    }
    assert_eq!(number, 2);
    let chosen = select! {
        biased;
        0 | 5.. = ready(3) => "not between",
        std::cmp::Ordering::Less = ready(2.cmp(&1)) => "less",
        [1, .., 4] = ready([1, 2, 3]) => "a slice",
        other @ 1..=4 = ready(3) => if other == 3 { "three" } else { "another" },
    };
    assert_eq!(chosen, "three");
}

/// What does not match is dropped once, and what does is moved once.
#[arc::test]
async fn outputs_that_are_tried_are_neither_lost_nor_doubled() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = || dropped.load(Ordering::SeqCst);
    let guard = || CountDrop(dropped.clone());
    let kept = select! {
        biased;
        (Some(never), 2) = ready((Some(guard()), 1)) => {
            let never: CountDrop = never;
            never
        }
        (Some(kept), 1) = ready((Some(guard()), 1)) => kept,
        else => unreachable!("the second matches"),
    };
    assert_eq!(count(), 1);
    drop(kept);
    assert_eq!(count(), 2);
}

#[arc::test]
async fn handlers_decide_the_types_of_outputs() {
    async fn sum(text: &str) -> Result<i32, std::num::ParseIntError> {
        let sum = select! {
            parsed = async { Ok(text.parse::<i32>()? + 1) } => {
                let parsed: Result<_, std::num::ParseIntError> = parsed;
                parsed?
            }
            nothing = async { Default::default() }, if false => nothing,
            Some(never) = ready(None), if false => never,
        };
        Ok(sum)
    }
    assert_eq!(sum("41").await, Ok(42));
    assert!(sum("x").await.is_err());
    let numbers = select! { numbers = async { "1 2".split(' ').collect() } => numbers };
    let numbers: Vec<&str> = numbers;
    assert_eq!(numbers, ["1", "2"]);
}

#[deny(warnings)]
#[arc::test]
async fn futures_that_never_end_are_branches_without_warnings() {
    async fn never() -> ! {
        pending().await
    }
    let output = select! {
        _ = never() => unreachable!("it has no end"),
        output = ready(1) => output,
    };
    assert_eq!(output, 1);
}

#[arc::test]
async fn handlers_leave_loops_by_their_labels() {
    let mut rounds = 0;
    let left = 'outer: loop {
        loop {
            rounds += 1;
            select! {
                biased;
                () = ready(()), if rounds == 1 => continue 'outer,
                () = ready(()), if rounds == 2 => continue,
                () = ready(()), if rounds == 3 => { break }
                () = ready(()) => { break 'outer rounds; }
            }
        }
    };
    assert_eq!(left, 4);
}

/// Several handlers, and `else`, borrow what one of the futures has borrowed.
#[arc::test]
async fn handlers_use_what_the_futures_have_borrowed() {
    async fn takes(value: &mut i32) -> Option<i32> {
        *value += 1;
        None
    }
    let mut value = 1;
    select! {
        Some(_) = takes(&mut value) => value += 10,
        Some(()) = async { None } => value += 100,
        else => value += 1000,
    }
    assert_eq!(value, 1002);
}

/// What becomes one, one of a temporary, one in parentheses (of which nobody is warned, as with
/// tokio's macro), and none at all.
#[arc::test]
#[deny(unused_parens)]
async fn whatever_gives_a_future_is_a_branch() {
    struct Later(i32);
    impl IntoFuture for Later {
        type Output = i32;
        type IntoFuture = std::future::Ready<i32>;

        fn into_future(self) -> Self::IntoFuture {
            ready(self.0)
        }
    }
    let output = select! { output = Later(3) => output };
    assert_eq!(output, 3);
    assert_eq!(join!(Later(1), Later(2)), (1, 2));
    select! {
        () = &mut ready(()) => {}
        () = &mut Box::pin(pending()) => unreachable!("it has no end"),
    }
    let mut first = pin!(ready(1));
    let found = select! {
        number = (&mut first) => number,
        () = (pending()) => 2,
    };
    assert_eq!(found, 1);
    assert_eq!(select! { else => 1 }, 1);
    assert_eq!(select! { biased; else => { 2 } }, 2);
}

/// A condition may look at a future of the branches: they are made after all conditions.
#[arc::test]
async fn conditions_look_at_the_futures_before_they_are_made() {
    let mut sleeping = pin!(sleep(Duration::from_secs(3600)));
    let output = select! {
        () = sleeping.as_mut(), if sleeping.is_elapsed() => "elapsed",
        () = ready(()), if !sleeping.is_elapsed() => "not elapsed",
    };
    assert_eq!(output, "not elapsed");
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
