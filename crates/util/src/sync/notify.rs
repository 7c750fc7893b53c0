//! Events that one task, or all tasks, wait for.

use super::told::{Told, What};
use crate::wake::wake_all;
use pin_project_lite::pin_project;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Wakes one task, or all tasks, that wait for an event.
///
/// [`notify_one`](Self::notify_one) wakes the task that has waited longest. If no task waits,
/// the notification is stored, and the next task does not wait. At most one notification is
/// stored: they are not counted. Names and meaning are tokio's.
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
pub struct Notify {
    pub(super) told: Told,
    state: Mutex<State>,
}

struct State {
    /// A stored notification: `notify_one` was called while no task waited.
    permit: bool,
    /// How many times `notify_waiters` was called.
    rounds: u64,
    /// The number of the next future that gets in line. Numbers grow, so they give the order.
    next: u64,
    /// The futures in line. A future that called `enable` and was not polled has no waker.
    waiting: BTreeMap<u64, Option<Waker>>,
    /// The futures that `notify_one` has woken, and that have not been polled since.
    notified: BTreeSet<u64>,
    /// The same for `notify_last`.
    notified_last: BTreeSet<u64>,
}

impl Default for Notify {
    fn default() -> Self {
        Self::new()
    }
}

impl Notify {
    /// Creates a `Notify` without a stored notification.
    #[track_caller]
    pub fn new() -> Self {
        Self::const_new()
    }

    /// Does the same as [`new`](Self::new), for a static.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::sync::Notify;
    /// static RELOAD: Notify = Notify::const_new();
    /// RELOAD.notify_waiters();
    /// ```
    #[track_caller]
    pub const fn const_new() -> Self {
        Self::told(Told::new(What::Notify))
    }

    /// Creates one of which something else is told: a new value in a `watch` channel, and so on.
    pub(crate) const fn told(told: Told) -> Self {
        Self {
            told,
            state: Mutex::new(State {
                permit: false,
                rounds: 0,
                next: 0,
                waiting: BTreeMap::new(),
                notified: BTreeSet::new(),
                notified_last: BTreeSet::new(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a future that waits for a notification.
    ///
    /// The future receives [`notify_waiters`](Self::notify_waiters) from now on, and
    /// [`notify_one`](Self::notify_one) from when it is first polled.
    ///
    /// # Cancellation
    ///
    /// If the future was notified by `notify_one` and is dropped before it is polled, the next
    /// task in line is notified instead. A future that is dropped loses its place in line.
    pub fn notified(&self) -> Notified<'_> {
        Notified { waiter: Waiter::new(self), pinned: PhantomPinned }
    }

    /// Returns a future that waits for a notification, and owns its share of the `Notify`. See
    /// [`notified`](Self::notified).
    ///
    /// # Cancellation
    ///
    /// As `notified`.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::sync::Notify;
    /// use std::sync::Arc;
    /// # #[arc::main]
    /// # async fn main() {
    /// let notify = Arc::new(Notify::new());
    /// let task = arc::spawn(notify.clone().notified_owned());
    /// notify.notify_one();
    /// task.await.unwrap();
    /// # }
    /// ```
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        OwnedNotified { waiter: Waiter::new(self), pinned: PhantomPinned }
    }

    /// Wakes the task that has waited longest. If no task waits, stores the notification for
    /// the next one.
    pub fn notify_one(&self) {
        let mut state = self.lock();
        self.told.provides();
        let Some((number, waker)) = state.waiting.pop_first() else {
            state.permit = true;
            return;
        };

        state.notified.insert(number);
        drop(state);
        wake_all(waker);
    }

    /// Wakes the task that has begun to wait last. If no task waits, stores the notification for
    /// the next one, as [`notify_one`](Self::notify_one) does.
    ///
    /// If the future that was notified is dropped before it is polled, the one that is last in line
    /// then is notified instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::sync::Notify;
    /// use futures_util::FutureExt;
    /// use std::pin::pin;
    ///
    /// let notify = Notify::new();
    /// let (mut first, mut last) = (pin!(notify.notified()), pin!(notify.notified()));
    /// first.as_mut().enable();
    /// last.as_mut().enable();
    /// notify.notify_last();
    /// assert!(last.now_or_never().is_some());
    /// assert!(first.now_or_never().is_none());
    /// ```
    pub fn notify_last(&self) {
        let mut state = self.lock();
        self.told.provides();
        let Some((number, waker)) = state.waiting.pop_last() else {
            state.permit = true;
            return;
        };

        state.notified_last.insert(number);
        drop(state);
        wake_all(waker);
    }

    /// Wakes all tasks that wait now. Stores nothing for later ones.
    pub fn notify_waiters(&self) {
        let mut state = self.lock();
        state.rounds += 1;
        self.told.provides();
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

pin_project! {
    /// Waits for a notification; made by [`Notify::notified`]. As tokio's, it must be pinned.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Notified<'a> {
        waiter: Waiter<&'a Notify>,
        #[pin]
        pinned: PhantomPinned,
    }
}

pin_project! {
    /// Waits for a notification, and owns its share of the [`Notify`]; made by
    /// [`Notify::notified_owned`]. As tokio's, it must be pinned.
    #[must_use = "futures do nothing unless awaited"]
    pub struct OwnedNotified {
        waiter: Waiter<Arc<Notify>>,
        #[pin]
        pinned: PhantomPinned,
    }
}

/// What all of these futures are: they differ in how they hold the `Notify`.
pub(super) struct Waiter<N: Deref<Target = Notify>> {
    notify: N,
    /// The value of `rounds` when the future was made. Once `rounds` differs,
    /// `notify_waiters` was called, and the future is notified.
    round: u64,
    place: Place,
}

/// The place of a future in the line.
#[derive(Clone, Copy)]
enum Place {
    /// Not in line yet.
    New,
    /// In line, with this number.
    Waiting(u64),
    /// Notified, and no longer in line. Polls are ready from now on.
    Done,
}

impl Notified<'_> {
    /// Gets in line without waiting. Returns true if the future is notified already; then the
    /// next poll is ready, too.
    ///
    /// A future that waits in line already keeps its place.
    pub fn enable(self: Pin<&mut Self>) -> bool {
        self.project().waiter.is_notified(None)
    }
}

impl OwnedNotified {
    /// Gets in line without waiting. See [`Notified::enable`].
    pub fn enable(self: Pin<&mut Self>) -> bool {
        self.project().waiter.is_notified(None)
    }
}

impl<N: Deref<Target = Notify>> Waiter<N> {
    pub(super) fn new(notify: N) -> Self {
        let round = notify.lock().rounds;
        Self { notify, round, place: Place::New }
    }

    /// Returns the way in which it holds the `Notify`.
    pub(super) fn holder(&self) -> &N {
        &self.notify
    }

    /// Returns whether the future is notified. If not, puts it in line, and stores `waker`
    /// instead of the waker before, if one is given.
    fn is_notified(&mut self, waker: Option<Waker>) -> bool {
        let mut state = self.notify.lock();
        let is_round_over = self.round != state.rounds;
        let is_notified = match self.place {
            Place::New => is_round_over || std::mem::take(&mut state.permit),
            Place::Waiting(number) => {
                let is_notified = state.notified.remove(&number);
                state.notified_last.remove(&number) || is_notified || is_round_over
            }
            Place::Done => true,
        };

        if is_notified {
            self.notify.told.comes();
            self.place = Place::Done;
            return true;
        }

        let number = if let Place::Waiting(number) = self.place { number } else { state.next };
        self.place = Place::Waiting(number);
        state.next = state.next.max(number + 1);
        let kept = state.waiting.entry(number).or_default();
        let before = waker.and_then(|waker| kept.replace(waker));

        // A waker is foreign code: drop the old one after the lock is released.
        drop(state);
        drop(before);
        false
    }

    pub(super) fn poll_notified(&mut self, context: &Context<'_>) -> Poll<()> {
        match self.is_notified(Some(context.waker().clone())) {
            true => Poll::Ready(()),
            false => {
                self.notify.told.waits();
                Poll::Pending
            }
        }
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.project().waiter.poll_notified(context)
    }
}

impl Future for OwnedNotified {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.project().waiter.poll_notified(context)
    }
}

impl<N: Deref<Target = Notify>> Drop for Waiter<N> {
    fn drop(&mut self) {
        let Place::Waiting(number) = self.place else {
            return;
        };
        let mut state = self.notify.lock();
        let waker = state.waiting.remove(&number);
        let is_notified = state.notified.remove(&number);
        let is_notified_last = state.notified_last.remove(&number);
        drop(state);

        // Pass the notification on: this future has not seen it.
        if is_notified {
            self.notify.notify_one();
        }
        if is_notified_last {
            self.notify.notify_last();
        }
        drop(waker);
    }
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Notified")
    }
}

impl fmt::Debug for OwnedNotified {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OwnedNotified")
    }
}
