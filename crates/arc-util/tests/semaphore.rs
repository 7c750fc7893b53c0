//! Permits are acquired, waited for in line, and never lost.

use crate::common::{Woken, poll_once, soon};
use arc_util::sync::{Semaphore, TryAcquireError};
use arc_util::task::JoinSet;
use futures_util::FutureExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn no_more_than_the_permits_are_out() {
    let semaphore = Arc::new(Semaphore::new(3));
    let inside = Arc::new(AtomicUsize::new(0));
    let mut set = JoinSet::new();
    for _ in 0..50 {
        let (semaphore, inside) = (semaphore.clone(), inside.clone());
        set.spawn(async move {
            let mut most = 0;
            for _ in 0..20 {
                let _permit = semaphore.clone().acquire_owned().await.expect("it is open");
                most = most.max(inside.fetch_add(1, Ordering::SeqCst) + 1);
                arc::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
            }
            most
        });
    }
    let most = soon(set.join_all()).await.into_iter().max();
    assert!((1..=3).contains(&most.expect("tasks")), "{most:?} at once");
    assert_eq!(semaphore.available_permits(), 3);
}

#[test]
fn who_has_waited_longest_is_served_first() {
    let semaphore = Semaphore::new(2);
    let (woken, waker) = Woken::new();
    let held = semaphore.try_acquire().expect("one of two");
    let mut many = Box::pin(semaphore.acquire_many(2));
    let mut one = Box::pin(semaphore.acquire());
    assert!(poll_once(many.as_mut(), &waker).is_pending());
    assert!(poll_once(one.as_mut(), &waker).is_pending(), "it is not its turn");
    assert_eq!(semaphore.try_acquire().err(), Some(TryAcquireError::NoPermits));
    drop(held);
    assert_eq!(woken.count(), 1);
    assert!(poll_once(one.as_mut(), &waker).is_pending());
    let std::task::Poll::Ready(Ok(permits)) = poll_once(many.as_mut(), &waker) else {
        panic!("both permits were there");
    };
    assert_eq!((permits.num_permits(), semaphore.available_permits()), (2, 0));
    drop(permits);
    assert!(poll_once(one.as_mut(), &waker).is_ready());
}

#[test]
fn who_gives_up_stands_in_nobodys_way() {
    let semaphore = Semaphore::new(1);
    let (woken, waker) = Woken::new();
    let mut many = Box::pin(semaphore.acquire_many(5));
    let mut one = Box::pin(semaphore.acquire());
    assert!(poll_once(many.as_mut(), Waker::noop()).is_pending());
    assert!(poll_once(one.as_mut(), &waker).is_pending());
    drop(many);
    assert_eq!(woken.count(), 1, "there is one permit, and it wants no more");
    // `one` was served and is dropped before it is polled: the permit comes back.
    drop(one);
    assert_eq!(semaphore.available_permits(), 1);

    // The only one in line gives up, and leaves no line behind.
    let semaphore = Semaphore::new(0);
    let mut waits = Box::pin(semaphore.acquire());
    assert!(poll_once(waits.as_mut(), Waker::noop()).is_pending());
    drop(waits);
    semaphore.add_permits(1);
    assert!(semaphore.try_acquire().is_ok());
}

#[test]
fn permits_are_added_and_forgotten() {
    let semaphore = Arc::new(Semaphore::new(0));
    assert_eq!(semaphore.clone().try_acquire_owned().err(), Some(TryAcquireError::NoPermits));
    semaphore.add_permits(2);
    semaphore.try_acquire().expect("one of two").forget();
    let last = semaphore.clone().try_acquire_owned().expect("one of one");
    assert_eq!(semaphore.available_permits(), 0);
    drop(last);
    assert_eq!(semaphore.available_permits(), 1);
    let more = std::panic::AssertUnwindSafe(|| semaphore.add_permits(Semaphore::MAX_PERMITS));
    assert!(std::panic::catch_unwind(more).is_err());
    assert_eq!(semaphore.available_permits(), 1, "as before");
}

/// Permits were added while one was out. It comes back in a drop, which must not panic.
#[test]
fn a_permit_too_many_is_forgotten() {
    let full = Semaphore::new(Semaphore::MAX_PERMITS);
    let out = full.try_acquire().expect("there are many");
    full.add_permits(1);
    drop(out);
    assert_eq!(full.available_permits(), Semaphore::MAX_PERMITS);
}

#[test]
fn a_closed_one_gives_errors() {
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire().expect("the only one");
    let (woken, waker) = Woken::new();
    let mut waits = Box::pin(semaphore.acquire());
    assert!(poll_once(waits.as_mut(), &waker).is_pending());
    semaphore.close();
    assert_eq!((woken.count(), semaphore.is_closed()), (1, true));
    let polled = poll_once(waits.as_mut(), &waker);
    assert!(matches!(polled, std::task::Poll::Ready(Err(_))), "{polled:?}");
    drop(held);
    assert_eq!(semaphore.try_acquire().err(), Some(TryAcquireError::Closed));
}

#[test]
fn closing_comes_before_being_served() {
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire().expect("the only one");
    let (woken, waker) = Woken::new();
    let mut waits = Box::pin(semaphore.acquire());
    assert!(poll_once(waits.as_mut(), &waker).is_pending());
    drop(held);
    assert_eq!((woken.count(), semaphore.available_permits()), (1, 0), "it is served");
    semaphore.close();
    let polled = poll_once(waits.as_mut(), &waker);
    assert!(matches!(polled, std::task::Poll::Ready(Err(_))), "{polled:?}");
    assert_eq!(semaphore.available_permits(), 1, "nothing is lost");
}

/// One semaphore of many has a permit. It is found in one poll, however many are looked at before.
#[arc::test]
async fn a_look_in_vain_costs_nothing() {
    let semaphores: Vec<_> = (0..200).map(|number| Semaphore::new(number / 199)).collect();
    arc::task::yield_now().await;
    let found = semaphores.iter().find_map(|semaphore| semaphore.acquire().now_or_never());
    assert_eq!(found.unwrap().unwrap().num_permits(), 1);
}

#[test]
fn permits_are_split_and_merged_and_none_is_lost() {
    let semaphore = Arc::new(Semaphore::new(5));
    assert_eq!(semaphore.try_acquire_many(6).err(), Some(TryAcquireError::NoPermits));
    let mut three = semaphore.try_acquire_many(3).expect("there are five");
    let mut one = three.split(1).expect("it is one of three");
    assert!(three.split(3).is_none());
    assert_eq!((three.num_permits(), one.num_permits()), (2, 1));
    drop(three);
    assert_eq!(semaphore.available_permits(), 4);

    one.merge(semaphore.try_acquire_many(4).expect("there are four"));
    assert_eq!((one.num_permits(), semaphore.available_permits()), (5, 0));
    drop(one);
    assert_eq!(semaphore.available_permits(), 5);

    let mut owned = semaphore.clone().try_acquire_many_owned(5).expect("there are five");
    assert!(Arc::ptr_eq(owned.semaphore(), &semaphore));
    let part = owned.split(5).expect("it is all of them");
    assert_eq!((owned.num_permits(), part.num_permits()), (0, 5));
    drop((owned, part));
    assert_eq!(semaphore.available_permits(), 5);
}

#[test]
#[should_panic(expected = "merging permits of different semaphores")]
fn permits_of_two_semaphores_cannot_be_merged() {
    let (one, other) = (Semaphore::new(1), Semaphore::new(1));
    let mut permit = one.try_acquire().expect("there is one");
    permit.merge(other.try_acquire().expect("there is one"));
}

#[test]
fn who_waits_keeps_the_permits_that_are_there_already() {
    let semaphore = Semaphore::new(2);
    let (woken, waker) = Woken::new();
    let mut three = Box::pin(semaphore.acquire_many(3));
    assert!(poll_once(three.as_mut(), &waker).is_pending());

    // Two are there, too few for the one who waits. Nobody else gets them, or takes them away.
    assert_eq!((semaphore.available_permits(), semaphore.forget_permits(1)), (0, 0));
    assert!(semaphore.try_acquire().is_err());
    assert_eq!(woken.count(), 0);
    semaphore.add_permits(1);
    assert_eq!(woken.count(), 1);
    let served = poll_once(three.as_mut(), &waker);
    let Poll::Ready(Ok(permits)) = served else { panic!("three permits are there") };
    assert_eq!(permits.num_permits(), 3);
    drop(permits);
    assert_eq!((semaphore.available_permits(), semaphore.forget_permits(5)), (3, 3));
}

#[test]
fn threads_may_block() {
    let semaphore = Arc::new(Semaphore::new(0));
    let added = semaphore.clone();
    let thread = std::thread::spawn(move || {
        for _ in 0..6 {
            added.add_permits(1);
        }
    });
    let one = semaphore.blocking_acquire().unwrap();
    let two = semaphore.blocking_acquire_many(2).unwrap();
    let owned = semaphore.clone().blocking_acquire_owned().unwrap();
    let two_owned = semaphore.clone().blocking_acquire_many_owned(2).unwrap();
    thread.join().unwrap();
    assert_eq!(semaphore.available_permits(), 0);
    drop((one, two, owned));
    assert_eq!((semaphore.available_permits(), two_owned.num_permits()), (4, 2));

    semaphore.close();
    assert!(semaphore.blocking_acquire().is_err());
    assert!(semaphore.blocking_acquire_owned().is_err());
}

#[arc::test]
async fn in_a_task_nothing_may_block() {
    let semaphore = Arc::new(Semaphore::new(1));
    let calls: [fn(Arc<Semaphore>); 4] = [
        |semaphore| _ = semaphore.blocking_acquire(),
        |semaphore| _ = semaphore.blocking_acquire_many(1),
        |semaphore| _ = semaphore.blocking_acquire_owned(),
        |semaphore| _ = semaphore.blocking_acquire_many_owned(1),
    ];
    for call in calls {
        let semaphore = semaphore.clone();
        let error = soon(arc::spawn(async move { call(semaphore) })).await.unwrap_err();
        let payload = error.into_panic();
        let text = payload.downcast_ref::<String>().unwrap();
        assert!(text.contains("was called inside a task or `block_on`"), "{text}");
    }
}
