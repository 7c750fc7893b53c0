//! Exercise 02, size M, after stage 04: a channel for one value.
//!
//! `Receiver` is a future: it gives the value, or None if the sender was dropped without sending.
//! Write the two places where the sides meet. Wake a waker, or drop one, only after the lock is
//! released: that runs code which is not yours, and which may want the lock.
//!
//! `Mutex` is std's, with one addition: here, the exercise can let another thread act whenever you
//! release the lock. (`lock` gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{Mutex, by_turns, meanwhile, orders};
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
        // YOURS: from here
        // to here
    }
}

impl<T> Future for Receiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let waker = context.waker().clone();
        let mut state = self.0.lock();
        // YOURS: from here
        let _ = (waker, &state.waker);
        state.value.take().map_or(Poll::Pending, |value| Poll::Ready(Some(value)))
        // to here
    }
}

fn main() {
    check();
    // The other side acts in the middle of a poll: the first one, or one by another task.
    for step in 1..=4 {
        for sends in [Some(7), None] {
            for is_first_poll in [true, false] {
                in_between(step, sends, is_first_poll);
            }
        }
    }
    // Each side is stopped in the middle, and the other one goes on.
    for turns in orders(4) {
        for sends in [Some(7), None] {
            at_once(&turns, sends);
        }
    }
    // Of all that was polled, nothing may be left.
    solved();
}

fn check() {
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

/// A receiver that has waited is polled by another task, while the sender sends or is dropped.
fn at_once(turns: &[usize], sends: Option<u32>) {
    let (sender, receiver) = channel();
    let mut receiver = Box::pin(receiver);
    let (earlier, wakeups) = (Wakeups::new(), Wakeups::new());
    let _ = poll(&mut receiver, &earlier);
    let act = || match sends {
        Some(value) => sender.send(value),
        None => drop(sender),
    };
    let (polled, ()) = by_turns(turns, || poll(&mut receiver, &wakeups), act);
    let message = "the other side was done during a poll, and nobody wakes the receiver";
    expect(polled.is_ready() || wakeups.count() > 0, message);
    let polled = if polled.is_ready() { polled } else { poll(&mut receiver, &wakeups) };
    let message = "a value was sent during the receiver's poll, and did not arrive: it was looked \
                   for under one lock, and the sender under another";
    expect(polled == Poll::Ready(sends), message);
    earlier.expect_no_waker_left(LEFT_BEHIND);
    wakeups.expect_no_waker_left(LEFT_BEHIND);
}

// Hint 1: `Event` of stage 01 is such a channel, for a value of type `()`.
// Hint 2: `send` drops the sender at its end, so waking in `drop` is enough for both.
// Hint 3: in `poll`, look at both fields and leave the waker under the same lock.
