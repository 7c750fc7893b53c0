//! Connections: a pipe for each direction.

use super::pipe::{Pipe, Taken};
use arc::io::{AsyncRead, AsyncWrite};
use arc::task::consume_budget;
use arc::time::{Duration, Sleep, sleep, sleep_until};
use std::io::{self, Error, ErrorKind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// How many bytes may be on their way in one direction.
const WINDOW_BYTES: usize = 64 << 10;

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

impl Stream {
    pub(super) fn new(incoming: Arc<Pipe>, outgoing: Arc<Pipe>) -> Self {
        Self { incoming, outgoing, arrival: Box::pin(sleep(Duration::ZERO)) }
    }

    /// Breaks it at both ends.
    pub(super) fn reset(&self) {
        self.incoming.reset();
        self.outgoing.reset();
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
