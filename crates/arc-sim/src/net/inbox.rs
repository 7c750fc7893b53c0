//! What is on its way to a port for datagrams.

use super::error::gone;
use super::wakers::Wakers;
use crate::lock::lock;
use arc::time::{Instant, Sleep, sleep_until};
use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

/// The name of a host, and a port.
pub(super) type Address = (Arc<str>, u16);

/// What is on its way to a port. A socket that is bound to it takes what arrives from then on.
#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By the time of arrival. The number tells those from each other that arrive at once.
    datagrams: BTreeMap<(Instant, u64), (Address, Vec<u8>)>,
    sent: u64,
    /// How often a socket was bound to the port. The number of the last one is this.
    binds: u64,
    is_bound: bool,
    readers: Wakers,
}

impl State {
    /// Forgets what has arrived.
    fn forget(&mut self) {
        self.datagrams = self.datagrams.split_off(&(Instant::now(), u64::MAX));
    }

    fn is_of(&self, socket: u64) -> bool {
        self.is_bound && self.binds == socket
    }
}

impl Inbox {
    /// Binds a socket, and returns its number. `None` if the port has one.
    pub(super) fn bind(&self) -> Option<u64> {
        let mut state = lock(&self.0);
        if state.is_bound {
            return None;
        }

        // Nobody was there when that arrived.
        state.forget();
        state.is_bound = true;
        state.binds += 1;
        Some(state.binds)
    }

    /// Whether a socket is bound.
    pub(super) fn is_bound(&self) -> bool {
        lock(&self.0).is_bound
    }

    /// Whether the socket of this number is bound.
    pub(super) fn is_of(&self, socket: u64) -> bool {
        lock(&self.0).is_of(socket)
    }

    /// The socket of this number is gone.
    pub(super) fn unbind(&self, socket: u64) {
        if self.is_of(socket) {
            self.close();
        }
    }

    /// The socket is gone, whichever it is. Those who receive by it get an error.
    pub(super) fn close(&self) {
        let mut state = lock(&self.0);
        state.is_bound = false;
        let readers = state.readers.take();
        drop(state);
        readers.wake();
    }

    pub(super) fn push(&self, arrival: Instant, from: Address, bytes: Vec<u8>) {
        let mut state = lock(&self.0);
        // Nobody takes them, and the memory must not fill.
        if !state.is_bound {
            state.forget();
        }

        let number = state.sent;
        state.sent += 1;
        state.datagrams.insert((arrival, number), (from, bytes));

        // All of them: each computes anew when it looks again.
        let readers = state.readers.take();
        drop(state);
        readers.wake();
    }

    /// Takes the datagram that has arrived first, for the socket of this number. `arrival` keeps
    /// the timer of the next one.
    pub(super) fn poll_take(
        &self,
        socket: u64,
        arrival: &mut Option<Pin<Box<Sleep>>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(Address, Vec<u8>)>> {
        loop {
            // A clone is foreign code, and may not run under the lock.
            let waker = context.waker().clone();
            let mut state = lock(&self.0);
            if !state.is_of(socket) {
                return Poll::Ready(Err(gone()));
            }

            let next = state.datagrams.first_key_value();
            let next = next.map(|((arrival, _), _)| *arrival);
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
