//! Cancelling a token reaches all its waiters and all its children, once and for ever.

use crate::common::{CountDrop, Woken, at_once, poll_once, soon, waiting};
use arc_util::sync::{
    CancellationToken, WaitForCancellationFuture, WaitForCancellationFutureOwned,
};
use arc_util::task::JoinSet;
use std::future::{pending, poll_fn, ready};
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Wake};

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn everybody_who_waits_is_told() {
    let token = CancellationToken::new();
    let mut set = JoinSet::new();
    for _ in 0..100 {
        set.spawn(token.clone().cancelled_owned());
    }
    arc::task::yield_now().await;
    assert!(!token.is_cancelled() && set.try_join_next().is_none());
    token.cancel();
    token.cancel();
    assert_eq!(soon(set.join_all()).await.len(), 100);
    soon(token.cancelled()).await;
}

#[arc::test]
async fn children_are_cancelled_with_their_parent_and_not_the_other_way_round() {
    let parent = CancellationToken::new();
    let (left, right) = (parent.child_token(), parent.child_token());
    let grandchild = left.child_token();
    left.cancel();
    assert!(grandchild.is_cancelled() && left.child_token().is_cancelled());
    assert!(!parent.is_cancelled() && !right.is_cancelled());
    parent.cancel();
    assert!(right.is_cancelled());
    soon(parent.child_token().cancelled()).await;
}

#[test]
fn a_child_outlives_its_parent_handle_and_hears_of_its_grandparent() {
    let grandparent = CancellationToken::new();
    let child = grandparent.child_token().child_token();
    grandparent.cancel();
    assert!(child.is_cancelled());
}

/// The waker itself reads the tokens: a task would read them a little later.
#[test]
fn who_hears_of_a_token_finds_its_children_cancelled() {
    struct Looks(CancellationToken, AtomicUsize);
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            self.1.fetch_add(1 + usize::from(!self.0.is_cancelled()) * 100, Ordering::SeqCst);
        }
    }
    let parent = CancellationToken::new();
    let grandchild = parent.child_token().child_token();
    let looks = Arc::new(Looks(grandchild, AtomicUsize::new(0)));
    let mut cancelled = pin!(parent.cancelled());
    assert!(poll_once(cancelled.as_mut(), &looks.clone().into()).is_pending());
    parent.cancel();
    assert_eq!(looks.1.load(Ordering::SeqCst), 1, "woken once; 100 more: too early");
}

/// A thread that sees the token cancelled must find its children cancelled. So must a thread that
/// has called `cancel`, even if another thread had begun to.
#[test]
fn a_token_is_cancelled_with_its_family_at_once() {
    for _ in 0..1000 {
        let parent = CancellationToken::new();
        let children: Vec<_> = (0..20).map(|_| parent.child_token()).collect();
        let late = |who: &str| {
            let late = children.iter().filter(|child| !child.is_cancelled()).count();
            assert_eq!(late, 0, "{who}: the parent is cancelled");
            assert!(children[0].child_token().is_cancelled(), "{who}: a new grandchild");
        };
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    parent.cancel();
                    late("who cancelled");
                });
            }
            while !parent.is_cancelled() {
                std::hint::spin_loop();
            }
            late("who looks");
        });
    }
}

/// Recursion would overflow the stack.
#[test]
fn a_line_of_many_generations_is_cancelled_and_dropped() {
    let first = CancellationToken::new();
    let mut last = first.child_token();
    for _ in 0..200_000 {
        last = last.child_token();
    }
    first.cancel();
    assert!(last.is_cancelled());
    drop(last);
    let mut last = CancellationToken::new();
    for _ in 0..200_000 {
        last = last.child_token();
    }
    drop(last);
}

#[arc::test]
async fn run_until_cancelled_drops_the_future() {
    let token = CancellationToken::new();
    assert_eq!(token.run_until_cancelled(ready(1)).await, Some(1));
    let dropped = Arc::new(AtomicUsize::new(0));
    let guard = CountDrop(dropped.clone());
    let task = arc::spawn(token.clone().run_until_cancelled_owned(async move {
        let _guard = guard;
        pending::<()>().await
    }));
    arc::task::yield_now().await;
    token.cancel();
    assert_eq!(soon(task).await.unwrap(), None);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    assert_eq!(token.run_until_cancelled(ready(1)).await, None);
}

#[test]
fn a_guard_cancels_unless_it_is_disarmed() {
    let token = CancellationToken::new();
    assert!(token.clone().drop_guard().disarm() == token);
    assert_eq!(token.drop_guard_ref().disarm(), &token);
    assert!(!token.is_cancelled());
    drop(token.clone().drop_guard());
    assert!(token.is_cancelled());
    let token = CancellationToken::new();
    drop(token.drop_guard_ref());
    assert!(token.is_cancelled());
}

#[test]
fn a_wait_that_was_made_before_the_cancel_is_told_of_it() {
    let token = CancellationToken::new();
    // Their types have names, so that a task of one's own can hold them in a field.
    let borrowed: WaitForCancellationFuture<'_> = token.cancelled();
    let owned: WaitForCancellationFutureOwned = token.clone().cancelled_owned();
    let (mut borrowed, mut owned) = (waiting(borrowed), waiting(owned));

    let late = token.cancelled();
    token.cancel();
    assert_eq!((borrowed.wakes(), owned.wakes()), (1, 1));
    borrowed.ready();
    owned.ready();
    at_once(late);
}

#[test]
fn a_future_that_runs_until_the_cancel_is_polled_first_and_not_begun_after_it() {
    let token = CancellationToken::new();
    let (woken, waker) = Woken::new();
    let mut waits = pin!(token.run_until_cancelled(pending::<()>()));
    let mut ends = pin!(token.clone().run_until_cancelled_owned(poll_fn(|context| {
        // Ready from its second poll on.
        context.waker().wake_by_ref();
        if woken.count() > 1 { Poll::Ready(7) } else { Poll::Pending }
    })));
    assert!(poll_once(waits.as_mut(), &waker).is_pending());
    assert!(poll_once(ends.as_mut(), &waker).is_pending());

    token.cancel();
    assert_eq!(poll_once(waits, &waker), Poll::Ready(None));
    assert_eq!(poll_once(ends, &waker), Poll::Ready(Some(7)));
    let never = token.run_until_cancelled(poll_fn(|_| -> Poll<()> { panic!("it is polled") }));
    assert_eq!(at_once(never), None);
}

#[test]
fn clones_of_a_token_have_one_hash() {
    let hasher = std::hash::RandomState::new();
    let token = CancellationToken::new();
    assert_eq!(hasher.hash_one(token.clone()), hasher.hash_one(&token));
    for other in [CancellationToken::new(), token.child_token()] {
        assert_ne!(hasher.hash_one(other), hasher.hash_one(&token));
    }
}

/// A waker that panics keeps nobody else from being woken, and its panic comes to the caller.
#[test]
fn all_children_are_told_though_a_waker_panics() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker panics on purpose");
        }
    }

    let token = CancellationToken::new();
    let children = [(); 3].map(|()| token.child_token());
    let mut panics = pin!(children[1].cancelled());
    assert!(poll_once(panics.as_mut(), &Arc::new(Panics).into()).is_pending());
    let others = [&token, &children[0], &children[2]].map(|token| waiting(token.cancelled()));
    catch_unwind(AssertUnwindSafe(|| token.cancel())).expect_err("it comes through");
    assert_eq!(others.map(|other| other.wakes()), [1; 3]);
}
