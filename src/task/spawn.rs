//! Turn a future into a `Runnable`, which a worker polls, and a [`JoinHandle`], which waits for
//! its output.
//!
//! The task itself is async-task's: one allocation that holds the future, its state, and the waker
//! of the task that joins it. async-task makes one runnable of a task at a time. To wake a task
//! that is scheduled already does nothing. A task that is woken while it runs is scheduled again
//! when its poll has ended. To drop the runnable drops the future and wakes the joiner.
//!
//! ```text
//!            spawn                wake                   a worker takes it
//!  (new) ───────────► scheduled ◄───────── waiting ◄──┐        │
//!                        │  ▲                         │ Pending│
//!                        │  └── woken while running ──┤        ▼
//!                        └───────────────────────────────►  running
//!                                                             │ Ready, panic, aborted
//!                                     the joiner is woken ◄───┴──► finished
//! ```

use crate::registry::{Kind, Origin};
use crate::scheduler::{context, queue::Runnable, shared::Shared};
use crate::sync::thread;
use crate::task::{contained::Contained, join::JoinHandle};
use std::{future::poll_fn, panic::AssertUnwindSafe, pin::Pin, task::Poll};

/// Spawns a future as a task of the current runtime.
///
/// The task begins at once, whether or not its handle is awaited, and runs on any worker. If it
/// panics, the handle gives the panic.
///
/// # Panics
///
/// Outside a runtime. Call it from a task, from `block_on`, or under
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
    let origin = Origin::new(Kind::Async);
    context::with_current("arc::spawn", |runtime| spawn_on(runtime, origin, future)).0
}

/// Spawns a future as [`spawn`] does, with a name.
///
/// The name is shown in the list of [`Handle::tasks`](crate::runtime::Handle::tasks) and in
/// reports. Names need not be unique.
///
/// # Panics
///
/// Outside a runtime, as `spawn`.
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
    let origin = Origin { name: Some(name.into()), ..Origin::new(Kind::Async) };
    context::with_current("arc::task::spawn_named", |runtime| spawn_on(runtime, origin, future)).0
}

/// Spawns a task. If the runtime has ended, the task comes back, and the handle says that it was
/// cancelled. The caller drops it, outside of any lock.
pub(crate) fn spawn_on<F: Future<Output: Send + 'static> + Send + 'static>(
    runtime: &Shared,
    origin: Origin,
    future: F,
) -> (JoinHandle<F::Output>, Option<Runnable>) {
    let (runnable, handle) = make_task(runtime, origin, future);
    (handle, enqueue(runnable).err())
}

/// A future that is larger than this is boxed first, in bytes. Each function that it is moved
/// through needs that much stack.
const FUTURE_SIZE_MAX: usize = 2048;

/// Makes a task, and enters it in the registry, but in no queue.
pub(crate) fn make_task<F: Future<Output: Send + 'static> + Send + 'static>(
    runtime: &Shared,
    origin: Origin,
    future: F,
) -> (Runnable, JoinHandle<F::Output>) {
    if size_of::<F>() > FUTURE_SIZE_MAX {
        let boxed: Pin<Box<dyn Future<Output = F::Output> + Send>> = Box::pin(future);
        return make_task(runtime, origin, boxed);
    }

    let shard = context::worker_index().unwrap_or_else(|| fastrand::usize(..));
    runtime.registry.enter(shard, origin, |key| {
        let contained = Contained { future: Some(future), key };
        let builder = async_task::Builder::new().metadata(key);
        let (runnable, task) = builder.spawn(|_| contained, schedule);
        let waker = runnable.waker();
        ((runnable, JoinHandle { task: Some(AssertUnwindSafe(task.fallible())), key }), waker)
    })
}

/// Called by async-task when a task was woken.
fn schedule(runnable: Runnable) {
    if let Err(runnable) = enqueue(runnable) {
        // The runtime has ended, and the task was woken just then. It must be dropped, but not
        // here: the thread that wakes it may hold a lock that the drop of its future takes. (If no
        // thread can be started, it is dropped here after all.)
        let _ = thread::Builder::new().spawn(move || drop(runnable));
    }
}

/// Queues a task to be polled. If its runtime has ended, the task comes back, to be dropped.
fn enqueue(runnable: Runnable) -> Result<(), Runnable> {
    let id = runnable.metadata().runtime;
    context::hand_to(id, runnable, |runnable, runtime, worker| {
        runnable.metadata().count_step();
        match worker {
            Some(worker) => worker.mine().queue.push(runnable),
            None => runtime.inject(runnable),
        }
    })
}

/// Lets other tasks run: this task goes to the end of its worker's queue.
///
/// # Cancellation
///
/// Cancel safe. Only the place in the queue is lost.
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
    poll_fn(|context| {
        context.waker().wake_by_ref();
        Poll::Ready(())
    })
    .await;
    futures_util::pending!();
}
