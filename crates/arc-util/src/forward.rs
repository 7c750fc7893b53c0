//! Both families of IO traits for one type: futures-io's, which the core's [`Async`](arc::io::Async)
//! has, and tokio's.
//!
//! A type that is around an `Async` has futures-io's traits by that, and tokio's by its own of
//! futures-io: [`reads_by`] and [`writes_by`]. A type whose bytes are in memory of its own has
//! tokio's traits first, which need no room that is initialized, and futures-io's by those:
//! [`also_reads`], [`also_writes`] and [`also_seeks`].

use futures_io::AsyncRead;
use std::collections::VecDeque;
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;

/// How much one read takes into memory that is not initialized.
///
/// Without `unsafe` such memory has to be filled with zeros first. With 64 KiB that would be 15 % of
/// a round trip.
const FRESH_MAX: usize = 16 << 10;

/// tokio's `poll_read` of what has futures-io's.
pub(crate) fn poll_read<R: AsyncRead>(
    reader: Pin<&mut R>,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<Result<()>> {
    let initialized = buffer.initialized().len() - buffer.filled().len();
    let room = buffer.remaining().min(FRESH_MAX).max(initialized);
    let length = ready!(reader.poll_read(context, buffer.initialize_unfilled_to(room)))?;
    buffer.advance(length);
    Poll::Ready(Ok(()))
}

/// Moves as many bytes as there is room for from the front of a queue to a buffer.
pub(crate) fn move_front(bytes: &mut VecDeque<u8>, buffer: &mut ReadBuf<'_>) {
    let count = bytes.len().min(buffer.remaining());
    // The queue is a ring: its front part, and then what is behind it.
    let (front, behind) = bytes.as_slices();
    let from_front = count.min(front.len());
    buffer.put_slice(&front[..from_front]);
    buffer.put_slice(&behind[..count - from_front]);
    bytes.drain(..count);
}

/// Implements both `AsyncRead`s for a type by what is inside of it and has futures-io's.
///
/// An invocation names the parameters, the type, and where in it (a pinned mutable reference) the
/// reader is.
macro_rules! reads_by {
    ([$($params:tt)*] $type:ty $(where [$($bound:tt)*])?, |$this:ident| $inner:expr) => {
        impl<$($params)*> futures_io::AsyncRead for $type $(where $($bound)*)? {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffer: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self;
                futures_io::AsyncRead::poll_read($inner, context, buffer)
            }

            fn poll_read_vectored(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffers: &mut [std::io::IoSliceMut<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self;
                futures_io::AsyncRead::poll_read_vectored($inner, context, buffers)
            }
        }

        impl<$($params)*> tokio::io::AsyncRead for $type $(where $($bound)*)? {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffer: &mut tokio::io::ReadBuf<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                crate::forward::poll_read(self, context, buffer)
            }
        }
    };
}

/// Implements both `AsyncWrite`s, as [`reads_by`] does both `AsyncRead`s. What is inside writes
/// several buffers at once.
macro_rules! writes_by {
    ([$($params:tt)*] $type:ty $(where [$($bound:tt)*])?, |$this:ident| $inner:expr) => {
        crate::forward::writes_by! {
            @ futures_io, poll_close, {} [$($params)*] $type $(where [$($bound)*])?, |$this| $inner
        }
        crate::forward::writes_by! {
            @ tokio::io, poll_shutdown, {
                fn is_write_vectored(&self) -> bool {
                    true
                }
            }
            [$($params)*] $type $(where [$($bound)*])?, |$this| $inner
        }
    };
    (
        @ $($family:ident)::+, $poll_close:ident, { $($more:tt)* }
        [$($params:tt)*] $type:ty $(where [$($bound:tt)*])?, |$this:ident| $inner:expr
    ) => {
        impl<$($params)*> $($family)::+::AsyncWrite for $type $(where $($bound)*)? {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffer: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self;
                futures_io::AsyncWrite::poll_write($inner, context, buffer)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                parts: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self;
                futures_io::AsyncWrite::poll_write_vectored($inner, context, parts)
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                let $this = self;
                futures_io::AsyncWrite::poll_flush($inner, context)
            }

            fn $poll_close(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                let $this = self;
                futures_io::AsyncWrite::poll_close($inner, context)
            }

            $($more)*
        }
    };
}

/// Implements futures-io's `AsyncRead` for what has tokio's.
macro_rules! also_reads {
    ($($type:ty),*) => {$(
        impl futures_io::AsyncRead for $type {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffer: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let mut buffer = tokio::io::ReadBuf::new(buffer);
                tokio::io::AsyncRead::poll_read(self, context, &mut buffer)
                    .map_ok(|()| buffer.filled().len())
            }
        }
    )*};
}

/// Implements futures-io's `AsyncWrite` for what has tokio's.
macro_rules! also_writes {
    ($($type:ty),*) => {$(
        impl futures_io::AsyncWrite for $type {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                buffer: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                tokio::io::AsyncWrite::poll_write(self, context, buffer)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                parts: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                tokio::io::AsyncWrite::poll_write_vectored(self, context, parts)
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                tokio::io::AsyncWrite::poll_flush(self, context)
            }

            fn poll_close(
                self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                tokio::io::AsyncWrite::poll_shutdown(self, context)
            }
        }
    )*};
}

pub(crate) use {also_reads, also_writes, reads_by, writes_by};
