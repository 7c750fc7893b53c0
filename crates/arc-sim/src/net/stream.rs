//! Connections: a pipe for each direction.

use super::pipe::{Pipe, Taken};
use arc::io::{AsyncRead, AsyncWrite};
use arc::task::consume_budget;
use arc::time::{Duration, Sleep, sleep, sleep_until};
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;

/// A connection between two hosts.
///
/// Closing it ends the direction to the peer. Dropping it closes it, too; the peer's writes fail
/// from then on, or from the end of a partition on.
///
/// # Errors
///
/// Reading and writing fail with
///
/// * `ConnectionReset` when one of the hosts has crashed, when the listener is dropped before it
///   has accepted the connection, or when the peer has given the connection up.
/// * `TimedOut` when what was sent here has not arrived after 15 minutes, as in a partition. A
///   stream that only reads waits for ever, as TCP does.
/// * `BrokenPipe`, writing only, when this end is closed or the peer's is dropped.
///
/// # Cancellation
///
/// A `read` that is dropped has taken no bytes, and a `write` has sent none.
#[derive(Debug)]
pub struct Stream {
    incoming: Arc<Pipe>,
    outgoing: Arc<Pipe>,
    /// When the reader looks again: a packet is there, or this host gives up sending.
    reader_alarm: Pin<Box<Sleep>>,
    /// When the writer looks again: this host gives up sending.
    writer_alarm: Pin<Box<Sleep>>,
}

impl Stream {
    pub(super) fn new(incoming: Arc<Pipe>, outgoing: Arc<Pipe>) -> Self {
        Self { incoming, outgoing, reader_alarm: alarm(), writer_alarm: alarm() }
    }

    /// Breaks it at both ends.
    pub(super) fn reset(&self) {
        self.incoming.reset();
        self.outgoing.reset();
    }

    pub(super) fn is_reset(&self) -> bool {
        self.incoming.lock().is_reset
    }

    /// Fails when one of the hosts has given the connection up, because nothing arrived at the
    /// other one.
    fn check(&self) -> io::Result<()> {
        // Both are asked, also if the first one has expired: the other tasks hear of both.
        let is_news = self.outgoing.expire() | self.incoming.expire();
        if is_news {
            self.outgoing.wake_both();
            self.incoming.wake_both();
        }

        if self.outgoing.is_given_up() {
            return Err(ErrorKind::TimedOut.into());
        }
        let answers = self.outgoing.is_refused() && !self.incoming.is_cut();
        if self.incoming.is_given_up() && answers {
            return Err(ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }

    /// Wakes the task that reads here, if what was sent just now may never be answered.
    fn warn_reader(&self) {
        if self.outgoing.deadline().is_some() || self.incoming.is_given_up() {
            self.incoming.wake_reader();
        }
    }

    /// The name of the other host.
    pub fn peer(&self) -> &str {
        &self.outgoing.to
    }
}

/// A timer that its user sets.
fn alarm() -> Pin<Box<Sleep>> {
    Box::pin(sleep(Duration::ZERO))
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        ready!(pin!(consume_budget()).poll(context));
        // No bytes would be taken for the end of the stream.
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }

        loop {
            self.check()?;
            let next = match self.incoming.take(buffer, context) {
                Taken::Bytes(count) => return Poll::Ready(Ok(count)),
                Taken::Reset => {
                    return Poll::Ready(Err(ErrorKind::ConnectionReset.into()));
                }
                Taken::Nothing { next } => next,
            };

            // The next packet arrives by itself, and so does the time to give up.
            let Some(time) = next.into_iter().chain(self.outgoing.deadline()).min() else {
                return Poll::Pending;
            };
            self.reader_alarm.set(sleep_until(time));
            ready!(self.reader_alarm.as_mut().poll(context));
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(pin!(consume_budget()).poll(context));
        let room = loop {
            self.check()?;

            // Both ask other locks, or foreign code: before this one is held.
            let waker = context.waker().clone();
            let hears = !self.incoming.is_cut();
            let mut state = self.outgoing.lock();
            if state.is_reset {
                return Poll::Ready(Err(ErrorKind::ConnectionReset.into()));
            }
            // During a partition nobody knows that the reader is gone.
            if state.writer_closed || (state.reader_gone && !state.is_cut() && hears) {
                return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
            }
            if state.room() > 0 {
                break state.room();
            }

            let before = state.writer.replace(waker);
            drop(state);
            drop(before);

            let Some(deadline) = self.outgoing.deadline() else { return Poll::Pending };
            self.writer_alarm.set(sleep_until(deadline));
            ready!(self.writer_alarm.as_mut().poll(context));
        };

        // The peer may see any piece of it for itself.
        let most = room.min(buffer.len());
        let is_whole = fastrand::bool();
        let count = if is_whole { most } else { fastrand::usize(most.min(1)..=most) };

        if count > 0 {
            self.outgoing.send(&buffer[..count]);
            self.warn_reader();
        }
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.close();
        self.warn_reader();
        Poll::Ready(Ok(()))
    }
}

/// How much one read takes into memory that is not initialized, and has to be filled with zeros.
const FRESH_MAX: usize = 16 << 10;

/// For code that asks for tokio's traits. They need no runtime of tokio's.
impl tokio::io::AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let initialized = buffer.initialized().len() - buffer.filled().len();
        let room = buffer.remaining().min(FRESH_MAX).max(initialized);
        let room = buffer.initialize_unfilled_to(room);
        let count = ready!(AsyncRead::poll_read(self, context, room))?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl tokio::io::AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(self, context, buffer)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(self, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_close(self, context)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.outgoing.close();
        self.incoming.lock().reader_gone = true;
        self.incoming.wake_writer();
    }
}
