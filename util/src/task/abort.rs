//! A join handle that several may abort and one awaits.

use arc::task::{Id, JoinError, JoinHandle};
use futures_util::task::AtomicWaker;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// Ends a task of a [`JoinSet`](super::JoinSet), from anywhere.
///
/// Dropping it does nothing to the task.
///
/// # Examples
///
/// ```
/// use arc_util::task::JoinSet;
/// # #[arc::main]
/// # async fn main() {
/// let mut set = JoinSet::new();
/// let abort = set.spawn(std::future::pending::<()>());
/// abort.abort();
/// assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
/// assert!(abort.is_finished());
/// # }
/// ```
#[derive(Clone)]
pub struct AbortHandle {
    task: Arc<dyn Abort>,
    id: Id,
}

impl AbortHandle {
    /// Ends the task at its next await point, as
    /// [`JoinHandle::abort`](arc::task::JoinHandle::abort) does. A task that has
    /// finished stays as it is.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task has ended: finished, panicked, or aborted and dropped.
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// The task's id.
    pub fn id(&self) -> Id {
        self.id
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "AbortHandle(task {})", self.id)
    }
}

/// What an [`AbortHandle`] does to a task of any output.
trait Abort: Send + Sync {
    fn abort(&self);
    fn is_finished(&self) -> bool;
}

/// The one handle of a task, which is awaited through `&mut` and aborted by others.
///
/// ```text
///          polled, or aborted: taken out           polled: joined
///   here ───────────────────────────────► lent ─────────────────► gone
///     ▲                                    │
///     └────────────── put back ────────────┘
/// ```
///
/// It is taken out because both wake, and nothing is woken under a lock. Who aborts
/// meanwhile leaves word for whoever has it; who polls meanwhile is woken when it is
/// back.
enum Handle<T> {
    Here(JoinHandle<T>),
    Lent { aborted: bool },
    Gone,
}

struct Shared<T> {
    handle: Mutex<Handle<T>>,
    /// Who found the handle lent.
    joiner: AtomicWaker,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Handle<T>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle, if it is here. If not, `aborted` is left as word for whoever has it.
    fn take(&self, aborted: bool) -> Option<JoinHandle<T>> {
        let mut place = self.lock();
        match std::mem::replace(&mut *place, Handle::Lent { aborted: false }) {
            Handle::Here(handle) => return Some(handle),
            Handle::Lent { aborted: before } => {
                let aborted = aborted || before;
                *place = Handle::Lent { aborted };
            }
            Handle::Gone => *place = Handle::Gone,
        }
        None
    }

    fn put_back(&self, handle: JoinHandle<T>) {
        loop {
            let mut place = self.lock();
            if !matches!(*place, Handle::Lent { aborted: true }) {
                *place = Handle::Here(handle);
                return;
            }
            *place = Handle::Lent { aborted: false };
            drop(place);
            handle.abort();
        }
    }
}

impl<T: Send + 'static> Abort for Shared<T> {
    fn abort(&self) {
        let Some(handle) = self.take(true) else {
            return;
        };
        handle.abort();
        self.put_back(handle);
        self.joiner.wake();
    }

    fn is_finished(&self) -> bool {
        match &*self.lock() {
            Handle::Here(handle) => handle.is_finished(),
            Handle::Lent { .. } => false,
            Handle::Gone => true,
        }
    }
}

/// Awaits a task that others may abort. Dropping it detaches the task.
pub(super) struct Joining<T> {
    shared: Arc<Shared<T>>,
    id: Id,
}

impl<T: Send + 'static> Joining<T> {
    pub(super) fn new(handle: JoinHandle<T>) -> Self {
        let id = handle.id();
        let shared =
            Shared { handle: Mutex::new(Handle::Here(handle)), joiner: AtomicWaker::new() };
        let shared = Arc::new(shared);
        Self { shared, id }
    }

    pub(super) fn abort_handle(&self) -> AbortHandle {
        let (task, id) = (self.shared.clone(), self.id);
        AbortHandle { task, id }
    }
}

impl<T: Send + 'static> Future for Joining<T> {
    type Output = (Id, Result<T, JoinError>);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Before the look: whoever puts the handle back wakes after that.
        self.shared.joiner.register(context.waker());
        let Some(mut handle) = self.shared.take(false) else {
            return Poll::Pending;
        };
        let polled = Pin::new(&mut handle).poll(context);
        match polled {
            Poll::Ready(_) => *self.shared.lock() = Handle::Gone,
            Poll::Pending => self.shared.put_back(handle),
        }
        polled.map(|result| (self.id, result))
    }
}
