//! Tasks of a set are joined in the order in which they end, in whatever way they end.

use crate::common::{CountDrop, Woken, soon, until, waiting};
use arc::runtime::Runtime;
use arc_util::sync::oneshot;
use arc_util::task::{JoinSet, LocalSet};
use std::collections::HashSet;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Context;
use std::thread;

#[arc::test(flavor = "multi_thread")]
async fn outputs_come_in_the_order_in_which_tasks_end() {
    let mut set = JoinSet::new();
    let mut senders = Vec::new();
    for number in 0..3 {
        let (sender, receiver) = oneshot::channel::<()>();
        senders.push(sender);
        set.spawn(async move {
            receiver.await.unwrap();
            number
        });
    }
    assert_eq!(set.len(), 3);
    for number in [1, 2, 0] {
        let (sender, _) = oneshot::channel();
        let sender = std::mem::replace(&mut senders[number], sender);
        sender.send(()).unwrap();
        assert_eq!(soon(set.join_next()).await.unwrap().unwrap(), number);
    }
    assert!(set.is_empty());
    assert!(soon(set.join_next()).await.is_none());
}

#[arc::test(flavor = "multi_thread")]
async fn all_of_many_are_joined_once() {
    let mut set: JoinSet<usize> = (0..1000).map(|number| async move { number }).collect();
    let mut seen = HashSet::new();
    while let Some(result) = soon(set.join_next()).await {
        assert!(seen.insert(result.unwrap()), "joined twice");
    }
    assert_eq!(seen.len(), 1000);
}

#[arc::test(flavor = "multi_thread")]
async fn ids_tell_which_task_it_was() {
    let mut set = JoinSet::new();
    let good = set.spawn(async { 1 }).id();
    let bad = set.spawn(async { panic!("on purpose") }).id();
    let mut ids = HashSet::new();
    while let Some(joined) = soon(set.join_next_with_id()).await {
        ids.insert(match joined {
            Ok((id, output)) => {
                assert_eq!(output, 1);
                (id, "output")
            }
            Err(error) => {
                assert!(error.is_panic(), "{error}");
                (error.id(), "panic")
            }
        });
    }
    assert_eq!(ids, HashSet::from([(good, "output"), (bad, "panic")]));
}

#[arc::test(flavor = "multi_thread")]
async fn try_join_next_does_not_wait() {
    let mut set = JoinSet::new();
    assert!(set.try_join_next().is_none());
    let (sender, receiver) = oneshot::channel::<()>();
    let abort = set.spawn(async { receiver.await.unwrap() });
    assert!(set.try_join_next().is_none());
    sender.send(()).unwrap();
    until(|| abort.is_finished()).await;
    // Another worker ended the task, and tells the set a moment later.
    let mut joined = None;
    let joins = async {
        while joined.is_none() {
            arc::task::yield_now().await;
            joined = set.try_join_next();
        }
    };
    soon(joins).await;
    assert!(joined.unwrap().is_ok());
    assert!(set.is_empty() && abort.is_finished());
}

#[arc::test]
async fn an_abort_handle_ends_its_task_alone() {
    let mut set = JoinSet::new();
    let first = set.spawn(pending::<()>());
    let second = set.spawn(pending::<()>());
    assert_ne!(first.id(), second.id());
    first.abort();
    first.abort();
    let error = soon(set.join_next()).await.unwrap().unwrap_err();
    assert!(error.is_cancelled() && error.id() == first.id());
    assert!(first.is_finished() && !second.is_finished());
    assert_eq!(set.len(), 1);
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn aborting_while_it_is_joined_loses_nothing() {
    for _ in 0..200 {
        let mut set = JoinSet::new();
        let abort = set.spawn(pending::<()>());
        let other = abort.clone();
        let aborter = arc::spawn(async move { other.abort() });
        abort.abort();
        let error = soon(set.join_next()).await.unwrap().unwrap_err();
        assert!(error.is_cancelled());
        soon(aborter).await.unwrap();
    }
}

#[arc::test(flavor = "multi_thread")]
async fn shutdown_waits_for_the_drop_of_all() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut set = JoinSet::new();
    for _ in 0..10 {
        let guard = CountDrop(dropped.clone());
        set.spawn(async move {
            let _guard = guard;
            pending::<()>().await
        });
    }
    soon(set.shutdown()).await;
    assert_eq!(dropped.load(Ordering::SeqCst), 10);
    assert!(set.is_empty());
}

#[arc::test(flavor = "multi_thread")]
async fn dropping_the_set_aborts_and_detaching_does_not() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = oneshot::channel::<()>();
    let (answer, answered) = oneshot::channel();
    let mut set = JoinSet::new();
    set.spawn(async move {
        receiver.await.unwrap();
        answer.send("still here").unwrap();
    });
    set.detach_all();
    assert!(set.is_empty());
    let guard = CountDrop(dropped.clone());
    set.spawn(async move {
        let _guard = guard;
        pending().await
    });
    drop(set);
    until(|| dropped.load(Ordering::SeqCst) == 1).await;
    sender.send(()).unwrap();
    assert_eq!(soon(answered).await, Ok("still here"));
}

#[arc::test]
async fn functions_that_block_and_other_runtimes_take_part() {
    let other = Runtime::new().unwrap();
    let mut set = JoinSet::new();
    set.spawn_blocking(|| 1);
    set.spawn_on(async { 2 }, other.handle());
    set.spawn_blocking_on(|| 4, other.handle());
    let outputs = soon(set.join_all()).await;
    assert_eq!(outputs.iter().sum::<i32>(), 7);
    other.shutdown_background();
}

#[arc::test]
async fn join_all_goes_on_with_the_panic() {
    let mut set = JoinSet::new();
    set.spawn(async { panic!("on purpose") });
    let all = arc::spawn(async move { set.join_all().await });
    let payload = soon(all).await.unwrap_err().into_panic();
    assert_eq!(payload.downcast_ref(), Some(&"on purpose"));
}

/// Whether a task returns or panics after the first poll of `join_next`: it must wake that
/// future.
#[arc::test(flavor = "multi_thread")]
async fn who_waits_is_woken() {
    let mut set = JoinSet::new();
    let (sender, receiver) = oneshot::channel::<()>();
    set.spawn(async { receiver.await.unwrap() });
    let joined = waiting(set.join_next());
    drop(sender);
    until(|| joined.wakes() > 0).await;
    assert!(soon(joined).await.unwrap().unwrap_err().is_panic());
}

/// Several tasks share a set: one waits, another spawns.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn whoever_polled_it_gets_to_know_of_tasks_that_are_spawned_later() {
    let set = Arc::new(Mutex::new(JoinSet::new()));
    set.lock().unwrap().spawn(pending());
    let (shared, polls) = (set.clone(), Arc::new(AtomicUsize::new(0)));
    let polled = polls.clone();
    let joined = arc::spawn(poll_fn(move |context| {
        let joined = shared.lock().unwrap().poll_join_next(context);
        polled.fetch_add(1, Ordering::SeqCst);
        joined
    }));
    until(|| polls.load(Ordering::SeqCst) > 0).await;
    set.lock().unwrap().spawn(async { 7 });
    assert_eq!(soon(joined).await.unwrap().unwrap().unwrap(), 7);
}

#[arc::test(flavor = "multi_thread")]
async fn a_look_leaves_the_waker_of_whoever_polled_it() {
    let mut set = JoinSet::new();
    let (sender, receiver) = oneshot::channel::<()>();
    set.spawn(async { receiver.await.unwrap() });
    let (woken, waker) = Woken::new();
    // The first poll of a future may wake its own task.
    for _ in 0..2 {
        assert!(set.poll_join_next(&mut Context::from_waker(&waker)).is_pending());
    }
    assert!(set.try_join_next().is_none());
    let before = woken.count();
    sender.send(()).unwrap();
    until(|| woken.count() > before).await;
}

/// `try_join_next` is no future, and could not be called again when the budget is there again.
///
/// On one thread, as a task is off the list a moment before its output is there.
#[arc::test(flavor = "current_thread")]
async fn looks_at_many_tasks_need_no_budget() {
    let mut set = JoinSet::new();
    for number in 0..1000 {
        set.spawn(async move { number });
    }
    until(|| arc_util::runtime::Handle::current().tasks().is_empty()).await;
    let mut sum = 0;
    while let Some(output) = set.try_join_next() {
        sum += output.unwrap();
    }
    assert_eq!((sum, set.len()), (499_500, 0));
}

#[test]
fn a_runtime_that_has_gone_cancels_what_is_left() {
    let mut set = JoinSet::new();
    {
        let runtime = Runtime::new().unwrap();
        set.spawn_on(pending::<()>(), runtime.handle());
        set.spawn_on(async {}, runtime.handle());
    }
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let mut cancelled = 0;
        while let Some(ended) = set.join_next().await {
            cancelled += usize::from(ended.is_err_and(|error| error.is_cancelled()));
        }
        assert!((1..=2).contains(&cancelled), "{cancelled}");
    });
    assert!(set.is_empty());
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn tasks_that_are_not_send_are_joined_with_the_others() {
    let (mut set, local) = (JoinSet::new(), LocalSet::new());
    let (sent, here) = (thread::current().id(), Rc::new(1));
    set.spawn(async move { u32::from(thread::current().id() != sent) });
    set.spawn_local_on(async move { *here + 1 }, &local);
    let aborted = set.spawn_local_on(pending(), &local);
    aborted.abort();

    let mut outputs = Vec::new();
    let sum = local.run_until(async {
        set.spawn_local(async { 4 });
        while let Some(result) = soon(set.join_next()).await {
            outputs.push(result);
        }
        outputs.iter().flatten().sum::<u32>()
    });
    assert_eq!(sum.await, 7);
    let cancelled = outputs.iter().filter_map(|it| it.as_ref().err());
    assert_eq!(cancelled.map(|error| error.id()).collect::<Vec<_>>(), [aborted.id()]);
}

#[arc::test]
async fn dropping_the_set_aborts_local_tasks() {
    let (dropped, local) = (Arc::new(AtomicUsize::new(0)), LocalSet::new());
    let mut set: JoinSet<Rc<u8>> = JoinSet::new();
    let counts = CountDrop(dropped.clone());
    let task = async move {
        let _counts = counts;
        pending().await
    };
    let handle = set.spawn_local_on(task, &local);
    drop(set);
    soon(local).await;
    assert_eq!((dropped.load(Ordering::SeqCst), handle.is_finished()), (1, true));
}

#[arc::test]
async fn a_task_that_is_built_is_of_the_set() {
    let mut set = JoinSet::new();
    let handle = arc_util::runtime::Handle::current();
    let named = set.build_task().name("one").spawn(async { 1 }).unwrap();
    set.build_task().name("two").spawn_on(async { 2 }, &handle).unwrap();
    set.build_task().spawn_blocking(|| 3).unwrap();
    set.build_task().name("four").spawn_blocking_on(|| 4, &handle).unwrap();
    let local = LocalSet::new();
    set.build_task().name("five").spawn_local_on(async { 5 }, &local).unwrap();
    let names: Vec<_> = handle.tasks().into_iter().filter_map(|task| task.name).collect();
    assert!(names.iter().any(|name| &**name == "one"), "{names:?}");
    assert!(names.iter().any(|name| &**name == "two"), "{names:?}");

    let sum = local.run_until(async {
        set.build_task().spawn_local(async { 6 }).unwrap();
        soon(set.join_all()).await.into_iter().sum::<i32>()
    });
    assert_eq!((sum.await, named.is_finished()), (21, true));
}
