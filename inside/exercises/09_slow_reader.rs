//! Exercise 09, size M, after stage 07: a slow reader.
//!
//! A pipe holds a few messages. If it is full, the writer waits until the reader has made room:
//! this is how a slow reader slows a fast writer down (*back pressure*). Write the writer's side.
//! Wake a waker, or drop one, only after the lock is released: that runs code which is not yours.
//!
//! `Mutex` is std's, with one addition: here, the exercise can let another thread act whenever you
//! release the lock. (`lock` gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{Mutex, by_turns, meanwhile, orders};
use inside::exercises::{Wakeups, expect, poll, solved};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

const ROOM: usize = 2;

#[derive(Default)]
struct Pipe(Mutex<State>);

#[derive(Default)]
struct State {
    messages: VecDeque<u32>,
    writer: Option<Waker>,
}

impl Pipe {
    async fn write(&self, message: u32) {
        poll_fn(|context| {
            let waker = context.waker().clone();
            let mut state = self.0.lock();
            // YOURS: from here
            let _ = (waker, ROOM); // they are not used yet
            // to here
            state.messages.push_back(message);
            Poll::Ready(())
        })
        .await;
    }

    fn read(&self) -> Option<u32> {
        let mut state = self.0.lock();
        let message = state.messages.pop_front();
        // YOURS: from here
        let _ = &state.writer; // nobody waits yet
        // to here
        message
    }
}

fn main() {
    check();
    // The reader makes room in the middle of the writer's poll: the first one, or a later one.
    for step in 1..=4 {
        in_between(step, true);
        in_between(step, false);
    }
    // Each side is stopped in the middle, and the other one goes on.
    for turns in orders(4) {
        for reads in 1..=3 {
            at_once(&turns, reads);
        }
    }
    // Of all that was polled, nothing may be left.
    solved();
}

fn check() {
    let pipe = Pipe::default();
    let mut writer = Box::pin(async {
        for message in 0..5 {
            pipe.write(message).await;
        }
    });

    // The writer's task changes before it is woken: only the one that waits now counts.
    let (earlier, wakeups) = (Wakeups::new(), Wakeups::new());
    for wakeups in [&earlier, &wakeups] {
        let polled = poll(&mut writer, wakeups);
        expect(polled.is_pending(), "the pipe has room for two, and took five");
        let held = pipe.0.lock().messages.len();
        expect(held == ROOM, &format!("the pipe has room for two, and holds {held}"));
    }

    let nothing = "there is no room, and it has woken its own task: it is polled for nothing";
    expect(earlier.count() + wakeups.count() == 0, nothing);

    for message in 0..5 {
        let woken = wakeups.count();
        expect(pipe.read() == Some(message), "a message is lost, or they come in another order");
        if message < 3 {
            expect(wakeups.count() > woken, "there is room again, and the writer was not woken");
            let message = "there is room once, and the writer was woken more than once";
            expect(wakeups.count() == woken + 1, message);
            let _ = poll(&mut writer, &wakeups);
        } else {
            let message = "nobody waits for room any more, and a task is woken: a waker was left \
                           behind";
            expect(wakeups.count() == woken, message);
        }
    }
    expect(earlier.count() == 0, "a task was woken that does not wait any more");
    expect(pipe.read().is_none(), "there was one message too many");
    earlier.expect_no_waker_left(LEFT_BEHIND);
    wakeups.expect_no_waker_left(LEFT_BEHIND);

    // Nobody waits, as there is always room.
    let pipe = Pipe::default();
    let wakeups = Wakeups::new();
    for message in 0..4 {
        let written = poll(&mut Box::pin(pipe.write(message)), &wakeups);
        expect(written.is_ready(), "the pipe has room, and the writer waits");
        expect(pipe.read() == Some(message), "a message is lost, or they come in another order");
    }
    expect(wakeups.count() == 0, "the writer does not wait, and is woken: a waker was left behind");
    wakeups.expect_no_waker_left(LEFT_BEHIND);
}

const LEFT_BEHIND: &str = "nobody waits for room any more, and a waker is left behind, or was lost \
                           without being dropped: the task that it belongs to stays in memory";

fn in_between(step: usize, is_first_poll: bool) {
    let pipe = Pipe::default();
    let mut writer = Box::pin(async {
        for message in 0..=ROOM as u32 {
            pipe.write(message).await;
        }
    });
    let (earlier, wakeups) = (Wakeups::new(), Wakeups::new());
    if !is_first_poll {
        let _ = poll(&mut writer, &earlier);
    }
    let (read, polled) = meanwhile(step, || pipe.read(), || poll(&mut writer, &wakeups));
    if read.is_none() {
        // It came before the first message: there was no room to be made.
        pipe.read();
    }
    let message = "the reader made room during the writer's poll, and nobody wakes the writer";
    expect(polled.is_ready() || wakeups.count() > 0, message);
    let ended = polled.is_ready() || poll(&mut writer, &wakeups).is_ready();
    expect(ended, "the reader made room during the writer's poll, and the next poll is pending");
}

/// A writer that waits is polled by another task, while the reader reads some messages.
fn at_once(turns: &[usize], reads: usize) {
    let pipe = Pipe::default();
    let mut writer = Box::pin(async {
        for message in 0..5 {
            pipe.write(message).await;
        }
    });
    let (earlier, wakeups) = (Wakeups::new(), Wakeups::new());
    let _ = poll(&mut writer, &earlier);
    let read = || (0..reads).filter_map(|_| pipe.read()).collect::<Vec<u32>>();
    let (mut polled, mut received) = by_turns(turns, || poll(&mut writer, &wakeups), read);

    // The rest, as long as somebody is woken.
    let mut seen = 0;
    loop {
        if polled.is_pending() && wakeups.count() > seen {
            seen = wakeups.count();
            polled = poll(&mut writer, &wakeups);
        }
        let Some(message) = pipe.read() else { break };
        received.push(message);
    }
    let message = "the reader made room during the writer's poll, and nobody wakes the writer";
    expect(polled.is_ready(), message);
    expect(received == [0, 1, 2, 3, 4], "a message is lost, or they come in another order");
    drop(writer);
    earlier.expect_no_waker_left(LEFT_BEHIND);
    wakeups.expect_no_waker_left(LEFT_BEHIND);
}

// Hint 1: three things happen when the pipe is full: look, leave the waker, `Pending`.
// Hint 2: the look and the leaving belong under the same lock, or the reader comes in between.
// Hint 3: the reader takes the waker out under the lock, and wakes after it.
