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

pub mod error;

use super::blocking::{block_on, may_block};
use super::{Notify, Semaphore, TryAcquireError};
use crate::wake::{discard, wake_all};
use arc::task::consume_budget;
use error::{SendError, TryRecvError, TrySendError};
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

/// The capacity, in values, that an empty queue keeps at most. The rest of its memory is freed.
const KEPT_CAPACITY: usize = 256;

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
    let room = Arc::new(Room { free: Semaphore::new(buffer), all: buffer });
    let queue = Queue::new();
    (Sender(queue.clone(), room.clone()), Receiver(queue, room))
}

/// The free places of a channel. A sender takes a permit for each value, and the receiver gives
/// it back.
struct Room {
    free: Semaphore,
    /// The number of places, free or not.
    all: usize,
}

/// Creates a channel that holds any number of values.
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let queue = Queue::new();
    (UnboundedSender(queue.clone()), UnboundedReceiver(queue))
}

/// The values in a channel, and what its senders and its receiver share.
///
/// Wakers, and the drops of values, are foreign code: they are cloned, woken and dropped
/// without the lock.
struct Queue<T> {
    state: Mutex<State<T>>,
    /// Notified when the receiver is closed.
    closed: Notify,
}

struct State<T> {
    values: VecDeque<T>,
    senders: usize,
    is_closed: bool,
    /// The receiver's waker, while it waits for a value.
    waker: Option<Waker>,
}

impl<T> State<T> {
    /// Returns whether a poll of the receiver is ready: with a value, or with the end.
    fn is_ready(&self) -> bool {
        !self.values.is_empty() || self.is_over()
    }

    /// Returns whether no more values can be sent.
    fn is_over(&self) -> bool {
        self.is_closed || self.senders == 0
    }
}

impl<T> Queue<T> {
    /// Creates an empty queue with one sender.
    fn new() -> Arc<Self> {
        let state = State { values: VecDeque::new(), senders: 1, is_closed: false, waker: None };
        Arc::new(Self { state: Mutex::new(state), closed: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, value: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(value);
        }

        state.values.push_back(value);
        let receiver = state.waker.take();
        drop(state);
        wake_all(receiver);
        Ok(())
    }

    fn pop(&self) -> Result<T, TryRecvError> {
        let mut state = self.lock();
        match state.values.pop_front() {
            Some(value) => {
                if state.values.is_empty() {
                    state.values.shrink_to(KEPT_CAPACITY);
                }
                Ok(value)
            }
            None if state.is_over() => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Polls for a value. Only the receiver calls this, and only the receiver takes values out:
    /// what is ready stays ready.
    fn poll_pop(&self, context: &mut Context<'_>) -> Poll<Option<T>> {
        if !self.lock().is_ready() {
            // Cloned without the lock, so the state must be looked at again.
            let waker = context.waker().clone();
            let mut state = self.lock();
            if !state.is_ready() {
                let before = state.waker.replace(waker);
                drop(state);
                drop(before);
                return Poll::Pending;
            }
        }

        ready!(pin!(consume_budget()).poll(context));
        Poll::Ready(self.pop().ok())
    }

    /// Waits for a value. A wait that is dropped removes its waker, which may own a lot.
    async fn recv(&self) -> Option<T> {
        struct Waits<'a, T> {
            queue: &'a Queue<T>,
            is_waiting: bool,
        }
        impl<T> Drop for Waits<'_, T> {
            fn drop(&mut self) {
                if self.is_waiting {
                    self.queue.forget_waker();
                }
            }
        }

        let mut waits = Waits { queue: self, is_waiting: false };
        let received = poll_fn(|context| {
            let polled = self.poll_pop(context);
            waits.is_waiting = polled.is_pending();
            polled
        });
        received.await
    }

    fn forget_waker(&self) {
        let waker = self.lock().waker.take();
        discard(waker);
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.closed.notify_waiters();
    }

    async fn closed(&self) {
        // Made before the check, so that a `close` after the check is not missed.
        let closed = self.closed.notified();
        if !self.lock().is_closed {
            closed.await;
        }
    }

    fn add_sender(self: &Arc<Self>) -> Arc<Self> {
        self.lock().senders += 1;
        self.clone()
    }

    fn remove_sender(&self) {
        let mut state = self.lock();
        state.senders -= 1;
        let receiver = if state.senders == 0 { state.waker.take() } else { None };
        drop(state);
        wake_all(receiver);
    }
}

/// The sending end of a [`channel`]. Clone it for more senders.
pub struct Sender<T>(Arc<Queue<T>>, Arc<Room>);

impl<T> Sender<T> {
    /// Waits for room and sends a value. The sender that has waited longest gets the next free
    /// place.
    ///
    /// # Errors
    ///
    /// Fails when the receiver is closed or dropped. The error contains the value.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, the value has either been sent or is dropped, and the place in
    /// line is lost.
    pub async fn send(&self, value: T) -> Result<(), SendError<T>> {
        let Ok(permit) = self.1.free.acquire().await else {
            return Err(SendError(value));
        };
        permit.forget();
        self.0.push(value).map_err(SendError)
    }

    /// Sends a value without waiting.
    ///
    /// # Errors
    ///
    /// Fails when there is no room, when other senders wait for room, and when the receiver is
    /// closed or dropped. The error contains the value.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match self.1.free.try_acquire() {
            Ok(permit) => permit.forget(),
            // `close` closes the queue before the semaphore. In between, a lack of permits means
            // that the channel is closed, and not that it is full.
            Err(TryAcquireError::NoPermits) if !self.is_closed() => {
                return Err(TrySendError::Full(value));
            }
            Err(_) => return Err(TrySendError::Closed(value)),
        }

        self.0.push(value).map_err(TrySendError::Closed)
    }

    /// Does the same as [`send`](Self::send), on a thread that may block, such as one of
    /// [`spawn_blocking`](arc::task::spawn_blocking).
    ///
    /// # Errors
    ///
    /// Same as `send`.
    ///
    /// # Panics
    ///
    /// Panics inside a task or `block_on`: it would block a thread that polls futures.
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        may_block("blocking_send");
        match self.try_send(value) {
            Err(TrySendError::Full(value)) => block_on(self.send(value)),
            sent => sent.map_err(|error| SendError(error.into_inner())),
        }
    }

    /// Returns the number of places that are free now.
    pub fn capacity(&self) -> usize {
        self.1.free.available_permits()
    }

    /// Returns the number of places in the channel, free or not.
    pub fn max_capacity(&self) -> usize {
        self.1.all
    }
}

/// The sending end of an [`unbounded_channel`]. Clone it for more senders.
pub struct UnboundedSender<T>(Arc<Queue<T>>);

impl<T> UnboundedSender<T> {
    /// Sends a value without waiting.
    ///
    /// # Errors
    ///
    /// Fails when the receiver is closed or dropped. The error contains the value.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.push(value).map_err(SendError)
    }
}

/// The receiving end of a [`channel`]. Dropping it closes the channel and drops the values in
/// it.
pub struct Receiver<T>(Arc<Queue<T>>, Arc<Room>);

impl<T> Receiver<T> {
    /// Returns a value that was taken out of the queue, and frees its place.
    fn received(&self, value: T) -> T {
        self.1.free.add_permits(1);
        value
    }

    /// Closes the channel: no more values can be sent. Values that were sent can still be
    /// received.
    pub fn close(&mut self) {
        self.0.close();
        self.1.free.close();
    }
}

/// The receiving end of an [`unbounded_channel`]. Dropping it closes the channel and drops the
/// values in it.
pub struct UnboundedReceiver<T>(Arc<Queue<T>>);

impl<T> UnboundedReceiver<T> {
    /// Returns a value that was taken out of the queue: there is no place to free.
    fn received(&self, value: T) -> T {
        value
    }

    /// Closes the channel: no more values can be sent. Values that were sent can still be
    /// received.
    pub fn close(&mut self) {
        self.0.close();
    }
}

/// Defines what both kinds of senders have.
macro_rules! sender {
    ($name:ident $(, $room:tt)?) => {
        /// Methods that both kinds of channels have.
        impl<T> $name<T> {
            /// Waits until the receiver is closed or dropped.
            ///
            /// # Cancellation
            ///
            /// Cancel safe.
            pub async fn closed(&self) {
                self.0.closed().await
            }

            /// Returns whether the receiver is closed or dropped.
            pub fn is_closed(&self) -> bool {
                self.0.lock().is_closed
            }

            /// Returns whether both send into one channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.0, &other.0)
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                Self(self.0.add_sender() $(, self.$room.clone())?)
            }
        }

        impl<T> Drop for $name<T> {
            fn drop(&mut self) {
                self.0.remove_sender();
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(stringify!($name))
            }
        }
    };
}

/// Defines what both kinds of receivers have.
macro_rules! receiver {
    ($name:ident) => {
        /// Methods that both kinds of channels have.
        impl<T> $name<T> {
            /// Waits for the next value.
            ///
            /// Returns `None` when the channel is empty and no more values can be sent, because
            /// all senders were dropped or the receiver was [closed](Self::close).
            ///
            /// # Cancellation
            ///
            /// Cancel safe: no value is lost.
            pub async fn recv(&mut self) -> Option<T> {
                let value = self.0.recv().await;
                value.map(|value| self.received(value))
            }

            /// Polls for the next value, for futures written by hand. See
            /// [`recv`](Self::recv). Only the task that polled last is woken.
            pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
                let value = ready!(self.0.poll_pop(context));
                Poll::Ready(value.map(|value| self.received(value)))
            }

            /// Receives the next value without waiting.
            ///
            /// # Errors
            ///
            /// Fails when the channel is empty. The error says whether a value may still come.
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                Ok(self.received(self.0.pop()?))
            }

            /// Does the same as [`recv`](Self::recv), on a thread that may block, such as one
            /// of [`spawn_blocking`](arc::task::spawn_blocking).
            ///
            /// # Panics
            ///
            /// Panics inside a task or `block_on`: it would block a thread that polls futures.
            #[track_caller]
            pub fn blocking_recv(&mut self) -> Option<T> {
                may_block("blocking_recv");
                block_on(self.recv())
            }

            /// Returns whether no more values can be sent.
            pub fn is_closed(&self) -> bool {
                self.0.lock().is_over()
            }

            /// Returns the number of values in the channel.
            pub fn len(&self) -> usize {
                self.0.lock().values.len()
            }

            /// Returns whether there are no values in the channel.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }

        impl<T> Drop for $name<T> {
            fn drop(&mut self) {
                self.close();
                // Senders keep the queue alive: drop the waker and the values now, even if the
                // drop of one of them panics.
                self.0.forget_waker();
                let values = std::mem::take(&mut self.0.lock().values);
                values.into_iter().for_each(discard);
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(stringify!($name))
            }
        }
    };
}

sender!(Sender, 1);
sender!(UnboundedSender);
receiver!(Receiver);
receiver!(UnboundedReceiver);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_values_took_is_given_back() {
        let (sender, mut receiver) = unbounded_channel();
        (0..10_000).for_each(|number| sender.send(number).expect("it is open"));
        assert!(receiver.0.lock().values.capacity() >= 10_000);
        while receiver.try_recv().is_ok() {}
        assert!(receiver.0.lock().values.capacity() <= 2 * KEPT_CAPACITY);
    }
}
