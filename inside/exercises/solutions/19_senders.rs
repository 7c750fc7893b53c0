//! Exercise 19, size L, after chapter 15 or 16: a bounded channel whose senders go away.
//!
//! The channel has room for a few messages. A sender that finds no room waits. Write who waits
//! where, who is woken, and what happens when a sender that waits is dropped:
//!
//! * Whoever asked first sends first. A sender that comes later overtakes nobody who waits.
//! * Room for one more message wakes one sender, and not all of them.
//! * A send that was dropped before it was ready has sent nothing, is never woken again, and costs
//!   nobody his turn. It may be dropped between its wake-up and its next poll.
//! * When the receiver closes the channel, every sender is woken, and gets its message back.
//!
//! Wake a waker, or drop one, only after the lock is released: that runs code which is not yours.
//!
//! `Mutex` is std's, with one addition: here, the exercise can let another thread act whenever you
//! release the lock. (`lock` gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{Mutex, meanwhile};
use inside::exercises::{Wakeups, expect, poll, solved};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
// SOLUTION
use std::collections::BTreeMap;
use std::task::Waker;
// INSTEAD
// END

struct Channel(Mutex<State>);

struct State {
    messages: VecDeque<u32>,
    /// For how many more messages there is room that nobody was promised.
    room: usize,
    is_closed: bool,
    // SOLUTION
    /// The senders, by number. None: it was promised room.
    senders: BTreeMap<u64, Option<Waker>>,
    next: u64,
    // INSTEAD
    // END
}

impl Channel {
    fn new(room: usize) -> Self {
        Channel(Mutex::new(State {
            messages: VecDeque::new(),
            room,
            is_closed: false,
            // SOLUTION
            senders: BTreeMap::new(),
            next: 0,
            // INSTEAD
            // END
        }))
    }

    /// Gives Ok when the message is in the channel, or the message if the channel was closed.
    fn send(&self, message: u32) -> Send<'_> {
        // SOLUTION
        Send { channel: self, message, number: None }
        // INSTEAD
        //~ Send { channel: self, message }
        // END
    }

    fn receive(&self) -> Option<u32> {
        let mut state = self.0.lock();
        let message = state.messages.pop_front();
        // SOLUTION
        let waker = if message.is_some() { state.room_for_one() } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        // INSTEAD
        //~ state.room += usize::from(message.is_some());
        // END
        message
    }

    fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        // SOLUTION
        let senders = std::mem::take(&mut state.senders);
        drop(state);
        for waker in senders.into_values().flatten() {
            waker.wake();
        }
        // INSTEAD
        // END
    }
}

// SOLUTION
impl State {
    /// There is room for one more message: it is promised to the first sender that waits. Returns
    /// its waker.
    fn room_for_one(&mut self) -> Option<Waker> {
        let first = self.senders.values_mut().find_map(Option::take);
        if first.is_none() {
            self.room += 1;
        }
        first
    }
}
// INSTEAD
// END

struct Send<'a> {
    channel: &'a Channel,
    message: u32,
    // SOLUTION
    /// None: it does not wait.
    number: Option<u64>,
    // INSTEAD
    // END
}

impl Future for Send<'_> {
    type Output = Result<(), u32>;

    // SOLUTION
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker().clone();
        let mut state = self.channel.0.lock();
        if state.is_closed {
            drop(state);
            self.number = None;
            return Poll::Ready(Err(self.message));
        }

        let was_promised = self.number.is_some_and(|it| state.senders[&it].is_none());
        if let Some(number) = self.number
            && was_promised
        {
            state.senders.remove(&number);
            state.messages.push_back(self.message);
            drop(state);
            self.number = None;
            return Poll::Ready(Ok(()));
        }
        if state.room > 0 {
            state.room -= 1;
            state.messages.push_back(self.message);
            return Poll::Ready(Ok(()));
        }

        let number = self.number.unwrap_or(state.next);
        state.next = state.next.max(number + 1);
        let old = state.senders.insert(number, Some(waker));
        drop(state);
        drop(old);
        self.number = Some(number);
        Poll::Pending
    }
    // INSTEAD
    //~ fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
    //~     let _ = context.waker(); // nobody keeps it yet
    //~     let mut state = self.channel.0.lock();
    //~     if state.is_closed {
    //~         return Poll::Ready(Err(self.message));
    //~     }
    //~     if state.room == 0 {
    //~         return Poll::Pending;
    //~     }
    //~     state.room -= 1;
    //~     state.messages.push_back(self.message);
    //~     Poll::Ready(Ok(()))
    //~ }
    // END
}

// SOLUTION
impl Drop for Send<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut state = self.channel.0.lock();
        let left = state.senders.remove(&number);
        let next = if matches!(left, Some(None)) { state.room_for_one() } else { None };
        drop(state);
        drop(left);
        if let Some(waker) = next {
            waker.wake();
        }
    }
}
// INSTEAD
// END

/// A send, and how often it was woken since it was polled for the first time, or has moved.
struct Sender<'a> {
    /// None: it has ended, or has gone away.
    send: Option<Pin<Box<Send<'a>>>>,
    wakeups: Arc<Wakeups>,
}

impl<'a> Sender<'a> {
    fn new(channel: &'a Channel, message: u32) -> Self {
        Sender { send: Some(Box::pin(channel.send(message))), wakeups: Wakeups::new() }
    }

    fn poll(&mut self) -> Poll<Result<(), u32>> {
        let Some(send) = &mut self.send else { return Poll::Pending };
        let polled = poll(send, &self.wakeups);
        if polled.is_ready() {
            self.send = None;
        }
        polled
    }

    /// Polls it, and ends the exercise if it does not wait.
    fn waits(&mut self) {
        expect(self.poll().is_pending(), "a sender does not wait, and there is no room for it");
    }

    /// Polls it, and ends the exercise if it does not send.
    fn sends(&mut self) {
        let message = "there is room for a sender, and it does not send";
        expect(self.poll() == Poll::Ready(Ok(())), message);
    }

    fn is_woken(&self) -> bool {
        self.send.is_some() && self.wakeups.count() > 0
    }
}

/// Fills a channel that has room for one more message, and has as many senders wait.
fn full(channel: &Channel, count: u32) -> Vec<Sender<'_>> {
    Sender::new(channel, 0).sends();
    let mut senders: Vec<_> = (1..=count).map(|it| Sender::new(channel, it)).collect();
    senders.iter_mut().for_each(Sender::waits);
    senders
}

/// How many senders are woken, and have not been polled since.
fn woken(senders: &[Sender<'_>]) -> usize {
    senders.iter().filter(|it| it.is_woken()).count()
}

/// Receives all that comes, and polls whoever is woken.
fn receive_all(channel: &Channel, senders: &mut [Sender<'_>]) -> Vec<u32> {
    let mut received = Vec::new();
    loop {
        senders.iter_mut().filter(|it| it.is_woken()).for_each(Sender::sends);
        let Some(message) = channel.receive() else { return received };
        received.push(message);
    }
}

/// There is room for one message, and no more.
fn has_room_for_one(channel: &Channel) {
    let message = "the channel is empty, and there is no room: somebody has taken it away";
    expect(Sender::new(channel, 8).poll() == Poll::Ready(Ok(())), message);
    let message = "there is room for more messages than at the beginning";
    expect(Sender::new(channel, 9).poll().is_pending(), message);
}

/// They wait in a row, and whoever comes later is behind them.
fn check_turns() {
    let channel = Channel::new(1);
    let mut senders = full(&channel, 3);
    expect(channel.receive() == Some(0), "the first message does not arrive");
    expect(senders[0].is_woken(), "there is room, and the sender that waits longest is not woken");
    expect(woken(&senders) == 1, "there is room for one message, and more than one is woken");

    senders.push(Sender::new(&channel, 4));
    let message = "a sender that has just come overtakes one that was woken";
    expect(senders[3].poll().is_pending(), message);

    // One is polled once more, and one has moved to another task.
    senders[1].waits();
    senders[2].wakeups = Wakeups::new();
    senders[2].waits();
    for index in 0..4 {
        let message = "there is room, and the sender that waits longest is not woken";
        expect(senders[index].is_woken(), message);
        expect(woken(&senders) == 1, "there is room for one message, and more than one is woken");
        senders[index].sends();
        let received = channel.receive();
        expect(received == Some(index as u32 + 1), "messages do not come in their order");
    }
    expect(channel.receive().is_none(), "a message comes twice");
    has_room_for_one(&channel);
}

/// One of three goes away, before it is woken or after that. The others have their turn.
fn check_leavers() {
    for (leaver, is_woken) in [(0, false), (1, false), (2, false), (0, true), (1, true), (2, true)]
    {
        let channel = Channel::new(1);
        let mut senders = full(&channel, 3);
        let mut received = Vec::new();
        if is_woken {
            // It is woken when those before it have sent.
            received.extend(channel.receive());
            for sender in &mut senders[..leaver] {
                sender.sends();
                received.extend(channel.receive());
            }
        }

        senders[leaver].send = None;
        let message = "a sender goes away before its turn, and another one is woken";
        expect(is_woken || woken(&senders) == 0, message);
        let message = "a sender was woken and goes away, and the next one is not woken";
        expect(!is_woken || leaver == 2 || woken(&senders) == 1, message);

        received.extend(receive_all(&channel, &mut senders));
        let is_left = senders.iter().any(|it| it.send.is_some());
        expect(!is_left, "a sender has gone away, and with it the turn of another one");
        let message = "a send was dropped, and its message comes, or that of another does not";
        let others = (0..=3).filter(|it| *it != leaver as u32 + 1);
        expect(received.into_iter().eq(others), message);
        has_room_for_one(&channel);
    }
}

/// The receiver takes a message in the middle of a poll, or of a drop.
fn check_races() {
    for step in 1..=4 {
        let channel = Channel::new(1);
        Sender::new(&channel, 0).sends();
        let mut sender = Sender::new(&channel, 1);
        let (_, polled) = meanwhile(step, || channel.receive(), || sender.poll());
        let message = "room is made in the middle of a sender's poll, and nobody wakes the sender";
        expect(polled.is_ready() || sender.is_woken(), message);

        let channel = Channel::new(1);
        let mut senders = full(&channel, 2);
        meanwhile(step, || channel.receive(), || senders[0].send = None);
        let message = "a message is received while a sender goes away, and the next is not woken";
        expect(senders[1].is_woken(), message);
        receive_all(&channel, &mut senders);
        has_room_for_one(&channel);
    }
}

fn check_closed() {
    let channel = Channel::new(1);
    let mut senders = full(&channel, 3);
    senders[1].send = None;
    channel.close();
    let message = "the channel was closed, and a sender that waits is not woken";
    expect(woken(&senders) == 2, message);
    for (sender, message) in [(0, 1), (2, 3)] {
        let told = "the channel was closed, and a sender does not get its message back";
        expect(senders[sender].poll() == Poll::Ready(Err(message)), told);
    }
    let late = Sender::new(&channel, 4).poll();
    expect(late == Poll::Ready(Err(4)), "the channel was closed, and a sender sends or waits");
    let message = "the channel was closed, and a message that was in it is lost";
    expect(channel.receive() == Some(0), message);
    expect(channel.receive().is_none(), "the channel was closed, and a message comes after all");

    // These were promised room before the channel is closed.
    let channel = Channel::new(2);
    expect(Sender::new(&channel, 9).poll() == Poll::Ready(Ok(())), "there is room for two");
    let mut senders = full(&channel, 2);
    channel.receive();
    channel.receive();
    channel.close();
    senders[1].send = None;
    let message = "the channel was closed, and a sender that was woken before still waits";
    expect(senders[0].poll().is_ready(), message);
}

fn main() {
    check_turns();
    check_leavers();
    check_races();
    check_closed();
    solved();
}

// Hint 1: between its wake-up and its next poll, a sender has a right to the room. Write down who
// has that right, so that nobody else takes it.
// Hint 2: a number for each sender that waits keeps them in their order, however often each is
// polled.
// Hint 3: `Drop` of `Send` looks which it was: still waiting (then it leaves the row), or promised
// room (then it does what `receive` does).

// WRONG
//
// ```text
// no-drop: it stays in the row, and its turn comes
//     - let Some(number) = self.number else { return };
//     + let Some(number) = self.number.filter(|_| false) else { return };
//     you see: not yet: a sender has gone away, and with it the turn of another one
//
// not-handed-on: it leaves the row, and keeps what it was promised
//     - let next = if matches!(left, Some(None)) { state.room_for_one() } else { None };
//     + let next: Option<Waker> = None;
//     you see: not yet: a sender was woken and goes away, and the next one is not woken
//
// room-for-newcomers: what it was promised is free, and those who wait are not told
//     - let next = if matches!(left, Some(None)) { state.room_for_one() } else { None };
//     + let next: Option<Waker> = None;
//     + state.room += usize::from(matches!(left, Some(None)));
//     you see: not yet: a sender was woken and goes away, and the next one is not woken
//
// always-handed-on: it had nothing to give
//     - let next = if matches!(left, Some(None)) { state.room_for_one() } else { None };
//     + let next = if left.is_some() { state.room_for_one() } else { None };
//     you see: not yet: a sender goes away before its turn, and another one is woken
//
// all-woken: room for one wakes everybody
//     - let waker = if message.is_some() { state.room_for_one() } else { None };
//     - drop(state);
//     - if let Some(waker) = waker {
//     + let mut wakers = Vec::new();
//     + while message.is_some() && state.senders.values().any(Option::is_some) {
//     + wakers.extend(state.room_for_one());
//     + }
//     + drop(state);
//     + for waker in wakers {
//     you see: not yet: there is room for one message, and more than one is woken
//
// not-promised: whoever comes first takes it
//     - if first.is_none() {
//     - self.room += 1;
//     - }
//     + self.room += 1;
//     you see: not yet: a sender that has just come overtakes one that was woken
//
// last-first: a stack and no row
//     - let first = self.senders.values_mut().find_map(Option::take);
//     + let first = self.senders.values_mut().rev().find_map(Option::take);
//     you see: not yet: there is room, and the sender that waits longest is not woken
//
// oldest-waker: it has moved to another task, which is not woken
//     - let old = state.senders.insert(number, Some(waker));
//     - drop(state);
//     - drop(old);
//     + let spare = state.senders.entry(number).or_insert(None).get_or_insert(waker).clone();
//     + drop(state);
//     + drop(spare);
//     you see: not yet: there is room, and the sender that waits longest is not woken
//
// back-to-the-end: each poll takes a new number
//     - let number = self.number.unwrap_or(state.next);
//     - state.next = state.next.max(number + 1);
//     + let number = state.next;
//     + state.next += 1;
//     + let before = self.number.and_then(|it| state.senders.remove(&it));
//     - drop(old);
//     + drop((old, before));
//     you see: not yet: there is room, and the sender that waits longest is not woken
//
// look-then-leave: room is made between the look and the leaving
//     - let number = self.number.unwrap_or(state.next);
//     + drop(state);
//     + let mut state = self.channel.0.lock();
//     + let number = self.number.unwrap_or(state.next);
//     you see: not yet: room is made in the middle of a sender's poll, and nobody wakes the sender
//
// woken-under-the-lock: the waker may run code that wants the lock
//     - drop(state);
//     - if let Some(waker) = waker {
//     + if let Some(waker) = waker {
//     you see: not yet: a waker is woken while a lock is held
//
// dropped-under-the-lock: the waker of a sender that goes away
//     - drop(state);
//     - drop(left);
//     + drop(left);
//     + drop(state);
//     you see: not yet: a waker is dropped while a lock is held
//
// looks-twice: room is promised between the look and the leaving
//     - let left = state.senders.remove(&number);
//     - let next = if matches!(left, Some(None)) { state.room_for_one() } else { None };
//     + let was_promised = matches!(state.senders.get(&number), Some(None));
//     + drop(state);
//     + let mut state = self.channel.0.lock();
//     + let left = state.senders.remove(&number);
//     + let next = if was_promised { state.room_for_one() } else { None };
//     you see: not yet: a message is received while a sender goes away, and the next is not woken
//
// promise-kept: it has sent, and gives its right away as well
//     - state.senders.remove(&number);
//     - state.messages.push_back(self.message);
//     - drop(state);
//     - self.number = None;
//     + state.messages.push_back(self.message);
//     + drop(state);
//     you see: not yet: there is room for one message, and more than one is woken
//
// empty-makes-room: nothing was received, and a place is given back
//     - let waker = if message.is_some() { state.room_for_one() } else { None };
//     + let waker = state.room_for_one();
//     you see: not yet: there is room for more messages than at the beginning
//
// closed-and-emptied: what was sent before is lost
//     - state.is_closed = true;
//     + state.is_closed = true;
//     + state.messages.clear();
//     you see: not yet: the channel was closed, and a message that was in it is lost
//
// dropped-under-the-lock-when-polled: the waker of its last poll
//     - drop(state);
//     - drop(old);
//     + drop(old);
//     + drop(state);
//     you see: not yet: a waker is dropped while a lock is held
//
// closed-in-silence: those who wait are not told
//     - let senders = std::mem::take(&mut state.senders);
//     - drop(state);
//     - for waker in senders.into_values().flatten() {
//     - waker.wake();
//     - }
//     you see: not yet: the channel was closed, and a sender that waits is not woken
// ```
