//! The connections that wait at a listener.

use super::error::gone;
use super::stream::Stream;
use super::wakers::Wakers;
use crate::lock::lock;
use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;
use std::task::{Context, Poll};

/// The connections that a listener has not accepted, and the tasks that wait for one.
///
/// It belongs to one listener. The next one at the same address has another.
#[derive(Debug, Default)]
pub(super) struct Backlog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    streams: VecDeque<Stream>,
    is_closed: bool,
    acceptors: Wakers,
}

impl Backlog {
    pub(super) fn push(&self, stream: Stream) {
        let mut state = lock(&self.0);
        if state.is_closed {
            // The other end is the client's, who gets to know it by this.
            drop(state);
            return stream.reset();
        }

        state.streams.push_back(stream);
        let acceptors = state.acceptors.take();
        drop(state);
        acceptors.wake();
    }

    /// Breaks the connections that nobody has accepted, as a kernel does. Accepting fails from now
    /// on.
    pub(super) fn close(&self) {
        let mut state = lock(&self.0);
        state.is_closed = true;
        let streams = std::mem::take(&mut state.streams);
        let acceptors = state.acceptors.take();
        drop(state);

        // What is woken is foreign.
        streams.iter().for_each(Stream::reset);
        acceptors.wake();
    }

    pub(super) fn poll_accept(&self, context: &Context<'_>) -> Poll<io::Result<Stream>> {
        // A clone is foreign code, and may not run under the lock.
        let waker = context.waker().clone();
        let mut state = lock(&self.0);
        if state.is_closed {
            return Poll::Ready(Err(gone()));
        }
        if let Some(stream) = state.streams.pop_front() {
            return Poll::Ready(Ok(stream));
        }

        let unneeded = state.acceptors.add(waker);
        drop(state);
        drop(unneeded);
        Poll::Pending
    }
}
