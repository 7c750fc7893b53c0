//! `wait` of a tracker ends when the tracker is closed and has no tasks left, and not before.

use crate::common::{Woken, poll_once, soon};
use arc_util::sync::oneshot;
use arc_util::task::{LocalSet, TaskTracker};
use std::future::pending;
use std::pin::pin;
use std::rc::Rc;
use std::task::Waker;

#[arc::test(flavor = "multi_thread")]
async fn wait_needs_both_the_close_and_the_end() {
    let tracker = TaskTracker::new();
    let (sender, receiver) = oneshot::channel::<()>();
    let task = tracker.spawn(async { receiver.await.unwrap() });
    let (woken, waker) = Woken::new();
    let mut wait = pin!(tracker.wait());
    assert!(poll_once(wait.as_mut(), &waker).is_pending());
    assert!(tracker.close() && !tracker.close() && tracker.is_closed());
    assert!(poll_once(wait.as_mut(), &waker).is_pending());
    assert_eq!((tracker.len(), woken.count()), (1, 0));
    sender.send(()).unwrap();
    soon(wait).await;
    soon(task).await.unwrap();
    assert!(tracker.is_empty());
}

#[arc::test]
async fn an_open_tracker_without_tasks_waits_for_the_close() {
    let tracker = TaskTracker::new();
    soon(tracker.spawn(async {})).await.unwrap();
    let mut wait = pin!(tracker.wait());
    assert!(poll_once(wait.as_mut(), Waker::noop()).is_pending());
    tracker.clone().close();
    soon(wait).await;
}

#[arc::test]
async fn it_ends_though_the_tracker_was_reopened_meanwhile() {
    let tracker = TaskTracker::new();
    let mut wait = pin!(tracker.wait());
    assert!(poll_once(wait.as_mut(), Waker::noop()).is_pending());
    tracker.close();
    assert!(tracker.reopen() && !tracker.is_closed());
    soon(wait).await;
    let mut wait = pin!(tracker.wait());
    assert!(poll_once(wait.as_mut(), Waker::noop()).is_pending());

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
    let (woken, waker) = Woken::new();
    let mut waits = [Box::pin(tracker.wait()), Box::pin(tracker.wait())];
    for wait in &mut waits {
        assert!(poll_once(wait.as_mut(), &waker).is_pending());
    }
    for _ in 0..3 {
        drop(tracker.token());
    }
    assert_eq!(woken.count(), 0);

    // The end of the last task is what wakes, and it wakes all.
    let token = tracker.token();
    tracker.close();
    let another = token.clone();
    drop(token);
    assert_eq!(woken.count(), 0);
    drop(another);
    assert_eq!(woken.count(), 2);
    let later = tracker.token();
    for wait in waits {
        soon(wait).await;
    }
    drop(later);
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
    assert!(soon(blocking).await.is_err());
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
