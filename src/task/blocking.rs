//! Run functions that block on threads of their own.
//!
//! Such a function becomes a *job*. It is a task like any other, but it goes to a thread of the
//! runtime's pool and not into the queue of a worker. There one poll runs it from its beginning to
//! its end.

use crate::hooks::sim;
use crate::registry::info::{Kind, Origin};
use crate::scheduler::context::{self, Role};
use crate::scheduler::queue::Runnable;
use crate::scheduler::shared::Shared;
use crate::scheduler::{end, threads};
use crate::sync::Arc;
use crate::task::join::JoinHandle;
use crate::task::spawn::make_task;
use std::io;

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
/// Outside a runtime, as [`spawn`](crate::spawn). When the system starts no thread, and there is
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
/// That of the system, when it starts no thread, and there is none that could run the job. The
/// function has been dropped then. (On Linux the kind is `WouldBlock`: do not return that from a
/// `poll_read`.)
///
/// # Panics
///
/// Outside a runtime, as [`spawn`](crate::spawn).
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
    let runtime = context::current("spawn_blocking or lookup_host was called");
    let origin = Origin::new(Kind::Blocking);
    let (job, handle) = make_task(&runtime, origin, async { function() });
    let Some(job) = job else { return Ok(handle) };
    job.metadata().enter_queue();
    let Some(job) = sim::run_later(job, simulate_job) else { return Ok(handle) };

    let name = || threads::name(&runtime, "blocking");
    let start = |name| threads::start(&runtime, name, run_jobs).map(drop);
    runtime.pool.push(job, runtime.config.max_blocking_threads, name, start)?;
    Ok(handle)
}

/// The main function of a thread of the pool.
fn run_jobs(runtime: &Arc<Shared>) {
    while let Some(job) = runtime.pool.next(runtime.config.thread_keep_alive) {
        run_job(runtime, job);
        runtime.pool.is_done();
    }

    // As in `end::close`: a job may hold what waits for the drop of another one.
    let _context = context::enter_as(Role::Ending, runtime.clone(), None);
    end::drop_given_up(runtime);
}

fn run_job(runtime: &Arc<Shared>, job: Runnable) {
    let record = job.metadata().clone();
    let role = Role::OwnThread(record.runtime, Some(record.begin_poll()));
    let _context = context::enter_as(role, runtime.clone(), None);
    job.run();

    // The job has left the list, unless its runtime has left the table meanwhile. It must leave the
    // list before the thread signs off: then the end reports what is left.
    drop(runtime.tasks.remove(&record));
}

/// Runs a job on the thread of a simulation. If the runtime has ended, the job is dropped.
fn simulate_job(job: Runnable) {
    if let Some(runtime) = context::find_runtime(job.metadata().runtime) {
        run_job(&runtime, job);
    }
}
