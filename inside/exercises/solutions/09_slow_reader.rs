//! Exercise 09, size M, after stage 07: a slow reader.
//!
//! A pipe holds a few messages. If it is full, the writer waits until the reader has made room:
//! this is how a slow reader slows a fast writer down (*back pressure*). Write the writer's side.
//! Wake a waker, or drop one, only after the lock is released: that runs code which is not yours.
//!
//! `Mutex` is std's, with one addition: here, the exercise can let another thread act whenever you
//! release the lock. (`lock` gives you the guard at once, as no thread panics.)

use inside::exercises::threads::{Mutex, meanwhile};
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
        let mut state = self.0.lock();
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

    // The reader makes room in the middle of the writer's poll: the first one, or a later one.
    for step in 1..=4 {
        in_between(step, true);
        in_between(step, false);
    }
    solved();
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
    let (_, polled) = meanwhile(step, || pipe.read(), || poll(&mut writer, &wakeups));
    let message = "the reader made room during the writer's poll, and nobody wakes the writer";
    expect(polled.is_ready() || wakeups.count() > 0, message);
    let ended = polled.is_ready() || poll(&mut writer, &wakeups).is_ready();
    expect(ended, "the reader made room during the writer's poll, and the next poll is pending");
}

// Hint 1: three things happen when the pipe is full: look, leave the waker, `Pending`.
// Hint 2: the look and the leaving belong under the same lock, or the reader comes in between.
// Hint 3: the reader takes the waker out under the lock, and wakes after it.

// WRONG
//
// ```text
// look-then-leave: the reader comes between the look and the leaving
//     - let old = state.writer.replace(waker);
//     - drop(state);
//     + drop(state);
//     + let old = self.0.lock().writer.replace(waker);
//     you see: not yet: the reader made room during the writer's poll, and nobody wakes the writer
//
// oldest-waker: the writer has moved to another task, which is not woken
//     - let old = state.writer.replace(waker);
//     - drop(state);
//     - drop(old);
//     + state.writer.get_or_insert(waker);
//     + drop(state);
//     you see: not yet: there is room again, and the writer was not woken
//
// woken-under-the-lock: the waker may run code that wants the lock
//     - drop(state);
//     - if let Some(writer) = writer {
//     + if let Some(writer) = writer {
//     you see: not yet: a waker is woken while a lock is held
//
// dropped-under-the-lock: an assignment drops what was there
//     - let old = state.writer.replace(waker);
//     - drop(state);
//     - drop(old);
//     + state.writer = Some(waker);
//     + drop(state);
//     you see: not yet: a waker is dropped while a lock is held
//
// one-too-many: a full pipe takes another message
//     - if state.messages.len() == ROOM {
//     + if state.messages.len() > ROOM {
//     you see: not yet: the pipe has room for two, and holds 3
//
// woken-when-empty: the writer waits although there is room
//     - let writer = state.writer.take();
//     + let writer = if state.messages.is_empty() { state.writer.take() } else { None };
//     you see: not yet: there is room again, and the writer was not woken
//
// cloned: the reader wakes a copy, and wakes it again when nobody waits
//     - let writer = state.writer.take();
//     + let writer = state.writer.clone();
//     you see: not yet: nobody waits for room any more, and a task is woken
//
// leaves-one-always: also if there is room, and it does not wait
//     - if state.messages.len() == ROOM {
//     - let old = state.writer.replace(waker);
//     - drop(state);
//     - drop(old);
//     - return Poll::Pending;
//     - }
//     + let is_full = state.messages.len() == ROOM;
//     + let old = state.writer.replace(waker);
//     + drop(state);
//     + drop(old);
//     + if is_full {
//     + return Poll::Pending;
//     + }
//     + let mut state = self.0.lock();
//     you see: not yet: nobody waits for room any more, and a task is woken
//
// asks-again: it wakes itself until there is room
//     - let old = state.writer.replace(waker);
//     - drop(state);
//     - drop(old);
//     + drop(state);
//     + waker.wake();
//     you see: not yet: there is no room, and it has woken its own task
//
// waits-once: whoever was polled a second time was woken, it thinks
//     - poll_fn(|context| {
//     + let mut has_waited = false;
//     + poll_fn(|context| {
//     - if state.messages.len() == ROOM {
//     + if state.messages.len() == ROOM && !std::mem::replace(&mut has_waited, true) {
//     you see: not yet: the pipe has room for two, and took five
//
// drops-it: a message for which there is no room is lost
//     - let old = state.writer.replace(waker);
//     - drop(state);
//     - drop(old);
//     - return Poll::Pending;
//     + return Poll::Ready(());
//     you see: not yet: the pipe has room for two, and took five
//
// forgotten: a waker that is not dropped keeps its task
//     - drop(state);
//     - drop(old);
//     + drop(state);
//     + std::mem::forget(old);
//     you see: not yet: nobody waits for room any more, and a waker is left behind
//
// waits-with-room: one place stays empty for ever
//     - if state.messages.len() == ROOM {
//     + if state.messages.len() + 1 == ROOM {
//     you see: not yet: the pipe has room for two, and holds 1
//
// woken-twice: once is enough
//     - writer.wake();
//     + writer.wake_by_ref();
//     + writer.wake();
//     you see: not yet: there is room once, and the writer was woken more than once
//
// nobody-is-woken: the waker is taken, and dropped
//     - writer.wake();
//     + drop(writer);
//     you see: not yet: there is room again, and the writer was not woken
// ```

// RIGHT
//
// ```text
// only-from-full: nobody waits for room if there was some
//     - let writer = state.writer.take();
//     + let was_full = state.messages.len() + 1 == ROOM;
//     + let writer = if was_full { state.writer.take() } else { None };
//     you see: solved
//
// a-block: the guard ends with it, and what was there comes out
//     - let mut state = self.0.lock();
//     - let message = state.messages.pop_front();
//     - let writer = state.writer.take();
//     - drop(state);
//     + let (message, writer) = {
//     + let mut state = self.0.lock();
//     + (state.messages.pop_front(), state.writer.take())
//     + };
//     you see: solved
// ```
