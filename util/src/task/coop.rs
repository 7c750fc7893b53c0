//! The task's budget, for futures that are not arc's.

/// Makes a foreign future take part in the budget: it takes one unit before it is polled
/// for the first time.
///
/// Use it around futures of other crates that may be ready again and again in a loop,
/// such as the receiving end of a channel that is always full.
///
/// # Cancellation
///
/// As the inner future's: it is not polled while the budget is used up.
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
