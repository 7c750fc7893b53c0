//! Datagrams, which may be late, lost, or overtaken.

use super::error::{gone, in_use, too_long};
use super::inbox::{Address, Inbox};
use super::network::Host;
use crate::story::tell;
use arc::task::consume_budget;
use arc::time::Instant;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::ready;

/// How many bytes a datagram has at most, as those of UDP over IPv4.
const DATAGRAM_BYTES_MAX: usize = 65_507;

/// Sends and receives datagrams at a port of a host; made by [`Host::bind`].
///
/// Several tasks may receive at once. Each datagram goes to one of them.
#[derive(Debug)]
pub struct Socket {
    host: Host,
    port: u16,
    inbox: Arc<Inbox>,
    /// The number by which the inbox knows this one.
    number: u64,
}

impl Host {
    /// Opens a port for datagrams. The port 0 stands for one that is free: [`Socket::port`] says
    /// which.
    ///
    /// # Errors
    ///
    /// When a socket has this port of the host already.
    ///
    /// # Examples
    ///
    /// ```
    /// arc_sim::run(1, async {
    ///     let net = arc_sim::net::Net::new();
    ///     let (receiver, sender) = (net.host("server").bind(0)?, net.host("client").bind(0)?);
    ///     sender.send_to(b"hello", "server", receiver.port())?;
    ///     let (bytes, host, port) = receiver.recv_from().await?;
    ///     assert_eq!((&bytes[..], host.as_str(), port), (&b"hello"[..], "client", sender.port()));
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn bind(&self, port: u16) -> io::Result<Socket> {
        let mut net = self.net.lock();
        let is_bound = |address: &Address| {
            let inbox = net.inboxes.get(address);
            inbox.is_some_and(|it| it.is_bound())
        };
        let port = self.port_or_free(port, is_bound)?;

        // It may be there already: something was sent to it.
        let inbox = net.inboxes.entry((self.name.clone(), port)).or_default().clone();
        let number = inbox.bind().ok_or_else(|| in_use(port))?;
        drop(net);
        Ok(Socket { host: self.clone(), port, inbox, number })
    }
}

impl Socket {
    /// Sends a datagram. That it is lost, or that nobody is there, is not told.
    ///
    /// # Errors
    ///
    /// * `ConnectionAborted` when the host has crashed.
    /// * `InvalidInput` when the datagram has more than 65,507 bytes.
    pub fn send_to(&self, bytes: &[u8], peer: &str, port: u16) -> io::Result<()> {
        if !self.inbox.is_of(self.number) {
            return Err(gone());
        }
        if bytes.len() > DATAGRAM_BYTES_MAX {
            return Err(too_long(bytes.len()));
        }

        // What the log says of it.
        let (net, name) = (&self.host.net, &self.host.name);
        let sends = |fate: &str| {
            let bytes = bytes.len();
            format!("network: {name} -> {peer}: a datagram of {bytes} B, {fate}")
        };

        // To the sender it is all the same whether it arrives.
        if net.conditions.is_cut(name, peer) {
            tell(|| sends("lost in the partition"));
            return Ok(());
        }
        if net.conditions.is_lost() {
            tell(|| sends("lost"));
            return Ok(());
        }

        let delay = net.conditions.delay();
        tell(|| sends(&format!("{delay:.3?} on the way")));
        let arrival = Instant::now() + delay;
        // Whether a socket has the port then is not known yet.
        let inbox = net.lock().inboxes.entry((peer.into(), port)).or_default().clone();
        inbox.push(arrival, (self.host.name.clone(), self.port), bytes.to_vec());
        Ok(())
    }

    /// The port that this was bound to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The name of the host, and the port.
    pub fn local_addr(&self) -> (&str, u16) {
        (&self.host.name, self.port)
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
            // As on a socket of arc's: a flood of datagrams lets other tasks run.
            ready!(pin!(consume_budget()).poll(context));
            self.inbox.poll_take(self.number, &mut arrival, context)
        })
        .await?;
        Ok((bytes, host.to_string(), port))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.inbox.unbind(self.number);
    }
}
