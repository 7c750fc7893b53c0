//! Locks, channels and notifications of arc-util, of other crates, and of tokio, all on arc.

use crate::common::{Woken, poll_once, soon};
use arc_util::sync::{Barrier, CancellationToken, Mutex, Notify, OnceCell, RwLock};
use arc_util::sync::{broadcast, mpmc, oneshot, watch};
use arc_util::task::JoinSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};

#[arc::test]
async fn one_notification_goes_to_one_and_waits_for_the_next() {
    let notify = Notify::new();
    notify.notify_one();
    notify.notify_one();
    soon(notify.notified()).await;
    let (woken, waker) = Woken::new();
    let mut first = Box::pin(notify.notified());
    let mut second = Box::pin(notify.notified());
    assert!(poll_once(first.as_mut(), &waker).is_pending(), "they are not counted");
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    notify.notify_one();
    assert_eq!(woken.count(), 1);
    assert!(poll_once(second.as_mut(), &waker).is_pending(), "the first is first");
    // A notification that `first` has not seen goes to the next waiter.
    drop(first);
    assert_eq!(woken.count(), 2);
    assert!(poll_once(second.as_mut(), &waker).is_ready());
}

#[arc::test]
async fn two_notifications_wake_two() {
    let notify = Notify::new();
    let (woken, waker) = Woken::new();
    let mut both = [Box::pin(notify.notified()), Box::pin(notify.notified())];
    for notified in &mut both {
        assert!(poll_once(notified.as_mut(), &waker).is_pending());
    }
    notify.notify_one();
    notify.notify_one();
    assert_eq!(woken.count(), 2);
    for notified in &mut both {
        assert!(poll_once(notified.as_mut(), &waker).is_ready());
    }
    let mut next = pin!(notify.notified());
    assert!(!next.as_mut().enable(), "nothing is left over");
}

#[arc::test]
async fn notify_waiters_tells_those_that_were_made_before_and_no_others() {
    let notify = Notify::new();
    let mut made = pin!(notify.notified());
    let mut waits = pin!(notify.notified());
    assert!(!waits.as_mut().enable());
    notify.notify_waiters();
    soon(made.as_mut()).await;
    soon(waits.as_mut()).await;
    let mut later = pin!(notify.notified());
    assert!(poll_once(later.as_mut(), Waker::noop()).is_pending());
}

/// A waiter that was notified by `notify_waiters` before its first poll leaves the notification
/// of `notify_one` to others.
#[arc::test]
async fn one_notification_stays_for_who_needs_it() {
    let notify = Notify::new();
    let made = notify.notified();
    notify.notify_waiters();
    notify.notify_one();
    soon(made).await;
    soon(notify.notified()).await;
    let (woken, waker) = Woken::new();
    assert!(poll_once(pin!(notify.notified()), &waker).is_pending(), "both are used up");

    // All who waited have gone: nothing wakes them, and the notification is kept.
    notify.notify_one();
    assert_eq!(woken.count(), 0);
    soon(notify.notified()).await;
}

#[arc::test]
async fn a_notified_waiter_that_goes_hands_on_what_its_drop_adds() {
    let notify = Arc::new(Notify::new());
    struct NotifiesAgain(Arc<Notify>);
    impl Drop for NotifiesAgain {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (woken, waker) = Woken::new();
    let mut first = Box::pin(async {
        let _again = NotifiesAgain(notify.clone());
        notify.notified().await;
    });
    let mut others = [Box::pin(notify.notified()), Box::pin(notify.notified())];
    assert!(poll_once(first.as_mut(), &waker).is_pending());
    for other in &mut others {
        assert!(poll_once(other.as_mut(), &waker).is_pending());
    }
    notify.notify_one();
    drop(first);
    assert_eq!(woken.count(), 3);
    for other in &mut others {
        assert!(poll_once(other.as_mut(), &waker).is_ready());
    }
}

#[arc::test]
async fn the_task_that_polled_last_is_notified() {
    let notify = Notify::new();
    let ((former, first), (latter, second)) = (Woken::new(), Woken::new());
    let mut notified = pin!(notify.notified());
    assert!(poll_once(notified.as_mut(), &first).is_pending());
    assert!(poll_once(notified.as_mut(), &second).is_pending());
    notify.notify_one();
    assert_eq!((former.count(), latter.count()), (0, 1));
}

#[arc::test]
async fn a_barrier_of_none_or_one_does_not_block_and_any_is_used_again() {
    for size in [0, 1] {
        let barrier = Barrier::new(size);
        for _ in 0..3 {
            assert!(soon(barrier.wait()).await.is_leader());
        }
    }
    let barrier = Barrier::new(2);
    for _ in 0..3 {
        let mut first = pin!(barrier.wait());
        assert!(poll_once(first.as_mut(), Waker::noop()).is_pending());
        assert!(soon(barrier.wait()).await.is_leader());
        assert!(!soon(first).await.is_leader());
    }
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_watcher_sees_the_last_value_and_the_end() {
    let (sender, mut receiver) = watch::channel(0);
    assert!(!receiver.has_changed().unwrap());
    let task = arc::spawn({
        let mut receiver = receiver.clone();
        async move {
            let mut last = 0;
            while receiver.changed().await.is_ok() {
                let now = *receiver.borrow_and_update();
                assert!(now > last, "{now} after {last}");
                last = now;
            }
            last
        }
    });
    for number in 1..=1000 {
        sender.send(number).unwrap();
    }
    assert!(receiver.has_changed().unwrap());
    assert_eq!(*soon(receiver.wait_for(|it| *it == 1000)).await.unwrap(), 1000);
    assert!(!sender.send_if_modified(|_| false));
    assert!(!receiver.has_changed().unwrap());
    receiver.mark_changed();
    soon(receiver.changed()).await.unwrap();
    drop(sender);
    assert_eq!(soon(task).await.unwrap(), 1000);
    assert!(soon(receiver.changed()).await.is_err());
    assert!(receiver.has_changed().is_err());
}

/// A value that is sent after the test must not replace the one that was tested.
#[test]
fn wait_for_gives_the_value_that_it_tested() {
    const ROUNDS: usize = 10_000;
    let wait = |counter: &AtomicUsize, round| {
        while counter.load(Ordering::SeqCst) < round {
            std::thread::yield_now();
        }
    };
    let (sender, mut receiver) = watch::channel(true);
    // The last round in which the value was tested, and the last in which another one was sent.
    let (tested, sent) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for round in 1..=ROUNDS {
                let mut looks = 0;
                while tested.load(Ordering::SeqCst) < round {
                    looks += 1;
                    match looks % 100 {
                        0 => std::thread::yield_now(),
                        _ => std::hint::spin_loop(),
                    }
                }
                sender.send_replace(false);
                sent.store(round, Ordering::SeqCst);
            }
        });
        let mut wrong = 0;
        for round in 1..=ROUNDS {
            sender.send_replace(true);
            let hot = |value: &bool| {
                tested.store(round, Ordering::SeqCst);
                *value
            };
            let given = match poll_once(pin!(receiver.wait_for(hot)), Waker::noop()) {
                Poll::Ready(value) => *value.expect("the sender lives"),
                Poll::Pending => panic!("the value was there"),
            };
            wrong += usize::from(!given);
            wait(&sent, round);
        }
        assert_eq!(wrong, 0, "of {ROUNDS}");
    });
}

/// `select!` in a loop enables a future that it may have polled before.
#[test]
fn a_notification_that_enable_found_stays_found() {
    let notify = Notify::new();
    let mut notified = pin!(notify.notified());
    assert!(!notified.as_mut().enable());
    notify.notify_one();
    assert!(notified.as_mut().enable());
    assert!(notified.as_mut().enable(), "told twice");
    assert!(poll_once(notified.as_mut(), Waker::noop()).is_ready());
    assert!(poll_once(notified.as_mut(), Waker::noop()).is_ready(), "also once it is over");
    let mut next = pin!(notify.notified());
    assert!(!next.as_mut().enable(), "it was one notification");
}

#[test]
fn enable_keeps_the_waker_of_a_future_that_waits() {
    let notify = Notify::new();
    let (woken, waker) = Woken::new();
    let mut waits = pin!(notify.notified());
    assert!(poll_once(waits.as_mut(), &waker).is_pending());
    assert!(!waits.as_mut().enable());
    notify.notify_one();
    assert_eq!(woken.count(), 1);
    let mut in_line = pin!(notify.notified());
    assert!(!in_line.as_mut().enable());
    assert!(poll_once(in_line.as_mut(), &waker).is_pending());
    notify.notify_waiters();
    assert_eq!(woken.count(), 2, "the one that was notified before has had its turn");
    assert!(poll_once(waits.as_mut(), &waker).is_ready());
    assert!(poll_once(in_line.as_mut(), &waker).is_ready());
}

#[arc::test]
async fn a_watched_value_knows_whether_anybody_watches() {
    let (sender, receiver) = watch::channel("a");
    let mut closed = pin!(sender.closed());
    assert!(poll_once(closed.as_mut(), Waker::noop()).is_pending());
    drop(receiver);
    soon(closed).await;
    assert_eq!(sender.send("b"), Err(watch::error::SendError("b")));
    assert_eq!(sender.send_replace("c"), "a");
    let receiver = sender.subscribe();
    assert_eq!(*receiver.borrow(), "c");
    assert!(!receiver.has_changed().unwrap());
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn the_locks_work() {
    let lock = Arc::new((Mutex::new(0), RwLock::new(0)));
    let (barrier, cell) = (Arc::new(Barrier::new(10)), Arc::new(OnceCell::new()));
    let mut set = JoinSet::new();
    for number in 0..10 {
        let (lock, barrier, cell) = (lock.clone(), barrier.clone(), cell.clone());
        set.spawn(async move {
            let mut sum = lock.0.lock().await;
            let before = *sum;
            arc::task::yield_now().await;
            *sum = before + number;
            *lock.1.write().await += number;
            drop(sum);
            let is_leader = barrier.wait().await.is_leader();
            assert_eq!(*cell.get_or_init(async || *lock.0.lock().await).await, 45);
            is_leader
        });
    }
    let leaders = soon(set.join_all()).await;
    assert_eq!(leaders.iter().filter(|it| **it).count(), 1);
    assert_eq!(*lock.1.read().await, 45);
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn the_channels_work() {
    let (sender, receiver) = mpmc::bounded(2);
    let (shout, _) = broadcast::channel(16);
    let mut set = JoinSet::new();
    for _ in 0..4 {
        let (receiver, mut heard) = (receiver.clone(), shout.subscribe());
        set.spawn(async move {
            let mut sum = heard.recv().await.unwrap();
            while let Ok(number) = receiver.recv().await {
                sum += number;
            }
            sum
        });
    }
    drop(receiver);
    assert_eq!(shout.send(1000).unwrap(), 4);
    for number in 0..100 {
        soon(sender.send(number)).await.unwrap();
    }
    drop(sender);
    assert_eq!(soon(set.join_all()).await.iter().sum::<i32>(), 4950 + 4000);
    let (sender, receiver) = oneshot::channel();
    sender.send(1).unwrap();
    assert_eq!(soon(receiver).await, Ok(1));
}

/// Code that uses `tokio::sync` runs on arc without changes.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn tokios_own_channels_and_locks_work_on_arc() {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(2);
    let (shout, mut heard) = tokio::sync::broadcast::channel(4);
    let (state, mut watcher) = tokio::sync::watch::channel(0);
    let lock = Arc::new(tokio::sync::Mutex::new(0));
    let notify = Arc::new(tokio::sync::Notify::new());
    let mut set = JoinSet::new();
    for number in 0..100 {
        let (sender, lock) = (sender.clone(), lock.clone());
        set.spawn(async move {
            *lock.lock().await += number;
            sender.send(number).await.unwrap();
        });
    }
    drop(sender);
    let task = arc::spawn({
        let notify = notify.clone();
        async move {
            let mut sum = 0;
            while let Some(number) = receiver.recv().await {
                sum += number;
            }
            shout.send(sum).unwrap();
            state.send(sum).unwrap();
            notify.notify_one();
        }
    });
    soon(notify.notified()).await;
    assert_eq!(soon(heard.recv()).await, Ok(4950));
    assert_eq!(*soon(watcher.wait_for(|it| *it == 4950)).await.unwrap(), 4950);
    assert_eq!(soon(set.join_all()).await.len(), 100);
    assert_eq!(*lock.lock().await, 4950);
    soon(task).await.unwrap();
}

/// The last one that came is notified first. One that goes hands its notification on to the last
/// of those who still wait.
#[test]
fn the_last_in_line_is_notified_and_hands_on_to_the_last() {
    let notify = Notify::new();
    let (woken, waker) = Woken::new();
    let mut waits: Vec<_> = (0..4).map(|_| Box::pin(notify.notified())).collect();
    for wait in &mut waits {
        assert!(poll_once(wait.as_mut(), &waker).is_pending());
    }
    notify.notify_last();
    assert_eq!(woken.count(), 1);
    drop(waits.pop());
    assert_eq!(woken.count(), 2, "the third is notified instead of the fourth");
    assert!(poll_once(waits[0].as_mut(), &waker).is_pending());
    assert!(poll_once(waits[2].as_mut(), &waker).is_ready());
    notify.notify_one();
    assert!(poll_once(waits[1].as_mut(), &waker).is_pending());
    assert!(poll_once(waits[0].as_mut(), &waker).is_ready());
    drop(waits);

    notify.notify_last();
    notify.notify_last();
    assert!(poll_once(pin!(notify.notified()), &waker).is_ready(), "one is kept");
    assert!(poll_once(pin!(notify.notified()), &waker).is_pending());
}

/// As tokio's: code that pins them on tokio pins them here, and no other code compiles.
#[test]
fn futures_that_wait_in_line_must_be_pinned() {
    /// Has a method of this name twice for what is `Unpin`, so that the call would not compile.
    trait MustBePinned<Unless> {
        fn must_be_pinned(&self) {}
    }
    struct Unpinned;
    impl<T> MustBePinned<()> for T {}
    impl<T: Unpin> MustBePinned<Unpinned> for T {}

    arc_util::task_local!(
        static NUMBER: i32;
    );
    let notify = Arc::new(Notify::new());
    notify.notified().must_be_pinned();
    notify.notified_owned().must_be_pinned();
    let token = CancellationToken::new();
    token.cancelled().must_be_pinned();
    token.clone().cancelled_owned().must_be_pinned();
    token.run_until_cancelled(std::future::ready(1)).must_be_pinned();
    token.clone().run_until_cancelled_owned(std::future::ready(1)).must_be_pinned();
    arc_util::sync::mpsc::channel::<u8>(1).1.recv().must_be_pinned();
    arc_util::sync::mpsc::unbounded_channel::<u8>().1.recv().must_be_pinned();
    NUMBER.scope(1, std::future::ready(1)).must_be_pinned();
}

/// With the feature `trace` these are types around tokio's.
#[arc::test]
async fn guards_of_locks_become_others_as_tokios_do() {
    use arc_util::sync::{
        Mutex, MutexGuard, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
        RwLockReadGuard, RwLockWriteGuard,
    };
    let pair = Arc::new(RwLock::new((1, "one")));
    let write = pair.write().await;
    assert!(pair.try_read().is_err() && pair.clone().try_write_owned().is_err());
    let mut number = RwLockWriteGuard::map(write, |pair| &mut pair.0);
    *number += 1;
    drop(number);
    let write = RwLockWriteGuard::try_map(pair.write().await, |_| None::<&mut u32>).unwrap_err();
    let read = write.downgrade();
    assert_eq!((read.0, pair.read().await.0), (2, 2));
    let text = RwLockReadGuard::map(read, |pair| pair.1);
    assert_eq!((&*text, format!("{text} {text:?}")), ("one", "one \"one\"".to_owned()));
    drop(text);

    let owned = pair.clone().write_owned().await;
    let mut text = OwnedRwLockWriteGuard::map(owned, |pair| &mut pair.1);
    *text = "two";
    drop(text);
    let owned = OwnedRwLockReadGuard::map(pair.clone().read_owned().await, |pair| &pair.1);
    assert!(pair.try_write().is_err());
    // A guard of a part keeps all of the lock alive.
    let pair = Arc::try_unwrap(pair).unwrap_err();
    assert_eq!(*owned, "two");
    drop(owned);
    let mut pair = Arc::into_inner(pair).expect("nobody else has it");
    pair.get_mut().0 = 3;
    assert_eq!(pair.into_inner(), (3, "two"));

    let lock = Arc::new(Mutex::new((1, 2)));
    let left = MutexGuard::map(lock.lock().await, |pair| &mut pair.0);
    assert!(lock.try_lock().is_err());
    drop(left);
    let right = OwnedMutexGuard::map(lock.clone().lock_owned().await, |pair| &mut pair.1);
    let lock = Arc::try_unwrap(lock).unwrap_err();
    assert_eq!(*right, 2);
    drop(right);
    assert_eq!(Arc::into_inner(lock).expect("nobody else has it").into_inner(), (1, 2));
}
