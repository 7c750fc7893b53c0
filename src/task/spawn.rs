//! Turn a future into a `Runnable`, which a worker polls, and a [`JoinHandle`], which waits for
//! its output. A function that blocks becomes a task, which is called a *job*.
//!
//! The task itself is async-task's: one allocation that holds the future, its state, and the waker
//! of the task that joins it. async-task makes one runnable of a task at a time. To wake a task
//! that is already scheduled does nothing. A task that is woken while it runs is scheduled again
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

use crate::hooks::{Note, note, sim, tell};
use crate::panic::{Unread, contain, ignore_panic};
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::{Record, Runnable, Shared};
use crate::scheduler::threads;
use crate::sync::{Arc, thread};
use crate::task::join::{JoinError, JoinHandle};
use std::future::poll_fn;
use std::io;
use std::iter;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

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
    if const { size_of::<F>() > FUTURE_SIZE_MAX } {
        return spawn::<Boxed<F::Output>>(Box::pin(future));
    }
    let runtime = &context::current("arc::spawn was called").runtime;
    spawn_on(runtime, note!(Task, None), future)
}

/// Spawns a future as [`spawn`] does, with a name.
///
/// Observers (the feature `observe`) show the name in their lists and reports. Names need not be
/// unique.
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
    let runtime = &context::current("arc::task::spawn_named was called").runtime;
    spawn_on(runtime, note!(Task, Some(name)), future)
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
/// Outside a runtime, as [`spawn`]. When the system starts no thread, and there is
/// none that could run the job: [`try_spawn_blocking`] returns an error instead.
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
/// The system's error, when it starts no thread and there is none that could run the job. The
/// function has been dropped. On Linux the kind is `WouldBlock`: do not return that from a
/// `poll_read`.
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
    let runtime = &context::current("spawn_blocking was called").runtime;

    // The shard behind those of the workers is for jobs.
    let shard = runtime.workers.len();
    let (job, handle) = make_task(runtime, note!(Job, None), shard, async { function() });

    // It counts as queued until its thread runs it.
    handle.record.enter_queue();
    if let Some(job) = sim!(arc_sim_core::run_later(job, simulate_job), Some(job)) {
        // If there is no free thread, the pool starts one.
        let main = threads::with_hooks(run_jobs);
        let start = || threads::start(runtime, "blocking", main).map(drop);
        runtime.pool.push(job, runtime.config.max_blocking_threads, start)?;
    }
    Ok(handle)
}

/// Spawns a task. If the end of the runtime has begun, the task is dropped, outside of any lock,
/// and the handle says that it was cancelled.
pub(crate) fn spawn_on<F: Future<Output: Send + 'static> + Send + 'static>(
    runtime: &Arc<Shared>,
    note: Note,
    future: F,
) -> JoinHandle<F::Output> {
    // Workers enter what they spawn in shards of their own.
    let shard = match context::worker_of(runtime.id) {
        Some(worker) => worker.index,
        None => fastrand::usize(..runtime.workers.len()),
    };

    let (runnable, handle) = make_task(runtime, note, shard, future);

    // A worker may still be in a poll, so that the queues are not closed yet. The task need not
    // wait for the end of that poll. If the end begins after this, `inject` or the end drops it.
    if runtime.is_ending() {
        drop(runnable);
    } else {
        drop(context::schedule(runnable));
    }
    handle
}

/// A future that is larger than this is boxed first, in bytes. Each function that it is moved
/// through needs that much stack, at least in a debug build.
pub(crate) const FUTURE_SIZE_MAX: usize = 2048;

/// It is the same future, behind a pointer.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Makes a task, and enters it in this shard of the list, but in no queue.
pub(crate) fn make_task<F: Future<Output: Send + 'static> + Send + 'static>(
    runtime: &Arc<Shared>,
    note: Note,
    shard: usize,
    future: F,
) -> (Runnable, JoinHandle<F::Output>) {
    // `const`, so that a small future is not compiled a second time.
    if const { size_of::<F>() > FUTURE_SIZE_MAX } {
        return make_task::<Boxed<F::Output>>(runtime, note, shard, Box::pin(future));
    }

    // The record is shared by the task, its future, its handle and the list.
    let record = runtime.tasks.enter(runtime, note, shard);
    tell!(spawned(record.id.0, runtime.id.0, &record.note));

    // One allocation, which the runnable, the handle and all wakers refer to.
    let contained = Contained { future: Some(future), record: record.clone() };
    let builder = async_task::Builder::new().metadata(record.clone());
    let (runnable, task) = builder.spawn(|_| contained, wake_up);

    // From here on the end of the runtime can wake it, and so find it.
    record.set_waker(runnable.waker());

    // Fallible: there is no output if the end drops the future.
    let handle = JoinHandle { task: Some(AssertUnwindSafe(task.fallible())), record };
    (runnable, handle)
}

/// Called by async-task when a task was woken.
fn wake_up(runnable: Runnable) {
    if let Err(late) = context::schedule(runnable) {
        // The task was woken while its runtime ended. It must be dropped, but not here: the thread
        // that wakes it may hold a lock that the drop of its future takes. On a thread of its own
        // the drop finds the runtime, as in `end::close`. It is dropped here only if no thread can
        // be started.
        let runtime = late.metadata().runtime.clone();
        let _ = thread::Builder::new().spawn(move || {
            let _context = context::enter(Role::Ending, runtime, None);
            drop(late);
        });
    }
}

pin_project_lite::pin_project! {
    /// The future that arc puts around the future of each task.
    ///
    /// It keeps every panic inside the task. It drops the user's future as soon as that has
    /// finished or was aborted, and before the task's handle is woken. And it takes the task out of
    /// the list.
    struct Contained<F> {
        #[pin]
        future: Option<F>,
        record: Arc<Record>,
    }

    impl<F> PinnedDrop for Contained<F> {
        /// The future is still there if the runtime has ended before the task, or if there was no
        /// thread for a job.
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                ignore_panic(|| this.future.set(None));
                drop(this.record.runtime.tasks.remove(this.record));
            }
        }
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Unread<Result<F::Output, JoinError>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_mut().project();

        // It was aborted if the flag says so, whatever woke it.
        if this.record.is_aborted() {
            let error = JoinError::cancelled(this.record.id);
            return self.finish(Err(error));
        }

        // async-task polls no task again that was ready.
        let future = this.future.as_pin_mut().expect("the task has not ended");

        // A panic is kept here, and ends this task alone.
        match contain(|| future.poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => self.finish(Ok(output)),
            Err(payload) => {
                let error = JoinError::panicked(this.record.id, payload);
                self.finish(Err(error))
            }
        }
    }
}

impl<F: Future> Contained<F> {
    /// The future goes before its joiner is woken, and before the list forgets the task.
    fn finish(
        self: Pin<&mut Self>,
        result: Result<F::Output, JoinError>,
    ) -> Poll<Unread<Result<F::Output, JoinError>>> {
        let mut this = self.project();
        let mut result = Unread(Some(result));

        // The drop is user code, and may panic as the poll may.
        tell!(drops(this.record.id.0));
        if let Err(payload) = contain(|| this.future.set(None)) {
            // The panic of the drop counts, and the output goes unread.
            result = Unread(Some(Err(JoinError::panicked(this.record.id, payload))));
        }

        // The list gives back the task's own waker.
        drop(this.record.runtime.tasks.remove(this.record));
        Poll::Ready(result)
    }
}

/// The main function of a thread of the pool.
fn run_jobs(runtime: &Arc<Shared>) {
    // A thread that is free for long enough ends.
    while let Some(job) = runtime.pool.next(runtime.config.thread_keep_alive) {
        run_job(runtime, job);
        runtime.pool.is_done();
    }

    // The drops may not block, and find the runtime, as in `end::close`.
    let _context = context::enter(Role::Ending, runtime.clone(), None);
    iter::from_fn(|| runtime.pool.next_given_up()).for_each(drop);
}

fn run_job(runtime: &Arc<Shared>, job: Runnable) {
    let id = job.metadata().begin_poll();

    // What it spawns goes to this runtime. It may block.
    let role = Role::OwnThread(runtime.id, Some(id));
    let _context = context::enter(role, runtime.clone(), None);
    job.run();
    tell!(ends(id.0));
}

/// Runs a job on the thread of a simulation.
#[cfg(feature = "sim")]
fn simulate_job(job: Runnable) {
    let runtime = job.metadata().runtime.clone();
    run_job(&runtime, job);
}

/// Lets other tasks run: this task goes to the end of a queue.
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
    // Woken while it runs, so that async-task queues it when this poll has ended.
    poll_fn(|context| {
        context.waker().wake_by_ref();
        Poll::Ready(())
    })
    .await;
    futures_util::pending!();
}
