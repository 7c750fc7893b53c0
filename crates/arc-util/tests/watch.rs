//! What senders and receivers of a watched value see of each other.

use crate::common::{Woken, poll_once, soon};
use arc_util::sync::watch::{Sender, channel};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

#[test]
fn a_change_wakes_each_receiver_once_and_changes_in_between_are_one() {
    let (sender, mut first) = channel("one");
    let mut second = first.clone();
    let ((wakes, waker), (others, other)) = (Woken::new(), Woken::new());
    {
        let mut changed = pin!(first.changed());
        assert!(poll_once(changed.as_mut(), &waker).is_pending());
        assert!(poll_once(pin!(second.changed()), &other).is_pending());
        sender.send("two").unwrap();
        sender.send("three").unwrap();
        assert_eq!(wakes.count(), 1);
        assert!(matches!(poll_once(changed.as_mut(), &waker), Poll::Ready(Ok(()))));
    }
    assert_eq!(others.count(), 0, "its future was dropped");
    assert_eq!(*first.borrow(), "three");
    assert!(poll_once(pin!(first.changed()), &waker).is_pending(), "it has seen both");
    assert!(matches!(poll_once(pin!(second.changed()), &other), Poll::Ready(Ok(()))));
}

#[test]
fn the_last_value_is_seen_even_after_the_last_sender() {
    let (woken, waker) = Woken::new();
    let (sender, mut receiver) = channel(1);
    sender.send(2).unwrap();
    drop(sender);
    assert!(receiver.has_changed().is_err(), "nobody can change it");
    assert!(matches!(poll_once(pin!(receiver.changed()), &waker), Poll::Ready(Ok(()))));
    assert_eq!(*receiver.borrow(), 2);
    let Poll::Ready(Err(error)) = poll_once(pin!(receiver.changed()), &waker) else {
        panic!("there is no sender");
    };
    assert!(!error.to_string().is_empty());
    assert_eq!(woken.count(), 0);
}

#[test]
fn only_the_last_of_several_senders_ends_the_waiting() {
    let (woken, waker) = Woken::new();
    let (sender, mut receiver) = channel(1);
    let another = sender.clone();
    let mut changed = pin!(receiver.changed());
    assert!(poll_once(changed.as_mut(), &waker).is_pending());
    drop(sender);
    assert_eq!(woken.count(), 0);
    drop(another);
    assert_eq!(woken.count(), 1);
    assert!(matches!(poll_once(changed, &waker), Poll::Ready(Err(_))));
}

#[test]
fn marks_say_what_counts_as_seen() {
    let (sender, mut receiver) = channel(1);
    // The first version has none before it.
    receiver.mark_changed();
    assert!(receiver.has_changed().unwrap());
    assert_eq!(*receiver.borrow(), 1);
    assert!(receiver.has_changed().unwrap(), "borrowing marks nothing");
    assert_eq!(*receiver.borrow_and_update(), 1);
    assert!(!receiver.has_changed().unwrap());
    sender.send(2).unwrap();
    receiver.mark_unchanged();
    assert!(!receiver.has_changed().unwrap());

    // A clone has seen what its original has, and a new subscriber has seen all.
    sender.send(3).unwrap();
    assert!(receiver.clone().has_changed().unwrap());
    assert!(!sender.subscribe().has_changed().unwrap());
}

#[test]
fn a_change_that_panics_is_none() {
    let (sender, receiver) = channel(vec![1]);
    let modified = catch_unwind(AssertUnwindSafe(|| {
        sender.send_modify(|values| {
            values.push(2);
            panic!("on purpose");
        });
    }));
    assert!(modified.is_err());
    assert_eq!((receiver.has_changed().unwrap(), receiver.borrow().len()), (false, 2));
    sender.send(vec![]).unwrap();
    assert!(receiver.borrow().is_empty(), "the lock still works");
}

#[test]
fn a_channel_that_nobody_watched_opens_again() {
    let (woken, waker) = Woken::new();
    let (sender, receiver) = channel(1);
    drop(receiver);
    assert!(sender.is_closed());
    let receiver = sender.subscribe();
    let mut closed = pin!(sender.closed());
    assert!(poll_once(closed.as_mut(), &waker).is_pending());
    drop(receiver.clone());
    assert_eq!(woken.count(), 0);
    drop(receiver);
    assert_eq!(woken.count(), 1);
    assert!(poll_once(closed.as_mut(), &waker).is_ready());
}

/// The value that is wanted may be the last one.
#[arc::test]
async fn waiting_for_a_value_looks_at_the_last_one_before_it_fails() {
    let (sender, mut receiver) = channel(1);
    sender.send(2).unwrap();
    drop(sender);
    assert!(soon(receiver.wait_for(|value| *value == 2)).await.is_ok());
    assert!(soon(receiver.wait_for(|value| *value == 2)).await.is_ok(), "seen, and still so");
    assert!(soon(receiver.wait_for(|value| *value == 3)).await.is_err());
}

/// A closure that panics has seen the value. Its borrow of the value ends.
#[test]
fn a_value_is_seen_also_if_the_question_about_it_panics() {
    let (sender, mut receiver) = channel(1);
    sender.send(2).unwrap();
    assert!(receiver.has_changed().unwrap());
    let asked = catch_unwind(AssertUnwindSafe(|| {
        let mut asks = pin!(receiver.wait_for(|_| panic!("on purpose")));
        drop(asks.as_mut().poll(&mut Context::from_waker(Waker::noop())));
    }));
    assert!(asked.is_err());
    assert!(!receiver.has_changed().unwrap());
    sender.send(3).unwrap();
    assert_eq!(*receiver.borrow_and_update(), 3);
}

#[test]
fn a_borrow_says_whether_its_value_is_new() {
    let (sender, mut receiver) = channel(1);
    assert!(!receiver.borrow().has_changed());
    sender.send(2).unwrap();
    assert!(!sender.borrow().has_changed(), "who sends has seen it");
    assert!(receiver.borrow().has_changed());
    assert!(receiver.borrow().has_changed(), "a look does not mark it as seen");
    assert!(receiver.borrow_and_update().has_changed());
    assert!(!receiver.borrow_and_update().has_changed());

    sender.send(3).unwrap();
    let found = poll_once(pin!(receiver.wait_for(|number| *number == 3)), Waker::noop());
    assert_eq!(found.map(|found| found.unwrap().has_changed()), Poll::Ready(true));
    let found = poll_once(pin!(receiver.wait_for(|_| true)), Waker::noop());
    assert_eq!(found.map(|found| found.unwrap().has_changed()), Poll::Ready(false));
}

#[test]
fn ends_of_a_channel_know_each_other_and_how_many_send() {
    let sender = Sender::<u8>::default();
    assert_eq!((sender.sender_count(), sender.is_closed()), (1, true), "it has no receivers yet");
    let receiver = sender.subscribe();
    let other = sender.clone();
    assert_eq!((sender.sender_count(), *receiver.borrow()), (2, 0));
    assert!(sender.same_channel(&other) && receiver.same_channel(&other.subscribe()));
    let (stranger, strange) = channel(0);
    assert!(!sender.same_channel(&stranger) && !receiver.same_channel(&strange));

    drop(sender);
    assert_eq!((other.sender_count(), receiver.is_closed()), (1, false));
    drop(other);
    assert!(receiver.is_closed());
}
