//! What senders and receivers of a watched value see of each other.

use crate::common::{Woken, at_once, poll_once, soon, waiting, waits};
use arc_util::sync::watch::{SendError, Sender, channel};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

#[test]
fn a_change_wakes_each_receiver_once_and_changes_in_between_are_one() {
    let (sender, mut first) = channel("one");
    let mut second = first.clone();
    let mut changed = waiting(first.changed());
    let (given_up, waker) = Woken::new();
    assert!(poll_once(pin!(second.changed()), &waker).is_pending());
    sender.send("two").unwrap();
    sender.send("three").unwrap();
    assert_eq!((changed.wakes(), given_up.count(), changed.ready()), (1, 0, Ok(())));
    drop(changed);
    assert_eq!(*first.borrow(), "three");
    assert!(waits(first.changed()), "it has seen both");
    assert_eq!(at_once(second.changed()), Ok(()));
}

#[test]
fn the_last_value_is_seen_even_after_the_last_sender() {
    let (sender, mut receiver) = channel(1);
    sender.send(2).unwrap();
    drop(sender);
    assert!(receiver.has_changed().is_err(), "nobody can change it");
    assert_eq!(at_once(receiver.changed()), Ok(()));
    assert_eq!(*receiver.borrow(), 2);
    let error = at_once(receiver.changed()).expect_err("there is no sender");
    assert!(!error.to_string().is_empty());
}

#[test]
fn only_the_last_of_several_senders_ends_the_waiting() {
    let (sender, mut receiver) = channel(1);
    let another = sender.clone();
    let mut changed = waiting(receiver.changed());
    drop(sender);
    assert_eq!(changed.wakes(), 0);
    drop(another);
    assert_eq!(changed.wakes(), 1);
    assert!(changed.ready().is_err());
}

#[test]
fn marks_say_what_counts_as_seen() {
    let (sender, mut receiver) = channel(1);
    // The first version has none before it.
    receiver.mark_changed();
    assert_eq!(receiver.has_changed(), Ok(true));
    assert_eq!(*receiver.borrow(), 1);
    assert_eq!(receiver.has_changed(), Ok(true), "borrowing marks nothing");
    assert_eq!(*receiver.borrow_and_update(), 1);
    assert_eq!(receiver.has_changed(), Ok(false));
    sender.send(2).unwrap();
    receiver.mark_unchanged();
    assert_eq!(receiver.has_changed(), Ok(false));

    // A clone has seen what its original has, and a new subscriber has seen all.
    sender.send(3).unwrap();
    assert_eq!(receiver.clone().has_changed(), Ok(true));
    assert_eq!(sender.subscribe().has_changed(), Ok(false));
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
    assert_eq!((receiver.has_changed(), receiver.borrow().len()), (Ok(false), 2));
    sender.send(vec![]).unwrap();
    assert!(receiver.borrow().is_empty(), "the lock still works");
}

#[test]
fn a_sender_knows_whether_anybody_watches() {
    let (sender, receiver) = channel("a");
    let mut closed = waiting(sender.closed());
    drop(receiver.clone());
    assert_eq!(closed.wakes(), 0);
    drop(receiver);
    assert_eq!(closed.wakes(), 1);
    closed.ready();
    assert!(sender.is_closed());
    assert_eq!(sender.send("b"), Err(SendError("b")));
    assert_eq!(sender.send_replace("c"), "a");

    // It opens again.
    let receiver = sender.subscribe();
    assert_eq!((*receiver.borrow(), receiver.has_changed()), ("c", Ok(false)));
    let mut closed = waiting(sender.closed());
    drop(receiver);
    assert_eq!(closed.wakes(), 1);
    closed.ready();
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
    let asks = AssertUnwindSafe(|| waits(receiver.wait_for(|_| panic!("on purpose"))));
    assert!(catch_unwind(asks).is_err());
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

    let mut wanted = waiting(receiver.wait_for(|number| *number == 3));
    sender.send(3).unwrap();
    assert!(wanted.ready().unwrap().has_changed());
    drop(wanted);
    assert!(!at_once(receiver.wait_for(|_| true)).unwrap().has_changed());
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
