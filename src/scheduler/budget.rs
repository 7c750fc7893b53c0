//! The budget: how much a task may do in one poll before it lets others run.
//!
//! A socket that is always readable would keep its task in one poll for ever. So a worker gives a
//! task a budget for each poll, and each operation that ends takes one unit of it. When the budget
//! is used up, operations return `Pending` and wake their task at once, which sends the task to the
//! end of the queue. The idea and the names are tokio's.

use crate::hooks::tell;
use std::cell::Cell;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// Operations per poll. As in tokio: enough for a burst of small reads, and over in a fraction
/// of a millisecond.
const BUDGET: i64 = 128;

/// As good as no limit: to use this up would take centuries.
const UNLIMITED: i64 = i64::MAX;

/// So often an operation is refused within one poll, before the poll gets a new budget. Such a poll
/// does not end: in it, the `block_on` of another crate polls again and again. More futures than
/// this in one task are no harm: each time, they do only a few operations more.
const REFUSALS_MAX: i64 = 4096;

thread_local! {
    /// What is left for this poll, and below zero, how many operations were refused. Outside of a
    /// poll nothing is limited.
    static LEFT: Cell<i64> = const { Cell::new(UNLIMITED) };
}

/// Runs one poll with a budget of its own.
///
/// This is for futures that poll several others in one task. Without it, a future that is always
/// ready could use up the budget of the task before the others get any.
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
    with_units(BUDGET, poll)
}

/// Runs one poll, or a part of one, without any limit.
///
/// This is for a future that must not be pending for the budget's sake. While it finds something to
/// do, it keeps other tasks from its worker.
///
/// # Panics
///
/// When the poll does.
///
/// # Examples
///
/// ```
/// use arc::task::{consume_budget, without_budget};
/// use std::{future::poll_fn, pin::pin};
/// # #[arc::main]
/// # async fn main() {
/// let mut long = pin!(async {
///     for _ in 0..1000 {
///         consume_budget().await;
///     }
/// });
/// poll_fn(|context| {
///     // One poll is enough.
///     assert!(without_budget(|| long.as_mut().poll(context)).is_ready());
///     // This task's budget is what it was.
///     pin!(consume_budget()).poll(context)
/// })
/// .await;
/// # }
/// ```
pub fn without_budget<R>(poll: impl FnOnce() -> R) -> R {
    with_units(UNLIMITED, poll)
}

fn with_units<R>(units: i64, poll: impl FnOnce() -> R) -> R {
    // What was left is restored at the end: a poll may be within another one.
    struct Before(i64);
    impl Drop for Before {
        fn drop(&mut self) {
            LEFT.set(self.0);
        }
    }

    // Dropped after a panic, too: the thread goes on with other tasks.
    let _before = Before(LEFT.replace(units));
    poll()
}

/// An operation has succeeded: it takes one unit.
#[inline]
pub(crate) fn made_progress() {
    tell!(made_progress());
    LEFT.set(LEFT.get() - 1);
}

/// Whether the task may do more in this poll. Always true outside of tasks.
///
/// While this is false, sockets, timers and handles of tasks are pending, even if they are ready.
/// They wake the task, so that its next poll goes on with a new budget.
///
/// # Examples
///
/// ```
/// use arc::task::{consume_budget, has_budget_remaining};
/// # #[arc::main]
/// # async fn main() {
/// while has_budget_remaining() {
///     consume_budget().await;
/// }
/// arc::task::yield_now().await;
/// assert!(has_budget_remaining());
/// # }
/// ```
pub fn has_budget_remaining() -> bool {
    LEFT.get() > 0
}

/// Pending when the budget is used up. The task has been woken then, to go on later.
#[inline]
pub(crate) fn poll_proceed(context: &Context<'_>) -> Poll<()> {
    let left = LEFT.get();
    if left > 0 {
        return Poll::Ready(());
    }

    // Below zero, refusals are counted.
    if left <= -REFUSALS_MAX {
        LEFT.set(BUDGET);
        return Poll::Ready(());
    }
    LEFT.set(left - 1);

    // The task goes to the end of a queue. It is woken at once, as it waits for nothing.
    tell!(out_of_budget());
    context.waker().wake_by_ref();
    Poll::Pending
}

/// Takes one unit of the task's budget, or yields when the budget is used up.
///
/// Call it in loops that await nothing of arc's, so that other tasks get their turn.
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
