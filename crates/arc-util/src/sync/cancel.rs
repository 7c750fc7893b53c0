//! A signal to many tasks that they shall end.

use super::told::{AsksOf, Told, What, begins_choice, ends_choice};
use pin_project_lite::pin_project;
use slab::Slab;
use std::fmt;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::mem::replace;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use tokio::sync::Notify;
use tokio::sync::futures::{Notified, OwnedNotified};

/// Signals to all holders of its clones, and of tokens made from it, that they shall end.
///
/// A token can be cancelled once, by any clone. Cancelling a token cancels its child tokens;
/// cancelling a child does not cancel its parent. Names and meaning are tokio-util's.
///
/// # Examples
///
/// ```
/// use arc_util::sync::CancellationToken;
/// # #[arc::main]
/// # async fn main() {
/// let token = CancellationToken::new();
/// let child = token.child_token();
/// let task = arc::spawn(async move {
///     child.run_until_cancelled(std::future::pending::<()>()).await
/// });
/// token.cancel();
/// assert_eq!(task.await.unwrap(), None);
/// # }
/// ```
#[derive(Clone)]
pub struct CancellationToken {
    node: Arc<Node>,
}

struct Node {
    /// One lock for a tree of tokens, held while one of them is cancelled or gets a child.
    /// No other thread can then find a token cancelled whose child is not.
    family: Arc<Mutex<()>>,
    /// Written with Release, before `cancelled` is notified; read with Acquire.
    is_cancelled: AtomicBool,
    cancelled: Arc<Notify>,
    told: Told,
    /// `None` once the token is cancelled: it gets no more children then.
    children: Mutex<Option<Slab<Weak<Node>>>>,
    /// The parent, and the key of this node in the parent's `children`.
    parent: Option<(Arc<Node>, usize)>,
}

impl Node {
    #[track_caller]
    fn new(parent: Option<(Arc<Node>, usize)>) -> Self {
        let family = parent.as_ref().map(|(parent, _)| parent.family.clone());
        Self {
            family: family.unwrap_or_default(),
            is_cancelled: AtomicBool::new(false),
            cancelled: Arc::default(),
            told: Told::new(What::Token),
            children: Mutex::new(Some(Slab::new())),
            parent,
        }
    }

    fn children(&self) -> MutexGuard<'_, Option<Slab<Weak<Node>>>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn family(&self) -> MutexGuard<'_, ()> {
        self.family.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }
}

/// Removes the node from its parent's children.
///
/// If this node held the last reference to its parent, the loop does the same for the parent,
/// and so on. Recursive drops of a long line of ancestors would overflow the stack.
impl Drop for Node {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some((parent, key)) = next {
            if let Some(children) = &mut *parent.children() {
                children.remove(key);
            }
            next = Arc::into_inner(parent).and_then(|mut parent| parent.parent.take());
        }
    }
}

impl CancellationToken {
    /// Creates a token without a parent. It needs no runtime.
    #[track_caller]
    pub fn new() -> Self {
        let node = Arc::new(Node::new(None));
        Self { node }
    }

    /// Returns a child token: it is cancelled with this token, and can be cancelled without it.
    #[track_caller]
    pub fn child_token(&self) -> Self {
        let _family = self.node.family();
        let mut children = self.node.children();
        let Some(entries) = &mut *children else {
            drop(children);
            let child = Self::new();
            child.cancel();
            return child;
        };

        let entry = entries.vacant_entry();
        let parent = (self.node.clone(), entry.key());
        let node = Arc::new(Node::new(Some(parent)));
        entry.insert(Arc::downgrade(&node));
        drop(children);
        Self { node }
    }

    /// Cancels this token and all its child tokens, their children included.
    ///
    /// No one can observe that the token is cancelled before all of its child tokens are. All
    /// of them are cancelled before the first waiter is woken. Does nothing if the token is
    /// cancelled already.
    pub fn cancel(&self) {
        let mut nodes = vec![self.node.clone()];
        let family = self.node.family();

        // A list and not a recursion: a long line of tokens would overflow the stack.
        let mut next = 0;
        while let Some(node) = nodes.get(next).cloned() {
            let children = node.children().take().into_iter().flatten();
            nodes.extend(children.filter_map(|(_, child)| child.upgrade()));
            next += 1;
        }

        // Children before their parents: `is_cancelled` does not take the lock.
        for node in nodes.iter().rev() {
            node.is_cancelled.store(true, Ordering::Release);
        }

        // Wakers are foreign code: they are called without the lock.
        drop(family);
        let mut panic = None;
        for node in nodes.iter().rev() {
            node.told.provides();
            // A waker that panics must not keep others from being woken.
            let notify = AssertUnwindSafe(|| node.cancelled.notify_waiters());
            panic = panic.or(catch_unwind(notify).err());
        }
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    /// Returns whether the token is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.node.is_cancelled()
    }

    /// Waits until the token is cancelled.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        Waits { asks: AsksOf::new(), token: self, cancelled: self.node.cancelled.notified() }
    }

    /// Does the same as [`cancelled`](Self::cancelled), and takes the token by value.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub fn cancelled_owned(self) -> WaitForCancellationFutureOwned {
        let cancelled = self.node.cancelled.clone().notified_owned();
        Waits { asks: AsksOf::new(), token: Owned(self), cancelled }
    }

    /// Runs a future until it ends or the token is cancelled. Returns `None` when the token was
    /// cancelled first.
    ///
    /// If the token is cancelled already, the future is not polled at all. After that, the
    /// future is polled before the token is looked at: if it is ready, its output is returned.
    ///
    /// # Cancellation
    ///
    /// Dropping this future drops the inner future.
    pub fn run_until_cancelled<F: Future>(&self, future: F) -> RunUntilCancelledFuture<'_, F> {
        Runs { cancelled: self.cancelled(), future, is_running: false }
    }

    /// Does the same as [`run_until_cancelled`](Self::run_until_cancelled), and takes the token
    /// by value.
    ///
    /// # Cancellation
    ///
    /// Dropping this future drops the inner future.
    pub fn run_until_cancelled_owned<F: Future>(
        self,
        future: F,
    ) -> RunUntilCancelledFutureOwned<F> {
        Runs { cancelled: self.cancelled_owned(), future, is_running: false }
    }

    /// Returns a guard that cancels the token when it is dropped.
    pub fn drop_guard(self) -> DropGuard {
        Guard { token: Some(Owned(self)) }
    }

    /// Returns a guard that cancels the token when it is dropped, and borrows the token.
    pub fn drop_guard_ref(&self) -> DropGuardRef<'_> {
        Guard { token: Some(self) }
    }
}

impl Default for CancellationToken {
    fn default() -> Self {
        Self::new()
    }
}

/// Two tokens are equal when they are clones of one token.
impl PartialEq for CancellationToken {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node)
    }
}

impl Eq for CancellationToken {}

/// Tokens that are equal have the same hash.
impl Hash for CancellationToken {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        Arc::as_ptr(&self.node).hash(hasher);
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cancelled = self.is_cancelled();
        write!(formatter, "CancellationToken(cancelled: {cancelled})")
    }
}

/// Cancels its token when it is dropped; made by [`CancellationToken::drop_guard`].
pub type DropGuard = Guard<Owned>;

/// Cancels its token when it is dropped; made by [`CancellationToken::drop_guard_ref`].
pub type DropGuardRef<'a> = Guard<&'a CancellationToken>;

/// Waits until a token is cancelled; made by [`CancellationToken::cancelled`]. As tokio-util's, it
/// must be pinned.
pub type WaitForCancellationFuture<'a> = Waits<&'a CancellationToken, Notified<'a>>;

/// Waits until a token is cancelled, and owns the token; made by
/// [`CancellationToken::cancelled_owned`]. As tokio-util's, it must be pinned.
pub type WaitForCancellationFutureOwned = Waits<Owned, OwnedNotified>;

/// Runs a future until it ends or a token is cancelled; made by
/// [`CancellationToken::run_until_cancelled`].
pub type RunUntilCancelledFuture<'a, F> = Runs<&'a CancellationToken, Notified<'a>, F>;

/// Runs a future until it ends or a token is cancelled, and owns the token; made by
/// [`CancellationToken::run_until_cancelled_owned`].
pub type RunUntilCancelledFutureOwned<F> = Runs<Owned, OwnedNotified, F>;

/// A token that a guard or a future owns, where another one borrows it.
#[derive(Debug)]
pub struct Owned(CancellationToken);

impl Deref for Owned {
    type Target = CancellationToken;

    fn deref(&self) -> &CancellationToken {
        &self.0
    }
}

/// Cancels a token when it is dropped.
#[derive(Debug)]
#[must_use = "dropping it cancels the token"]
pub struct Guard<T: Deref<Target = CancellationToken>> {
    /// `None` after `disarm`.
    token: Option<T>,
}

impl DropGuard {
    /// Returns the token without cancelling it.
    pub fn disarm(mut self) -> CancellationToken {
        self.token.take().expect("taken out only by value").0
    }
}

impl<'a> DropGuardRef<'a> {
    /// Returns the token without cancelling it.
    pub fn disarm(mut self) -> &'a CancellationToken {
        self.token.take().expect("taken out only by value")
    }
}

impl<T: Deref<Target = CancellationToken>> Drop for Guard<T> {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            token.cancel();
        }
    }
}

pin_project! {
    /// Waits until a token is cancelled.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Waits<T, N> {
        asks: AsksOf,
        token: T,
        // Made before the token is looked at, so that a `cancel` after the look is not missed.
        #[pin]
        cancelled: N,
    }
}

impl<T: Deref<Target = CancellationToken>, N: Future<Output = ()>> Future for Waits<T, N> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if this.token.is_cancelled() {
            this.asks.tell(&this.token.node.told, false);
            return Poll::Ready(());
        }
        let cancelled = this.cancelled.poll(context);
        this.asks.tell(&this.token.node.told, cancelled.is_pending());
        cancelled
    }
}

impl<T, N> fmt::Debug for Waits<T, N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WaitForCancellationFuture")
    }
}

pin_project! {
    /// Runs a future until it ends or a token is cancelled.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Runs<T, N, F> {
        #[pin]
        cancelled: Waits<T, N>,
        #[pin]
        future: F,
        is_running: bool,
    }
}

impl<T, N, F> Future for Runs<T, N, F>
where
    T: Deref<Target = CancellationToken>,
    N: Future<Output = ()>,
    F: Future,
{
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let begins = !replace(this.is_running, true);
        if begins && this.cancelled.token.is_cancelled() {
            return Poll::Ready(None);
        }
        begins_choice();
        let polled = match this.future.poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => this.cancelled.poll(context).map(|()| None),
        };
        ends_choice(polled.is_ready());
        polled
    }
}
