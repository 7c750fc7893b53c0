//! How tokio's futures are awaited: within the task's budget, and told of.
//!
//! tokio's channels and semaphores know the budget of tokio's tasks alone. What stands around them
//! here takes a unit of arc's when an operation is ready. While the budget is used up, nothing is
//! polled, so nothing is lost. To wait costs nothing. (Locks and semaphores have a way of
//! their own: a task keeps its place in line. See `locks.rs`.)

use super::told::{Asks, Told};
use arc::task::{consume_budget, has_budget_remaining};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

/// Polls within the budget, by a `poll_` function, and tells that the task waits if that is pending.
#[inline]
pub(super) fn poll_wait<R>(
    told: &Told,
    context: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<R>,
) -> Poll<R> {
    poll_and_tell(context, poll, |is_pending| match is_pending {
        true => told.waits(),
        false => told.got(),
    })
}

#[inline]
fn poll_and_tell<R>(
    context: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<R>,
    tell: impl FnOnce(bool),
) -> Poll<R> {
    if !has_budget_remaining() {
        ready!(pin!(consume_budget()).poll(context));
    }

    let polled = poll(context);
    tell(polled.is_pending());
    if polled.is_ready() {
        // There was a unit before the poll. If the poll itself took it, nobody is to wait for one:
        // what is ready must be returned.
        let _ = pin!(consume_budget()).poll(context);
    }
    polled
}

/// Awaits a future in this way.
pub(super) fn wait<F: Future>(told: &Told, future: F) -> Wait<'_, F> {
    Wait { asks: told.asks(), future }
}

pin_project! {
    /// See [`wait`].
    #[must_use = "futures do nothing unless awaited"]
    pub(super) struct Wait<'a, F> {
        asks: Asks<'a>,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Wait<'_, F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let asks = this.asks;
        poll_and_tell(context, |context| this.future.poll(context), |pending| asks.tell(pending))
    }
}
