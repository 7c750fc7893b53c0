//! Turn a future into a [`Runnable`], which a worker polls, and a
//! [`JoinHandle`], which waits for its output.
//!
//! The task itself is async-task's: one allocation that holds the future, its
//! state and the waker of whoever joins. Around the future arc puts a
//! [`Contained`], which keeps every panic inside the task, drops the future as
//! soon as it has finished or was aborted, and tells the registry.
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

use crate::context;
use crate::coop;
use crate::registry::Key;
use crate::scheduler::{Meta, Runnable, Shared};
use crate::sync::discard;
use async_task::{FallibleTask, ScheduleInfo, WithInfo};
use pin_project_lite::pin_project;
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

pub use crate::coop::{consume_budget, cooperative};
pub use crate::registry::Id;

/// A future larger than this is boxed before anything else is done with it:
/// each function that it is moved through would need that much stack.
pub(crate) const FUTURE_MAX_BYTES: usize = 2048;

type Payload = Box<dyn Any + Send + 'static>;

/// Where a task goes when it is scheduled.
#[derive(Clone, Copy)]
pub(crate) enum Destination {
    Workers,
    Blocking,
}

pub(crate) fn spawn_on<F>(
    runtime: &Arc<Shared>,
    future: F,
    to: Destination,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    if size_of::<F>() > FUTURE_MAX_BYTES {
        spawn_contained(runtime, Box::pin(future), to)
    } else {
        spawn_contained(runtime, future, to)
    }
}

fn spawn_contained<F>(runtime: &Arc<Shared>, future: F, to: Destination) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let id = Id::next();
    let shard = context::worker_of(runtime).unwrap_or_else(|| fastrand::usize(..));
    let ((runnable, task, key), open) = runtime.registry.enter(shard, id, |key| {
        let aborts_seen = runtime.registry.aborts();
        let contained = Contained {
            future: Some(future),
            id,
            key,
            aborts_seen,
        };
        let metadata = Meta {
            runtime: runtime.clone(),
        };
        let builder = async_task::Builder::new().metadata(metadata);
        let (runnable, task) = match to {
            Destination::Workers => builder.spawn(|_| contained, WithInfo(Shared::schedule)),
            Destination::Blocking => builder.spawn(|_| contained, WithInfo(run_blocking)),
        };
        let waker = runnable.waker();
        ((runnable, task.fallible(), key), waker)
    });
    if open {
        runnable.schedule();
    } else {
        // The runtime has ended: the future is dropped, the handle says cancelled.
        drop(runnable);
    }
    JoinHandle {
        task: Some(task),
        runtime: runtime.clone(),
        id,
        key,
    }
}

fn run_blocking(runnable: Runnable, _: ScheduleInfo) {
    let runtime = runnable.metadata().runtime.clone();
    crate::blocking::submit(&runtime, runnable);
}

pin_project! {
    /// A future whose panics, of whatever kind, stay inside.
    struct Contained<F: Future> {
        #[pin]
        future: Option<F>,
        id: Id,
        key: Key,
        // The registry's count of aborts when this task last looked.
        aborts_seen: usize,
    }

    impl<F: Future> PinnedDrop for Contained<F> {
        fn drop(this: Pin<&mut Self>) {
            // The future of an unfinished task: aborted, or the runtime ends.
            if let Err(payload) = drop_future(this.project().future) {
                discard(payload);
            }
        }
    }
}

fn drop_future<F>(mut future: Pin<&mut Option<F>>) -> Result<(), Payload> {
    catch_unwind(AssertUnwindSafe(|| future.set(None)))
}

impl<F: Future> Future for Contained<F> {
    type Output = Outcome<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let aborted = context::with_runtime(|runtime| {
            runtime.is_some_and(|runtime| {
                let aborts = runtime.registry.aborts();
                let changed = std::mem::replace(this.aborts_seen, aborts) != aborts;
                changed && runtime.registry.is_aborted(*this.key, *this.id)
            })
        });
        let result = if aborted {
            Err(Repr::Cancelled)
        } else {
            let poll = || {
                this.future
                    .as_mut()
                    .as_pin_mut()
                    .map(|future| future.poll(context))
            };
            match catch_unwind(AssertUnwindSafe(poll)) {
                Ok(Some(Poll::Pending)) => return Poll::Pending,
                Ok(Some(Poll::Ready(output))) => Ok(output),
                // Polled after it finished, which async-task does not do.
                Ok(None) => Err(Repr::Cancelled),
                Err(payload) => Err(Repr::Panicked(payload)),
            }
        };
        let dropped = drop_future(this.future);
        let waker = context::with_runtime(|runtime| {
            runtime.and_then(|runtime| runtime.registry.remove(*this.key, *this.id))
        });
        drop(waker);
        let result = match (result, dropped) {
            (Ok(_), Err(payload)) => Err(Repr::Panicked(payload)),
            (result, Err(payload)) => {
                discard(payload);
                result
            }
            (result, Ok(())) => result,
        };
        Poll::Ready(Outcome(Some(result)))
    }
}

/// What became of a task. Nobody may ever read it, and then its drop must not
/// take the worker down.
struct Outcome<T>(Option<Result<T, Repr>>);

impl<T> Drop for Outcome<T> {
    fn drop(&mut self) {
        if let Some(result) = self.0.take() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(result))) {
                discard(payload);
            }
        }
    }
}

/// Waits for a task's output: `.await` gives `Result<T, JoinError>`.
///
/// Dropping the handle detaches the task, which goes on without it.
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
#[must_use = "a dropped JoinHandle detaches its task; use `drop` to say so"]
pub struct JoinHandle<T> {
    /// None only while it is dropped.
    task: Option<FallibleTask<Outcome<T>, Meta>>,
    runtime: Arc<Shared>,
    id: Id,
    key: Key,
}

impl<T> JoinHandle<T> {
    /// Ends the task at its next await point; its future is dropped.
    ///
    /// Does nothing to a task that has finished. The handle can still be
    /// awaited: it tells when the task has ended, and whether it was cancelled
    /// or had finished before. A job of [`spawn_blocking`] that has begun runs
    /// to its end.
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
        if let Some(waker) = self.runtime.registry.abort(self.key, self.id) {
            waker.wake();
        }
    }

    /// Whether the task has ended: finished, panicked, or aborted and dropped.
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(FallibleTask::is_finished)
    }

    /// The task's id, which stays valid after it has ended.
    pub fn id(&self) -> Id {
        self.id
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let budget = std::task::ready!(coop::poll_proceed(context));
        let id = self.id;
        let Some(task) = &mut self.task else {
            return Poll::Pending;
        };
        let outcome = std::task::ready!(Pin::new(task).poll(context));
        budget.made_progress();
        let result = outcome.and_then(|mut outcome| outcome.0.take());
        Poll::Ready(
            result
                .unwrap_or(Err(Repr::Cancelled))
                .map_err(|repr| JoinError { repr, id }),
        )
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.detach();
        }
    }
}

impl<T> Unpin for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("JoinHandle")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Why a task gave no output: it panicked, or it was cancelled (aborted, or its
/// runtime ended).
pub struct JoinError {
    repr: Repr,
    id: Id,
}

enum Repr {
    Cancelled,
    Panicked(Payload),
}

impl JoinError {
    /// Whether the task was aborted, or its runtime ended first.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.repr, Repr::Cancelled)
    }

    /// Whether the task's future panicked, when polled or when dropped.
    pub fn is_panic(&self) -> bool {
        matches!(self.repr, Repr::Panicked(_))
    }

    /// What the panic carried, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    ///
    /// When the task did not panic; see [`try_into_panic`](Self::try_into_panic).
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        match self.repr {
            Repr::Panicked(payload) => payload,
            Repr::Cancelled => panic!("task {} was cancelled and did not panic", self.id),
        }
    }

    /// What the panic carried.
    ///
    /// # Errors
    ///
    /// The error itself, when the task did not panic.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, Self> {
        match self.repr {
            Repr::Panicked(payload) => Ok(payload),
            Repr::Cancelled => Err(self),
        }
    }

    /// The id of the task.
    pub fn id(&self) -> Id {
        self.id
    }

    fn message(&self) -> Option<&str> {
        let Repr::Panicked(payload) = &self.repr else {
            return None;
        };
        let text = payload.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| payload.downcast_ref::<&str>().copied())
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.repr, self.message()) {
            (Repr::Cancelled, _) => write!(formatter, "task {} was cancelled", self.id),
            (_, Some(text)) => write!(formatter, "task {} panicked: {text}", self.id),
            (_, None) => write!(formatter, "task {} panicked", self.id),
        }
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
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let runtime = context::runtime("arc::spawn");
    spawn_on(&runtime, future, Destination::Workers)
}

/// Runs a function that blocks (a file, a lookup, a long computation) on a
/// thread of its own, away from the workers.
///
/// At most [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads)
/// run at once; more wait in line. A job that has begun cannot be stopped:
/// [`abort`](JoinHandle::abort) only takes out those that have not.
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
pub fn spawn_blocking<F, R>(function: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let runtime = context::runtime("arc::task::spawn_blocking");
    spawn_on(&runtime, async { function() }, Destination::Blocking)
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
