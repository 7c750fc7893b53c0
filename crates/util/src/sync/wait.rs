//! How tokio's futures are awaited: within the task's budget, and told of.
//!
//! tokio's channels and locks know the budget of tokio's tasks alone. What stands around them here
//! takes a unit of arc's when an operation is ready. While the budget is used up, nothing is
//! polled, so nothing is lost. To wait costs nothing.

use super::told::Told;
use arc::task::{consume_budget, has_budget_remaining};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

/// Polls within the budget, and tells that the task waits if that is pending.
#[inline]
pub(super) fn poll_wait<R>(
    told: &Told,
    context: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<R>,
) -> Poll<R> {
    poll_telling(|| told.waits(), context, poll)
}

#[inline]
fn poll_telling<R>(
    tell: impl FnOnce(),
    context: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<R>,
) -> Poll<R> {
    if !has_budget_remaining() {
        ready!(pin!(consume_budget()).poll(context));
    }

    let polled = poll(context);
    if polled.is_pending() {
        tell();
    } else {
        // There was a unit before the poll. If the poll itself took it, nobody is to wait for one:
        // what is ready must be returned.
        let _ = pin!(consume_budget()).poll(context);
    }
    polled
}

/// Awaits a future in this way.
pub(super) fn wait<F: Future>(told: &Told, future: F) -> Wait<impl Fn(), F> {
    wait_telling(|| told.waits(), future)
}

/// Awaits a future in this way, but for what is called when it is pending.
pub(super) fn wait_telling<T: Fn(), F: Future>(tell: T, future: F) -> Wait<T, F> {
    Wait { tell, future }
}

pin_project! {
    /// See [`wait`].
    #[must_use = "futures do nothing unless awaited"]
    pub(super) struct Wait<T, F> {
        tell: T,
        #[pin]
        future: F,
    }
}

impl<T: Fn(), F: Future> Future for Wait<T, F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        poll_telling(this.tell, context, |context| this.future.poll(context))
    }
}
