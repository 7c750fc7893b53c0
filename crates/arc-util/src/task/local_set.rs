//! Tasks that are not `Send`, which run on the thread that is in `block_on`.

use crate::wake::{contain, discard, wake_all};
use arc::task::{Id, JoinError, consume_budget, with_budget};
use futures_util::future::{AbortHandle, Abortable, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use pin_project_lite::pin_project;
use slab::Slab;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};

/// After how many polls of tasks a set lets the rest of the thread run.
const POLLS_MAX: usize = 64;

/// After how many rounds the tasks that are dropped may spawn no more.
const DROPS_MAX: usize = 128;

/// A spawned task. Its future stores the outcome elsewhere, in a [`Slot`].
///
/// Each poll has a budget of its own. No panic leaves the task, not even one of its drop.
struct Task {
    id: Id,
    /// `None` once it was dropped.
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let _polled = Polled::new(self.id);
        let Some(future) = &mut self.future else {
            return Poll::Ready(());
        };

        let polled = contain(|| with_budget(|| future.as_mut().poll(context)));
        POLLS_LEFT.set(POLLS_LEFT.get().saturating_sub(1));

        // `FuturesUnordered` stops polling when two of its tasks have woken themselves. So the last
        // two of a turn are woken, and polled once more in the next one. They are not turned away
        // unpolled: they would go to the end of the queue, and could come last in every turn.
        if matches!(polled, Ok(Poll::Pending)) && POLLS_LEFT.get() < 2 {
            context.waker().wake_by_ref();
        }
        polled.unwrap_or_else(|payload| {
            discard(payload);
            Poll::Ready(())
        })
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let _polled = Polled::new(self.id);
        discard(self.future.take());
    }
}

thread_local! {
    /// The set whose tasks are being polled.
    static CURRENT: RefCell<Option<Rc<Tasks>>> = const { RefCell::new(None) };

    /// The local task that is being polled or dropped.
    static POLLED: Cell<Option<Id>> = const { Cell::new(None) };

    /// How many more tasks the set that is being polled may poll in this turn.
    static POLLS_LEFT: Cell<usize> = const { Cell::new(0) };
}

/// Returns the id of the task that is being polled: of a [`LocalSet`], or of arc. Returns `None`
/// outside of tasks.
///
/// [`arc::task::try_id`] knows nothing of the tasks of a `LocalSet`.
///
/// # Examples
///
/// ```
/// use arc_util::task::{LocalSet, spawn_local, try_id};
/// # #[arc::main]
/// # async fn main() {
/// let set = LocalSet::new();
/// let task = set.spawn_local(async { try_id() });
/// let id = task.id();
/// assert_eq!(set.run_until(task).await.unwrap(), Some(id));
/// # }
/// ```
pub fn try_id() -> Option<Id> {
    POLLED.get().or_else(arc::task::try_id)
}

/// Returns the id of the task that is being polled. See [`try_id`].
///
/// # Panics
///
/// Panics outside of tasks.
///
/// # Examples
///
/// ```
/// use arc_util::task::id;
/// # #[arc::main]
/// # async fn main() {
/// let task = arc::spawn(async { id() });
/// let expected = task.id();
/// assert_eq!(task.await.unwrap(), expected);
/// # }
/// ```
#[track_caller]
pub fn id() -> Id {
    try_id().expect("id was called outside of tasks: try_id returns None there")
}

/// Makes a task the one that is being polled, until it is dropped.
struct Polled {
    before: Option<Id>,
}

impl Polled {
    fn new(id: Id) -> Self {
        Self { before: POLLED.replace(Some(id)) }
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        POLLED.set(self.before);
    }
}

/// Runs futures that are not `Send` as tasks, all on the thread that polls the set.
///
/// The tasks run only while a future of [`run_until`](Self::run_until), or the set itself, is
/// awaited. As the set is not `Send`, this must happen in `block_on`, not in a task. Each poll
/// of a task has a budget of its own, and after 64 polls the rest of the thread has a turn.
/// Dropping the set drops its unfinished tasks. Names and meaning are tokio's, but the handles are
/// types of their own.
///
/// # Examples
///
/// ```
/// use arc_util::task::{LocalSet, spawn_local};
/// use std::cell::Cell;
/// use std::rc::Rc;
///
/// #[arc::main]
/// async fn main() {
///     let count = Rc::new(Cell::new(0));
///     let set = LocalSet::new();
///     set.run_until(async {
///         let others = count.clone();
///         let task = spawn_local(async move {
///             arc::task::yield_now().await;
///             others.set(others.get() + 1);
///         });
///         task.await.unwrap();
///     })
///     .await;
///     assert_eq!(count.get(), 1);
/// }
/// ```
#[derive(Default)]
pub struct LocalSet {
    tasks: Rc<Tasks>,
    /// Present while the set itself is awaited.
    own: Option<Poller>,
}

#[derive(Default)]
struct Tasks {
    /// Taken out while the tasks are polled.
    running: RefCell<FuturesUnordered<Task>>,
    /// Tasks that have not been polled yet.
    spawned: RefCell<Vec<Task>>,
    pollers: Arc<Pollers>,
    /// The set was dropped. It may still be the current one of the thread.
    is_closed: Cell<bool>,
    /// How many drops of tasks are under way, each in a spawn by the one before, into a set that
    /// was dropped.
    drops: Cell<usize>,
}

/// The wakers of the futures that poll a set.
///
/// A task wakes all of them: any one may be the only one that goes on polling.
#[derive(Default)]
struct Pollers(Mutex<Slab<Option<Waker>>>);

impl Pollers {
    fn lock(&self) -> MutexGuard<'_, Slab<Option<Waker>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(self: &Arc<Self>) -> Poller {
        Poller { key: self.lock().insert(None), all: self.clone() }
    }
}

impl Wake for Pollers {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    /// Takes the wakers out: a poller that is woken polls again, and stores its waker again.
    fn wake_by_ref(self: &Arc<Self>) {
        let wakers: Vec<_> = self.lock().iter_mut().filter_map(|(_, it)| it.take()).collect();
        wake_all(wakers);
    }
}

/// The place of one future in [`Pollers`], which it keeps until it is dropped.
struct Poller {
    key: usize,
    all: Arc<Pollers>,
}

impl Poller {
    fn set_waker(&self, waker: Waker) {
        // A waker is foreign code: drop the old one after the lock is released.
        let before = self.all.lock()[self.key].replace(waker);
        drop(before);
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        let waker = self.all.lock().remove(self.key);
        drop(waker);
    }
}

impl LocalSet {
    /// Creates a set without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Spawns a future as a task of this set. The task is first polled when the set is polled
    /// next.
    pub fn spawn_local<F: Future + 'static>(&self, future: F) -> LocalJoinHandle<F::Output> {
        boxed_if_large!(future, self.tasks.spawn(future))
    }

    /// Runs the set's tasks until the given future has ended, and returns its output. The
    /// future may call [`spawn_local`].
    ///
    /// # Panics
    ///
    /// Panics when the future does. A panic of a task is stored in its handle.
    ///
    /// # Cancellation
    ///
    /// The tasks stay in the set, and go on when it is polled again.
    pub fn run_until<F: Future>(&self, future: F) -> impl Future<Output = F::Output> {
        RunUntil { tasks: &self.tasks, poller: None, future }
    }

    /// Makes this set the one that [`spawn_local`] uses on this thread, until the guard is dropped.
    ///
    /// The tasks run when the set is polled, as those of
    /// [`spawn_local`](LocalSet::spawn_local) do. Do not hold the guard across an `.await`: other
    /// tasks of the thread would spawn into this set.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_util::task::{LocalSet, spawn_local};
    /// # #[arc::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let set = LocalSet::new();
    /// let entered = set.enter();
    /// let task = spawn_local(async { 42 });
    /// drop(entered);
    /// assert_eq!(set.run_until(task).await.unwrap(), 42);
    /// # }
    /// ```
    pub fn enter(&self) -> LocalEnterGuard {
        LocalEnterGuard { _entered: Entered::new(&self.tasks) }
    }
}

pin_project! {
    /// The future of [`LocalSet::run_until`]. (An async function would keep its argument twice.)
    struct RunUntil<'a, F> {
        tasks: &'a Rc<Tasks>,
        poller: Option<Poller>,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for RunUntil<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = Entered::new(this.tasks);
        let polled = this.future.poll(context);
        if polled.is_pending() {
            this.tasks.poll(this.poller.get_or_insert_with(|| this.tasks.pollers.add()), context);
        }
        polled
    }
}

/// Drops the tasks with this set as the current one, so that their drops can call
/// `spawn_local`. The tasks spawned that way are dropped as well, up to `DROPS_MAX` rounds of
/// it. What is spawned later, where the set is still the current one, is dropped at once.
impl Drop for LocalSet {
    fn drop(&mut self) {
        let _entered = Entered::new(&self.tasks);
        let mut rounds = 0..DROPS_MAX;
        while !self.tasks.is_empty() && rounds.next().is_some() {
            drop(self.tasks.running.take());
            drop(self.tasks.spawned.take());
        }
        self.tasks.is_closed.set(true);
        drop(self.tasks.spawned.take());
    }
}

/// Completes when all tasks of the set have ended.
impl Future for LocalSet {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let tasks = self.tasks.clone();
        let _entered = Entered::new(&tasks);
        tasks.poll(self.own.get_or_insert_with(|| tasks.pollers.add()), context);
        if !tasks.is_empty() {
            return Poll::Pending;
        }

        self.own = None;
        Poll::Ready(())
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.tasks.running.borrow().len() + self.tasks.spawned.borrow().len();
        write!(formatter, "LocalSet({tasks} tasks)")
    }
}

impl Tasks {
    fn spawn<F: Future + 'static>(&self, future: F) -> LocalJoinHandle<F::Output> {
        let id = Id::next();
        let (abort, registration) = AbortHandle::new_pair();
        let slot = Arc::new(Slot::new(id, abort));
        let finish = Finish(slot.clone());

        let task = async move {
            // The inner block drops the future, so that a panic of that drop is caught, too.
            let contained = async move { Abortable::new(future, registration).await };
            let outcome = AssertUnwindSafe(contained).catch_unwind().await;
            finish.0.set(match outcome {
                Ok(output) => output.map_err(|_aborted| JoinError::cancelled(id)),
                Err(payload) => Err(JoinError::panicked(id, payload)),
            });
        };

        let task = Task { id, future: Some(Box::pin(task)) };
        if self.is_closed.get() {
            // Its handle finds out that it was cancelled. A task whose drop spawns such a task, and
            // so on, must come to an end: that one is never dropped.
            if self.drops.get() == DROPS_MAX {
                std::mem::forget(task);
                panic!("tasks that are dropped spawn tasks whose drop spawns one, without end");
            }
            self.drops.set(self.drops.get() + 1);
            drop(task);
            self.drops.set(self.drops.get() - 1);
        } else {
            self.spawned.borrow_mut().push(task);
            self.pollers.wake_by_ref();
        }
        LocalJoinHandle { slot }
    }

    /// Polls tasks until none is ready, or about `POLLS_MAX` were polled.
    fn poll(&self, poller: &Poller, context: &mut Context<'_>) {
        poller.set_waker(context.waker().clone());
        let wakes_all = Waker::from(self.pollers.clone());
        let mut within = Context::from_waker(&wakes_all);

        // Taken out of the cell: a task may spawn, and may poll this very set.
        let mut running = self.running.take();
        let left_outside = POLLS_LEFT.replace(POLLS_MAX);
        while POLLS_LEFT.get() > 0 {
            running.extend(self.spawned.take());
            let polled = running.poll_next_unpin(&mut within);
            let has_ended = matches!(polled, Poll::Ready(Some(())));
            if !has_ended && self.spawned.borrow().is_empty() {
                break;
            }
        }

        self.put_back(running);
        if POLLS_LEFT.replace(left_outside) == 0 {
            // More tasks may be ready: come back soon, after the rest of the thread.
            context.waker().wake_by_ref();
        }
    }

    /// Stores the tasks again, together with those that a poll of this set inside one of them
    /// has stored meanwhile.
    fn put_back(&self, running: FuturesUnordered<Task>) {
        let meanwhile = self.running.replace(running);
        self.spawned.borrow_mut().extend(meanwhile);
    }

    fn is_empty(&self) -> bool {
        self.running.borrow().is_empty() && self.spawned.borrow().is_empty()
    }
}

/// Keeps a set the current one of the thread until it is dropped; made by [`LocalSet::enter`].
#[must_use = "the set is current only while the guard lives"]
pub struct LocalEnterGuard {
    _entered: Entered,
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LocalEnterGuard")
    }
}

/// Makes a set the current one of the thread, until it is dropped: then the one before it is
/// current again.
struct Entered {
    before: Option<Rc<Tasks>>,
}

impl Entered {
    fn new(tasks: &Rc<Tasks>) -> Self {
        // This fails when a set in a thread-local is dropped after `CURRENT`: then there is no
        // current set to restore.
        let before = CURRENT.try_with(|current| current.replace(Some(tasks.clone())));
        Self { before: before.ok().flatten() }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.before.take();
        drop(CURRENT.try_with(|current| current.replace(before)));
    }
}

/// Spawns a future as a task of the [`LocalSet`] that is running on this thread, or was entered.
///
/// # Panics
///
/// Panics outside a `LocalSet`.
///
/// # Examples
///
/// See [`LocalSet`].
#[track_caller]
pub fn spawn_local<F: Future + 'static>(future: F) -> LocalJoinHandle<F::Output> {
    boxed_if_large!(future, current().spawn(future))
}

#[track_caller]
fn current() -> Rc<Tasks> {
    let current = CURRENT.try_with(|current| current.borrow().clone());
    current
        .ok()
        .flatten()
        .expect("spawn_local was called outside a LocalSet: call it in `LocalSet::run_until`")
}

/// What the handles of a task know of it, whatever its output is.
struct Shared {
    id: Id,
    abort: AbortHandle,
    /// Stored with Release after the outcome, and loaded with Acquire.
    has_ended: AtomicBool,
}

impl Shared {
    fn has_ended(&self) -> bool {
        // Pairs with the store in `Slot::set`: what the task did happened before.
        self.has_ended.load(Ordering::Acquire)
    }
}

/// Where a task stores its outcome for its handle.
struct Slot<T> {
    outcome: Mutex<Outcome<T>>,
    shared: Arc<Shared>,
}

enum Outcome<T> {
    /// With the waker of the handle, if it was polled.
    Running(Option<Waker>),
    Ended(Result<T, JoinError>),
    /// The handle has returned the outcome.
    Taken,
}

impl<T> Slot<T> {
    fn new(id: Id, abort: AbortHandle) -> Self {
        let shared = Arc::new(Shared { id, abort, has_ended: AtomicBool::new(false) });
        Self { outcome: Mutex::new(Outcome::Running(None)), shared }
    }

    fn lock(&self) -> MutexGuard<'_, Outcome<T>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the outcome and wakes the handle. Does nothing if there is an outcome already.
    fn set(&self, result: Result<T, JoinError>) {
        let mut outcome = self.lock();
        let Outcome::Running(waker) = &mut *outcome else {
            return;
        };

        let waker = waker.take();
        *outcome = Outcome::Ended(result);
        drop(outcome);

        // Pairs with the load in `Shared::has_ended`.
        self.shared.has_ended.store(true, Ordering::Release);
        wake_all(waker);
    }
}

/// Stores "cancelled" as the outcome when the task is dropped without one.
struct Finish<T>(Arc<Slot<T>>);

impl<T> Drop for Finish<T> {
    fn drop(&mut self) {
        self.0.set(Err(JoinError::cancelled(self.0.shared.id)));
    }
}

/// Waits for the output of a task of a [`LocalSet`]. Dropping the handle detaches the task.
///
/// Otherwise the same as [`arc::task::JoinHandle`], with the same error.
///
/// # Cancellation
///
/// Awaiting the handle is cancel safe.
pub struct LocalJoinHandle<T> {
    slot: Arc<Slot<T>>,
}

impl<T> LocalJoinHandle<T> {
    /// Aborts the task: when it is polled next it ends, and its future is dropped.
    pub fn abort(&self) {
        self.slot.shared.abort.abort();
    }

    /// Returns a handle that can only abort the task.
    pub fn abort_handle(&self) -> LocalAbortHandle {
        LocalAbortHandle { shared: self.slot.shared.clone() }
    }

    /// Returns whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.slot.shared.has_ended()
    }

    /// Returns the task's id, which stays valid after the task has ended.
    pub fn id(&self) -> Id {
        self.slot.shared.id
    }
}

impl<T> Future for LocalJoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Cloned without the lock.
        let waker = context.waker().clone();
        let mut outcome = self.slot.lock();
        if let Outcome::Running(kept) = &mut *outcome {
            let before = kept.replace(waker);
            drop(outcome);
            drop(before);
            return Poll::Pending;
        }
        drop(outcome);

        ready!(pin!(consume_budget()).poll(context));
        let outcome = std::mem::replace(&mut *self.slot.lock(), Outcome::Taken);
        match outcome {
            Outcome::Ended(result) => Poll::Ready(result),
            // Polled again after it was ready: a future may do anything then.
            Outcome::Running(_) | Outcome::Taken => Poll::Pending,
        }
    }
}

impl<T> fmt::Debug for LocalJoinHandle<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let finished = self.is_finished();
        write!(formatter, "LocalJoinHandle(id: {}, finished: {finished})", self.id())
    }
}

/// Aborts a task of a [`LocalSet`], from any thread. Dropping the handle has no effect.
#[derive(Clone)]
pub struct LocalAbortHandle {
    shared: Arc<Shared>,
}

impl LocalAbortHandle {
    /// Aborts the task: when it is polled next it ends, and its future is dropped.
    pub fn abort(&self) {
        self.shared.abort.abort();
    }

    /// Returns whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.shared.has_ended()
    }

    /// Returns the task's id, which stays valid after the task has ended.
    pub fn id(&self) -> Id {
        self.shared.id
    }
}

impl fmt::Debug for LocalAbortHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "LocalAbortHandle(id: {})", self.id())
    }
}
