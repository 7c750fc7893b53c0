//! tokio's `Notify`. With the feature `trace` it tells who waits for it and who has notified.

use super::guard::borrow;
use super::told::{AsksOf, Told, What};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync as tokio;

/// Wakes one task, or all tasks, that wait for an event: tokio's `Notify`. With the
/// feature `trace` it also tells the timeline and the dump of itself.
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
pub struct Notify {
    told: Told,
    notify: tokio::Notify,
}

/// Waits for a notification; made by [`Notify::notified`].
pub type Notified<'a> = Waiter<&'a Notify, tokio::futures::Notified<'a>>;

/// Waits for a notification, and owns its share of the [`Notify`]; made by
/// [`Notify::notified_owned`].
pub type OwnedNotified = Waiter<Arc<Notify>, tokio::futures::Notified<'static>>;

impl Notify {
    /// Creates one without a stored notification.
    #[track_caller]
    pub fn new() -> Self {
        Self::const_new()
    }

    /// Does the same as [`new`](Self::new), for a static.
    #[track_caller]
    pub const fn const_new() -> Self {
        let notify = tokio::Notify::const_new();
        Self { told: Told::new(What::Notify), notify }
    }

    /// Returns a future that waits for a notification.
    ///
    /// # Cancellation
    ///
    /// A notification that it has got and not returned goes to the next in line. The place in line
    /// is lost.
    pub fn notified(&self) -> Notified<'_> {
        Waiter { asks: AsksOf::new(), notified: self.notify.notified(), notify: self }
    }

    /// Returns a future that waits for a notification, and owns its share of the `Notify`.
    ///
    /// # Cancellation
    ///
    /// As [`notified`](Self::notified).
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        let notified = borrow!(&self).notify.notified();
        Waiter { asks: AsksOf::new(), notified, notify: self }
    }

    /// Wakes the task that has waited longest, or stores the notification for the next one.
    pub fn notify_one(&self) {
        self.told.provides();
        self.notify.notify_one();
    }

    /// Wakes the task that has begun to wait last, or stores the notification for the next one.
    pub fn notify_last(&self) {
        self.told.provides();
        self.notify.notify_last();
    }

    /// Wakes all tasks that wait now. Stores nothing for later ones.
    pub fn notify_waiters(&self) {
        self.told.provides();
        self.notify.notify_waiters();
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notify.fmt(formatter)
    }
}

pin_project! {
    /// A future of tokio's that waits for a notification, and what it tells that to.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Waiter<N, F> {
        asks: AsksOf,
        #[pin]
        notified: F,
        // Dropped after the future, which borrows from it.
        notify: N,
    }
}

impl<N: Deref<Target = Notify>, F: Future<Output = ()>> Future for Waiter<N, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let polled = this.notified.poll(context);
        if polled.is_ready() {
            this.notify.told.comes();
        }
        this.asks.tell(&this.notify.told, polled.is_pending());
        polled
    }
}

/// Defines the other method of both futures.
macro_rules! enable {
    ($($future:ty),*) => {$(
        impl $future {
            /// Gets in line without waiting. Returns whether it is notified already: then the next
            /// poll is ready.
            pub fn enable(self: Pin<&mut Self>) -> bool {
                let this = self.project();
                let is_notified = this.notified.enable();
                if is_notified {
                    this.notify.told.comes();
                }
                is_notified
            }
        }
    )*};
}

enable!(Notified<'_>, OwnedNotified);
