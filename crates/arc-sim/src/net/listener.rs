//! Listening and connecting.

use super::backlog::Backlog;
use super::conditions::RETRANSMISSION;
use super::error::{gone, in_use};
use super::network::Host;
use super::pipe::Pipe;
use super::stream::Stream;
use crate::story::tell;
use arc::time::{Duration, Instant, sleep};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// How long connecting to a host that cannot be reached takes before it fails.
const CONNECT_LIMIT: Duration = Duration::from_secs(60);

/// Accepts the connections to a port of a host; made by [`Host::listen`].
///
/// Several tasks may accept at once. Dropping the listener closes the port, and resets the
/// connections that nobody has accepted.
#[derive(Debug)]
pub struct Listener {
    host: Host,
    port: u16,
    backlog: Arc<Backlog>,
}

impl Host {
    /// Listens for connections. The port 0 stands for one that is free: [`Listener::port`] says
    /// which.
    ///
    /// # Errors
    ///
    /// When something listens at this port of the host already.
    ///
    /// # Examples
    ///
    /// ```
    /// arc_sim::run(1, async {
    ///     let net = arc_sim::net::Net::new();
    ///     let listener = net.host("server").listen(0)?;
    ///     net.host("client").connect("server", listener.port()).await?;
    ///     assert_eq!(listener.accept().await?.1, "client");
    ///     std::io::Result::Ok(())
    /// })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn listen(&self, port: u16) -> io::Result<Listener> {
        let mut net = self.net.lock();
        let port = self.port_or_free(port, |address| net.listeners.contains_key(address))?;
        let address = (self.name.clone(), port);
        if net.listeners.contains_key(&address) {
            return Err(in_use(port));
        }

        let backlog = Arc::new(Backlog::default());
        net.listeners.insert(address, backlog.clone());
        drop(net);
        Ok(Listener { host: self.clone(), port, backlog })
    }

    /// Connects to a port of another host, or of this one.
    ///
    /// # Errors
    ///
    /// * `ConnectionRefused` when nothing listens there, or the peer crashes meanwhile.
    /// * `TimedOut` when a partition lasts for longer than a minute.
    /// * `ConnectionAborted` when this host crashes meanwhile.
    ///
    /// # Cancellation
    ///
    /// Cancel safe. The listener may get a connection that ends at once.
    pub async fn connect(&self, peer: &str, port: u16) -> io::Result<Stream> {
        tell(|| format!("network: {} -> {peer}: connects to port {port}", self.name));
        let limit = Instant::now() + CONNECT_LIMIT;
        let crashes = self.crashes();

        // The request gets there.
        self.reach([&self.name, peer], limit, crashes).await?;
        let stream = self.put_into_backlog(peer.into(), port)?;

        // And the answer back. Meanwhile the other host may have crashed.
        self.reach([peer, &self.name], limit, crashes).await?;
        if stream.is_reset() {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        Ok(stream)
    }

    /// Waits until a packet has got from one host to the other, or an answer back.
    async fn reach(&self, [from, to]: [&str; 2], limit: Instant, crashes: u64) -> io::Result<()> {
        sleep(self.net.conditions.delay()).await;
        loop {
            // This host has been started anew, and knows nothing of this connection.
            if self.crashes() != crashes {
                return Err(gone());
            }

            if !self.net.conditions.is_cut(from, to) && !self.net.conditions.is_lost() {
                return Ok(());
            }
            if Instant::now() >= limit {
                return Err(ErrorKind::TimedOut.into());
            }
            sleep(RETRANSMISSION).await;
        }
    }

    /// How often this host has crashed.
    fn crashes(&self) -> u64 {
        self.net.lock().crashes.get(&self.name).copied().unwrap_or(0)
    }

    /// Gives one end of a new connection to the listener, and returns the other one.
    fn put_into_backlog(&self, peer: Arc<str>, port: u16) -> io::Result<Stream> {
        let there = Pipe::new(&self.net.conditions, &self.name, &peer);
        let back = Pipe::new(&self.net.conditions, &peer, &self.name);
        let accepted = Stream::new(there.clone(), back.clone());

        let mut net = self.net.lock();
        let Some(backlog) = net.listeners.get(&(peer, port)).cloned() else {
            drop(net);
            // The ends are dropped, which is not worth telling.
            [there, back].iter().for_each(|pipe| pipe.reset());
            let name = &self.name;
            tell(|| format!("network: {name} is refused: nobody listens at port {port}"));
            return Err(ErrorKind::ConnectionRefused.into());
        };
        net.add_pipes([&there, &back]);
        drop(net);

        backlog.push(accepted);
        Ok(Stream::new(back, there))
    }
}

impl Listener {
    /// The port that this listens at.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The name of the host, and the port.
    pub fn local_addr(&self) -> (&str, u16) {
        (&self.host.name, self.port)
    }

    /// Waits for a connection. Returns it with the name of the peer.
    ///
    /// # Errors
    ///
    /// When the host has crashed.
    ///
    /// # Cancellation
    ///
    /// Cancel safe: no connection is lost.
    pub async fn accept(&self) -> io::Result<(Stream, String)> {
        let stream = poll_fn(|context| self.backlog.poll_accept(context)).await?;
        let peer = stream.peer().to_owned();
        Ok((stream, peer))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let address = (self.host.name.clone(), self.port);
        let mut net = self.host.net.lock();
        // After a crash another listener may have this address.
        if net.listeners.get(&address).is_some_and(|it| Arc::ptr_eq(it, &self.backlog)) {
            net.listeners.remove(&address);
        }
        drop(net);
        self.backlog.close();
    }
}
