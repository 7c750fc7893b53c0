//! mpsc channels, with tokio's names.

use crate::common::{DEADLINE, Woken, poll_once, soon};
use arc_util::sync::mpsc::{self, error::*};
use arc_util::task::JoinSet;
use futures_util::{FutureExt, Stream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn all_that_is_sent_is_received_in_the_order_of_each_sender() {
    let (sender, mut receiver) = mpsc::channel(2);
    let mut set = JoinSet::new();
    for task in 0..4 {
        let sender = sender.clone();
        set.spawn(async move {
            for number in 0..100 {
                sender.send((task, number)).await.expect("it is received");
            }
        });
    }
    drop(sender);
    let mut next = [0; 4];
    while let Some((task, number)) = soon(receiver.recv()).await {
        assert_eq!(number, next[task]);
        next[task] += 1;
    }
    assert_eq!(next, [100; 4]);
    soon(set.join_all()).await;
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn a_full_channel_waits_or_says_so() {
    let (sender, mut receiver) = mpsc::channel(2);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(sender.try_send(1), Ok(()));
    assert_eq!((sender.capacity(), sender.max_capacity(), receiver.len()), (1, 2, 1));
    assert_eq!(sender.try_send(2), Ok(()));
    assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
    let (woken, waker) = Woken::new();
    let mut sending = Box::pin(sender.send(4));
    assert!(poll_once(sending.as_mut(), &waker).is_pending());
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(woken.count(), 1);
    assert_eq!(poll_once(sending.as_mut(), &waker), Poll::Ready(Ok(())));
    assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(2), Ok(4)));
    assert!(receiver.is_empty());
}

#[arc::test]
async fn a_closed_channel_gives_what_is_left() {
    let (sender, mut receiver) = mpsc::channel(2);
    sender.send("left").await.expect("there is room");
    let (woken, waker) = Woken::new();
    let mut closed = Box::pin(sender.closed());
    assert!(poll_once(closed.as_mut(), &waker).is_pending());
    receiver.close();
    assert_eq!(woken.count(), 1);
    soon(closed).await;
    assert!(sender.is_closed() && receiver.is_closed());
    assert_eq!(sender.send("late").await, Err(SendError("late")));
    assert_eq!(sender.try_send("late"), Err(TrySendError::Closed("late")));
    assert_eq!(soon(receiver.recv()).await, Some("left"));
    assert_eq!(soon(receiver.recv()).await, None);
}

#[test]
fn what_nobody_receives_is_dropped_with_the_receiver() {
    let (value, (sender, receiver)) = (Arc::new(()), mpsc::unbounded_channel());
    sender.send(value.clone()).expect("it is open");
    assert_eq!(Arc::strong_count(&value), 2);
    drop(receiver);
    assert_eq!(Arc::strong_count(&value), 1, "though the sender is there");
    assert_eq!(sender.send(value.clone()), Err(SendError(value)));
}

#[test]
fn threads_may_block() {
    let (sender, mut receiver) = mpsc::channel(1);
    let thread = std::thread::spawn(move || {
        (0..10).for_each(|number| sender.blocking_send(number).expect("it is received"));
    });
    for number in 0..10 {
        assert_eq!(receiver.blocking_recv(), Some(number));
    }
    assert_eq!(receiver.blocking_recv(), None);
    thread.join().expect("it sends");
}

/// No worker renews the budget of a thread that blocks.
#[test]
fn threads_may_send_more_than_a_budget_has() {
    let (sender, mut receiver) = mpsc::channel(1);
    let thread = std::thread::spawn(move || {
        arc::task::with_budget(|| {
            (0..1000).for_each(|number| sender.blocking_send(number).expect("it is received"));
        });
    });
    for number in 0..1000 {
        assert_eq!(receiver.blocking_recv(), Some(number));
    }
    thread.join().expect("it sends");
}

/// A buffer in a thread-local does this when its thread ends.
#[test]
fn threads_may_send_in_their_last_moment() {
    struct Sends(Option<mpsc::Sender<u8>>);
    impl Sends {
        fn send(&self) {
            let sent = self.0.iter().try_for_each(|sender| sender.blocking_send(1));
            sent.expect("it is received");
        }
    }
    impl Drop for Sends {
        fn drop(&mut self) {
            self.send();
        }
    }
    thread_local!(static SENDS: std::cell::RefCell<Sends> =
        const { std::cell::RefCell::new(Sends(None)) });
    let (sender, mut receiver) = mpsc::channel(1);
    let thread = std::thread::spawn(move || {
        SENDS.with_borrow_mut(|sends| sends.0 = Some(sender));
        // The second value waits for room, and so does the one that is sent when the thread ends.
        (0..2).for_each(|_| SENDS.with_borrow(Sends::send));
    });
    for _ in 0..3 {
        assert_eq!(receiver.blocking_recv(), Some(1));
    }
    assert_eq!(receiver.blocking_recv(), None);
    thread.join().expect("it ends");
}

/// `close` calls wakers before it is done. A waker may use the channel.
#[test]
fn closing_is_seen_as_a_whole() {
    struct Tries(mpsc::Sender<u8>, Mutex<Option<Result<(), TrySendError<u8>>>>);
    impl Wake for Tries {
        fn wake(self: Arc<Self>) {
            *self.1.lock().unwrap() = Some(self.0.try_send(2));
        }
    }
    let (sender, mut receiver) = mpsc::channel(1);
    sender.try_send(0).unwrap();
    let tries = Arc::new(Tries(sender.clone(), Mutex::new(None)));
    let mut told = Box::pin(sender.closed());
    assert!(poll_once(told.as_mut(), &tries.clone().into()).is_pending());
    let (woken, waker) = Woken::new();
    let mut sending = Box::pin(sender.send(1));
    assert!(poll_once(sending.as_mut(), &waker).is_pending());
    receiver.close();
    assert_eq!(*tries.1.lock().unwrap(), Some(Err(TrySendError::Closed(2))));
    assert_eq!(woken.count(), 1);
    assert_eq!(poll_once(sending.as_mut(), &waker), Poll::Ready(Err(SendError(1))));
}

/// An executor does this if its queue is the channel from which its own task receives.
#[test]
fn a_waker_may_use_the_channel() {
    struct Sends(mpsc::UnboundedSender<u8>);
    impl Wake for Sends {
        fn wake(self: Arc<Self>) {
            self.0.send(2).expect("it is open");
        }
    }
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let waker = Arc::new(Sends(sender.clone())).into();
        assert!(receiver.poll_recv(&mut Context::from_waker(&waker)).is_pending());
        sender.send(1).expect("it is open");
        ended.send((receiver.try_recv(), receiver.try_recv())).expect("it is waited for");
    });
    assert_eq!(end.recv_timeout(DEADLINE), Ok((Ok(1), Ok(2))));
}

/// One channel of many has a value. It is found in one poll, however many are looked at before it.
#[arc::test]
async fn a_look_in_vain_costs_nothing() {
    let mut channels: Vec<_> = (0..200).map(|_| mpsc::unbounded_channel()).collect();
    channels[150].0.send(7).unwrap();
    arc::task::yield_now().await;
    let found = channels.iter_mut().find_map(|(_, receiver)| receiver.recv().now_or_never());
    assert_eq!(found, Some(Some(7)));
}

#[test]
fn room_goes_to_who_has_waited_longest() {
    let (sender, mut receiver) = mpsc::channel(1);
    sender.try_send(0).unwrap();
    let (woken, waker) = Woken::new();
    let mut first = Box::pin(sender.send(1));
    let mut second = Box::pin(sender.send(2));
    assert!(poll_once(first.as_mut(), &waker).is_pending());
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    assert_eq!(receiver.try_recv(), Ok(0));
    assert_eq!((woken.count(), sender.capacity()), (1, 0));
    assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)), "the room is the first's");
    assert!(poll_once(second.as_mut(), &waker).is_pending());
    assert_eq!(poll_once(first.as_mut(), &waker), Poll::Ready(Ok(())));
    assert_eq!(receiver.try_recv(), Ok(1));
    // A sender that gives up leaves its place to the next.
    drop(second);
    assert_eq!(sender.try_send(3), Ok(()));
    assert_eq!((receiver.try_recv(), sender.capacity()), (Ok(3), 1));
}

#[test]
fn who_waits_for_room_gets_the_value_back_when_nobody_receives() {
    let (sender, mut receiver) = mpsc::channel(1);
    sender.try_send(0).unwrap();
    let (woken, waker) = Woken::new();
    let mut sending = Box::pin(sender.send(1));
    assert!(poll_once(sending.as_mut(), &waker).is_pending());
    receiver.close();
    assert_eq!(woken.count(), 1);
    assert_eq!(poll_once(sending.as_mut(), &waker), Poll::Ready(Err(SendError(1))));
    assert_eq!(receiver.try_recv(), Ok(0));
}

/// A value may be a request that holds the sender for its answer: the task that waits for the
/// answer must not wait for ever.
#[test]
fn values_behind_one_whose_drop_panics_are_dropped_as_well() {
    struct Breaks;
    impl Drop for Breaks {
        fn drop(&mut self) {
            panic!("a drop panics on purpose");
        }
    }
    let (value, (sender, receiver)) = (Arc::new(()), mpsc::channel(2));
    sender
        .try_send((Some(Breaks), value.clone()))
        .unwrap_or_else(|_| unreachable!("there is room"));
    sender.try_send((None, value.clone())).unwrap_or_else(|_| unreachable!("there is room"));
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(receiver)));
    assert!(dropped.is_err() && Arc::strong_count(&value) == 1);
}

#[arc::test]
async fn a_permit_holds_its_place_until_it_is_used_or_dropped() {
    let (sender, mut receiver) = mpsc::channel(2);
    let first = soon(sender.reserve()).await.expect("there is room");
    let second = sender.try_reserve().expect("there is room");
    assert_eq!((sender.capacity(), receiver.capacity(), receiver.max_capacity()), (0, 0, 2));
    assert_eq!(sender.try_reserve().err(), Some(TrySendError::Full(())));
    let (woken, waker) = Woken::new();
    let mut third = Box::pin(sender.reserve());
    assert!(poll_once(third.as_mut(), &waker).is_pending());

    // The place of a permit that is dropped goes to the one who waits.
    drop(first);
    assert_eq!(woken.count(), 1);
    second.send(2);
    soon(third).await.expect("it is open").send(3);
    assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(2), Ok(3)));
    assert_eq!(sender.capacity(), 2);
}

#[arc::test]
async fn an_owned_permit_gives_the_sender_back() {
    let (sender, mut receiver) = mpsc::channel(1);
    let other = sender.clone();
    let permit = soon(sender.reserve_owned()).await.expect("there is room");
    let Err(TrySendError::Full(other)) = other.try_reserve_owned() else {
        panic!("there is no room");
    };
    assert!(permit.same_channel_as_sender(&other));
    let sender = permit.release();
    let permit = sender.try_reserve_owned().expect("there is room again");
    let sender = permit.send(1);
    assert_eq!(soon(receiver.recv()).await, Some(1));

    // A permit keeps the channel open, and its drop closes it.
    drop(other);
    let permit = sender.try_reserve_owned().expect("there is room");
    assert_eq!(
        (receiver.sender_strong_count(), receiver.try_recv()),
        (1, Err(TryRecvError::Empty))
    );
    drop(permit);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn a_closed_receiver_waits_for_the_permits_that_are_out() {
    let (sender, mut receiver) = mpsc::channel(3);
    let used = sender.try_reserve().expect("there is room");
    let unused = sender.try_reserve().expect("there is room");
    receiver.close();
    assert_eq!(sender.try_reserve().err(), Some(TrySendError::Closed(())));
    assert_eq!((receiver.is_closed(), receiver.try_recv()), (true, Err(TryRecvError::Empty)));

    let (woken, waker) = Woken::new();
    let mut context = Context::from_waker(&waker);
    assert!(receiver.poll_recv(&mut context).is_pending());
    used.send(1);
    assert_eq!((woken.count(), receiver.poll_recv(&mut context)), (1, Poll::Ready(Some(1))));
    assert!(receiver.poll_recv(&mut context).is_pending());
    drop(unused);
    assert_eq!((woken.count(), receiver.poll_recv(&mut context)), (2, Poll::Ready(None)));
}

#[test]
fn a_place_that_comes_when_the_channel_is_closed_is_given_back() {
    let (sender, mut receiver) = mpsc::channel(1);
    sender.try_send(0).unwrap();
    let mut sending = Box::pin(sender.send(1));
    assert!(poll_once(sending.as_mut(), Waker::noop()).is_pending());
    assert_eq!((receiver.try_recv(), sender.capacity()), (Ok(0), 0));
    receiver.close();
    assert_eq!(poll_once(sending.as_mut(), Waker::noop()), Poll::Ready(Err(SendError(1))));
    drop(sending);
    assert_eq!(sender.capacity(), 1);
}

#[arc::test]
async fn a_send_may_have_a_limit() {
    let (sender, mut receiver) = mpsc::channel(1);
    let limit = std::time::Duration::from_millis(1);
    assert_eq!(sender.send_timeout(1, DEADLINE).await, Ok(()));
    assert_eq!(sender.send_timeout(2, limit).await, Err(SendTimeoutError::Timeout(2)));
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(sender.capacity(), 1, "who gave up is not in line");
    receiver.close();
    assert_eq!(sender.send_timeout(3, DEADLINE).await, Err(SendTimeoutError::Closed(3)));
}

#[arc::test]
async fn many_are_received_at_once() {
    let (sender, mut receiver) = mpsc::channel(5);
    (0..4).for_each(|number| sender.try_send(number).expect("there is room"));
    let mut values = Vec::new();
    assert_eq!(soon(receiver.recv_many(&mut values, 0)).await, 0);
    assert_eq!(receiver.try_recv(), Ok(0));
    // The batch that the receiver has taken is followed by what was sent after it.
    (4..6).for_each(|number| sender.try_send(number).expect("there is room"));
    assert_eq!(receiver.len(), 5);
    assert_eq!(soon(receiver.recv_many(&mut values, 4)).await, 4);
    assert_eq!((values.as_slice(), sender.capacity()), ([1, 2, 3, 4].as_slice(), 4));
    assert_eq!(soon(receiver.recv_many(&mut values, 4)).await, 1);
    assert_eq!((values.as_slice(), sender.capacity()), ([1, 2, 3, 4, 5].as_slice(), 5));

    let mut many = Box::pin(receiver.recv_many(&mut values, 4));
    let (woken, waker) = Woken::new();
    assert!(poll_once(many.as_mut(), &waker).is_pending());
    drop(sender);
    assert_eq!((woken.count(), soon(many).await), (1, 0));
}

#[test]
fn weak_senders_keep_no_channel_open() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let weak = sender.downgrade();
    let same = weak.clone();
    assert_eq!((weak.strong_count(), weak.weak_count()), (1, 2));
    let second = weak.upgrade().expect("there is a sender");
    assert_eq!((receiver.sender_strong_count(), receiver.sender_weak_count()), (2, 2));
    drop(sender);
    second.send(1).expect("the second keeps it open");
    let (woken, waker) = Woken::new();
    let mut context = Context::from_waker(&waker);
    assert_eq!(receiver.poll_recv(&mut context), Poll::Ready(Some(1)));
    assert!(receiver.poll_recv(&mut context).is_pending());
    drop(second);
    assert_eq!((woken.count(), receiver.poll_recv(&mut context)), (1, Poll::Ready(None)));
    assert!(weak.upgrade().is_none(), "the receiver alone keeps nothing open");
    assert!(receiver.is_closed());
    drop(receiver);
    assert_eq!((same.strong_count(), same.upgrade().is_none()), (0, true));
}

/// A future may hold a reference to the receiver over an await, whatever the values are.
#[test]
fn ends_of_a_channel_are_shared_by_threads_if_their_values_go_between_them() {
    fn is_send_and_sync<T: Send + Sync>(_: &T) {}
    let (sender, receiver) = mpsc::channel::<std::cell::Cell<u8>>(1);
    is_send_and_sync(&sender);
    is_send_and_sync(&receiver);
}

/// The receiver takes all values at once: those behind the first are in nobody's queue.
#[test]
fn values_of_a_batch_are_counted_and_dropped_with_the_receiver() {
    let (value, (sender, mut receiver)) = (Arc::new(()), mpsc::channel(3));
    (0..2).for_each(|_| sender.try_send(value.clone()).expect("there is room"));
    drop(receiver.try_recv().expect("there are two"));
    sender.try_send(value.clone()).expect("there is room");
    assert_eq!((receiver.len(), sender.capacity(), Arc::strong_count(&value)), (2, 1, 3));
    drop(receiver);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// The channel is closed before its places are. In between, a waker takes a place.
#[test]
fn a_place_that_is_taken_while_the_channel_closes_is_given_back() {
    struct Tries(mpsc::Sender<u8>, AtomicBool);
    impl Wake for Tries {
        fn wake(self: Arc<Self>) {
            assert_eq!(self.0.try_send(1), Err(TrySendError::Closed(1)));
            assert_eq!(self.0.try_reserve().err(), Some(TrySendError::Closed(())));
            self.1.store(true, Ordering::SeqCst);
        }
    }
    let (sender, mut receiver) = mpsc::channel(2);
    let tries = Arc::new(Tries(sender.clone(), AtomicBool::new(false)));
    let mut closed = Box::pin(sender.closed());
    assert!(poll_once(closed.as_mut(), &tries.clone().into()).is_pending());
    receiver.close();
    assert!(tries.1.load(Ordering::SeqCst), "it was woken");
    assert_eq!(sender.capacity(), 2);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
}

#[arc::test(flavor = "multi_thread", workers = 2)]
async fn many_places_are_reserved_at_once_and_freed_when_they_are_not_used() {
    let (sender, mut receiver) = mpsc::channel(4);
    let first = sender.try_send(0);
    first.expect("there is room");
    assert_eq!(sender.try_reserve_many(4).err(), Some(TrySendError::Full(())));
    assert_eq!(sender.try_reserve_many(5).err(), Some(TrySendError::Full(())));
    assert!(soon(sender.reserve_many(5)).await.is_err());

    let mut permits = sender.try_reserve_many(3).expect("three places are left");
    assert_eq!((permits.len(), sender.capacity()), (3, 0));
    permits.next().expect("one of three").send(1);
    let kept = permits.next().expect("two of three");
    drop(permits);
    assert_eq!(sender.capacity(), 1, "the third was not used");

    let (_, waker) = Woken::new();
    let mut three = Box::pin(sender.reserve_many(3));
    assert!(poll_once(three.as_mut(), &waker).is_pending());
    assert_eq!(soon(receiver.recv()).await, Some(0));
    assert!(poll_once(three.as_mut(), &waker).is_pending());
    drop(kept);
    let three = soon(three).await.expect("it is open");
    assert_eq!((three.len(), sender.capacity()), (3, 0));

    // A closed receiver waits for the places that are out.
    receiver.close();
    for (number, permit) in (2..).zip(three) {
        permit.send(number);
    }
    drop(sender);
    let mut rest = Vec::new();
    while let Some(number) = soon(receiver.recv()).await {
        rest.push(number);
    }
    assert_eq!(rest, [1, 2, 3, 4]);
}

#[test]
fn many_places_that_come_when_the_channel_is_closed_are_given_back() {
    let (sender, mut receiver) = mpsc::channel::<u8>(2);
    let permits = sender.try_reserve_many(2).expect("there is room");
    receiver.close();
    assert_eq!(sender.try_reserve_many(1).err(), Some(TrySendError::Closed(())));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    drop(permits);
    assert_eq!((receiver.try_recv(), sender.capacity()), (Err(TryRecvError::Disconnected), 2));
}

/// As tokio's: a stream of it needs no pin, whatever the values are.
#[test]
fn a_receiver_may_be_moved_though_its_values_may_not() {
    fn is_unpin<T: Unpin>(_: &T) {}
    let (_sender, receiver) = mpsc::channel::<std::marker::PhantomPinned>(1);
    is_unpin(&receiver);
}

#[test]
fn a_stream_says_how_many_values_are_left() {
    let (sender, mut receiver) = mpsc::channel(4);
    assert_eq!(receiver.size_hint(), (0, None));
    for number in 1..=3 {
        sender.try_send(number).unwrap();
    }
    assert_eq!(receiver.try_recv(), Ok(1));
    sender.try_send(4).unwrap();
    assert_eq!(receiver.size_hint(), (3, None), "two of them are in a batch");

    let permit = sender.try_reserve().unwrap();
    receiver.close();
    assert_eq!(receiver.size_hint(), (3, Some(4)), "one more may come");
    drop(permit);
    assert_eq!(receiver.size_hint(), (3, Some(3)));

    let (sender, receiver) = mpsc::unbounded_channel();
    sender.send(1).unwrap();
    assert_eq!(receiver.size_hint(), (1, None));
    drop(sender);
    assert_eq!(receiver.size_hint(), (1, Some(1)));
}

#[test]
fn permits_are_described_whatever_the_values_are() {
    struct Plain;
    let (sender, _receiver) = mpsc::channel::<Plain>(3);
    let described = format!("{:?}", sender.try_reserve());
    assert!(described.starts_with("Ok(Permit"), "{described}");
    let described = format!("{:?}", sender.try_reserve_many(2));
    assert!(described.starts_with("Ok(PermitIterator"), "{described}");
    let described = format!("{:?}", sender.clone().try_reserve_owned().ok());
    assert!(described.starts_with("Some(OwnedPermit"), "{described}");
}
