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

/// Polls within the budget.
#[inline]
fn poll_within_budget<R>(
    context: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<R>,
) -> Poll<R> {
    if !has_budget_remaining() {
        ready!(pin!(consume_budget()).poll(context));
    }

    let polled = poll(context);
    if polled.is_ready() {
        // There was a unit before the poll. If the poll itself took it, nobody is to wait for one:
        // what is ready must be returned.
        let _ = pin!(consume_budget()).poll(context);
    }
    polled
}

/// Polls within the budget, and tells that the task waits if that is pending.
#[inline]
pub(super) fn poll_wait<R>(
    told: &Told,
    context: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<R>,
) -> Poll<R> {
    poll_within_budget(context, |context| {
        let polled = poll(context);
        if polled.is_pending() {
            told.waits();
        }
        polled
    })
}

/// Awaits a future in this way.
pub(super) fn wait<F: Future>(told: &Told, future: F) -> impl Future<Output = F::Output> {
    within_budget(told.telling(None, future))
}

/// Awaits a future within the budget.
pub(super) fn within_budget<F: Future>(future: F) -> WithinBudget<F> {
    WithinBudget { future }
}

pin_project! {
    /// See [`within_budget`].
    #[must_use = "futures do nothing unless awaited"]
    pub(super) struct WithinBudget<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for WithinBudget<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        poll_within_budget(context, |context| self.project().future.poll(context))
    }
}
