//! Turn a future into a `Runnable`, which a worker polls, and a [`JoinHandle`], which waits for
//! its output. A function that blocks becomes a task, too: a *job*.
//!
//! The task itself is async-task's: one allocation that holds the future, its state, and the waker
//! of the task that joins it. async-task makes one runnable of a task at a time. To wake a task
//! that is scheduled already does nothing. A task that is woken while it runs is scheduled again
//! when its poll has ended. To drop the runnable drops the future and wakes the joiner.
//!
//! ```text
//!   new       ── spawn ───────────────────────────────►  scheduled
//!   scheduled ── a worker takes it ───────────────────►  running
//!   running   ── Pending, and not woken meanwhile ────►  waiting
//!   running   ── Pending, but woken meanwhile ────────►  scheduled
//!   running   ── Ready, a panic, or it was aborted ───►  finished: the joiner is woken
//!   waiting   ── a wake-up ───────────────────────────►  scheduled
//! ```
//!
//! A job is a task like any other, but it goes to a thread of the runtime's pool and not into the
//! queue of a worker. There one poll runs it from its beginning to its end.

use crate::panic::{Unread, contain, ignore_panic};
use crate::registry::{JoinError, Key, Kind, Origin};
use crate::scheduler::{context, context::Role, end, queue, queue::Runnable, shared::Shared};
use crate::sync::{Arc, Ordering, thread};
use crate::{config::UnhandledPanic, scheduler::threads, task::join::JoinHandle};
use std::{future::poll_fn, io, panic::AssertUnwindSafe, pin::Pin, task::Context, task::Poll};

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
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let origin = Origin::new(Kind::Async);
    context::with_current("arc::spawn was called", |runtime| spawn_on(runtime, origin, future)).0
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
    context::with_current("arc::task::spawn_named was called", |it| spawn_on(it, origin, future)).0
}

/// Spawns a task. If the runtime has ended, the task comes back, and the handle says that it was
/// cancelled. The caller drops it, outside of any lock: `.0` leaves that to the end of the
/// statement, when `with_current` has returned.
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

pin_project_lite::pin_project! {
    /// The future that arc puts around the future of each task.
    ///
    /// It keeps every panic inside the task. It drops the user's future as soon as that has
    /// finished or was aborted, and before the task's handle is woken. And it takes the task out of
    /// the registry.
    struct Contained<F> {
        #[pin]
        future: Option<F>,
        key: Key,
    }

    impl<F> PinnedDrop for Contained<F> {
        /// The future is still there if the runtime has ended before the task, or if there was no
        /// thread for a job.
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                ignore_panic(|| this.future.set(None));
                drop(context::find_runtime(this.key.runtime, |it| it.registry.remove(this.key)));
            }
        }
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Unread<Result<F::Output, JoinError>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let key = &*this.key;
        let future = this.future.as_mut().as_pin_mut().filter(|_| !key.is_aborted());
        let mut result = Unread(Some(match future.map(|it| contain(|| it.poll(context))) {
            Some(Ok(Poll::Pending)) => return Poll::Pending,
            Some(Ok(Poll::Ready(output))) => Ok(output),
            Some(Err(panic)) => Err(JoinError::panicked(key.id, panic)),
            None => Err(JoinError::cancelled(key.id)), // it was aborted
        }));

        // The future goes before its joiner is woken, and before the registry forgets the task.
        if let Err(panic) = contain(|| this.future.set(None)) {
            result = Unread(Some(Err(JoinError::panicked(key.id, panic))));
        }
        if matches!(&result.0, Some(Err(error)) if error.is_panic())
            && let Some(runtime) = context::find_runtime(key.runtime, Arc::clone)
            && runtime.config.unhandled_panic == UnhandledPanic::ShutdownRuntime
        {
            end::begin(&runtime);
        }
        // The registry gives back the task's own waker, which is dropped outside of any lock.
        drop(context::find_runtime(key.runtime, |runtime| runtime.registry.remove(key)));
        Poll::Ready(result)
    }
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
    context::hand_to(runnable.metadata().runtime, runnable, |runnable, runtime, worker| {
        let key = *runnable.metadata();
        key.count_step();
        let polled = worker.map_or(0, |worker| worker.mine().polled.load(Ordering::Relaxed));
        match worker {
            Some(worker) if !runtime.mean_poll.is_long() => worker.mine().queue.push(runnable),
            // This thread comes to it soon: it polls no task, or has just polled this very task.
            Some(_) if [0, key.id.0].contains(&polled) => queue::push(&runtime.injector, runnable),
            _ => runtime.inject(runnable),
        }
    })
}

/// Runs a function that blocks (a file access, a lookup, a long computation) on a thread of the
/// runtime's pool, away from the workers.
///
/// The job begins at once, unless 512 jobs of the runtime run already
/// ([`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads) sets another number).
/// Then it waits until one of them ends. It also waits if the system starts no further thread, as
/// long as there is any that runs jobs.
///
/// A job that has begun cannot be stopped: [`abort`](JoinHandle::abort) has an effect only on jobs
/// that have not begun. The end of the runtime waits for the jobs that have begun, and gives up
/// the others.
///
/// # Panics
///
/// Outside a runtime, as [`spawn`]. When the system starts no thread, and there is none that could
/// run the job: [`try_spawn_blocking`] returns an error instead. (A job that another thread has
/// spawned just before may wait until a later one gets a thread.)
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
    try_spawn_blocking(function).expect("`spawn_blocking` has no thread, and can start none")
}

/// Runs a function that blocks, as [`spawn_blocking`] does, and does not panic when there is no
/// thread for it.
///
/// # Errors
///
/// That of the system, when it starts no thread, and there is none that could run the job. The
/// function has been dropped then. (On Linux the kind is `WouldBlock`: do not return that from a
/// `poll_read`.)
///
/// # Panics
///
/// Outside a runtime, as [`spawn`].
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() -> std::io::Result<()> {
/// let sum = arc::task::try_spawn_blocking(|| (1..=100).sum::<u32>())?;
/// assert_eq!(sum.await?, 5050);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn try_spawn_blocking<F: FnOnce() -> R + Send + 'static, R: Send + 'static>(
    function: F,
) -> io::Result<JoinHandle<R>> {
    let runtime = context::with_current("spawn_blocking or lookup_host was called", Arc::clone);
    let (job, handle) = make_task(&runtime, Origin::new(Kind::Blocking), async { function() });
    job.metadata().count_step();
    #[cfg(feature = "sim")]
    let Some(job) = arc_sim_core::run_later(job, simulate_job) else { return Ok(handle) };
    let start = || threads::start(&runtime, "blocking", run_jobs).map(drop);
    runtime.pool.push(job, runtime.config.max_blocking_threads, start).map(|()| handle)
}

/// The main function of a thread of the pool.
fn run_jobs(runtime: &Arc<Shared>) {
    let keep_alive = runtime.config.thread_keep_alive;
    // A job whose step is counted has begun. `end::report` asks for that.
    let next = || runtime.pool.next(keep_alive, |job| job.metadata().count_step());
    std::iter::from_fn(next).for_each(|job| run_job(runtime, job));
    // As in `end::close`: a job may hold what waits for the drop of another one.
    let _context = context::enter_as(Role::Ending, runtime.clone(), None);
    runtime.pool.given_up().for_each(drop);
}

fn run_job(runtime: &Arc<Shared>, job: Runnable) {
    let key = *job.metadata();
    let role = Role::OwnThread(key.runtime, Some(key.id));
    let _context = context::enter_as(role, runtime.clone(), None);
    job.run();
    // `Contained::poll` has done this, unless the runtime left its table meanwhile. It must be done
    // before the thread signs off: then the end reports what is left.
    drop(runtime.registry.remove(&key));
}

/// Runs a job on the thread of a simulation. If the runtime has ended, the job is dropped.
#[cfg(feature = "sim")]
fn simulate_job(job: Runnable) {
    let Some(runtime) = context::find_runtime(job.metadata().runtime, Arc::clone) else { return };
    job.metadata().count_step();
    run_job(&runtime, job);
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
