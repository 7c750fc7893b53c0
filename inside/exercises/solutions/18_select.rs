//! Exercise 18, size M, after chapter 15: a `select!` that loses a message.
//!
//! `serve` reads messages and counts the ticks of a clock, whichever comes first. A message is its
//! length, a byte, and then as many bytes, and they come one by one. When a tick comes in the
//! middle of a message, `serve` drops the future that was reading it, and what that had read is
//! lost. Change `serve`, `message`, or both. A tick must not wait until a message is whole.
//!
//! `either` is what `select!` does with two futures. It takes them by value and drops both. A
//! future that is pinned elsewhere can be given by `future.as_mut()`, which is a future as well.

use inside::exercises::{Wakeups, expect, poll, solved};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, Waker};

/// What was sent and not received yet.
struct Channel<T>(RefCell<(VecDeque<T>, Option<Waker>)>);

impl<T> Channel<T> {
    fn new() -> Self {
        Channel(RefCell::new((VecDeque::new(), None)))
    }

    fn send(&self, item: T) {
        self.0.borrow_mut().0.push_back(item);
        let receiver = self.0.borrow_mut().1.take();
        receiver.into_iter().for_each(Waker::wake);
    }

    /// If this is dropped before it is ready, nothing is lost.
    async fn recv(&self) -> T {
        poll_fn(|context| {
            let mut inside = self.0.borrow_mut();
            if let Some(item) = inside.0.pop_front() {
                return Poll::Ready(item);
            }
            inside.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

enum Either<A, B> {
    First(A),
    Second(B),
}

/// Polls both, and gives the output of the one that is ready first. Both are dropped at the end.
async fn either<A: Future, B: Future>(first: A, second: B) -> Either<A::Output, B::Output> {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(|context| {
        if let Poll::Ready(output) = first.as_mut().poll(context) {
            return Poll::Ready(Either::First(output));
        }
        second.as_mut().poll(context).map(Either::Second)
    })
    .await
}

/// What `serve` has seen so far.
#[derive(Default)]
struct Seen {
    messages: Vec<Vec<u8>>,
    ticks: usize,
}

async fn message(bytes: &Channel<u8>) -> Vec<u8> {
    let length = bytes.recv().await;
    let mut message = Vec::new();
    for _ in 0..length {
        message.push(bytes.recv().await);
    }
    message
}

async fn serve(bytes: &Channel<u8>, ticks: &Channel<()>, seen: &RefCell<Seen>) {
    // SOLUTION
    let mut reading = pin!(message(bytes));
    loop {
        match either(reading.as_mut(), ticks.recv()).await {
            Either::First(message) => {
                seen.borrow_mut().messages.push(message);
                reading.set(self::message(bytes));
            }
            Either::Second(()) => seen.borrow_mut().ticks += 1,
        }
    }
    // INSTEAD
    //~ loop {
    //~     match either(message(bytes), ticks.recv()).await {
    //~         Either::First(message) => seen.borrow_mut().messages.push(message),
    //~         Either::Second(()) => seen.borrow_mut().ticks += 1,
    //~     }
    //~ }
    // END
}

/// What comes: a byte, or a tick.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Byte(u8),
    Tick,
}

/// The messages that are sent: among them one that is empty.
const MESSAGES: [&[u8]; 4] = [&[7, 8, 9], &[], &[3], &[1, 2]];

/// The bytes of the messages, with ticks behind those whose bit is set.
fn steps(ticks: u32) -> Vec<Step> {
    let with_lengths = MESSAGES.iter().flat_map(|message| {
        let length = u8::try_from(message.len()).expect("they are short");
        [&[length], *message].concat()
    });
    let mut steps = Vec::new();
    for (index, byte) in with_lengths.enumerate() {
        steps.push(Step::Byte(byte));
        if ticks >> index & 1 == 1 {
            steps.push(Step::Tick);
        }
    }
    steps
}

/// The task that serves. It is polled only when it was woken.
struct Task<F> {
    future: Pin<Box<F>>,
    wakeups: Arc<Wakeups>,
    /// How often it had been woken when it was polled for the last time.
    polled_at: Option<usize>,
}

impl<F: Future<Output = ()>> Task<F> {
    fn new(future: F) -> Self {
        Task { future: Box::pin(future), wakeups: Wakeups::new(), polled_at: None }
    }

    /// Polls it until nobody has woken it since its last poll.
    fn run(&mut self) {
        let mut polls = 0;
        while self.polled_at != Some(self.wakeups.count()) {
            polls += 1;
            expect(polls < 50, "it wakes itself again and again, and nothing has come");
            self.polled_at = Some(self.wakeups.count());
            let polled = catch_unwind(AssertUnwindSafe(|| poll(&mut self.future, &self.wakeups)));
            let message = "it panics: is a future polled that has ended?";
            expect(polled.is_ok(), message);
            expect(polled.is_ok_and(|it| it.is_pending()), "it has ended, and the peer goes on");
        }
    }
}

/// Takes the steps, and lets the task run after each of them, or after every second one.
fn check(steps: &[Step], at_once: usize) {
    let (bytes, ticks, seen) = (Channel::new(), Channel::new(), RefCell::new(Seen::default()));
    let mut task = Task::new(serve(&bytes, &ticks, &seen));
    task.run();

    let mut sent_ticks = 0;
    for steps in steps.chunks(at_once) {
        for step in steps {
            match step {
                Step::Byte(byte) => bytes.send(*byte),
                Step::Tick => ticks.send(()),
            }
        }
        sent_ticks += steps.iter().filter(|step| **step == Step::Tick).count();
        task.run();
        let message = "a tick has come, and is not counted: it is lost, or it waits for a message";
        expect(seen.borrow().ticks >= sent_ticks, message);
        expect(seen.borrow().ticks == sent_ticks, "it counts a tick that has not come");
    }

    let is_right = seen.borrow().messages == MESSAGES;
    let has_ticks = steps.contains(&Step::Tick);
    expect(is_right || has_ticks, "messages do not arrive as they were sent, and no tick came");
    expect(is_right, "a tick came in the middle of a message, and the message does not arrive");
}

fn main() {
    for at_once in [1, 2] {
        for ticks in 0..1 << steps(0).len() {
            check(&steps(ticks), at_once);
        }
    }
    solved();
}

// Hint 1: `either` drops both futures. Which of the two has something to lose when it is dropped?
// Hint 2: what has been read so far must live longer than one turn of the loop.
// Hint 3: pin the future that reads before the loop, give `either` a reference to it, and replace
// it (`Pin::set`) when it has given its message.

// WRONG
//
// ```text
// made-anew: each turn begins another message
//     - match either(reading.as_mut(), ticks.recv()).await {
//     + match either(message(bytes), ticks.recv()).await {
//     you see: not yet: a tick came in the middle of a message, and the message does not arrive
//
// renewed-at-a-tick: what the old future has read is dropped
//     - Either::Second(()) => seen.borrow_mut().ticks += 1,
//     + Either::Second(()) => {
//     + seen.borrow_mut().ticks += 1;
//     + reading.set(self::message(bytes));
//     + }
//     you see: not yet: a tick came in the middle of a message, and the message does not arrive
//
// message-first: nothing is lost, and the tick waits for the peer
//     - Either::Second(()) => seen.borrow_mut().ticks += 1,
//     + Either::Second(()) => {
//     + let message = reading.as_mut().await;
//     + seen.borrow_mut().messages.push(message);
//     + reading.set(self::message(bytes));
//     + seen.borrow_mut().ticks += 1;
//     + }
//     you see: not yet: a tick has come, and is not counted
//
// never-renewed: it is polled again after it was ready
//     - reading.set(self::message(bytes));
//     you see: not yet: it panics
//
// one-after-the-other: it waits for both
//     - match either(reading.as_mut(), ticks.recv()).await {
//     - Either::First(message) => {
//     - seen.borrow_mut().messages.push(message);
//     - reading.set(self::message(bytes));
//     - }
//     - Either::Second(()) => seen.borrow_mut().ticks += 1,
//     - }
//     + let message = reading.as_mut().await;
//     + seen.borrow_mut().messages.push(message);
//     + reading.set(self::message(bytes));
//     + ticks.recv().await;
//     + seen.borrow_mut().ticks += 1;
//     you see: not yet: messages do not arrive as they were sent, and no tick came
//
// tick-thrown-away: both were ready, and one output is dropped
//     - match either(reading.as_mut(), ticks.recv()).await {
//     + let both = poll_fn(|context| {
//     + let tick = pin!(ticks.recv()).poll(context);
//     + if let Poll::Ready(message) = reading.as_mut().poll(context) {
//     + return Poll::Ready(Either::First(message));
//     + }
//     + tick.map(Either::Second)
//     + });
//     + match both.await {
//     you see: not yet: a tick has come, and is not counted
//
// spins: it wakes itself, so as not to miss anything
//     - match either(reading.as_mut(), ticks.recv()).await {
//     + let tick = poll_fn(|context| {
//     + context.waker().wake_by_ref();
//     + pin!(ticks.recv()).poll(context)
//     + });
//     + match either(reading.as_mut(), tick).await {
//     you see: not yet: it wakes itself again and again
//
// length-kept-alone: the bytes after it are in a variable of the future
//     - let mut reading = pin!(message(bytes));
//     - loop {
//     - match either(reading.as_mut(), ticks.recv()).await {
//     - Either::First(message) => {
//     - seen.borrow_mut().messages.push(message);
//     - reading.set(self::message(bytes));
//     - }
//     + let kept = RefCell::new(None);
//     + loop {
//     + let reading = async {
//     + if kept.borrow().is_none() {
//     + let length = bytes.recv().await;
//     + kept.replace(Some(length));
//     + }
//     + let mut message = Vec::new();
//     + for _ in 0..kept.borrow().unwrap() {
//     + message.push(bytes.recv().await);
//     + }
//     + kept.replace(None);
//     + message
//     + };
//     + match either(reading, ticks.recv()).await {
//     + Either::First(message) => seen.borrow_mut().messages.push(message),
//     you see: not yet: a tick came in the middle of a message, and the message does not arrive
//
// empty-means-unknown: a message of no bytes is never whole
//     - let mut reading = pin!(message(bytes));
//     - loop {
//     - match either(reading.as_mut(), ticks.recv()).await {
//     - Either::First(message) => {
//     - seen.borrow_mut().messages.push(message);
//     - reading.set(self::message(bytes));
//     - }
//     + let kept = RefCell::new((0, Vec::new()));
//     + loop {
//     + let reading = async {
//     + while kept.borrow().0 == 0 {
//     + let length = bytes.recv().await;
//     + kept.borrow_mut().0 = usize::from(length);
//     + }
//     + while kept.borrow().1.len() < kept.borrow().0 {
//     + let byte = bytes.recv().await;
//     + kept.borrow_mut().1.push(byte);
//     + }
//     + kept.take().1
//     + };
//     + match either(reading, ticks.recv()).await {
//     + Either::First(message) => seen.borrow_mut().messages.push(message),
//     you see: not yet: messages do not arrive as they were sent, and no tick came
//
// not-emptied: the next message begins with the bytes of the last one
//     - let mut reading = pin!(message(bytes));
//     - loop {
//     - match either(reading.as_mut(), ticks.recv()).await {
//     - Either::First(message) => {
//     - seen.borrow_mut().messages.push(message);
//     - reading.set(self::message(bytes));
//     - }
//     + let kept = RefCell::new((None, Vec::new()));
//     + loop {
//     + let reading = async {
//     + if kept.borrow().0.is_none() {
//     + let length = bytes.recv().await;
//     + kept.borrow_mut().0 = Some(usize::from(length));
//     + }
//     + while Some(kept.borrow().1.len()) < kept.borrow().0 {
//     + let byte = bytes.recv().await;
//     + kept.borrow_mut().1.push(byte);
//     + }
//     + kept.borrow_mut().0 = None;
//     + kept.borrow().1.clone()
//     + };
//     + match either(reading, ticks.recv()).await {
//     + Either::First(message) => seen.borrow_mut().messages.push(message),
//     you see: not yet: messages do not arrive as they were sent, and no tick came
//
// put-back-at-the-end: what it has taken out is dropped with it
//     - let mut reading = pin!(message(bytes));
//     - loop {
//     - match either(reading.as_mut(), ticks.recv()).await {
//     - Either::First(message) => {
//     - seen.borrow_mut().messages.push(message);
//     - reading.set(self::message(bytes));
//     - }
//     + let kept = RefCell::new((None, Vec::new()));
//     + loop {
//     + let reading = async {
//     + let (mut length, mut message) = kept.take();
//     + if length.is_none() {
//     + length = Some(usize::from(bytes.recv().await));
//     + }
//     + while Some(message.len()) < length {
//     + message.push(bytes.recv().await);
//     + }
//     + kept.replace((None, Vec::new()));
//     + message
//     + };
//     + match either(reading, ticks.recv()).await {
//     + Either::First(message) => seen.borrow_mut().messages.push(message),
//     you see: not yet: a tick came in the middle of a message, and the message does not arrive
//
// ended-by-a-message: it serves one message, and no more
//     - reading.set(self::message(bytes));
//     + return;
//     you see: not yet: it has ended, and the peer goes on
// ```
