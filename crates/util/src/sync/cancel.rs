//! A signal to many tasks that they shall end.

use super::notify::{Notify, Waiter};
use super::told::{Told, What};
use pin_project_lite::pin_project;
use slab::Slab;
use std::fmt;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::marker::PhantomPinned;
use std::mem::replace;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

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
    cancelled: Notify,
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
            cancelled: Notify::told(Told::new(What::Token)),
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
        for node in nodes.iter().rev() {
            node.cancelled.notify_waiters();
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
        WaitForCancellationFuture {
            cancelled: Waiter::new(Borrowed(&self.node)),
            pinned: PhantomPinned,
        }
    }

    /// Does the same as [`cancelled`](Self::cancelled), and takes the token by value.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub fn cancelled_owned(self) -> WaitForCancellationFutureOwned {
        WaitForCancellationFutureOwned {
            cancelled: Waiter::new(Owned(self.node)),
            pinned: PhantomPinned,
        }
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
        RunUntilCancelledFuture { cancelled: self.cancelled(), future, is_running: false }
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
        RunUntilCancelledFutureOwned {
            cancelled: self.cancelled_owned(),
            future,
            is_running: false,
        }
    }

    /// Returns a guard that cancels the token when it is dropped.
    pub fn drop_guard(self) -> DropGuard {
        DropGuard { token: Some(self) }
    }

    /// Returns a guard that cancels the token when it is dropped, and borrows the token.
    pub fn drop_guard_ref(&self) -> DropGuardRef<'_> {
        DropGuardRef { token: Some(self) }
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
#[derive(Debug)]
#[must_use = "dropping it cancels the token"]
pub struct DropGuard {
    /// `None` after `disarm`.
    token: Option<CancellationToken>,
}

impl DropGuard {
    /// Returns the token without cancelling it.
    pub fn disarm(mut self) -> CancellationToken {
        let token = self.token.take();
        token.unwrap_or_else(|| unreachable!("taken out only by value"))
    }
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            token.cancel();
        }
    }
}

/// Cancels its token when it is dropped; made by [`CancellationToken::drop_guard_ref`].
#[derive(Debug)]
#[must_use = "dropping it cancels the token"]
pub struct DropGuardRef<'a> {
    /// `None` after `disarm`.
    token: Option<&'a CancellationToken>,
}

impl<'a> DropGuardRef<'a> {
    /// Returns the token without cancelling it.
    pub fn disarm(mut self) -> &'a CancellationToken {
        let token = self.token.take();
        token.unwrap_or_else(|| unreachable!("taken out only by value"))
    }
}

impl Drop for DropGuardRef<'_> {
    fn drop(&mut self) {
        if let Some(token) = self.token {
            token.cancel();
        }
    }
}

/// Holds the node of a token for a future that borrows the token.
struct Borrowed<'a>(&'a Node);

impl Deref for Borrowed<'_> {
    type Target = Notify;

    fn deref(&self) -> &Notify {
        &self.0.cancelled
    }
}

/// Holds the node of a token for a future that owns the token.
struct Owned(Arc<Node>);

impl Deref for Owned {
    type Target = Notify;

    fn deref(&self) -> &Notify {
        &self.0.cancelled
    }
}

pin_project! {
    /// Waits until a token is cancelled; made by [`CancellationToken::cancelled`]. As tokio-util's,
    /// it must be pinned.
    #[must_use = "futures do nothing unless awaited"]
    pub struct WaitForCancellationFuture<'a> {
        // Made before the token is looked at, so that a `cancel` after the look is not missed.
        cancelled: Waiter<Borrowed<'a>>,
        #[pin]
        pinned: PhantomPinned,
    }
}

impl Future for WaitForCancellationFuture<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let cancelled = self.project().cancelled;
        match cancelled.holder().0.is_cancelled() {
            true => Poll::Ready(()),
            false => cancelled.poll_notified(context),
        }
    }
}

impl fmt::Debug for WaitForCancellationFuture<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WaitForCancellationFuture")
    }
}

pin_project! {
    /// Waits until a token is cancelled, and owns the token; made by
    /// [`CancellationToken::cancelled_owned`]. As tokio-util's, it must be pinned.
    #[must_use = "futures do nothing unless awaited"]
    pub struct WaitForCancellationFutureOwned {
        // As in `WaitForCancellationFuture`.
        cancelled: Waiter<Owned>,
        #[pin]
        pinned: PhantomPinned,
    }
}

impl Future for WaitForCancellationFutureOwned {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let cancelled = self.project().cancelled;
        match cancelled.holder().0.is_cancelled() {
            true => Poll::Ready(()),
            false => cancelled.poll_notified(context),
        }
    }
}

impl fmt::Debug for WaitForCancellationFutureOwned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WaitForCancellationFutureOwned")
    }
}

pin_project! {
    /// Runs a future until it ends or a token is cancelled; made by
    /// [`CancellationToken::run_until_cancelled`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct RunUntilCancelledFuture<'a, F> {
        #[pin]
        cancelled: WaitForCancellationFuture<'a>,
        #[pin]
        future: F,
        is_running: bool,
    }
}

impl<F: Future> Future for RunUntilCancelledFuture<'_, F> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let is_cancelled = this.cancelled.cancelled.holder().0.is_cancelled();
        let begins = !replace(this.is_running, true);
        poll_unless(begins && is_cancelled, this.future, this.cancelled, context)
    }
}

pin_project! {
    /// Runs a future until it ends or a token is cancelled, and owns the token; made by
    /// [`CancellationToken::run_until_cancelled_owned`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct RunUntilCancelledFutureOwned<F> {
        #[pin]
        cancelled: WaitForCancellationFutureOwned,
        #[pin]
        future: F,
        is_running: bool,
    }
}

impl<F: Future> Future for RunUntilCancelledFutureOwned<F> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let is_cancelled = this.cancelled.cancelled.holder().0.is_cancelled();
        let begins = !replace(this.is_running, true);
        poll_unless(begins && is_cancelled, this.future, this.cancelled, context)
    }
}

/// Polls a future, and if it is pending, whether it was cancelled. A future that is cancelled
/// before it begins is not polled.
fn poll_unless<F: Future>(
    is_cancelled: bool,
    future: Pin<&mut F>,
    cancelled: Pin<&mut impl Future<Output = ()>>,
    context: &mut Context<'_>,
) -> Poll<Option<F::Output>> {
    if is_cancelled {
        return Poll::Ready(None);
    }
    match future.poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => cancelled.poll(context).map(|()| None),
    }
}
