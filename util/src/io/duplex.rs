//! A pipe in memory that goes both ways.

use crate::wake::wake_all;
use arc::io::{AsyncRead, AsyncWrite};
use arc::task::consume_budget;
use std::collections::VecDeque;
use std::fmt;
use std::io::{ErrorKind, Read, Result};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

/// Two streams, connected to each other in memory: what is written to one is read from
/// the other. Each direction holds up to `capacity` bytes; who writes more waits.
///
/// It needs no runtime: for tests, and wherever a socket is asked for and there is none.
/// In one it takes part in the budget: whoever can read or write for ever still lets others
/// run.
///
/// # Panics
///
/// When the capacity is 0.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncWriteExt, duplex};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (mut client, mut server) = duplex(64);
/// client.write_all(b"ping").await?;
/// let mut text = [0; 4];
/// server.read_exact(&mut text).await?;
/// assert_eq!(&text, b"ping");
/// drop(client);
/// assert_eq!(server.read(&mut text).await?, 0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn duplex(capacity: usize) -> (DuplexStream, DuplexStream) {
    assert!(capacity > 0, "nothing can be written to a pipe of no capacity");
    let (forth, back) = (Pipe::new(capacity), Pipe::new(capacity));
    let near = DuplexStream { read: back.clone(), write: forth.clone() };
    let far = DuplexStream { read: forth, write: back };
    (near, far)
}

/// One end of a pipe in memory; from [`duplex`].
///
/// Closing it ends the direction in which it writes. When it is dropped, the other end
/// reads what is still there, and then the end; writing to it is an error
/// (`BrokenPipe`).
///
/// # Examples
///
/// See [`duplex`].
pub struct DuplexStream {
    read: Arc<Pipe>,
    write: Arc<Pipe>,
}

/// One direction.
struct Pipe {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    /// Nothing more is written.
    has_ended: bool,
    /// Nobody reads any more.
    is_broken: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    fn new(capacity: usize) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Self { capacity, state })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ready when `buffer` can be read into; only the reader can change that.
    fn poll_readable(&self, context: &Context<'_>, buffer: &[u8]) -> Poll<()> {
        // A waker is code of somebody else's: it is cloned, woken and dropped unlocked.
        let waker = context.waker().clone();
        let mut state = self.lock();
        if !state.bytes.is_empty() || state.has_ended || buffer.is_empty() {
            return Poll::Ready(());
        }
        let before = state.reader.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }

    fn poll_read(&self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Result<usize>> {
        ready!(self.poll_readable(context, buffer));
        ready!(pin!(consume_budget()).poll(context));
        let mut state = self.lock();
        let (front, _) = state.bytes.as_slices();
        let at_once = buffer.len().min(front.len());
        let (first, rest) = buffer.split_at_mut(at_once);
        let read = state.bytes.read(first)? + state.bytes.read(rest)?;
        let writer = state.writer.take_if(|_| read > 0);
        drop(state);
        wake_all(writer);
        Poll::Ready(Ok(read))
    }

    /// Ready when some of `bytes` can be written, or nothing ever; only the writer can
    /// change that.
    fn poll_writable(&self, context: &Context<'_>, bytes: &[u8]) -> Poll<()> {
        let waker = context.waker().clone();
        let mut state = self.lock();
        let has_room = state.bytes.len() < self.capacity || bytes.is_empty();
        if has_room || state.is_broken || state.has_ended {
            return Poll::Ready(());
        }
        let before = state.writer.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }

    fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        ready!(self.poll_writable(context, bytes));
        ready!(pin!(consume_budget()).poll(context));
        let mut state = self.lock();
        if state.is_broken || state.has_ended {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        let written = bytes.len().min(self.capacity - state.bytes.len());
        state.bytes.extend(&bytes[..written]);
        let reader = state.reader.take_if(|_| written > 0);
        drop(state);
        wake_all(reader);
        Poll::Ready(Ok(written))
    }

    /// The writing end closes it.
    fn end(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        let (reader, writer) = (state.reader.take(), state.writer.take());
        drop(state);
        wake_all(reader);
        drop(writer);
    }

    /// The reading end is dropped.
    fn break_off(&self) {
        let mut state = self.lock();
        state.is_broken = true;
        let bytes = std::mem::take(&mut state.bytes);
        let (reader, writer) = (state.reader.take(), state.writer.take());
        drop(state);
        wake_all(writer);
        drop((bytes, reader));
    }
}

impl AsyncRead for DuplexStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize>> {
        self.read.poll_read(context, buffer)
    }
}

impl AsyncWrite for DuplexStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        self.write.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        self.write.end();
        Poll::Ready(Ok(()))
    }
}

impl Drop for DuplexStream {
    fn drop(&mut self) {
        self.write.end();
        self.read.break_off();
    }
}

impl fmt::Debug for DuplexStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (read, capacity) = (self.read.lock().bytes.len(), self.read.capacity);
        let written = self.write.lock().bytes.len();
        write!(formatter, "DuplexStream({read} to read, {written} written, of {capacity})")
    }
}
