//! Tells many that they are to end.

use super::Notify;
use slab::Slab;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;

/// Tells all its clones, and the tokens made from it, that they are to end.
///
/// A token can be cancelled once, by any clone. Child tokens are cancelled with their
/// parent, not the other way round. (Names and meaning are tokio-util's.)
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
    /// Held while tokens of its family are cancelled or get children, so that no one else
    /// finds a token cancelled and a child of it not yet.
    family: Arc<Mutex<()>>,
    /// Release when it is set, after which the event is notified; Acquire when read.
    is_cancelled: AtomicBool,
    cancelled: Notify,
    /// None: cancelled, so that there are no more children.
    children: Mutex<Option<Slab<Weak<Node>>>>,
    /// The parent, and the key that it knows this by.
    parent: Option<(Arc<Node>, usize)>,
}

impl Node {
    fn new(parent: Option<(Arc<Node>, usize)>) -> Self {
        let family = parent.as_ref().map(|(parent, _)| parent.family.clone());
        Self {
            family: family.unwrap_or_default(),
            is_cancelled: AtomicBool::new(false),
            cancelled: Notify::new(),
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
}

/// Forgets itself with its parent. A long line of parents that end with it ends in a
/// loop: by itself it would need as much stack.
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
    /// A token of its own. It needs no runtime.
    pub fn new() -> Self {
        let node = Arc::new(Node::new(None));
        Self { node }
    }

    /// A token that is cancelled with this one, and can be cancelled without it.
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

    /// Cancels it, and all child tokens; when it returns, or anybody hears of it, all of
    /// them are cancelled. Nothing happens if it was before.
    pub fn cancel(&self) {
        let mut nodes = vec![self.node.clone()];
        let family = self.node.family();
        let mut next = 0;
        while let Some(node) = nodes.get(next).cloned() {
            let children = node.children().take().into_iter().flatten();
            nodes.extend(children.filter_map(|(_, child)| child.upgrade()));
            next += 1;
        }
        // Children before their parents.
        for node in nodes.iter().rev() {
            node.is_cancelled.store(true, Ordering::Release);
        }
        drop(family);
        for node in nodes.iter().rev() {
            node.cancelled.notify_waiters();
        }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.node.is_cancelled.load(Ordering::Acquire)
    }

    /// Waits until it is cancelled.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn cancelled(&self) {
        let cancelled = self.node.cancelled.notified();
        if !self.is_cancelled() {
            cancelled.await;
        }
    }

    /// As [`cancelled`](Self::cancelled), by value.
    ///
    /// # Cancellation
    ///
    /// Cancel safe.
    pub async fn cancelled_owned(self) {
        self.cancelled().await;
    }

    /// Runs a future until it ends, or the token is cancelled: then None. A token that
    /// is cancelled already does not let it begin; after that, one that is ready wins.
    ///
    /// # Cancellation
    ///
    /// The future is dropped.
    pub async fn run_until_cancelled<F: Future>(&self, future: F) -> Option<F::Output> {
        if self.is_cancelled() {
            return None;
        }
        let (mut future, mut cancelled) = (pin!(future), pin!(self.cancelled()));
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => cancelled.as_mut().poll(context).map(|()| None),
        })
        .await
    }

    /// As [`run_until_cancelled`](Self::run_until_cancelled), by value.
    ///
    /// # Cancellation
    ///
    /// The future is dropped.
    pub async fn run_until_cancelled_owned<F: Future>(self, future: F) -> Option<F::Output> {
        self.run_until_cancelled(future).await
    }

    /// Cancels the token when the guard is dropped.
    pub fn drop_guard(self) -> DropGuard {
        DropGuard { token: Some(self) }
    }
}

impl Default for CancellationToken {
    fn default() -> Self {
        Self::new()
    }
}

/// Two are equal when they are clones of one token.
impl PartialEq for CancellationToken {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.node, &other.node)
    }
}

impl Eq for CancellationToken {}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cancelled = self.is_cancelled();
        write!(formatter, "CancellationToken(cancelled: {cancelled})")
    }
}

/// Cancels its token when it is dropped; from [`CancellationToken::drop_guard`].
#[derive(Debug)]
#[must_use = "dropping it cancels the token"]
pub struct DropGuard {
    /// None only while it is dropped.
    token: Option<CancellationToken>,
}

impl DropGuard {
    /// The token, which is not cancelled.
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
