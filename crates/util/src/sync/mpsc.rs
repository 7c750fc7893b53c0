//! Channels with several senders and one receiver. Names and meaning are tokio's.
//!
//! A [`Semaphore`] decides which sender is next when the channel is full. Sending and receiving
//! take part in the task's budget: a task that always finds values still lets others run.
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

mod channel;
pub mod error;
mod permit;
mod receiver;
mod sender;

pub use permit::{OwnedPermit, Permit, PermitIterator};
pub use receiver::{Receiver, UnboundedReceiver};
pub use sender::{Sender, UnboundedSender, WeakSender, WeakUnboundedSender};

use super::semaphore::Semaphore;
use channel::{Channel, Outlet};

/// Creates a channel that holds at most `buffer` values.
///
/// # Panics
///
/// Panics when `buffer` is 0 or more than [`Semaphore::MAX_PERMITS`].
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    const MAX: usize = Semaphore::MAX_PERMITS;
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    assert!(buffer <= MAX, "a channel holds at most {MAX} values, not {buffer}");
    let channel = Channel::new(buffer);
    (Sender(channel.clone()), Receiver(Outlet::new(channel)))
}

/// Creates a channel that holds any number of values.
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let channel = Channel::new(0);
    (UnboundedSender(channel.clone()), UnboundedReceiver(Outlet::new(channel)))
}
