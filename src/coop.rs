//! The budget: how much a task may do in one poll before it lets others run.
//!
//! A socket that is always readable would keep its task in one poll for ever.
//! So each operation that succeeds takes one unit of the budget that a worker
//! gives a task per poll; when it is used up, operations say `Pending` and wake
//! the task at once, which sends it to the end of the queue. (The idea is
//! tokio's, as are the names.)

use std::future::poll_fn;
use std::task::{Context, Poll};

/// Operations per poll.
const BUDGET: u64 = 128;

/// Outside a worker nothing is limited, not in centuries.
const UNLIMITED: u64 = u64::MAX;

thread_local!(static LEFT: std::cell::Cell<u64> = const { std::cell::Cell::new(UNLIMITED) });

/// Runs one poll with a fresh budget: for whoever polls several futures in one task, so that
/// none of them has to live on what another one leaves.
///
/// # Panics
///
/// When the poll does.
///
/// # Examples
///
/// ```
/// use arc::task::{consume_budget, with_budget};
/// use std::{future::poll_fn, pin::pin};
/// # #[arc::main]
/// # async fn main() {
/// let mut busy = pin!(async {
///     loop {
///         consume_budget().await;
///     }
/// });
/// poll_fn(|context| {
///     assert!(with_budget(|| busy.as_mut().poll(context)).is_pending());
///     // It has used up its own budget, and not this task's.
///     pin!(consume_budget()).poll(context)
/// })
/// .await;
/// # }
/// ```
pub fn with_budget<R>(poll: impl FnOnce() -> R) -> R {
    let before = LEFT.replace(BUDGET);
    let result = crate::sync::contain(poll);
    LEFT.set(before);
    result.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

/// An operation made progress: it takes one unit.
#[inline]
pub(crate) fn made_progress() {
    LEFT.set(LEFT.get().saturating_sub(1));
}

/// Pending when the budget is used up; the task is woken to go on later.
#[inline]
pub(crate) fn poll_proceed(context: &Context<'_>) -> Poll<()> {
    if LEFT.get() > 0 {
        return Poll::Ready(());
    }
    context.waker().wake_by_ref();
    Poll::Pending
}

/// Takes one unit of the task's budget, and yields when it is used up: for
/// loops that await nothing of arc's.
///
/// # Cancellation
///
/// Cancel safe.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let mut sum = 0;
/// for number in 0..10_000_u64 {
///     sum += number;
///     arc::task::consume_budget().await;
/// }
/// assert_eq!(sum, 49_995_000);
/// # }
/// ```
pub async fn consume_budget() {
    poll_fn(|context| poll_proceed(context).map(|()| made_progress())).await;
}
