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
    sender.send(7);
    expect(wakeups.count() == 1, "a value was sent, and the receiver was not woken");
    expect(poll(&mut receiver, &wakeups) == Poll::Ready(Some(7)), "the value did not arrive");

    let (sender, receiver) = channel::<u8>();
    let mut receiver = Box::pin(receiver);
    let (first, second) = (Wakeups::new(), Wakeups::new());
    expect(poll(&mut receiver, &first).is_pending(), "it has received what nobody sent");
    expect(poll(&mut receiver, &second).is_pending(), "it has received what nobody sent");
    drop(sender);
    expect(second.count() == 1, "the sender is gone, and the receiver was not woken");
    expect(first.count() == 0, "a task was woken that does not wait any more");
    expect(poll(&mut receiver, &second) == Poll::Ready(None), "the sender is gone, and it waits");

    // The value is sent in the middle of a poll.
    for step in 1..=3 {
        let (sender, receiver) = channel();
        let mut receiver = Box::pin(receiver);
        let wakeups = Wakeups::new();
        let ((), polled) = meanwhile(step, || sender.send(7), || poll(&mut receiver, &wakeups));
        let message = "a value was sent during the receiver's poll, and nobody wakes the receiver";
        expect(polled.is_ready() || wakeups.count() > 0, message);
    }
    solved();
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
//     you see: not yet: a value was sent during the receiver's poll, and nobody wakes the receiver
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
//     you see: not yet: the sender is gone, and the receiver was not woken
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
// ```
