//! Exercise 19, size L, after chapter 15 or 16: a bounded channel whose senders go away.
//!
//! The channel has room for a few messages. A sender that finds no room waits. Write who waits
//! where, who is woken, and what happens when a sender that waits is dropped:
//!
//! * Whoever asked first sends first. A sender that comes later overtakes nobody who waits.
//! * Room for one more message wakes one sender, and not all of them.
//! * A send that was dropped before it was ready has sent nothing, is never woken again, and costs
//!   nobody his turn. It may be dropped between its wake-up and its next poll.
//! * When the receiver closes the channel, every sender is woken, and gets its message back. (One
//!   that was promised room before may still send.) What was sent before still comes, and whoever
//!   heard Ok has sent.
//!
//! Wake a waker, or drop one, only after the lock is released: that runs code which is not yours.
//!
//! `Mutex` is std's, with one addition: here, the exercise can let another thread act whenever you
//! release the lock. (`lock` gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{Mutex, by_turns, meanwhile, orders};
use inside::exercises::{Wakeups, expect, poll, solved};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
// YOURS: from here
// to here

struct Channel(Mutex<State>);

struct State {
    messages: VecDeque<u32>,
    /// For how many more messages there is room that nobody was promised.
    room: usize,
    is_closed: bool,
    // YOURS: from here
    // to here
}

impl Channel {
    fn new(room: usize) -> Self {
        Channel(Mutex::new(State {
            messages: VecDeque::new(),
            room,
            is_closed: false,
            // YOURS: from here
            // to here
        }))
    }

    /// Gives Ok when the message is in the channel, or the message if the channel was closed.
    fn send(&self, message: u32) -> Send<'_> {
        // YOURS: from here
        Send { channel: self, message }
        // to here
    }

    fn receive(&self) -> Option<u32> {
        let mut state = self.0.lock();
        let message = state.messages.pop_front();
        // YOURS: from here
        state.room += usize::from(message.is_some());
        // to here
        message
    }

    fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        // YOURS: from here
        // to here
    }
}

// YOURS: from here
// to here

struct Send<'a> {
    channel: &'a Channel,
    message: u32,
    // YOURS: from here
    // to here
}

impl Future for Send<'_> {
    type Output = Result<(), u32>;

    // YOURS: from here
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let _ = context.waker(); // nobody keeps it yet
        let mut state = self.channel.0.lock();
        if state.is_closed {
            return Poll::Ready(Err(self.message));
        }
        if state.room == 0 {
            return Poll::Pending;
        }
        state.room -= 1;
        state.messages.push_back(self.message);
        Poll::Ready(Ok(()))
    }
    // to here
}

// YOURS: from here
// to here

/// A send, and how often it was woken since it was polled for the first time, or has moved.
struct Sender<'a> {
    /// None: it has ended, or has gone away.
    send: Option<Pin<Box<Send<'a>>>>,
    message: u32,
    /// It has ended, and said this.
    said: Option<Result<(), u32>>,
    wakeups: Arc<Wakeups>,
    /// How often it had been woken when it was polled for the last time.
    seen: usize,
}

impl<'a> Sender<'a> {
    fn new(channel: &'a Channel, message: u32) -> Self {
        let send = Some(Box::pin(channel.send(message)));
        Sender { send, message, said: None, wakeups: Wakeups::new(), seen: 0 }
    }

    fn poll(&mut self) -> Poll<Result<(), u32>> {
        let Some(send) = &mut self.send else { return Poll::Pending };
        self.seen = self.wakeups.count();
        let polled = poll(send, &self.wakeups);
        if let Poll::Ready(said) = polled {
            self.said = Some(said);
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

    // Room for two is promised, and a message is still there.
    let channel = Channel::new(3);
    let mut senders: Vec<_> = (1..=5).map(|it| Sender::new(&channel, it)).collect();
    senders[..3].iter_mut().for_each(Sender::sends);
    senders[3..].iter_mut().for_each(Sender::waits);
    let mut received = vec![channel.receive(), channel.receive()];
    senders[3..].iter_mut().for_each(Sender::sends);
    received.extend((0..4).map(|_| channel.receive()));
    let expected = [Some(1), Some(2), Some(3), Some(4), Some(5), None];
    expect(received == expected, "messages do not come in their order");
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
        let woken_so_far = senders[leaver].wakeups.count();
        let message = "a sender goes away before its turn, and another one is woken";
        expect(is_woken || woken(&senders) == 0, message);
        let message = "a sender was woken and goes away, and the next one is not woken";
        expect(!is_woken || leaver == 2 || woken(&senders) == 1, message);

        // Somebody comes, and stands behind those who are left. If nobody is left, there is room.
        senders.push(Sender::new(&channel, 4));
        if is_woken && leaver == 2 {
            senders[3].sends();
        } else {
            senders[3].waits();
        }

        received.extend(receive_all(&channel, &mut senders));
        let is_left = senders.iter().any(|it| it.send.is_some());
        expect(!is_left, "a sender has gone away, and with it the turn of another one");
        let message = "a send was dropped, and its message comes, or that of another does not";
        let others = (0..=4).filter(|it| *it != leaver as u32 + 1);
        expect(received.into_iter().eq(others), message);
        let message = "a sender has gone away, and is woken later";
        expect(senders[leaver].wakeups.count() == woken_so_far, message);
        has_room_for_one(&channel);
        no_waker_left(&senders);
    }
}

/// All have ended, or have gone away.
fn no_waker_left(senders: &[Sender<'_>]) {
    let message = "a sender has ended, or has gone away, and a waker of it stays in the channel";
    senders.iter().for_each(|it| it.wakeups.expect_no_waker_left(message));
}

/// What one of two threads does.
#[derive(Clone, Copy, PartialEq)]
enum Act {
    Receive,
    Close,
    Poll,
    GoAway,
}

/// Two threads act at once on a channel for which two senders wait. Each is stopped in the middle,
/// and the other one goes on. Then whoever is woken is polled, and all that comes is received.
fn at_once(turns: &[usize], first: Act, second: Act, are_promised: usize) {
    // In a channel with room for two, both can be promised room at the same time.
    let channel = Channel::new(2);
    Sender::new(&channel, 8).sends();
    let mut senders = full(&channel, 2);
    let mut received = Vec::new();
    (0..are_promised).for_each(|_| received.extend(channel.receive()));

    let act = |act: Act, sender: &mut Sender<'_>| {
        match act {
            Act::Receive => return channel.receive(),
            Act::Close => channel.close(),
            Act::Poll => _ = sender.poll(),
            Act::GoAway => sender.send = None,
        }
        None
    };
    let [one, two] = &mut senders[..] else { return };
    let (one, two) = by_turns(turns, || act(first, one), || act(second, two));
    received.extend(one);
    received.extend(two);

    loop {
        for sender in &mut senders {
            if sender.send.is_some() && sender.wakeups.count() > sender.seen {
                let _ = sender.poll();
            }
        }
        let Some(message) = channel.receive() else { break };
        received.push(message);
    }
    let message = "two threads act at once, and then a sender waits that nobody wakes";
    expect(senders.iter().all(|it| it.send.is_none()), message);
    for sender in &senders {
        let is_there = received.contains(&sender.message);
        match sender.said {
            Some(Ok(())) => expect(is_there, "a sender hears Ok, and its message never comes"),
            Some(Err(_)) => expect(!is_there, "a sender gets its message back, and it comes, too"),
            None => expect(!is_there, "a sender went away, and its message comes all the same"),
        }
        let is_closed = first == Act::Close || second == Act::Close;
        let message = "a sender gets its message back, and nobody has closed the channel";
        expect(is_closed || !matches!(sender.said, Some(Err(_))), message);
    }
    let mut once = received.clone();
    once.sort_unstable();
    once.dedup();
    let is_there = once.contains(&0) && once.contains(&8);
    expect(is_there && once.len() == received.len(), "a message was lost, or it comes twice");
    no_waker_left(&senders);
}

fn check_orders() {
    use Act::{Close, GoAway, Poll, Receive};
    for turns in orders(3) {
        for are_promised in 0..=2 {
            for first in [Poll, GoAway, Receive] {
                for second in [Receive, Close, Poll, GoAway] {
                    at_once(&turns, first, second, are_promised);
                }
            }
        }
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
    no_waker_left(&senders);

    // More than one message is on its way.
    let channel = Channel::new(3);
    let mut senders: Vec<_> = (1..=5).map(|it| Sender::new(&channel, it)).collect();
    senders[..3].iter_mut().for_each(Sender::sends);
    senders[3..].iter_mut().for_each(Sender::waits);
    expect(channel.receive() == Some(1), "the first message does not arrive");
    channel.close();
    let said = senders[3].poll();
    expect(said.is_ready() && senders[4].poll() == Poll::Ready(Err(5)), "it still waits");
    for message in [2, 3] {
        let told = "the channel was closed, and a message that was in it is lost";
        expect(channel.receive() == Some(message), told);
    }
    let told = "the channel was closed, and a sender hears Ok, and its message never comes";
    expect(said != Poll::Ready(Ok(())) || channel.receive() == Some(4), told);
    expect(channel.receive().is_none(), "the channel was closed, and a message comes after all");
    no_waker_left(&senders);

    // These were promised room before the channel is closed.
    let channel = Channel::new(2);
    expect(Sender::new(&channel, 9).poll() == Poll::Ready(Ok(())), "there is room for two");
    let mut senders = full(&channel, 2);
    channel.receive();
    channel.receive();
    channel.close();
    senders[1].send = None;
    let message = "the channel was closed, and a sender that was woken before still waits";
    let said = senders[0].poll();
    expect(said.is_ready(), message);
    let message = "the channel was closed, and a sender hears Ok, and its message never comes";
    expect(said != Poll::Ready(Ok(())) || channel.receive() == Some(1), message);
    expect(channel.receive().is_none(), "the channel was closed, and a message comes after all");
    no_waker_left(&senders);
}

fn main() {
    check_turns();
    check_leavers();
    check_races();
    check_closed();
    check_orders();
    // Of all that was polled, nothing may be left.
    solved();
}

// Hint 1: between its wake-up and its next poll, a sender has a right to the room. Write down who
// has that right, so that nobody else takes it.
// Hint 2: a number for each sender that waits keeps them in their order, however often each is
// polled.
// Hint 3: `Drop` of `Send` looks which it was: still waiting (then it leaves the row), or promised
// room (then it does what `receive` does).
