//! Wakes one task, or all, that wait for something to happen.

use crate::wake::wake_all;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Wakes one task, or all, that wait for something to happen.
///
/// [`notify_one`](Self::notify_one) wakes whoever has waited longest; when nobody waits,
/// the next one does not wait at all. That holds for one: notifications are not
/// counted. (Names and meaning are tokio's.)
///
/// # Examples
///
/// ```
/// use arc_util::sync::Notify;
/// use std::sync::Arc;
/// # #[arc::main]
/// # async fn main() {
/// let notify = Arc::new(Notify::new());
/// let waiter = notify.clone();
/// let task = arc::spawn(async move { waiter.notified().await });
/// notify.notify_one();
/// task.await.unwrap();
/// # }
/// ```
#[derive(Default)]
pub struct Notify {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `notify_one` found nobody.
    permit: bool,
    /// How often `notify_waiters` was called.
    rounds: u64,
    /// The number of the next to wait: in their order they came.
    next: u64,
    /// Those of `enable` have no waker yet.
    waiting: BTreeMap<u64, Option<Waker>>,
    /// Woken by `notify_one`, and not yet polled.
    notified: BTreeSet<u64>,
}

impl Notify {
    /// Nobody waits, and nothing has happened yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a notification. [`notify_waiters`](Self::notify_waiters) counts from
    /// now on, [`notify_one`](Self::notify_one) from when the future is first polled.
    ///
    /// # Cancellation
    ///
    /// A notification that this one was given and has not seen goes to the next. The
    /// place in the line is lost.
    pub fn notified(&self) -> Notified<'_> {
        let round = self.lock().rounds;
        Notified { notify: self, round, place: Place::New }
    }

    /// Wakes the one that has waited longest, or lets the next one through.
    pub fn notify_one(&self) {
        let mut state = self.lock();
        let Some((number, waker)) = state.waiting.pop_first() else {
            state.permit = true;
            return;
        };
        state.notified.insert(number);
        drop(state);
        wake_all(waker);
    }

    /// Wakes all that wait now, and no others.
    pub fn notify_waiters(&self) {
        let mut state = self.lock();
        state.rounds += 1;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        wake_all(waiting.into_values().flatten());
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Notify({} wait)", self.lock().waiting.len())
    }
}

/// Waits for a notification; from [`Notify::notified`].
#[must_use = "futures do nothing unless awaited"]
pub struct Notified<'a> {
    notify: &'a Notify,
    /// The round that it began in: in a later one it has been notified.
    round: u64,
    place: Place,
}

/// Where in the line it is.
#[derive(Clone, Copy)]
enum Place {
    New,
    Waiting(u64),
    /// It has been notified: whoever polls it again is told the same.
    Done,
}

impl Notified<'_> {
    /// Gets in line without waiting; true if there is a notification for it already, of
    /// which the next poll tells as well. Who waits in line goes on to wait.
    pub fn enable(mut self: Pin<&mut Self>) -> bool {
        self.is_notified(None)
    }

    /// Whether there is a notification for it; otherwise it is in line, and a waker that
    /// is given takes the place of the one before.
    fn is_notified(&mut self, waker: Option<Waker>) -> bool {
        let mut state = self.notify.lock();
        let is_round_over = self.round != state.rounds;
        let is_notified = match self.place {
            Place::New => is_round_over || std::mem::take(&mut state.permit),
            Place::Waiting(number) => state.notified.remove(&number) || is_round_over,
            Place::Done => true,
        };
        if is_notified {
            self.place = Place::Done;
            return true;
        }
        let number = if let Place::Waiting(number) = self.place { number } else { state.next };
        self.place = Place::Waiting(number);
        state.next = state.next.max(number + 1);
        let kept = state.waiting.entry(number).or_default();
        let before = waker.and_then(|waker| kept.replace(waker));
        drop(state);
        drop(before);
        false
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match self.is_notified(Some(context.waker().clone())) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let Place::Waiting(number) = self.place else {
            return;
        };
        let mut state = self.notify.lock();
        let waker = state.waiting.remove(&number);
        let is_notified = state.notified.remove(&number);
        drop(state);
        if is_notified {
            self.notify.notify_one();
        }
        drop(waker);
    }
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Notified")
    }
}
