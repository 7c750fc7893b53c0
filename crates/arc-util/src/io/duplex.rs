//! In-memory pipes with two directions, and with one.

use crate::forward::{also_reads, also_writes, move_front};
use crate::wake::wake_all;
use arc::task::consume_budget;
use std::collections::VecDeque;
use std::fmt;
use std::io::{ErrorKind, IoSlice, Result};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, ReadHalf, WriteHalf, split};

/// Creates two streams that are connected to each other in memory: what is written to one is
/// read from the other. Each direction holds up to `capacity` bytes; a writer waits when it is
/// full.
///
/// The streams need no runtime. Use them in tests, and where an API requires a stream and there
/// is no socket. In a task they take part in the budget: a task that can always read or write
/// still lets others run.
///
/// # Panics
///
/// Panics when the capacity is 0.
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

/// One end of an in-memory pipe; made by [`duplex`].
///
/// Closing an end ends the direction in which it writes. When an end is dropped, the other end
/// reads the bytes that are left, and then the end of the stream; writing to it fails with
/// `BrokenPipe`.
///
/// # Examples
///
/// See [`duplex`].
pub struct DuplexStream {
    read: Arc<Pipe>,
    write: Arc<Pipe>,
}

/// Creates a reader and a writer that are connected in memory. Up to `capacity` bytes are held; the
/// writer waits when it is full.
///
/// Shut the writer down to end the stream. Dropping it alone does not end the stream, as in tokio: the
/// halves share one [`SimplexStream`].
///
/// # Panics
///
/// Panics when the capacity is 0.
///
/// # Examples
///
/// ```
/// use arc_util::io::{AsyncReadExt, AsyncWriteExt, simplex};
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let (mut reader, mut writer) = simplex(64);
/// writer.write_all(b"hello").await?;
/// writer.shutdown().await?;
/// let mut text = String::new();
/// reader.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn simplex(capacity: usize) -> (ReadHalf<SimplexStream>, WriteHalf<SimplexStream>) {
    split(SimplexStream::new_unsplit(capacity))
}

/// An in-memory pipe with one direction: what is written to it is read from it.
///
/// # Examples
///
/// See [`simplex`].
pub struct SimplexStream(Arc<Pipe>);

impl SimplexStream {
    /// Creates a pipe that holds up to `capacity` bytes, in one piece. See [`simplex`].
    ///
    /// # Panics
    ///
    /// Panics when the capacity is 0.
    #[track_caller]
    pub fn new_unsplit(capacity: usize) -> Self {
        assert!(capacity > 0, "nothing can be written to a pipe of no capacity");
        Self(Pipe::new(capacity))
    }
}

/// One direction of the pipe.
struct Pipe {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    /// The writing end was closed or dropped: no more bytes will come.
    has_ended: bool,
    /// The reading end was dropped.
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

    /// Ready when a read does not have to wait, because there are bytes, no more will come, or it
    /// reads none. Once this is ready, it stays ready until the reader reads.
    fn poll_readable(&self, context: &Context<'_>, is_empty: bool) -> Poll<()> {
        // A waker is foreign code: it is cloned, woken and dropped without the lock.
        let waker = context.waker().clone();

        let mut state = self.lock();
        if !state.bytes.is_empty() || state.has_ended || is_empty {
            return Poll::Ready(());
        }

        let before = state.reader.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }

    fn poll_read(&self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        ready!(self.poll_readable(context, buffer.remaining() == 0));
        ready!(pin!(consume_budget()).poll(context));

        let mut state = self.lock();
        let before = state.bytes.len();
        move_front(&mut state.bytes, buffer);
        let read = before - state.bytes.len();
        let writer = state.writer.take_if(|_| read > 0);
        drop(state);
        wake_all(writer);
        Poll::Ready(Ok(()))
    }

    /// Ready when a write does not have to wait, because there is room, there are no bytes, or
    /// writing fails. Once this is ready, it stays ready until the writer writes.
    fn poll_writable(&self, context: &Context<'_>, is_empty: bool) -> Poll<()> {
        // Cloned without the lock, as in `poll_readable`.
        let waker = context.waker().clone();

        let mut state = self.lock();
        let has_room = state.bytes.len() < self.capacity || is_empty;
        if has_room || state.is_broken || state.has_ended {
            return Poll::Ready(());
        }

        let before = state.writer.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }

    /// Writes from one part after the other, as much as there is room for.
    fn poll_write(&self, context: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<Result<usize>> {
        ready!(self.poll_writable(context, parts.iter().all(|part| part.is_empty())));
        ready!(pin!(consume_budget()).poll(context));

        let mut state = self.lock();
        if state.is_broken || state.has_ended {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }

        let before = state.bytes.len();
        for part in parts {
            let fits = part.len().min(self.capacity - state.bytes.len());
            state.bytes.extend(&part[..fits]);
        }

        let written = state.bytes.len() - before;
        let reader = state.reader.take_if(|_| written > 0);
        drop(state);
        wake_all(reader);
        Poll::Ready(Ok(written))
    }

    /// Ends the direction: the writing end was closed or dropped.
    fn close_writer(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        let (reader, writer) = (state.reader.take(), state.writer.take());
        drop(state);
        wake_all(reader);
        drop(writer);
    }

    /// Breaks the direction: the reading end was dropped. Drops the bytes that are left.
    fn close_reader(&self) {
        let mut state = self.lock();
        state.is_broken = true;
        let bytes = std::mem::take(&mut state.bytes);
        let (reader, writer) = (state.reader.take(), state.writer.take());
        drop(state);
        wake_all(writer);
        drop((bytes, reader));
    }
}

/// Implements reading from one pipe and writing to another, which may be the same.
macro_rules! stream {
    ($type:ident, $read:tt, $write:tt) => {
        impl AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<Result<()>> {
                self.$read.poll_read(context, buffer)
            }
        }

        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<Result<usize>> {
                self.$write.poll_write(context, &[IoSlice::new(bytes)])
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                parts: &[IoSlice<'_>],
            ) -> Poll<Result<usize>> {
                self.$write.poll_write(context, parts)
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
                self.$write.close_writer();
                Poll::Ready(Ok(()))
            }
        }
    };
}

stream!(DuplexStream, read, write);
stream!(SimplexStream, 0, 0);

also_reads!(DuplexStream, SimplexStream);
also_writes!(DuplexStream, SimplexStream);

impl Drop for DuplexStream {
    fn drop(&mut self) {
        self.write.close_writer();
        self.read.close_reader();
    }
}

impl fmt::Debug for DuplexStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (read, capacity) = (self.read.lock().bytes.len(), self.read.capacity);
        let written = self.write.lock().bytes.len();
        write!(formatter, "DuplexStream({read} to read, {written} written, of {capacity})")
    }
}

impl fmt::Debug for SimplexStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, capacity) = (self.0.lock().bytes.len(), self.0.capacity);
        write!(formatter, "SimplexStream({bytes} to read, of {capacity})")
    }
}
