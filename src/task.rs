//! Turn a future into a `Runnable`, which a worker polls, and a
//! [`JoinHandle`], which waits for its output.
//!
//! The task itself is async-task's: one allocation that holds the future, its
//! state and the waker of whoever joins. Around the future arc puts a
//! `Contained`, which keeps every panic inside the task (and does what the policy
//! for panics says), drops the future as soon as it has finished or was aborted,
//! and tells the registry.
//!
//! ```text
//!            spawn                wake                   worker takes it
//!  (new) ───────────► scheduled ◄───────── waiting ◄──┐        │
//!                        │  ▲                         │ Pending│
//!                        │  └── woken while running ──┤        ▼
//!                        └───────────────────────────────►  running
//!                                                             │ Ready, panic, aborted
//!                                        joiner is woken ◄────┴──► finished
//! ```

use crate::builder::UnhandledPanic;
use crate::inspect::Origin;
use crate::registry::Key;
use crate::scheduler::{Runnable, Shared};
use crate::sync::{Mutex, Payload, PoisonError, Unread, contain, discard, lock, unblock};
use crate::{blocking, context, coop};
use async_task::FallibleTask;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

pub use crate::context::try_id;
pub use crate::coop::{consume_budget, with_budget};
pub use crate::inspect::{Id, TaskInfo, TaskState};

/// A task was woken. When its runtime has ended it is dropped, but not here: whoever
/// wakes may hold a lock that the drop of its future takes.
fn schedule(runnable: Runnable) {
    let left = enqueue(runnable).into_iter();
    left.for_each(|runnable| unblock(|| drop(runnable)).detach());
}

/// A task is new, or was woken: it shall be polled. When its runtime has ended, it is
/// given back, to be dropped.
fn enqueue(runnable: Runnable) -> Option<Runnable> {
    let runtime = runnable.metadata().runtime;
    let mut left = Some(runnable);
    context::with_worker(|worker| {
        let mine = worker.filter(|worker| worker.serves(runtime))?;
        left.take().map(|runnable| mine.push(runnable))
    });
    if left.is_some() {
        let inject = |runtime: &Shared| left.take().map(|runnable| runtime.inject(runnable));
        context::with_number(runtime, inject);
    }
    left
}

/// If the runtime has ended the task is given back, to be dropped; then the handle
/// says cancelled. A large future is boxed first: each function that it is moved through
/// would need that much stack.
pub(crate) fn spawn_on<F: Future<Output: Send + 'static> + Send + 'static>(
    runtime: &Shared,
    origin: Origin,
    future: F,
) -> (JoinHandle<F::Output>, Option<Runnable>) {
    if size_of::<F>() > 2048 {
        let future: Pin<Box<dyn Future<Output = F::Output> + Send>> = Box::pin(future);
        return spawn_on(runtime, origin, future);
    }
    let shard = context::worker_of(runtime).unwrap_or_else(|| fastrand::usize(..));
    let (runnable, handle) = runtime.registry.enter(shard, origin, |key| {
        let contained = Contained { future: Some(future), key };
        let builder = async_task::Builder::new().metadata(key);
        let (runnable, task) = builder.spawn(|_| contained, schedule);
        let (task, waker) = (Some(task.fallible()), runnable.waker());
        ((runnable, JoinHandle { task, key }), waker)
    });
    (handle, enqueue(runnable))
}

pin_project_lite::pin_project! {
    /// A future whose panics, of whatever kind, stay inside. (If it is unfinished
    /// when it is dropped, the runtime has ended.)
    struct Contained<F> {
        #[pin]
        future: Option<F>,
        key: Key,
    }

    impl<F> PinnedDrop for Contained<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut future = this.project().future;
            contain(|| future.set(None)).unwrap_or_else(discard);
        }
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Outcome<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let key = &*this.key;
        let mut outcome = Unread(Some(Err(None)));
        if let (false, Some(future)) = (key.is_aborted(), this.future.as_mut().as_pin_mut()) {
            let polled = contain(|| future.poll(context).map(Ok));
            let poll = polled.unwrap_or_else(|payload| Poll::Ready(Err(Some(payload))));
            outcome = Unread(Some(ready!(poll)));
        }
        if let Err(payload) = contain(|| this.future.set(None)) {
            outcome = Unread(Some(Err(Some(payload))));
        }
        if let Unread(Some(Err(Some(_)))) = outcome {
            context::with_number(key.runtime, |runtime| match runtime.config.unhandled_panic {
                UnhandledPanic::Ignore => {}
                UnhandledPanic::ShutdownRuntime => runtime.shut_down(),
                UnhandledPanic::Abort => std::process::abort(),
            });
        }
        drop(context::with_number(key.runtime, |runtime| runtime.registry.remove(key)).flatten());
        Poll::Ready(outcome)
    }
}

/// What became of a task: its output, a panic, or nothing, when it was
/// cancelled.
type Outcome<T> = Unread<Result<T, Option<Payload>>>;

/// Waits for a task's output: `.await` gives `Result<T, JoinError>`.
///
/// Dropping the handle detaches the task, which goes on without it. It gives the output
/// once: awaited again, it says that the task was cancelled.
///
/// # Cancellation
///
/// Awaiting is cancel safe: a handle that was polled and dropped, or is awaited
/// later by way of `&mut handle`, loses nothing.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let handle = arc::spawn(async { 6 * 7 });
/// assert_eq!(handle.await.unwrap(), 42);
///
/// let handle = arc::spawn(async { panic!("oh") });
/// let error: arc::task::JoinError = handle.await.unwrap_err();
/// assert!(error.is_panic());
/// # let _: () = ();
/// # }
/// ```
#[derive(Debug)]
pub struct JoinHandle<T> {
    /// None only while it is dropped.
    task: Option<FallibleTask<Outcome<T>, Key>>,
    key: Key,
}

impl<T> JoinHandle<T> {
    /// Ends the task at its next await point; its future is dropped.
    ///
    /// Does nothing to a task that has finished. The handle can still be
    /// awaited: it tells when the task has ended, and whether it was cancelled
    /// or had finished before. A job of [`spawn_blocking`] that has begun runs
    /// to its end, but the handle says at once that it was cancelled, and its output
    /// is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[arc::main]
    /// # async fn main() {
    /// let handle = arc::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(handle.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn abort(&self) {
        self.abort_handle().abort();
    }

    /// Something else that can abort it, and holds no output of it.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(self.key)
    }

    /// Whether the task has ended: finished, panicked, or aborted and dropped.
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(FallibleTask::is_finished)
    }

    /// The task's id, which stays valid after it has ended.
    pub fn id(&self) -> Id {
        self.key.id
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(coop::poll_proceed(context));
        let task = self.task.as_mut().map(Pin::new);
        let outcome = ready!(task.map_or(Poll::Pending, |task| task.poll(context)));
        coop::made_progress();
        // No outcome: the future was dropped because the runtime has ended.
        let result = outcome.and_then(|mut outcome| outcome.0.take());
        let (result, id) = (result.unwrap_or(Err(None)), self.key.id);
        Poll::Ready(result.map_err(|payload| JoinError { payload: payload.map(Mutex::new), id }))
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        self.task.take().into_iter().for_each(FallibleTask::detach);
    }
}

/// Ends a task, from anywhere. Dropping it does nothing to the task.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let handle = arc::spawn(std::future::pending::<()>());
/// let abort = handle.abort_handle();
/// abort.abort();
/// assert!(handle.await.unwrap_err().is_cancelled());
/// assert!(abort.is_finished());
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct AbortHandle(Key);

impl AbortHandle {
    /// As [`JoinHandle::abort`].
    pub fn abort(&self) {
        self.0.waker(true).into_iter().for_each(Waker::wake);
    }

    /// Whether the task has ended: finished, panicked, aborted and dropped, or about to be
    /// dropped with its runtime.
    pub fn is_finished(&self) -> bool {
        self.0.waker(false).is_none()
    }

    /// The task's id, which stays valid after it has ended.
    pub fn id(&self) -> Id {
        self.0.id
    }
}

/// Why a task gave no output: it panicked, or it was cancelled (aborted, or its
/// runtime ended).
pub struct JoinError {
    /// None: cancelled. Locked, so that the error is Sync, as `dyn Error + Send +
    /// Sync` asks.
    payload: Option<Mutex<Payload>>,
    id: Id,
}

impl JoinError {
    /// Whether the task was aborted, or its runtime ended first.
    pub fn is_cancelled(&self) -> bool {
        self.payload.is_none()
    }

    /// Whether the task's future panicked, when polled or when dropped.
    pub fn is_panic(&self) -> bool {
        self.payload.is_some()
    }

    /// What the panic carried, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    ///
    /// When the task did not panic; see [`try_into_panic`](Self::try_into_panic).
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn std::any::Any + Send + 'static> {
        self.try_into_panic().unwrap_or_else(|error| panic!("{error} and did not panic"))
    }

    /// What the panic carried.
    ///
    /// # Errors
    ///
    /// The error itself, when the task did not panic.
    pub fn try_into_panic(self) -> Result<Box<dyn std::any::Any + Send + 'static>, Self> {
        let id = self.id;
        let payload = self.payload.ok_or(Self { payload: None, id })?;
        Ok(payload.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The id of the task.
    pub fn id(&self) -> Id {
        self.id
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(payload) = &self.payload else {
            return write!(formatter, "task {} was cancelled", self.id);
        };
        let payload = lock(payload);
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        let (id, text) = (self.id, text.unwrap_or("(no text)"));
        write!(formatter, "task {id} panicked: {text}")
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for std::io::Error {
    fn from(error: JoinError) -> Self {
        std::io::Error::other(error.to_string())
    }
}

/// Spawns a future as a task of the current runtime.
///
/// It begins at once, awaited or not, and runs on any worker. A panic in it is
/// kept in the handle.
///
/// # Panics
///
/// Outside a runtime: call it from a task, from `block_on`, or under
/// [`Handle::enter`](crate::runtime::Handle::enter).
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let sum = arc::spawn(async { (1..=10).sum::<u32>() });
/// assert_eq!(sum.await.unwrap(), 55);
/// # }
/// ```
#[track_caller]
pub fn spawn<F: Future<Output: Send + 'static> + Send + 'static>(
    future: F,
) -> JoinHandle<F::Output> {
    let origin = Origin::new(None, false);
    context::with_current("arc::spawn", |runtime| spawn_on(runtime, origin, future)).0
}

/// Runs a function that blocks (a file, a lookup, a long computation) on a
/// thread of its own, away from the workers.
///
/// At most 500 run at once in the process (`BLOCKING_MAX_THREADS` in the
/// environment says otherwise); more wait in line. A worker hands the job on: while all of
/// them are stuck in polls, none begins. A job that has begun cannot be stopped:
/// [`abort`](JoinHandle::abort) only takes out those that have not, and gives up the output
/// of those that have.
///
/// # Panics
///
/// Outside a runtime, as [`spawn`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let text = arc::task::spawn_blocking(|| std::fs::read_to_string("Cargo.toml"));
/// assert!(text.await.unwrap().unwrap().contains("[package]"));
/// # }
/// ```
#[track_caller]
pub fn spawn_blocking<F: FnOnce() -> R + Send + 'static, R: Send + 'static>(
    function: F,
) -> JoinHandle<R> {
    let origin = Origin::new(None, true);
    let runtime = context::runtime("arc::task::spawn_blocking");
    spawn_on(&runtime, origin.clone(), blocking::run(runtime.clone(), origin, function)).0
}

/// As [`spawn`], for a task that is called `name` in the list of
/// [`Handle::tasks`](crate::runtime::Handle::tasks) and in reports. Names need not be
/// unique.
///
/// # Panics
///
/// As `spawn`.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let task = arc::task::spawn_named("sum", async { 1 + 1 });
/// assert_eq!(task.await.unwrap(), 2);
/// # }
/// ```
#[track_caller]
pub fn spawn_named<F: Future<Output: Send + 'static> + Send + 'static>(
    name: &str,
    future: F,
) -> JoinHandle<F::Output> {
    let origin = Origin::new(Some(name.into()), false);
    context::with_current("arc::task::spawn_named", |runtime| spawn_on(runtime, origin, future)).0
}

/// Lets the others run: the task goes to the end of its worker's queue.
///
/// # Cancellation
///
/// Cancel safe: nothing is lost but the place in the queue.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// for _ in 0..3 {
///     arc::task::yield_now().await;
/// }
/// # }
/// ```
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
