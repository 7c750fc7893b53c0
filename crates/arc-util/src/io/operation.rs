//! The futures of the extension traits.
//!
//! They are types with names, and not opaque ones. So the compiler knows that there is nothing to
//! be done when one of them is dropped, and a buffer can be used as soon as the future is ready,
//! even if a variable still holds the future.

use arc::io::AsyncWrite;
use pin_project_lite::pin_project;
use std::io::{ErrorKind, Result};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What a method of an extension trait does with a reader or a writer.
pub trait Operate<T: ?Sized> {
    /// What the method's future returns, if it succeeds.
    type Output;

    /// Polls it. After it was ready it is polled no more.
    fn poll(&mut self, io: Pin<&mut T>, context: &mut Context<'_>) -> Poll<Result<Self::Output>>;
}

pin_project! {
    /// The future of a method of an extension trait: an operation with a reader or a writer.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Operation<'a, T: ?Sized, O> {
        io: &'a mut T,
        operation: O,
        // tokio's futures must be pinned. What compiles with them does so with these, and the
        // other way round.
        #[pin]
        pinned: PhantomPinned,
    }
}

impl<'a, T: ?Sized, O> Operation<'a, T, O> {
    pub(super) fn new(io: &'a mut T, operation: O) -> Self {
        Self { io, operation, pinned: PhantomPinned }
    }
}

impl<T: Unpin + ?Sized, O: Operate<T>> Future for Operation<'_, T, O> {
    type Output = Result<O::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        this.operation.poll(Pin::new(&mut **this.io), context)
    }
}

/// Returns `None` for an operation that was interrupted, and has to be tried again.
pub(super) fn unless_interrupted<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(None),
        result => result.map(Some),
    }
}

/// Flushes a writer. A buffered one may be interrupted as it writes: then it is flushed again.
pub(super) fn poll_flush<W: AsyncWrite + ?Sized>(
    mut writer: Pin<&mut W>,
    context: &mut Context<'_>,
) -> Poll<Result<()>> {
    while unless_interrupted(ready!(writer.as_mut().poll_flush(context)))?.is_none() {}
    Poll::Ready(Ok(()))
}
