//! Exercise 09, size M, after stage 07: a slow reader.
//!
//! A pipe holds a few messages. If it is full, the writer waits until the reader has made room:
//! this is how a slow reader slows a fast writer down (*back pressure*). Write the writer's side.

use inside::exercises::{Wakeups, expect, poll, solved};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Mutex;
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
            let mut state = self.0.lock().expect("nobody panics");
            // SOLUTION
            if state.messages.len() == ROOM {
                let old = state.writer.replace(waker);
                drop(state);
                drop(old);
                return Poll::Pending;
            }
            // INSTEAD
            //~ let _ = (waker, ROOM); // they are not used yet
            // END
            state.messages.push_back(message);
            Poll::Ready(())
        })
        .await;
    }

    fn read(&self) -> Option<u32> {
        let mut state = self.0.lock().expect("nobody panics");
        let message = state.messages.pop_front();
        // SOLUTION
        let writer = state.writer.take();
        drop(state);
        if let Some(writer) = writer {
            writer.wake();
        }
        // INSTEAD
        //~ let _ = &state.writer; // nobody waits yet
        // END
        message
    }
}

fn main() {
    let pipe = Pipe::default();
    let mut writer = Box::pin(async {
        for message in 0..5 {
            pipe.write(message).await;
        }
    });
    let wakeups = Wakeups::new();
    expect(poll(&mut writer, &wakeups).is_pending(), "the pipe has room for two, and took five");
    expect(pipe.0.lock().expect("nobody panics").messages.len() == ROOM, "the pipe is not full");

    for message in 0..5 {
        let woken = wakeups.count();
        expect(pipe.read() == Some(message), "a message is lost, or they come in another order");
        if message < 3 {
            expect(
                wakeups.count() == woken + 1,
                "there is room again, and the writer was not woken",
            );
            let _ = poll(&mut writer, &wakeups);
        }
    }
    expect(pipe.read().is_none(), "there was one message too many");
    solved();
}

// Hint 1: three things happen when the pipe is full: look, leave the waker, `Pending`.
// Hint 2: the look and the leaving belong under the same lock, or the reader comes in between.
// Hint 3: the reader takes the waker out under the lock, and wakes after it.
