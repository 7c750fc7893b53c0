//! What is on its way to a socket for datagrams.

use super::error::gone;
use super::wakers::Wakers;
use arc::time::{Instant, Sleep, sleep_until};
use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

/// The name of a host, and a port.
pub(super) type Address = (Arc<str>, u16);

/// What is on its way to a socket.
#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By the time of arrival. The number tells those from each other that arrive at once.
    datagrams: BTreeMap<(Instant, u64), (Address, Vec<u8>)>,
    sent: u64,
    is_closed: bool,
    readers: Wakers,
}

impl Inbox {
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, arrival: Instant, from: Address, bytes: Vec<u8>) {
        let mut state = self.lock();
        let number = state.sent;
        state.sent += 1;
        state.datagrams.insert((arrival, number), (from, bytes));
        let readers = state.readers.take();
        drop(state);
        readers.wake();
    }

    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let readers = state.readers.take();
        drop(state);
        readers.wake();
    }

    /// Takes the datagram that has arrived first. `arrival` keeps the timer of the next one.
    pub(super) fn poll_take(
        &self,
        arrival: &mut Option<Pin<Box<Sleep>>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(Address, Vec<u8>)>> {
        loop {
            let waker = context.waker().clone();
            let mut state = self.lock();
            if state.is_closed {
                return Poll::Ready(Err(gone()));
            }
            let next = state.datagrams.first_key_value().map(|((arrival, _), _)| *arrival);
            if next.is_some_and(|next| next <= Instant::now())
                && let Some((_, datagram)) = state.datagrams.pop_first()
            {
                return Poll::Ready(Ok(datagram));
            }

            // One that is sent later may overtake the next one.
            let unneeded = state.readers.add(waker);
            drop(state);
            drop(unneeded);
            let Some(next) = next else { return Poll::Pending };
            ready!(arrival.insert(Box::pin(sleep_until(next))).as_mut().poll(context));
        }
    }
}
