//! Stage 15: to cancel a future is to drop it.
//!
//! A future that nobody polls does nothing. So whoever has it can end it at any time, without
//! asking: it is dropped. Its variables are dropped, and no other line of its body runs. That is
//! what `select!` does to the futures that were not first, and what a time limit does.
//!
//! Three things go wrong then. What was read so far is gone with the variables that held it. What
//! stands behind the `.await` never happens. And whatever was half done stays half done. The three
//! parts of `main` show how to do each of them right.
//!
//! # Break it
//!
//! ```text
//! made-anew: each turn of the loop makes a new future, and drops it with what it has read
//!     - match select(reading.as_mut(), later(10)).await {
//!     + match select(message(pipe), later(10)).await {
//!     you see: broken: the peer has sent all, and 0 of 2 messages have come
//!
//! counted-by-hand: what stands behind the `.await` never happens
//!     - let _counted = Counted::new();
//!     - message(pipe).await;
//!     + CLIENTS.fetch_add(1, Ordering::Relaxed);
//!     + message(pipe).await;
//!     + CLIENTS.fetch_sub(1, Ordering::Relaxed);
//!     you see: main: 1 clients are counted
//!
//! dropped-at-the-end: the writer is told to stop, and nobody waits until it has
//!     - writing.await;
//!     you see: main: the last line of the journal is `begin`
//! ```

#[path = "01_block_on.rs"]
#[allow(dead_code, reason = "the program of stage 01")]
mod stage_01;

use inside::sync::{AtomicBool, Mutex, Ordering, lock};
use stage_01::{block_on, later};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::task::{Poll, Waker};

/// What the peer sends at each tick of the clock: two messages, each with its length before it.
const PIECES: [&[u8]; 3] = [b"\x05he", b"llo\x03", b"you"];

/// How many clients there are.
static CLIENTS: AtomicUsize = AtomicUsize::new(0);

/// Bytes on their way from a peer.
#[derive(Default)]
struct Pipe(Mutex<State>);

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    reader: Option<Waker>,
}

impl Pipe {
    fn send(&self, bytes: &[u8]) {
        let mut state = lock(&self.0);
        state.bytes.extend(bytes);
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }

    /// The next byte. A byte leaves the pipe only in the poll that returns it: if this is dropped
    /// before, none is lost.
    async fn next(&self) -> u8 {
        poll_fn(|context| {
            let waker = context.waker().clone();
            let mut state = lock(&self.0);
            if let Some(byte) = state.bytes.pop_front() {
                return Poll::Ready(byte);
            }
            let old = state.reader.replace(waker);
            drop(state);
            drop(old);
            Poll::Pending
        })
        .await
    }
}

/// A message: its length, and then as many bytes. What it has read is in `length` and `text`, and
/// is lost if this is dropped.
async fn message(pipe: &Pipe) -> String {
    let length = pipe.next().await;
    let mut text = String::new();
    for _ in 0..length {
        text.push(char::from(pipe.next().await));
    }
    text
}

enum First<A, B> {
    Left(A),
    Right(B),
}

/// Polls both, and gives the output of the one that is ready first. Both are dropped at the end.
async fn select<A: Future, B: Future>(left: A, right: B) -> First<A::Output, B::Output> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|context| {
        if let Poll::Ready(output) = left.as_mut().poll(context) {
            return Poll::Ready(First::Left(output));
        }
        right.as_mut().poll(context).map(First::Right)
    })
    .await
}

/// Reads messages, and counts the ticks of a clock meanwhile.
async fn serve(pipe: &Pipe) {
    let mut pieces = PIECES.into_iter();
    let mut messages = 0;

    // It lives as long as the loop does. `select` gets a reference to it, and drops that.
    let mut reading = pin!(message(pipe));
    while messages < 2 {
        match select(reading.as_mut(), later(10)).await {
            First::Left(text) => {
                println!("main: a message: {text}");
                messages += 1;
                reading.set(message(pipe));
            }
            First::Right(()) => {
                let Some(piece) = pieces.next() else {
                    println!(
                        "broken: the peer has sent all, and {messages} of 2 messages have come"
                    );
                    return;
                };
                println!("main: a tick, and {} bytes come", piece.len());
                pipe.send(piece);
            }
        }
    }
}

/// A client that is counted for as long as this lives.
struct Counted;

impl Counted {
    fn new() -> Self {
        CLIENTS.fetch_add(1, Ordering::Relaxed);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        CLIENTS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A client that sends nothing.
async fn client(pipe: &Pipe) {
    let _counted = Counted::new();
    message(pipe).await;
}

/// Writes records, each in two steps, until it is told to stop.
async fn write(journal: &Mutex<Vec<&'static str>>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        lock(journal).push("begin");
        later(10).await;
        lock(journal).push("end");
    }
}

fn main() {
    inside::run(|| {
        block_on(serve(&Pipe::default()));

        // A time limit: the client is not ready in time, and is dropped.
        block_on(select(client(&Pipe::default()), later(10)));
        println!("main: {} clients are counted", CLIENTS.load(Ordering::Relaxed));

        let (journal, stop) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        block_on(async {
            let mut writing = pin!(write(&journal, &stop));
            select(writing.as_mut(), later(15)).await;
            stop.store(true, Ordering::Relaxed);
            writing.await;
        });
        println!("main: the last line of the journal is `{}`", lock(&journal).last().unwrap());
    });
}
