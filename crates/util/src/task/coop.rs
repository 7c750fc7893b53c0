//! Budgeting for futures that are not arc's.

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
pub async fn cooperative<F: std::future::IntoFuture>(future: F) -> F::Output {
    arc::task::consume_budget().await;
    future.await
}
