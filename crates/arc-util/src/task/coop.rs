//! Budgeting for futures that are not arc's, and futures without a budget.

use arc::task::{consume_budget, without_budget};
use pin_project_lite::pin_project;
use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

/// Makes a future of another crate take part in the task's budget: it takes one unit before the
/// future is polled for the first time.
///
/// Use it in a loop around futures that may be ready again and again, such as the receiving end
/// of a channel that is always full. While the budget is used up, the future is not polled, and
/// the task yields.
///
/// # Cancellation
///
/// As cancel safe as the inner future.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let (sender, receiver) = async_channel::unbounded();
/// sender.try_send(1).unwrap();
/// assert_eq!(arc_util::task::cooperative(receiver.recv()).await, Ok(1));
/// # }
/// ```
pub fn cooperative<F: IntoFuture>(future: F) -> Coop<F::IntoFuture> {
    Coop { future: future.into_future(), has_begun: false }
}

pin_project! {
    /// A future that takes part in the budget of its task; made by [`cooperative`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Coop<F> {
        #[pin]
        future: F,
        has_begun: bool,
    }
}

impl<F: Future> Future for Coop<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if !*this.has_begun {
            ready!(pin!(consume_budget()).poll(context));
            *this.has_begun = true;
        }
        this.future.poll(context)
    }
}

/// Lets a future do as much as it can in one poll: the budget of its task does not make it yield.
///
/// While such a future finds something to do, it keeps other tasks from its worker. Use it only
/// where a future is short, or must not be pending for the budget's sake.
///
/// # Panics
///
/// The future panics when the inner one does.
///
/// # Cancellation
///
/// As cancel safe as the inner future.
///
/// # Examples
///
/// ```
/// use arc_util::sync::mpsc;
/// use arc_util::task::unconstrained;
/// use std::{future::Future, pin::pin, task::Context, task::Waker};
/// # #[arc::main]
/// # async fn main() {
/// let (sender, mut receiver) = mpsc::unbounded_channel();
/// for number in 0..1000 {
///     sender.send(number).unwrap();
/// }
/// let mut sum = pin!(unconstrained(async {
///     let mut sum = 0;
///     for _ in 0..1000 {
///         sum += receiver.recv().await.unwrap();
///     }
///     sum
/// }));
/// // One poll is enough.
/// let mut context = Context::from_waker(Waker::noop());
/// assert!(sum.as_mut().poll(&mut context).is_ready());
/// # }
/// ```
pub fn unconstrained<F>(future: F) -> Unconstrained<F> {
    Unconstrained { future }
}

pin_project! {
    /// A future that no budget makes yield; made by [`unconstrained`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Unconstrained<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        without_budget(|| self.project().future.poll(context))
    }
}
