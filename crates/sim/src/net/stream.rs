//! Connections: a pipe for each direction.

use super::{Backlog, Host, Net, RETRANSMISSION, gone, in_use};
use arc::io::{AsyncRead, AsyncWrite};
use arc::task::consume_budget;
use arc::time::{Duration, Instant, Sleep, sleep, sleep_until};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, Error, ErrorKind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

/// How many bytes may be on their way in one direction.
const WINDOW_BYTES: usize = 64 << 10;

/// How long connecting to a host that cannot be reached takes before it fails.
const CONNECT_LIMIT: Duration = Duration::from_secs(60);

/// Accepts the connections to a port of a host; made by [`Host::listen`].
#[derive(Debug)]
pub struct Listener {
    host: Host,
    port: u16,
}

/// A connection between two hosts.
///
/// Closing it ends the direction to the peer. Dropping it closes it, too; the peer's writes fail
/// from then on.
#[derive(Debug)]
pub struct Stream {
    incoming: Arc<Pipe>,
    outgoing: Arc<Pipe>,
    /// Ends when the next packet is there.
    arrival: Pin<Box<Sleep>>,
}

/// One direction of a connection.
#[derive(Debug)]
pub(super) struct Pipe {
    net: Net,
    from: Arc<str>,
    to: Arc<str>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    packets: VecDeque<Packet>,
    bytes: usize,
    /// When the last packet arrives: those behind it do not overtake it.
    last_arrival: Option<Instant>,
    writer_closed: bool,
    reader_gone: bool,
    is_reset: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Bytes on their way. No bytes at all are the end of the stream.
#[derive(Debug)]
struct Packet {
    arrival: Instant,
    bytes: VecDeque<u8>,
}

impl Host {
    /// Listens for connections.
    ///
    /// # Errors
    ///
    /// When something listens at this port of the host already.
    pub fn listen(&self, port: u16) -> io::Result<Listener> {
        let mut net = self.net.lock();
        let address = (self.name.clone(), port);
        if net.listeners.contains_key(&address) {
            return Err(in_use(port));
        }
        net.listeners.insert(address, Backlog::default());
        drop(net);
        Ok(Listener { host: self.clone(), port })
    }

    /// Connects to a port of another host, or of this one.
    ///
    /// # Errors
    ///
    /// * `ConnectionRefused` when nothing listens there.
    /// * `TimedOut` when a partition lasts for longer than a minute.
    ///
    /// # Cancellation
    ///
    /// Cancel safe. The listener may get a connection that ends at once.
    pub async fn connect(&self, peer: &str, port: u16) -> io::Result<Stream> {
        let limit = Instant::now() + CONNECT_LIMIT;
        sleep(self.net.delay()).await;
        while self.net.is_cut(&self.name, peer) || self.net.is_lost() {
            if Instant::now() >= limit {
                return Err(ErrorKind::TimedOut.into());
            }
            sleep(RETRANSMISSION).await;
        }

        let stream = self.put_into_backlog(peer.into(), port)?;
        sleep(self.net.delay()).await;
        Ok(stream)
    }

    /// Gives one end of a new connection to the listener, and returns the other one.
    fn put_into_backlog(&self, peer: Arc<str>, port: u16) -> io::Result<Stream> {
        let there = Pipe::new(&self.net, &self.name, &peer);
        let back = Pipe::new(&self.net, &peer, &self.name);
        let accepted = Stream::new(there.clone(), back.clone());
        let mut net = self.net.lock();
        let Some(backlog) = net.listeners.get_mut(&(peer, port)) else {
            drop(net);
            return Err(ErrorKind::ConnectionRefused.into());
        };
        backlog.streams.push_back(accepted);
        let waker = backlog.waker.take();
        net.pipes.extend([Arc::downgrade(&there), Arc::downgrade(&back)]);
        drop(net);

        waker.into_iter().for_each(Waker::wake);
        Ok(Stream::new(back, there))
    }
}

impl Listener {
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
        let stream = poll_fn(|context| self.poll_accept(context)).await?;
        let peer = stream.outgoing.to.to_string();
        Ok((stream, peer))
    }

    fn poll_accept(&self, context: &Context<'_>) -> Poll<io::Result<Stream>> {
        let waker = context.waker().clone();
        let mut net = self.host.net.lock();
        let address = (self.host.name.clone(), self.port);
        let Some(backlog) = net.listeners.get_mut(&address) else {
            return Poll::Ready(Err(gone()));
        };
        if let Some(stream) = backlog.streams.pop_front() {
            return Poll::Ready(Ok(stream));
        }
        let before = backlog.waker.replace(waker);
        drop(net);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let address = (self.host.name.clone(), self.port);
        let backlog = self.host.net.lock().listeners.remove(&address);
        // The streams that nobody has accepted end here, without the lock.
        drop(backlog);
    }
}

impl Pipe {
    fn new(net: &Net, from: &Arc<str>, to: &Arc<str>) -> Arc<Self> {
        let (net, from, to) = (net.clone(), from.clone(), to.clone());
        Arc::new(Self { net, from, to, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_of(&self, host: &str) -> bool {
        *self.from == *host || *self.to == *host
    }

    pub(super) fn wake_reader(&self) {
        let reader = self.lock().reader.take();
        reader.into_iter().for_each(Waker::wake);
    }

    fn wake_writer(&self) {
        let writer = self.lock().writer.take();
        writer.into_iter().for_each(Waker::wake);
    }

    /// Reads and writes fail from now on.
    pub(super) fn reset(&self) {
        self.lock().is_reset = true;
        self.wake_reader();
        self.wake_writer();
    }

    /// Sends bytes, or the end of the stream.
    fn send(&self, bytes: &[u8]) {
        let mut arrival = Instant::now() + self.net.delay();
        while self.net.is_lost() {
            arrival += RETRANSMISSION;
        }
        let mut state = self.lock();
        let arrival = state.last_arrival.map_or(arrival, |last| last.max(arrival));
        state.last_arrival = Some(arrival);
        state.bytes += bytes.len();
        state.packets.push_back(Packet { arrival, bytes: bytes.iter().copied().collect() });
        drop(state);
        self.wake_reader();
    }

    fn close(&self) {
        let was_closed = std::mem::replace(&mut self.lock().writer_closed, true);
        if !was_closed {
            self.send(&[]);
        }
    }

    /// Takes what has arrived. Pending: the reader is woken when more is on its way.
    fn poll_take(&self, buffer: &mut [u8], context: &Context<'_>) -> Poll<Taken> {
        let is_cut = self.net.is_cut(&self.from, &self.to);
        let waker = context.waker().clone();
        let mut state = self.lock();
        if state.is_reset {
            return Poll::Ready(Taken::Reset);
        }
        match state.packets.front_mut() {
            Some(packet) if !is_cut && packet.arrival > Instant::now() => {
                return Poll::Ready(Taken::NotBefore(packet.arrival));
            }
            Some(packet) if !is_cut => {
                let count = io::Read::read(&mut packet.bytes, buffer).unwrap_or(0);
                // The end of the stream stays, to be read again.
                if count > 0 && packet.bytes.is_empty() {
                    state.packets.pop_front();
                }
                state.bytes -= count;
                drop(state);
                self.wake_writer();
                return Poll::Ready(Taken::Bytes(count));
            }
            _ => {}
        }
        let before = state.reader.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

/// What a reader finds.
enum Taken {
    Bytes(usize),
    NotBefore(Instant),
    Reset,
}

impl Stream {
    fn new(incoming: Arc<Pipe>, outgoing: Arc<Pipe>) -> Self {
        Self { incoming, outgoing, arrival: Box::pin(sleep(Duration::ZERO)) }
    }

    /// The name of the other host.
    pub fn peer(&self) -> &str {
        &self.outgoing.to
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        ready!(pin!(consume_budget()).poll(context));
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        loop {
            match ready!(self.incoming.poll_take(buffer, context)) {
                Taken::Bytes(count) => return Poll::Ready(Ok(count)),
                Taken::Reset => return Poll::Ready(Err(ErrorKind::ConnectionReset.into())),
                Taken::NotBefore(arrival) => {
                    self.arrival.set(sleep_until(arrival));
                    ready!(self.arrival.as_mut().poll(context));
                }
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(pin!(consume_budget()).poll(context));
        let pipe = &self.outgoing;
        let waker = context.waker().clone();
        let mut state = pipe.lock();
        if state.is_reset {
            return Poll::Ready(Err(ErrorKind::ConnectionReset.into()));
        }
        if state.reader_gone || state.writer_closed {
            return Poll::Ready(Err(Error::from(ErrorKind::BrokenPipe)));
        }
        let room = WINDOW_BYTES.saturating_sub(state.bytes);
        if room == 0 {
            let before = state.writer.replace(waker);
            drop(state);
            drop(before);
            return Poll::Pending;
        }
        drop(state);

        // The peer may see any piece of it for itself.
        let most = room.min(buffer.len());
        let count = if fastrand::bool() { most } else { fastrand::usize(most.min(1)..=most) };
        if count > 0 {
            pipe.send(&buffer[..count]);
        }
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.close();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.outgoing.close();
        self.incoming.lock().reader_gone = true;
        self.incoming.wake_writer();
    }
}
