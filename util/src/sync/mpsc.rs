//! Channels with several senders and one receiver.
//!
//! Names and meaning are tokio's; who may send next is a [`Semaphore`]'s to say. Sending and
//! receiving take part in arc's budget: whoever finds values for ever still lets others run.
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
//! // The receiver sees the end when there are no senders any more.
//! drop(sender);
//! let mut sum = 0;
//! while let Some(number) = receiver.recv().await {
//!     sum += number;
//! }
//! assert_eq!(sum, 6);
//! # }
//! ```

pub mod error;

use super::{Notify, Semaphore, TryAcquireError};
use crate::wake::{discard, wake_all};
use arc::task::{consume_budget, with_budget};
use error::{SendError, TryRecvError, TrySendError};
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};
use std::thread::{self, Thread};

/// For how many values an empty channel keeps memory.
const KEPT: usize = 256;

/// A channel in which at most `buffer` values wait.
///
/// # Panics
///
/// When `buffer` is 0, or more than [`Semaphore::MAX_PERMITS`].
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    const MAX: usize = Semaphore::MAX_PERMITS;
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    assert!(buffer <= MAX, "a channel holds at most {MAX} values, not {buffer}");
    let room = Arc::new(Room { free: Semaphore::new(buffer), all: buffer });
    let queue = Queue::new();
    (Sender(queue.clone(), room.clone()), Receiver(queue, room))
}

/// For how many values there is room: a sender takes a permit for each, which the receiver
/// gives back.
struct Room {
    free: Semaphore,
    all: usize,
}

/// A channel in which any number of values wait.
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let queue = Queue::new();
    (UnboundedSender(queue.clone()), UnboundedReceiver(queue))
}

/// The values that wait, and what the senders and the receiver know of each other. Wakers,
/// and values, are code of somebody else's: they are cloned, woken and dropped unlocked.
struct Queue<T> {
    state: Mutex<State<T>>,
    closed: Notify,
}

struct State<T> {
    values: VecDeque<T>,
    senders: usize,
    is_closed: bool,
    /// Of the receiver, when it waits for a value.
    waker: Option<Waker>,
}

impl<T> State<T> {
    /// Whether there are values, or there will be none any more.
    fn is_ready(&self) -> bool {
        !self.values.is_empty() || self.is_over()
    }

    fn is_over(&self) -> bool {
        self.is_closed || self.senders == 0
    }
}

impl<T> Queue<T> {
    /// With one sender.
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
                    state.values.shrink_to(KEPT);
                }
                Ok(value)
            }
            None if state.is_over() => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Only the receiver calls it, which alone takes values out.
    fn poll_pop(&self, context: &mut Context<'_>) -> Poll<Option<T>> {
        if !self.lock().is_ready() {
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

    /// What it waited with is gone when it is given up: a waker may own a lot.
    async fn recv(&self) -> Option<T> {
        struct Waits<'a, T>(&'a Queue<T>, bool);
        impl<T> Drop for Waits<'_, T> {
            fn drop(&mut self) {
                if self.1 {
                    self.0.forget_receiver();
                }
            }
        }
        let mut waits = Waits(self, false);
        let received = poll_fn(|context| {
            let polled = self.poll_pop(context);
            waits.1 = polled.is_pending();
            polled
        });
        received.await
    }

    fn forget_receiver(&self) {
        let waker = self.lock().waker.take();
        discard(waker);
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.closed.notify_waiters();
    }

    async fn closed(&self) {
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

#[track_caller]
fn may_block(what: &str) {
    assert!(
        arc::runtime::may_block(),
        "{what} was called inside a task or `block_on`, where it would block a worker: await \
         instead, or move the call into `arc::task::spawn_blocking`"
    );
}

/// Polls a future on this thread, which may block, until it is ready. Nobody but the future
/// polls here, so it has a budget of its own.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unparks(Thread);
    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match with_budget(|| future.as_mut().poll(&mut context)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Sends into a [`channel`]; clone it for more senders.
pub struct Sender<T>(Arc<Queue<T>>, Arc<Room>);

impl<T> Sender<T> {
    /// Waits for room and sends: who has waited longest is the next to have some.
    ///
    /// # Errors
    ///
    /// When the receiver is closed or gone; the error has the value.
    ///
    /// # Cancellation
    ///
    /// The value was either sent or is dropped, and the place in the line is lost.
    pub async fn send(&self, value: T) -> Result<(), SendError<T>> {
        let Ok(permit) = self.1.free.acquire().await else {
            return Err(SendError(value));
        };
        permit.forget();
        self.0.push(value).map_err(SendError)
    }

    /// Sends if there is room that nobody waits for.
    ///
    /// # Errors
    ///
    /// When there is none, or the receiver is closed or gone; the error has the value.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match self.1.free.try_acquire() {
            Ok(permit) => permit.forget(),
            // While it is being closed it may not look so yet.
            Err(TryAcquireError::NoPermits) if !self.is_closed() => {
                return Err(TrySendError::Full(value));
            }
            Err(_) => return Err(TrySendError::Closed(value)),
        }
        self.0.push(value).map_err(TrySendError::Closed)
    }

    /// As [`send`](Self::send), on a thread that may block, such as one of
    /// [`spawn_blocking`](arc::task::spawn_blocking).
    ///
    /// # Errors
    ///
    /// As `send`.
    ///
    /// # Panics
    ///
    /// Inside a task or `block_on`, where it would block a worker.
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        may_block("blocking_send");
        match self.try_send(value) {
            Err(TrySendError::Full(value)) => block_on(self.send(value)),
            sent => sent.map_err(|error| SendError(error.into_inner())),
        }
    }

    /// For how many values there is room now that nobody waits for.
    pub fn capacity(&self) -> usize {
        self.1.free.available_permits()
    }

    /// For how many values there is room when none waits.
    pub fn max_capacity(&self) -> usize {
        self.1.all
    }
}

/// Sends into an [`unbounded_channel`]; clone it for more senders.
pub struct UnboundedSender<T>(Arc<Queue<T>>);

impl<T> UnboundedSender<T> {
    /// Sends, without waiting.
    ///
    /// # Errors
    ///
    /// When the receiver is closed or gone; the error has the value.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.push(value).map_err(SendError)
    }
}

/// Receives from a [`channel`]. Dropping it closes the channel, and drops what waits in
/// it.
pub struct Receiver<T>(Arc<Queue<T>>, Arc<Room>);

impl<T> Receiver<T> {
    fn received(&self, value: T) -> T {
        self.1.free.add_permits(1);
        value
    }

    /// Lets nobody send any more; what was sent can still be received.
    pub fn close(&mut self) {
        self.0.close();
        self.1.free.close();
    }
}

/// Receives from an [`unbounded_channel`]; otherwise as [`Receiver`].
pub struct UnboundedReceiver<T>(Arc<Queue<T>>);

impl<T> UnboundedReceiver<T> {
    fn received(&self, value: T) -> T {
        value
    }

    /// Lets nobody send any more; what was sent can still be received.
    pub fn close(&mut self) {
        self.0.close();
    }
}

/// What both kinds of senders have.
macro_rules! sender {
    ($name:ident $(, $room:tt)?) => {
        /// What does not depend on how much room there is.
        impl<T> $name<T> {
            /// Waits until the receiver is closed or gone.
            ///
            /// # Cancellation
            ///
            /// Nothing is lost.
            pub async fn closed(&self) {
                self.0.closed().await
            }

            /// Whether the receiver is closed or gone.
            pub fn is_closed(&self) -> bool {
                self.0.lock().is_closed
            }

            /// Whether both send into one channel.
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

/// What both kinds of receivers have.
macro_rules! receiver {
    ($name:ident) => {
        /// What does not depend on how much room there is.
        impl<T> $name<T> {
            /// Waits for the next value; `None` when there are no senders any more, or it
            /// was [closed](Self::close), and nothing is left.
            ///
            /// # Cancellation
            ///
            /// Cancel safe: no value is lost.
            pub async fn recv(&mut self) -> Option<T> {
                let value = self.0.recv().await;
                value.map(|value| self.received(value))
            }

            /// What [`recv`](Self::recv) does, for futures written by hand. Only the last
            /// one who polled is woken.
            pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
                let value = ready!(self.0.poll_pop(context));
                Poll::Ready(value.map(|value| self.received(value)))
            }

            /// The next value, if there is one already.
            ///
            /// # Errors
            ///
            /// When there is none now, or there never will be.
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                Ok(self.received(self.0.pop()?))
            }

            /// As [`recv`](Self::recv), on a thread that may block, such as one of
            /// [`spawn_blocking`](arc::task::spawn_blocking).
            ///
            /// # Panics
            ///
            /// Inside a task or `block_on`, where it would block a worker.
            #[track_caller]
            pub fn blocking_recv(&mut self) -> Option<T> {
                may_block("blocking_recv");
                block_on(self.recv())
            }

            /// Whether nobody can send any more.
            pub fn is_closed(&self) -> bool {
                self.0.lock().is_over()
            }

            /// How many values wait.
            pub fn len(&self) -> usize {
                self.0.lock().values.len()
            }

            /// Whether none waits.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }

        impl<T> Drop for $name<T> {
            fn drop(&mut self) {
                self.close();
                // Senders may live on: what nobody will receive shall not, whatever the drop
                // of one of them does.
                self.0.forget_receiver();
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
        assert!(receiver.0.lock().values.capacity() <= 2 * KEPT);
    }
}
