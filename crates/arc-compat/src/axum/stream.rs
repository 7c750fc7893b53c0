//! The stream under a [`WebSocket`](super::WebSocket), which cuts off a client that sends pings
//! and reads nothing.

use crate::FuturesIo;
use futures_io::{AsyncRead, AsyncWrite};
use hyper::upgrade::Upgraded;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// How many bytes of answers to pings may wait for a client that reads nothing: some 8,000
/// answers of the longest kind. A client that pings to see whether the server is there sends
/// one ping in many seconds.
const UNREAD_BYTES_MAX: usize = 1 << 20;

/// The longest answer: a server's header, and the payload that a control frame may have.
const ANSWER_BYTES_MAX: usize = 2 + 125;

/// The stream under a [`WebSocket`](super::WebSocket).
///
/// tungstenite answers each ping, and keeps the answers while the client does not read. This
/// stream fails when 1 MiB of them waits, so that a client cannot make the server hold more.
/// Messages that the server itself sends do not count: whoever sends one waits until the
/// client has read it.
///
/// # Errors
///
/// Returns the errors of the connection. A write returns an error of kind
/// [`TimedOut`](io::ErrorKind::TimedOut) if the client does not read for too long, and of kind
/// [`Other`](io::ErrorKind::Other) if it sends pings meanwhile. All later writes return an
/// error, too.
#[derive(Debug)]
pub struct WebSocketIo {
    inner: FuturesIo<Upgraded>,
    unread: Unread,
}

impl WebSocketIo {
    pub(super) fn new(inner: Upgraded) -> Self {
        Self { inner: FuturesIo::new(inner), unread: Unread::default() }
    }

    /// Returns a reference to the connection.
    pub fn get_ref(&self) -> &Upgraded {
        self.inner.get_ref()
    }

    /// Returns the connection.
    pub fn into_inner(self) -> Upgraded {
        self.inner.into_inner()
    }
}

impl AsyncRead for WebSocketIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for WebSocketIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, buffer);
        match written {
            Poll::Ready(Ok(count)) => self.unread.written(buffer.len(), count),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.unread.blocked(buffer.len())?,
        }
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // tungstenite has one buffer.
        let first = buffers.iter().find(|buffer| !buffer.is_empty());
        self.poll_write(context, first.map_or(&[], |buffer| &**buffer))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_close(context)
    }
}

/// Counts the answers to pings that wait for a client.
///
/// tungstenite offers its whole buffer to each write, and writes after each answer that it adds.
/// So a buffer that has grown by no more than an answer since the last write has got an answer,
/// and one that has grown by more has got a message of the server's own.
#[derive(Debug, Default)]
struct Unread {
    /// How many bytes the last write has left in the buffer.
    left: usize,
    /// How many of them answer pings.
    answers: usize,
}

impl Unread {
    /// Records that `count` of `offered` bytes were written.
    fn written(&mut self, offered: usize, count: usize) {
        self.offered(offered);
        self.left = offered.saturating_sub(count);
        // The server's own messages count as read first: a client that reads a byte now and then
        // must not make room for more answers.
        self.answers = self.answers.min(self.left);
    }

    /// Records that none of `offered` bytes could be written. Fails if too many of them answer
    /// pings.
    fn blocked(&mut self, offered: usize) -> io::Result<()> {
        self.offered(offered);
        if self.answers <= UNREAD_BYTES_MAX {
            return Ok(());
        }
        let text = format!(
            "the client sends pings and does not read: {} bytes of answers wait for it",
            self.answers
        );
        Err(io::Error::other(text))
    }

    /// Takes notice of what was added to the buffer.
    fn offered(&mut self, offered: usize) {
        let added = offered.saturating_sub(self.left);
        if added <= ANSWER_BYTES_MAX {
            self.answers += added;
        }
        self.left = offered;
    }
}

#[cfg(test)]
mod tests {
    use super::{ANSWER_BYTES_MAX, UNREAD_BYTES_MAX, Unread};

    /// As many answers as may wait behind `left` bytes. Returns how many bytes there are then.
    fn fill(unread: &mut Unread, mut left: usize) -> usize {
        let room = UNREAD_BYTES_MAX - unread.answers;
        for _ in 0..room {
            left += 1;
            unread.blocked(left).expect("there is room");
        }
        left
    }

    #[test]
    fn messages_of_any_length_may_wait() {
        let mut unread = Unread::default();
        unread.blocked(64 << 20).expect("the server's own");
        unread.written(64 << 20, 1000);
        unread.blocked(64 << 20).expect("it is being read");
    }

    /// The client is slow: its ping came before the server sent something long.
    #[test]
    fn a_message_behind_an_answer_may_have_any_length() {
        let mut unread = Unread::default();
        unread.blocked(ANSWER_BYTES_MAX).expect("there is room for an answer");
        unread.blocked(ANSWER_BYTES_MAX + (64 << 20)).expect("the server's own");
        assert_eq!(unread.answers, ANSWER_BYTES_MAX);
    }

    #[test]
    fn answers_may_wait_up_to_the_limit() {
        let mut unread = Unread::default();
        unread.blocked(1000).expect("the server's own");
        let left = fill(&mut unread, 1000);
        unread.blocked(left + 1).expect_err("one more");
        unread.blocked(left + 1).expect_err("it stays an error");
    }

    #[test]
    fn a_client_that_reads_a_byte_now_and_then_does_not_get_around_the_limit() {
        let mut unread = Unread::default();
        unread.blocked(1000).expect("the server's own");
        let left = fill(&mut unread, 1000);
        unread.written(left, 60);
        unread.blocked(left - 60 + 1).expect_err("one more");
    }

    #[test]
    fn a_client_that_has_read_everything_begins_again() {
        let mut unread = Unread::default();
        let left = fill(&mut unread, 0);
        unread.written(left, left);
        assert_eq!(fill(&mut unread, 0), left);
    }
}
