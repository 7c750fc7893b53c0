//! Datagrams, which may be late, lost, or overtaken.

use super::error::{gone, in_use};
use super::inbox::Inbox;
use super::network::Host;
use arc::task::consume_budget;
use arc::time::Instant;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::ready;

/// Sends and receives datagrams at a port of a host; made by [`Host::bind`].
///
/// Several tasks may receive at once. Each datagram goes to one of them.
#[derive(Debug)]
pub struct Socket {
    host: Host,
    port: u16,
    inbox: Arc<Inbox>,
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
        if self.inbox.is_closed() {
            return Err(gone());
        }
        let net = &self.host.net;
        if net.conditions.is_cut(&self.host.name, peer) || net.conditions.is_lost() {
            return Ok(());
        }
        let arrival = Instant::now() + net.conditions.delay();
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
