//! A stream that does what a test has written down for it.

use arc_util::io::{AsyncRead, AsyncWrite, ReadBuf};
use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};

/// What an attempt to read finds.
pub enum Line {
    Bytes(&'static [u8]),
    Fails(ErrorKind),
    /// No attempt finds anything any more.
    WaitsForEver,
}

pub use Line::{Bytes, Fails, WaitsForEver};

/// Its reads find the lines, one after the other, and then the end of the input. It keeps what is
/// written to it, and a `!` when it is closed. Its close waits once, and no flush may follow.
pub struct Script {
    lines: VecDeque<Line>,
    pub taken: Vec<u8>,
    pub flushes: usize,
    /// The most that a read gives and a write takes.
    each: usize,
    /// How much it takes in all.
    pub room: usize,
    /// If some: whether the last attempt was interrupted. The next one is not, then.
    last: Option<bool>,
    is_flushed_at_once: bool,
    is_closing: bool,
}

impl Script {
    pub fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        let lines = lines.into_iter().collect();
        Self {
            lines,
            taken: vec![],
            flushes: 0,
            each: usize::MAX,
            room: usize::MAX,
            last: None,
            is_flushed_at_once: false,
            is_closing: false,
        }
    }

    /// No more bytes than this at once.
    pub fn each(self, each: usize) -> Self {
        Self { each, ..self }
    }

    /// Every other attempt is interrupted, beginning with the first one.
    pub fn interrupted(self) -> Self {
        Self { last: Some(false), ..self }
    }

    /// Only reads and writes are interrupted.
    pub fn flushed_at_once(self) -> Self {
        Self { is_flushed_at_once: true, ..self }
    }

    fn attempt_to_flush(&mut self) -> Result<()> {
        if self.is_flushed_at_once { Ok(()) } else { self.attempt() }
    }

    fn attempt(&mut self) -> Result<()> {
        self.last = self.last.map(|last| !last);
        match self.last {
            Some(true) => Err(ErrorKind::Interrupted.into()),
            _ => Ok(()),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<usize> {
        self.attempt()?;
        let count = bytes.len().min(self.each).min(self.room - self.taken.len());
        self.taken.extend_from_slice(&bytes[..count]);
        Ok(count)
    }
}

impl AsyncRead for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        self.attempt()?;
        let most = self.each.min(buffer.remaining());
        Poll::Ready(match self.lines.front_mut() {
            None => Ok(()),
            Some(WaitsForEver) => return Poll::Pending,
            Some(Bytes(bytes)) if bytes.len() > most => {
                let (first, rest) = bytes.split_at(most);
                buffer.put_slice(first);
                *bytes = rest;
                Ok(())
            }
            Some(_) => match self.lines.pop_front() {
                Some(Bytes(bytes)) => {
                    buffer.put_slice(bytes);
                    Ok(())
                }
                Some(Fails(kind)) => Err(kind.into()),
                _ => return Poll::Pending,
            },
        })
    }
}

impl AsyncWrite for Script {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        Poll::Ready(self.take(bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Poll::Ready(self.take(&parts.iter().flat_map(|part| part.to_vec()).collect::<Vec<_>>()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        assert!(!self.is_closing, "a flush after the close began");
        self.attempt_to_flush()?;
        self.flushes += 1;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.attempt_to_flush()?;
        if !std::mem::replace(&mut self.is_closing, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.taken.push(b'!');
        Poll::Ready(Ok(()))
    }
}
