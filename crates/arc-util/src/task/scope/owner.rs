//! Owns the tasks of a scope, and hands them to the threads that poll them.
//!
//! A waker must not borrow, and a task of a scope does. So a task has two parts. Its future, which
//! borrows, stays in the [`Owner`], which is in the stack frame of the scope. A waker has the other
//! part, a [`Ticket`]: the key of the future, and the line that the task joins when it is woken.
//!
//! ```text
//!          wake              a thread takes it             Pending
//! Waits ─────────► Queued ──────────────────────► Polled ─────────────► Waits
//!                     ▲                              │ wake
//!                     └─────────────────────── WokenInPoll
//!                                Pending
//! ```

use crate::wake::{Wakers, wake_all};
use slab::Slab;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::mem::replace;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// How many tasks a thread polls before its runtime gets a turn, which may have timers to fire and
/// sockets to look at.
const POLLS_MAX: usize = 64;

type Borrowing<'env> = Pin<Box<dyn Future<Output = ()> + Send + 'env>>;

/// The futures of tasks that borrow, and the line of those that are to be polled.
pub(super) struct Owner<'env> {
    /// `None` while a thread polls the future.
    futures: Mutex<Slab<Option<Borrowing<'env>>>>,
    line: Arc<Mutex<Line>>,
}

/// The tasks that are to be polled, and the threads that find none.
struct Line {
    ready: VecDeque<Arc<Ticket>>,
    /// The wakers of the threads that wait, by the threads' numbers.
    idle: Wakers,
}

/// What wakes a task. It may outlive the scope.
struct Ticket {
    key: usize,
    state: Mutex<State>,
    line: Arc<Mutex<Line>>,
}

#[derive(Clone, Copy)]
enum State {
    Waits,
    Queued,
    /// A thread polls the task, or the task has ended.
    Polled,
    /// The task was woken while a thread polled it, which then puts it in line again.
    WokenInPoll,
}

/// A panic while the lock is held leaves nothing half done: the guarded values are valid at each
/// step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'env> Owner<'env> {
    pub(super) fn new() -> Self {
        let line = Line { ready: VecDeque::new(), idle: Wakers::new() };
        Self { futures: Mutex::new(Slab::new()), line: Arc::new(Mutex::new(line)) }
    }

    /// Adds a task, and puts it in line. The future must not panic.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'env) {
        let key = lock(&self.futures).insert(Some(Box::pin(future)));
        let state = Mutex::new(State::Queued);
        Arc::new(Ticket { key, state, line: self.line.clone() }).get_in_line();
    }

    /// Polls tasks until `end` is ready. Each thread that does so has a number of its own.
    pub(super) async fn run(&self, thread: u64, end: impl Future<Output = ()>) {
        let mut end = pin!(end);
        poll_fn(|context| {
            // Whoever woke this thread may not have taken its waker. A waker that stays would be
            // taken for a thread that waits.
            let before = lock(&self.line).idle.remove(thread);
            drop(before);

            for _ in 0..POLLS_MAX {
                if end.as_mut().poll(context).is_ready() {
                    return Poll::Ready(());
                }
                let Some(ticket) = self.next(thread, context.waker()) else {
                    return Poll::Pending;
                };
                self.poll(ticket);
            }

            // There may be more in line: it goes on at the next turn.
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Takes the first task in line. If there is none, registers the thread as one that waits.
    fn next(&self, thread: u64, waker: &Waker) -> Option<Arc<Ticket>> {
        // Foreign code, so it is called without the lock.
        let waker = waker.clone();
        let mut line = lock(&self.line);
        let ticket = line.ready.pop_front();
        if ticket.is_none() {
            line.idle.insert(thread, waker);
        }
        ticket
    }

    /// Polls a task that was in line.
    fn poll(&self, ticket: Arc<Ticket>) {
        // Before the poll: what wakes the task from now on may be news to it.
        *lock(&ticket.state) = State::Polled;
        let Some(mut future) = lock(&self.futures)[ticket.key].take() else {
            unreachable!("a task is in line once, and no thread polls it then");
        };

        let waker = Waker::from(ticket.clone());
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            drop(future);
            lock(&self.futures).remove(ticket.key);
            return;
        }

        lock(&self.futures)[ticket.key] = Some(future);
        ticket.end_poll();
    }
}

impl Ticket {
    /// Puts the task in line, and wakes a thread that waits.
    fn get_in_line(self: Arc<Self>) {
        let shared = self.line.clone();
        let mut line = lock(&shared);
        line.ready.push_back(self);
        let idle = line.idle.pop();
        drop(line);
        wake_all(idle);
    }

    /// A poll was pending, and the future is back at its place.
    fn end_poll(self: Arc<Self>) {
        let mut state = lock(&self.state);
        // The future may have looked before that: it has to be polled again.
        let was_woken = matches!(*state, State::WokenInPoll);
        *state = if was_woken { State::Queued } else { State::Waits };
        drop(state);
        if was_woken {
            self.get_in_line();
        }
    }
}

impl Wake for Ticket {
    fn wake(self: Arc<Self>) {
        let mut state = lock(&self.state);
        let new = match *state {
            State::Waits | State::Queued => State::Queued,
            State::Polled | State::WokenInPoll => State::WokenInPoll,
        };
        let before = replace(&mut *state, new);
        drop(state);

        // In each other state somebody puts it in line, or it stands there.
        if matches!(before, State::Waits) {
            self.get_in_line();
        }
    }
}
