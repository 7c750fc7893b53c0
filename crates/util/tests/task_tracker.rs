//! `wait` of a tracker ends when the tracker is closed and has no tasks left, and not before.

#![cfg(feature = "sync")]

use crate::common::{soon, waiting, waits};
use arc_util::sync::oneshot;
use arc_util::task::{LocalSet, TaskTracker};
use std::future::pending;
use std::rc::Rc;

#[arc::test(flavor = "multi_thread")]
async fn wait_needs_both_the_close_and_the_end() {
    let tracker = TaskTracker::new();
    let (sender, receiver) = oneshot::channel::<()>();
    let task = tracker.spawn(async { receiver.await.unwrap() });
    let mut wait = waiting(tracker.wait());
    assert!(tracker.close() && !tracker.close() && tracker.is_closed());
    assert!(wait.waits());
    assert_eq!((tracker.len(), wait.wakes()), (1, 0));
    sender.send(()).unwrap();
    soon(wait).await;
    soon(task).await.unwrap();
    assert!(tracker.is_empty());
}

#[arc::test]
async fn an_open_tracker_without_tasks_waits_for_the_close() {
    let tracker = TaskTracker::new();
    soon(tracker.spawn(async {})).await.unwrap();
    let mut wait = waiting(tracker.wait());
    tracker.clone().close();
    wait.ready();
}

#[arc::test]
async fn it_ends_though_the_tracker_was_reopened_meanwhile() {
    let tracker = TaskTracker::new();
    let mut wait = waiting(tracker.wait());
    tracker.close();
    assert!(tracker.reopen() && !tracker.is_closed());
    wait.ready();
    assert!(waits(tracker.wait()));

    // It is enough that it was so when the future was made.
    tracker.close();
    let wait = tracker.wait();
    tracker.reopen();
    let _token = tracker.token();
    soon(wait).await;
}

#[arc::test]
async fn tasks_that_follow_each_other_while_it_is_open_end_no_wait() {
    let tracker = TaskTracker::new();
    let waits = [waiting(tracker.wait()), waiting(tracker.wait())];
    let wakes = || waits.each_ref().map(|wait| wait.wakes());
    (0..3).for_each(|_| drop(tracker.token()));
    assert_eq!(wakes(), [0, 0]);

    // The end of the last task is what wakes, and it wakes all.
    let token = tracker.token();
    tracker.close();
    let another = token.clone();
    drop(token);
    assert_eq!(wakes(), [0, 0]);
    drop(another);
    assert_eq!(wakes(), [1, 1]);
    let _later = tracker.token();
    waits.into_iter().for_each(|mut wait| wait.ready());
}

#[arc::test(flavor = "multi_thread")]
async fn aborted_and_panicking_tasks_count_as_ended() {
    let tracker = TaskTracker::new();
    let aborted = tracker.spawn(pending::<()>());
    let panicked = tracker.spawn(async { panic!("on purpose") });
    let blocking = tracker.spawn_blocking(|| panic!("on purpose"));
    aborted.abort();
    tracker.close();
    soon(tracker.wait()).await;
    assert!(soon(aborted).await.unwrap_err().is_cancelled());
    assert!(soon(panicked).await.unwrap_err().is_panic());
    assert!(soon::<Result<(), arc::task::JoinError>>(blocking).await.is_err());
}

#[arc::test]
async fn futures_and_tokens_count_until_they_are_dropped() {
    let tracker = TaskTracker::new();
    let future = tracker.track_future(pending::<()>());
    let token = tracker.token();
    let clone = token.clone();
    assert!(TaskTracker::ptr_eq(clone.task_tracker(), &tracker));
    assert_eq!(tracker.len(), 3);
    drop((future, token, clone));
    assert!(tracker.is_empty());
}

#[arc::test]
async fn tasks_that_are_not_send_are_counted_until_they_have_ended() {
    let (tracker, local) = (TaskTracker::new(), LocalSet::new());
    let one = Rc::new(1);
    let first = tracker.spawn_local_on(async move { *one }, &local);
    let second = local.run_until(async { tracker.spawn_local(pending::<Rc<u8>>()) }).await;
    tracker.close();
    assert_eq!(tracker.len(), 2);

    assert_eq!(local.run_until(first).await.expect("it ends"), 1);
    assert_eq!(tracker.len(), 1);
    second.abort();
    soon(local.run_until(tracker.wait())).await;
    assert!(tracker.is_empty());
}
