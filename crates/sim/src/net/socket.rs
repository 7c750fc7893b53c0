//! Datagrams, which may be late, lost, or overtaken.

use super::{Address, Host, gone, in_use};
use arc::task::consume_budget;
use arc::time::{Instant, Sleep, sleep_until};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

/// Sends and receives datagrams at a port of a host; made by [`Host::bind`].
#[derive(Debug)]
pub struct Socket {
    host: Host,
    port: u16,
    inbox: Arc<Inbox>,
}

/// What is on its way to a socket.
#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By the time of arrival. The number tells those from each other that arrive at once.
    datagrams: BTreeMap<(Instant, u64), (Address, Vec<u8>)>,
    sent: u64,
    is_closed: bool,
    reader: Option<Waker>,
}

impl Host {
    /// Opens a port for datagrams.
    ///
    /// # Errors
    ///
    /// When a socket has this port of the host already.
    pub fn bind(&self, port: u16) -> io::Result<Socket> {
        let mut net = self.net.lock();
        let address = (self.name.clone(), port);
        if net.inboxes.get(&address).is_some_and(|inbox| inbox.strong_count() > 0) {
            return Err(in_use(port));
        }
        let inbox = Arc::new(Inbox::default());
        net.inboxes.insert(address, Arc::downgrade(&inbox));
        drop(net);
        Ok(Socket { host: self.clone(), port, inbox })
    }
}

impl Socket {
    /// Sends a datagram. That it is lost, or that nobody is there, is not told.
    ///
    /// # Errors
    ///
    /// When the host has crashed.
    pub fn send_to(&self, bytes: &[u8], peer: &str, port: u16) -> io::Result<()> {
        if self.inbox.lock().is_closed {
            return Err(gone());
        }
        let net = &self.host.net;
        if net.is_cut(&self.host.name, peer) || net.is_lost() {
            return Ok(());
        }
        let arrival = Instant::now() + net.delay();
        let inbox = net.lock().inboxes.get(&(peer.into(), port)).and_then(|it| it.upgrade());
        if let Some(inbox) = inbox {
            let from = (self.host.name.clone(), self.port);
            inbox.push(arrival, from, bytes.to_vec());
        }
        Ok(())
    }

    /// Waits for a datagram. Returns its bytes, and the host and the port of the sender.
    ///
    /// # Errors
    ///
    /// When the host has crashed.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no datagram is lost.
    pub async fn recv_from(&self) -> io::Result<(Vec<u8>, String, u16)> {
        let mut arrival = None;
        let ((host, port), bytes) = poll_fn(|context| {
            ready!(pin!(consume_budget()).poll(context));
            self.inbox.poll_take(&mut arrival, context)
        })
        .await?;
        Ok((bytes, host.to_string(), port))
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, arrival: Instant, from: Address, bytes: Vec<u8>) {
        let mut state = self.lock();
        let number = state.sent;
        state.sent += 1;
        state.datagrams.insert((arrival, number), (from, bytes));
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }

    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }

    /// Takes the datagram that has arrived first. `arrival` keeps the timer of the next one.
    fn poll_take(
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
            let before = state.reader.replace(waker);
            drop(state);
            drop(before);
            let Some(next) = next else { return Poll::Pending };
            ready!(arrival.insert(Box::pin(sleep_until(next))).as_mut().poll(context));
        }
    }
}
