//! A channel for one value: sending, receiving, closing, and who is woken.

use crate::common::{CountDrop, Woken, at_once, panicking_waker, poll_once, soon, waiting, waits};
use arc_util::sync::oneshot::error::TryRecvError;
use arc_util::sync::oneshot::{self, channel};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn the_receiver_is_woken_by_the_value() {
    let (sender, mut receiver) = channel();
    let receives = waiting(&mut receiver);
    assert_eq!(receives.wakes(), 0);
    sender.send(1).unwrap();
    assert_eq!(receives.wakes(), 1);
    drop(receives);
    assert!(!receiver.is_empty());
    assert_eq!(at_once(&mut receiver), Ok(1));
    assert!(receiver.is_empty() && receiver.is_terminated());
}

#[test]
fn a_sender_that_is_dropped_wakes_the_receiver_with_an_error() {
    let (sender, mut receiver) = channel::<u8>();
    assert!(receiver.is_empty());
    let mut receives = waiting(&mut receiver);
    drop(sender);
    assert_eq!(receives.wakes(), 1);
    assert_eq!(receives.ready().unwrap_err().to_string(), "channel closed");
    drop(receives);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn only_the_task_that_polled_last_is_woken() {
    let ((former, first), (latter, second)) = (Woken::new(), Woken::new());
    let (mut sender, mut receiver) = channel();
    {
        let mut closed = pin!(sender.closed());
        for waker in [&first, &second] {
            assert!(poll_once(Pin::new(&mut receiver), waker).is_pending());
            assert!(poll_once(closed.as_mut(), waker).is_pending());
        }
    }
    receiver.close();
    assert_eq!((former.count(), latter.count()), (0, 1));
    assert_eq!(sender.send(1), Err(1));
    assert_eq!((former.count(), latter.count()), (0, 2));
}

#[test]
fn the_sender_learns_that_nobody_receives() {
    for drops in [false, true] {
        let (mut sender, mut receiver) = channel::<u8>();
        assert!(!sender.is_closed());
        let mut closed = waiting(sender.closed());
        receiver.close();
        if drops {
            drop(receiver);
        }
        assert_eq!(closed.wakes(), 1);
        closed.ready();
        drop(closed);
        assert!(sender.is_closed());
        at_once(sender.closed());
        assert_eq!(sender.send(7), Err(7));
    }
}

#[test]
fn what_was_sent_before_the_close_is_received() {
    let (sender, mut receiver) = channel();
    sender.send(1).unwrap();
    receiver.close();
    assert_eq!(at_once(&mut receiver), Ok(1));

    let (sender, mut receiver) = channel();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    sender.send(2).unwrap();
    receiver.close();
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));

    let (_sender, mut receiver) = channel::<u8>();
    receiver.close();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed), "the sender is still there");
    let (_sender, mut receiver) = channel::<u8>();
    receiver.close();
    assert!(at_once(receiver).is_err(), "the sender is still there");
}

#[test]
fn polling_after_the_end_panics() {
    type End = fn(oneshot::Sender<u8>, &mut oneshot::Receiver<u8>);
    let ends: [End; 3] = [
        |sender, receiver| {
            sender.send(1).unwrap();
            assert_eq!(at_once(receiver), Ok(1));
        },
        |sender, receiver| {
            drop(sender);
            assert!(at_once(receiver).is_err());
        },
        |sender, receiver| {
            sender.send(1).unwrap();
            assert_eq!(receiver.try_recv(), Ok(1));
        },
    ];
    for end in ends {
        let (sender, mut receiver) = channel();
        end(sender, &mut receiver);
        assert!(catch_unwind(AssertUnwindSafe(|| waits(receiver))).is_err());
    }
}

#[test]
fn a_value_that_nobody_receives_is_dropped_with_the_receiver() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = || dropped.load(Ordering::SeqCst);
    let (sender, receiver) = channel();
    assert!(sender.send(CountDrop(dropped.clone())).is_ok());
    assert_eq!(count(), 0);
    drop(receiver);
    assert_eq!(count(), 1);
}

/// Neither end keeps the other's waker, which may own a lot.
#[test]
fn wakers_are_dropped_with_their_ends() {
    let (kept, waker) = Woken::new();
    let (mut sender, mut receiver) = channel::<u8>();
    assert!(poll_once(Pin::new(&mut receiver), &waker).is_pending());
    assert!(poll_once(pin!(sender.closed()), &waker).is_pending());
    drop(waker);
    assert_eq!(Arc::strong_count(&kept), 3);
    drop(sender);
    assert_eq!(Arc::strong_count(&kept), 1);
    drop(receiver);

    let (kept, waker) = Woken::new();
    let (_sender, mut receiver) = channel::<u8>();
    assert!(poll_once(Pin::new(&mut receiver), &waker).is_pending());
    drop((waker, receiver));
    assert_eq!(Arc::strong_count(&kept), 1);
}

#[test]
fn a_waker_that_panics_stays_without_effect() {
    let (sender, mut receiver) = channel();
    assert!(poll_once(Pin::new(&mut receiver), &panicking_waker()).is_pending());
    sender.send(1).unwrap();
    assert_eq!(receiver.try_recv(), Ok(1));

    let (mut sender, receiver) = channel::<u8>();
    assert!(poll_once(pin!(sender.closed()), &panicking_waker()).is_pending());
    drop(receiver);
    assert!(sender.is_closed());
}

#[test]
fn it_is_received_on_a_thread_that_may_block() {
    let (sender, receiver) = channel();
    let thread = std::thread::spawn(|| receiver.blocking_recv());
    sender.send(1).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(1));
    let (sender, receiver) = channel::<u8>();
    let thread = std::thread::spawn(|| receiver.blocking_recv());
    drop(sender);
    assert!(thread.join().unwrap().is_err());
}

#[arc::test]
async fn blocking_in_a_task_panics() {
    let (_sender, receiver) = channel::<u8>();
    let task = arc::spawn(async { receiver.blocking_recv() });
    assert!(soon(task).await.unwrap_err().is_panic());
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn values_cross_threads_and_none_is_lost() {
    for round in 0..2000 {
        let (sender, receiver) = channel();
        let (back, mut backs) = channel();
        let task = arc::spawn(async move {
            let received = receiver.await;
            drop(back);
            received
        });
        let sending = arc::task::spawn_blocking(move || sender.send(round));
        assert_eq!(soon(task).await.unwrap(), Ok(round));
        assert_eq!(soon(sending).await.unwrap(), Ok(()));
        assert_eq!(backs.try_recv(), Err::<(), _>(TryRecvError::Closed));
    }
}

/// A receiver that is dropped while the value is sent: the value comes back, or is dropped.
#[arc::test(flavor = "multi_thread", workers = 2)]
async fn a_value_is_received_or_returned_or_dropped_once() {
    let dropped = Arc::new(AtomicUsize::new(0));
    for round in 1..=2000 {
        let (sender, receiver) = channel();
        let dropping = arc::spawn(async move { drop(receiver) });
        drop(sender.send(CountDrop(dropped.clone())));
        soon(dropping).await.unwrap();
        assert_eq!(dropped.load(Ordering::SeqCst), round);
    }
}

#[test]
fn ends_go_to_other_threads_if_the_value_does() {
    fn sends<T: Send + Sync>(_: &T) {}
    let (sender, receiver) = channel::<std::cell::Cell<u8>>();
    sends(&sender);
    sends(&receiver);
    fn moves<T: Unpin>(_: &T) {}
    moves(&channel::<std::marker::PhantomPinned>().1);
    assert_eq!(format!("{:?}", channel::<u8>().0), "oneshot::Sender");
}
