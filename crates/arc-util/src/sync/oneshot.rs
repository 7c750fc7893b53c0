//! tokio's channel for one value.
//!
//! To receive takes a unit of the task's budget. With the feature `trace`, a receiver tells when it
//! waits. All else is tokio's, and is described there: the sender is its own type, and the receiver
//! stands around its.
//!
//! # Examples
//!
//! ```
//! use arc_util::sync::oneshot;
//! # #[arc::main]
//! # async fn main() {
//! let (sender, receiver) = oneshot::channel();
//! let task = arc::spawn(async move { sender.send("done") });
//! assert_eq!(receiver.await, Ok("done"));
//! # task.await.unwrap().unwrap();
//! # }
//! ```

use super::blocking::{block_on, may_block};
use super::told::{Told, What};
use super::wait::poll_wait;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::oneshot as tokio;

pub use ::tokio::sync::oneshot::{Sender, error};

/// Creates a channel for one value.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = tokio::channel();
    (sender, Receiver { told: Told::new(What::Oneshot), receiver })
}

/// The receiving end of a [`channel`]: a future of the value.
///
/// It is ready with an error when the sender was dropped without sending, and when the receiver
/// was closed before the value was sent.
///
/// # Panics
///
/// Panics when it is polled after it was ready, or after `try_recv` has returned the value.
///
/// # Cancellation
///
/// Cancel safe as `&mut receiver`: no value is lost.
pub struct Receiver<T> {
    told: Told,
    receiver: tokio::Receiver<T>,
}

impl<T> Receiver<T> {
    /// Receives the value on a thread that may block, such as one of
    /// [`spawn_blocking`](arc::task::spawn_blocking).
    ///
    /// # Errors
    ///
    /// Fails when the sender was dropped without sending.
    ///
    /// # Panics
    ///
    /// Panics inside a task or `block_on`: it would block a thread that polls futures.
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, error::RecvError> {
        may_block("blocking_recv");
        block_on(self)
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, error::RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { told, receiver } = &mut *self;
        poll_wait(told, context, |context| Pin::new(receiver).poll(context))
    }
}

tokios_own! { mut Receiver receiver }
