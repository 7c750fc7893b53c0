//! A channel for one value: sending, receiving, closing, and who is woken.

use crate::common::{CountDrop, Woken, poll_once, soon};
use arc_util::sync::oneshot::channel;
use arc_util::sync::oneshot::error::TryRecvError;
use futures_util::FutureExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

#[test]
fn the_receiver_is_woken_by_the_value() {
    let (woken, waker) = Woken::new();
    let (sender, mut receiver) = channel();
    assert!(poll_once(Pin::new(&mut receiver), &waker).is_pending());
    assert_eq!((woken.count(), receiver.is_empty()), (0, true));
    sender.send(1).unwrap();
    assert_eq!((woken.count(), receiver.is_empty()), (1, false));
    assert_eq!(poll_once(Pin::new(&mut receiver), &waker), Poll::Ready(Ok(1)));
    assert!(receiver.is_empty() && receiver.is_terminated());
    assert_eq!(woken.count(), 1);
}

#[test]
fn a_sender_that_is_dropped_wakes_the_receiver_with_an_error() {
    let (woken, waker) = Woken::new();
    let (sender, mut receiver) = channel::<u8>();
    assert!(poll_once(Pin::new(&mut receiver), &waker).is_pending());
    drop(sender);
    assert_eq!(woken.count(), 1);
    let Poll::Ready(Err(error)) = poll_once(Pin::new(&mut receiver), &waker) else {
        panic!("the sender is gone");
    };
    assert_eq!(error.to_string(), "channel closed");
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn only_the_task_that_polled_last_is_woken() {
    let ((former, first), (latter, second)) = (Woken::new(), Woken::new());
    let (mut sender, mut receiver) = channel();
    assert!(poll_once(Pin::new(&mut receiver), &first).is_pending());
    assert!(poll_once(Pin::new(&mut receiver), &second).is_pending());
    {
        let mut closed = pin!(sender.closed());
        assert!(poll_once(closed.as_mut(), &first).is_pending());
        assert!(poll_once(closed.as_mut(), &second).is_pending());
    }
    receiver.close();
    assert_eq!((former.count(), latter.count()), (0, 1));
    assert_eq!(sender.send(1), Err(1));
    assert_eq!(former.count(), 0);
}

#[test]
fn the_sender_learns_that_nobody_receives() {
    let (woken, waker) = Woken::new();
    for drops in [false, true] {
        let (mut sender, mut receiver) = channel::<u8>();
        assert!(!sender.is_closed());
        assert!(poll_once(pin!(sender.closed()), &waker).is_pending());
        let before = woken.count();
        receiver.close();
        if drops {
            drop(receiver);
        }
        assert!(woken.count() > before);
        assert!(sender.is_closed());
        assert!(poll_once(pin!(sender.closed()), &waker).is_ready());
        assert!(poll_once(pin!(sender.closed()), &waker).is_ready());
        assert_eq!(sender.send(7), Err(7));
    }
}

#[test]
fn what_was_sent_before_the_close_is_received() {
    let (sender, mut receiver) = channel();
    sender.send(1).unwrap();
    receiver.close();
    assert_eq!((&mut receiver).now_or_never(), Some(Ok(1)));

    let (sender, mut receiver) = channel();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    sender.send(2).unwrap();
    receiver.close();
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));

    let (sender, mut receiver) = channel::<u8>();
    receiver.close();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed), "the sender is still there");
    drop(sender);
    let (_sender, mut receiver) = channel::<u8>();
    receiver.close();
    assert!(receiver.now_or_never().unwrap().is_err(), "the sender is still there");
}

#[test]
fn polling_after_the_end_panics() {
    for sends in [false, true] {
        let (sender, mut receiver) = channel();
        if sends {
            sender.send(1).unwrap();
        } else {
            drop(sender);
        }
        assert!((&mut receiver).now_or_never().is_some());
        let again = catch_unwind(AssertUnwindSafe(|| (&mut receiver).now_or_never()));
        assert!(again.is_err());
    }
    let (sender, mut receiver) = channel();
    sender.send(1).unwrap();
    assert_eq!(receiver.try_recv(), Ok(1));
    let again = catch_unwind(AssertUnwindSafe(|| (&mut receiver).now_or_never()));
    assert!(again.is_err());
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
    let (sender, receiver) = channel::<std::marker::PhantomPinned>();
    moves(&receiver);
    drop((sender, receiver));
}
