//! Exercise 18, size M, after chapter 15: a `select!` that loses a message.
//!
//! `serve` reads messages and counts the ticks of a clock, whichever comes first. A message is its
//! length, a byte, and then as many bytes, and they come one by one. When a tick comes in the
//! middle of a message, `serve` drops the future that was reading it, and what that had read is
//! lost. Change `serve`, `message`, or both. A tick must not wait until a message is whole.
//!
//! `either` is what `select!` does with two futures. It takes them by value and drops both. A
//! future that is pinned elsewhere can be given by `future.as_mut()`, which is a future as well.

use inside::exercises::{Wakeups, counted, expect, poll, solved};
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
        counted(poll_fn(|context| {
            let mut inside = self.0.borrow_mut();
            if let Some(item) = inside.0.pop_front() {
                return Poll::Ready(item);
            }
            inside.1 = Some(context.waker().clone());
            Poll::Pending
        }))
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
    // YOURS: from here
    loop {
        match either(message(bytes), ticks.recv()).await {
            Either::First(message) => seen.borrow_mut().messages.push(message),
            Either::Second(()) => seen.borrow_mut().ticks += 1,
        }
    }
    // to here
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

const LOST: &str = "a tick came in the middle of a message, and the message does not arrive";

/// How many messages these bytes are, without one that is not whole yet.
fn whole(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some((length, rest)) = bytes.split_first()
        && let Some((_, rest)) = rest.split_at_checked(usize::from(*length))
    {
        count += 1;
        bytes = rest;
    }
    count
}

/// Takes the steps, and lets the task run after each of them, or after every second one.
fn check(steps: &[Step], at_once: usize) {
    let (bytes, ticks, seen) = (Channel::new(), Channel::new(), RefCell::new(Seen::default()));
    let mut task = Task::new(serve(&bytes, &ticks, &seen));
    task.run();

    let mut sent_ticks = 0;
    let mut sent_bytes = Vec::new();
    for steps in steps.chunks(at_once) {
        for step in steps {
            match step {
                Step::Byte(byte) => {
                    sent_bytes.push(*byte);
                    bytes.send(*byte);
                }
                Step::Tick => ticks.send(()),
            }
        }
        sent_ticks += steps.iter().filter(|step| **step == Step::Tick).count();
        task.run();
        let message = "a tick has come, and is not counted: it is lost, or it waits for a message";
        expect(seen.borrow().ticks >= sent_ticks, message);
        expect(seen.borrow().ticks == sent_ticks, "it counts a tick that has not come");

        let is_late = seen.borrow().messages.len() < whole(&sent_bytes);
        let message =
            "a message is whole, and `serve` does not give it before something else comes";
        expect(!is_late || sent_ticks > 0, message);
        expect(!is_late, LOST);
    }

    let is_right = seen.borrow().messages == MESSAGES;
    let has_ticks = steps.contains(&Step::Tick);
    expect(is_right || has_ticks, "messages do not arrive as they were sent, and no tick came");
    expect(is_right, LOST);
}

/// Serves as many connections at a time. Each gets one long message, and now and then two ticks at
/// once. Their bytes come by turns.
fn connections(count: u8) {
    let messages: Vec<Vec<u8>> = (0..count).map(|it| vec![it; 200 + usize::from(it)]).collect();
    let peers: Vec<_> = (0..count)
        .map(|_| (Channel::new(), Channel::new(), RefCell::new(Seen::default())))
        .collect();
    let serves = peers.iter().map(|(bytes, ticks, seen)| Task::new(serve(bytes, ticks, seen)));
    let mut tasks: Vec<_> = serves.collect();
    tasks.iter_mut().for_each(Task::run);

    let mut sent_ticks = 0;
    for place in 0..=messages.iter().map(Vec::len).max().unwrap_or_default() {
        let is_time = place % 50 == 20;
        sent_ticks += if is_time { 2 } else { 0 };
        for (((bytes, ticks, seen), message), task) in peers.iter().zip(&messages).zip(&mut tasks) {
            let length = u8::try_from(message.len()).expect("they are not that long");
            if let Some(byte) = [&[length], message.as_slice()].concat().get(place) {
                bytes.send(*byte);
            }
            if is_time {
                ticks.send(());
                ticks.send(());
            }
            task.run();
            let told = "two ticks have come at once, and it does not count both";
            expect(seen.borrow().ticks == sent_ticks, told);
        }
    }

    let told = match count {
        1 => "a message of 200 bytes does not arrive as it was sent",
        _ => "two connections are served at a time, and one gets what was sent to the other",
    };
    let mut right = peers.iter().zip(&messages);
    expect(right.all(|((_, _, seen), sent)| seen.borrow().messages == [sent.as_slice()]), told);
}

fn main() {
    for at_once in [1, 2] {
        for ticks in 0..1 << steps(0).len() {
            check(&steps(ticks), at_once);
        }
    }
    connections(1);
    connections(2);
    solved();
}

// Hint 1: `either` drops both futures. Which of the two has something to lose when it is dropped?
// Hint 2: what has been read so far must live longer than one turn of the loop.
// Hint 3: pin the future that reads before the loop, give `either` a reference to it, and replace
// it (`Pin::set`) when it has given its message.
