//! Exercise 02, size M, after stage 04: a channel for one value.
//!
//! `Receiver` is a future: it gives the value, or None if the sender was dropped without sending.
//! Write the two places where the sides meet. Wake a waker, or drop one, only after the lock is
//! released: that runs code which is not yours, and which may want the lock.
//!
//! `Mutex` is std's, with one addition: here, the exercise can let another thread act whenever you
//! release the lock. (`lock` gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{Mutex, meanwhile};
use inside::exercises::{Wakeups, expect, poll, solved};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

struct State<T> {
    value: Option<T>,
    sender_is_gone: bool,
    waker: Option<Waker>,
}

struct Sender<T>(Arc<Mutex<State<T>>>);

struct Receiver<T>(Arc<Mutex<State<T>>>);

fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { value: None, sender_is_gone: false, waker: None };
    let state = Arc::new(Mutex::new(state));
    (Sender(state.clone()), Receiver(state))
}

impl<T> Sender<T> {
    /// Sends the value. (Then the sender is dropped.)
    fn send(self, value: T) {
        self.0.lock().value = Some(value);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.sender_is_gone = true;
        // SOLUTION
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        // INSTEAD
        // END
    }
}

impl<T> Future for Receiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let waker = context.waker().clone();
        let mut state = self.0.lock();
        // SOLUTION
        if state.value.is_some() || state.sender_is_gone {
            return Poll::Ready(state.value.take());
        }
        let old = state.waker.replace(waker);
        drop(state);
        drop(old);
        Poll::Pending
        // INSTEAD
        //~ let _ = (waker, &state.waker);
        //~ state.value.take().map_or(Poll::Pending, |value| Poll::Ready(Some(value)))
        // END
    }
}

fn main() {
    let (sender, receiver) = channel();
    let mut receiver = Box::pin(receiver);
    let wakeups = Wakeups::new();
    expect(poll(&mut receiver, &wakeups).is_pending(), "it has received what nobody sent");
    let message = "nobody has sent anything, and it has woken its own task: it is polled again and \
                   again for nothing";
    expect(wakeups.count() == 0, message);
    sender.send(7);
    expect(wakeups.count() > 0, "a value was sent, and the receiver was not woken");
    expect(wakeups.count() == 1, "a value was sent, and the receiver was woken more than once");
    expect(poll(&mut receiver, &wakeups) == Poll::Ready(Some(7)), "the value did not arrive");
    wakeups.expect_no_waker_left(LEFT_BEHIND);

    let (sender, receiver) = channel::<u8>();
    let mut receiver = Box::pin(receiver);
    let (first, second) = (Wakeups::new(), Wakeups::new());
    expect(poll(&mut receiver, &first).is_pending(), "it has received what nobody sent");
    expect(poll(&mut receiver, &second).is_pending(), "it has received what nobody sent");
    drop(sender);
    let message = "the sender is gone, and the task that waits was not woken";
    expect(second.count() == 1, message);
    expect(first.count() == 0, "a task was woken that does not wait any more");
    expect(poll(&mut receiver, &second) == Poll::Ready(None), "the sender is gone, and it waits");
    first.expect_no_waker_left(LEFT_BEHIND);
    second.expect_no_waker_left(LEFT_BEHIND);

    // It is sent before the first poll.
    let (sender, receiver) = channel();
    sender.send(7);
    let mut receiver = Box::pin(receiver);
    let wakeups = Wakeups::new();
    expect(poll(&mut receiver, &wakeups) == Poll::Ready(Some(7)), "the value did not arrive");
    wakeups.expect_no_waker_left(LEFT_BEHIND);

    // The other side acts in the middle of a poll: the first one, or one by another task.
    for step in 1..=4 {
        for sends in [Some(7), None] {
            for is_first_poll in [true, false] {
                in_between(step, sends, is_first_poll);
            }
        }
    }
    solved();
}

const LEFT_BEHIND: &str = "it is over, and a waker is left behind, or lost without being dropped: \
                           the task that it belongs to stays in memory";

/// The sender sends, or is dropped, after this step of a poll.
fn in_between(step: usize, sends: Option<u32>, is_first_poll: bool) {
    let (sender, receiver) = channel();
    let mut receiver = Box::pin(receiver);
    let (earlier, wakeups) = (Wakeups::new(), Wakeups::new());
    if !is_first_poll {
        let _ = poll(&mut receiver, &earlier);
    }
    let act = || match sends {
        Some(value) => sender.send(value),
        None => drop(sender),
    };
    let ((), polled) = meanwhile(step, act, || poll(&mut receiver, &wakeups));

    let polled = match polled {
        Poll::Ready(_) => polled,
        Poll::Pending => {
            let message = match sends {
                Some(_) => "a value was sent during the receiver's poll, and nobody wakes it",
                None => "the sender was dropped during the receiver's poll, and nobody wakes it",
            };
            expect(wakeups.count() > 0, message);
            poll(&mut receiver, &wakeups)
        }
    };
    let message = "a value was sent during the receiver's poll, and did not arrive: it was looked \
                   for under one lock, and the sender under another";
    expect(sends.is_none() || polled != Poll::Ready(None), message);
    expect(polled == Poll::Ready(sends), "the other side was done, and the receiver still waits");
    earlier.expect_no_waker_left(LEFT_BEHIND);
    wakeups.expect_no_waker_left(LEFT_BEHIND);
}

// Hint 1: `Event` of stage 01 is such a channel, for a value of type `()`.
// Hint 2: `send` drops the sender at its end, so waking in `drop` is enough for both.
// Hint 3: in `poll`, look at both fields and leave the waker under the same lock.

// WRONG
//
// ```text
// look-then-leave: the value comes between the look and the leaving
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     + drop(state);
//     + let old = self.0.lock().waker.replace(waker);
//     you see: not yet: a value was sent during the receiver's poll, and nobody wakes it
//
// woken-under-the-lock: the waker may run code that wants the lock
//     - drop(state);
//     - if let Some(waker) = waker {
//     + if let Some(waker) = waker {
//     you see: not yet: a waker is woken while a lock is held
//
// woken-in-a-condition: the lock is held until the end of the `if`
//     - let waker = state.waker.take();
//     - drop(state);
//     - if let Some(waker) = waker {
//     + drop(state);
//     + if let Some(waker) = self.0.lock().waker.take() {
//     you see: not yet: a waker is woken while a lock is held
//
// dropped-under-the-lock: an assignment drops what was there
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + state.waker = Some(waker);
//     you see: not yet: a waker is dropped while a lock is held
//
// oldest-waker: the receiver has moved to another task, which is not woken
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + state.waker.get_or_insert(waker);
//     you see: not yet: the sender is gone, and the task that waits was not woken
//
// waits-for-ever: nobody asks whether there is a sender
//     - if state.value.is_some() || state.sender_is_gone {
//     + if state.value.is_some() {
//     you see: not yet: the sender is gone, and it waits
//
// gone-means-none: a sender is always gone after it has sent
//     - if state.value.is_some() || state.sender_is_gone {
//     - return Poll::Ready(state.value.take());
//     + if state.sender_is_gone {
//     + return Poll::Ready(None);
//     you see: not yet: the value did not arrive
//
// locks-twice: it waits for itself
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     + let old = self.0.lock().waker.replace(waker);
//     + drop(state);
//     you see: not yet: it waits for a lock that it holds itself
//
// two-looks: the value and the sender are looked at under two locks
//     - if state.value.is_some() || state.sender_is_gone {
//     - return Poll::Ready(state.value.take());
//     - }
//     + if let Some(value) = state.value.take() {
//     + return Poll::Ready(Some(value));
//     + }
//     + drop(state);
//     + let mut state = self.0.lock();
//     + if state.sender_is_gone {
//     + return Poll::Ready(None);
//     + }
//     you see: not yet: a value was sent during the receiver's poll, and did not arrive
//
// gone-is-old: what was seen under the first lock is not so any more under the second
//     - if state.value.is_some() || state.sender_is_gone {
//     + let is_over = state.value.is_some() || state.sender_is_gone;
//     + drop(state);
//     + let mut state = self.0.lock();
//     + if is_over {
//     you see: not yet: a value was sent during the receiver's poll, and nobody wakes it
//
// only-gone-is-old: a value is seen, and a sender that goes without one is not
//     - if state.value.is_some() || state.sender_is_gone {
//     + let is_gone = state.sender_is_gone;
//     + drop(state);
//     + let mut state = self.0.lock();
//     + if state.value.is_some() || is_gone {
//     you see: not yet: the sender was dropped during the receiver's poll, and nobody wakes it
//
// dropped-before-the-guard: variables are dropped in the reverse order
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + let _old = state.waker.replace(waker);
//     you see: not yet: a waker is dropped while a lock is held
//
// asks-again: it wakes itself, so that it need not leave a waker
//     - let old = state.waker.replace(waker);
//     - drop(state);
//     - drop(old);
//     + drop(state);
//     + waker.wake();
//     you see: not yet: nobody has sent anything, and it has woken its own task
//
// cloned: the sender wakes a copy, and the waker stays where it was
//     - let waker = state.waker.take();
//     + let waker = state.waker.clone();
//     you see: not yet: it is over, and a waker is left behind
//
// forgotten: a waker that is not dropped keeps its task
//     - drop(old);
//     + std::mem::forget(old);
//     you see: not yet: it is over, and a waker is left behind
//
// woken-only-for-a-value: if there is none, the receiver waits for ever
//     - if let Some(waker) = waker {
//     + let has_value = self.0.lock().value.is_some();
//     + if let Some(waker) = waker && has_value {
//     you see: not yet: the sender is gone, and the task that waits was not woken
//
// woken-twice: once is enough
//     - waker.wake();
//     + waker.wake_by_ref();
//     + waker.wake();
//     you see: not yet: a value was sent, and the receiver was woken more than once
// ```

// RIGHT
//
// ```text
// second-lock: a poll that comes in between sees that the sender is gone
//     - let waker = state.waker.take();
//     - drop(state);
//     + drop(state);
//     + let waker = self.0.lock().waker.take();
//     you see: solved
//
// taken-then-gone: the value first, and then the sender, under one lock
//     - if state.value.is_some() || state.sender_is_gone {
//     - return Poll::Ready(state.value.take());
//     - }
//     + if let Some(value) = state.value.take() {
//     + return Poll::Ready(Some(value));
//     + }
//     + if state.sender_is_gone {
//     + return Poll::Ready(None);
//     + }
//     you see: solved
//
// only-when-gone: the sender is dropped after it has sent, and wakes then
//     - if state.value.is_some() || state.sender_is_gone {
//     + if state.sender_is_gone {
//     you see: solved
// ```
