//! tokio's channels with several senders and one receiver.
//!
//! To send, if that waits for room, and to receive take a unit of the task's budget: a task that
//! always finds values still lets others run. With the feature `trace`, both ends tell when they
//! wait, and what they send and receive. All else is tokio's, and is described there: each type
//! stands around tokio's, and gives its other methods. The receivers are streams.
//!
//! # Examples
//!
//! ```
//! use arc_util::sync::mpsc;
//! # #[arc::main]
//! # async fn main() {
//! let (sender, mut receiver) = mpsc::channel(1);
//! for number in 1..=3 {
//!     let sender = sender.clone();
//!     drop(arc::spawn(async move { sender.send(number).await }));
//! }
//! // The receiver gets `None` when no senders are left.
//! drop(sender);
//! let mut sum = 0;
//! while let Some(number) = receiver.recv().await {
//!     sum += number;
//! }
//! assert_eq!(sum, 6);
//! # }
//! ```

pub mod error;
mod permit;
mod receiver;
mod sender;
mod tolds;

pub use permit::{OwnedPermit, Permit, PermitIterator};
pub use receiver::{Receiver, UnboundedReceiver};
pub use sender::{Sender, UnboundedSender, WeakSender, WeakUnboundedSender};

use super::Semaphore;
use tokio::sync::mpsc as tokio;
use tolds::Tolds;

/// Creates a channel that holds at most `buffer` values.
///
/// # Panics
///
/// Panics when `buffer` is 0 or more than [`Semaphore::MAX_PERMITS`].
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    const MAX: usize = Semaphore::MAX_PERMITS;
    assert!(buffer <= MAX, "a channel holds at most {MAX} values, not {buffer}");
    let told = Tolds::new(buffer);
    let (sender, receiver) = tokio::channel(buffer);
    let end = told.value.sender();
    (Sender { told: told.clone(), end, sender }, Receiver { told, receiver })
}

/// Creates a channel that holds any number of values.
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let told = Tolds::new(0);
    let (sender, receiver) = tokio::unbounded_channel();
    let end = told.value.sender();
    (UnboundedSender { told: told.clone(), end, sender }, UnboundedReceiver { told, receiver })
}
