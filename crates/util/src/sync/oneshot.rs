//! A channel for one value. Names and meaning are tokio's.
//!
//! Receiving takes part in the task's budget, and so does [`Sender::closed`].
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
use crate::wake::{discard, wake_all};
use arc::task::consume_budget;
use error::{RecvError, TryRecvError};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

/// Creates a channel for one value.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state =
        State { value: None, is_complete: false, is_closed: false, sender: None, receiver: None };
    let shared = Arc::new(Shared(Mutex::new(state), Told::new(What::Oneshot)));
    (Sender { shared: shared.clone() }, Receiver { shared: Some(shared) })
}

/// What the two ends share.
///
/// Wakers, and the drops of values, are foreign code: they are cloned, woken and dropped without
/// the lock.
struct Shared<T>(Mutex<State<T>>, Told);

struct State<T> {
    value: Option<T>,
    /// The sender was dropped: sending drops it, too.
    is_complete: bool,
    /// The receiver was closed or dropped.
    is_closed: bool,
    /// The waker of the sender, while it waits until the receiver is closed.
    sender: Option<Waker>,
    /// The waker of the receiver, while it waits for the value.
    receiver: Option<Waker>,
}

impl<T> State<T> {
    /// Returns whether a poll of the receiver is ready: with the value, or without one.
    fn is_over(&self) -> bool {
        self.is_complete || self.is_closed
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the channel for the sender.
    fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let sender = state.sender.take();
        drop(state);
        wake_all(sender);
    }

    /// Polls until the receiver is closed. What is ready stays ready.
    fn poll_closed(&self, context: &Context<'_>) -> Poll<()> {
        if self.lock().is_closed {
            return Poll::Ready(());
        }

        // Cloned without the lock, so the state must be looked at again.
        let waker = context.waker().clone();
        let mut state = self.lock();
        if state.is_closed {
            return Poll::Ready(());
        }

        let before = state.sender.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }

    /// Polls until the channel is over. What is ready stays ready.
    fn poll_over(&self, context: &Context<'_>) -> Poll<()> {
        if self.lock().is_over() {
            return Poll::Ready(());
        }

        // As in `poll_closed`.
        let waker = context.waker().clone();
        let mut state = self.lock();
        if state.is_over() {
            return Poll::Ready(());
        }

        let before = state.receiver.replace(waker);
        drop(state);
        drop(before);
        self.1.waits();
        Poll::Pending
    }
}

/// The sending end of a [`channel`]. If it is dropped without sending, the receiver gets an
/// error.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Sends the value, without waiting. That it was sent does not mean that it is received.
    ///
    /// # Errors
    ///
    /// Fails when the receiver is closed or dropped. Then it returns the value.
    pub fn send(self, value: T) -> Result<(), T> {
        let mut state = self.shared.lock();
        if state.is_closed {
            drop(state);
            return Err(value);
        }

        // The drop of the sender wakes the receiver.
        state.value = Some(value);
        drop(state);
        Ok(())
    }

    /// Waits until the receiver is closed or dropped.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn closed(&mut self) {
        poll_fn(|context| self.poll_closed(context)).await;
    }

    /// Polls until the receiver is closed or dropped, for futures written by hand. Only the task
    /// that polled last is woken.
    pub fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.shared.poll_closed(context));
        pin!(consume_budget()).poll(context)
    }

    /// Returns whether the receiver is closed or dropped.
    pub fn is_closed(&self) -> bool {
        self.shared.lock().is_closed
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_complete = true;
        let (sender, receiver) = (state.sender.take(), state.receiver.take());
        drop(state);
        wake_all(receiver);
        discard(sender);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("oneshot::Sender")
    }
}

/// The receiving end of a [`channel`]: a future of the value.
///
/// It is ready with an error when the sender was dropped without sending, and when the receiver
/// was [closed](Self::close) before the value was sent.
///
/// # Panics
///
/// Panics when it is polled after it was ready, or after `try_recv` has returned the value.
///
/// # Cancellation
///
/// Cancel safe as `&mut receiver`: no value is lost.
pub struct Receiver<T> {
    /// `None` once the value, or the error, was returned.
    shared: Option<Arc<Shared<T>>>,
}

impl<T> Receiver<T> {
    /// Closes the channel: no value can be sent any more. A value that was sent can still be
    /// received.
    pub fn close(&mut self) {
        if let Some(shared) = &self.shared {
            shared.close();
        }
    }

    /// Receives the value without waiting.
    ///
    /// # Errors
    ///
    /// Fails when the value was not sent, or was received before. The error says whether it may
    /// still come.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let Some(shared) = &self.shared else {
            return Err(TryRecvError::Closed);
        };

        let mut state = shared.lock();
        let (value, is_over) = (state.value.take(), state.is_over());
        drop(state);
        if value.is_none() && !is_over {
            return Err(TryRecvError::Empty);
        }

        self.shared = None;
        value.ok_or(TryRecvError::Closed)
    }

    /// Returns whether there is no value to be received now.
    pub fn is_empty(&self) -> bool {
        self.shared.as_ref().is_none_or(|shared| shared.lock().value.is_none())
    }

    /// Returns whether the value, or the error, was returned: then the receiver must not be
    /// polled any more.
    pub fn is_terminated(&self) -> bool {
        self.shared.is_none()
    }

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
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        may_block("blocking_recv");
        block_on(self)
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(shared) = &self.shared else {
            panic!("a oneshot::Receiver was polled after it was ready");
        };
        ready!(shared.poll_over(context));
        ready!(pin!(consume_budget()).poll(context));

        let value = shared.lock().value.take();
        self.shared = None;
        Poll::Ready(value.ok_or(RecvError(())))
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let Some(shared) = &self.shared else {
            return;
        };
        shared.close();

        let mut state = shared.lock();
        let (value, receiver) = (state.value.take(), state.receiver.take());
        drop(state);
        discard(receiver);
        drop(value);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("oneshot::Receiver")
    }
}

/// The errors of receiving from a channel for one value.
pub mod error {
    use std::error::Error;
    use std::fmt;

    /// No value was sent, and none will be.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RecvError(pub(super) ());

    /// Why no value was received without waiting.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TryRecvError {
        /// No value was sent yet.
        Empty,
        /// No value was sent, and none will be, or it was received before.
        Closed,
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("channel closed")
        }
    }

    impl Error for RecvError {}

    impl fmt::Display for TryRecvError {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(match self {
                Self::Empty => "channel empty",
                Self::Closed => "channel closed",
            })
        }
    }

    impl Error for TryRecvError {}
}
