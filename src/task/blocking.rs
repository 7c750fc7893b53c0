//! Run functions that block, on threads of their own.
//!
//! A job is a task like any other, but it goes into the queue of the blocking pool and not into
//! one of a worker. There one poll runs it from its beginning to its end.

use crate::registry::info::{Kind, Origin};
use crate::scheduler::{context, queue::Runnable, shared::Shared, threads};
use crate::sync::Arc;
use crate::task::join::JoinHandle;
use crate::task::spawn::{make_task, spawn_on};
use std::{io, panic::resume_unwind};

/// Runs a function that blocks (a file access, a lookup, a long computation) on a thread of its
/// own, away from the workers.
///
/// The job begins at once, unless as many jobs run as
/// [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads) allows, 512 by
/// default. Then it waits until one of them ends. A thread that has had no job for 10 seconds
/// ends.
///
/// A job that has begun cannot be stopped: [`abort`](JoinHandle::abort) has an effect only on jobs
/// that have not begun. The end of the runtime waits for the jobs that have begun, and gives up
/// the others.
///
/// When the system has no thread to give, and no thread of the pool is there either, the handle
/// gives a panic that says so.
///
/// # Panics
///
/// Outside a runtime, as [`spawn`](crate::task::spawn).
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
    let origin = Origin::new(Kind::Blocking);
    spawn_blocking_on(&context::current("arc::task::spawn_blocking"), origin, function)
}

pub(crate) fn spawn_blocking_on<F: FnOnce() -> R + Send + 'static, R: Send + 'static>(
    runtime: &Arc<Shared>,
    origin: Origin,
    function: F,
) -> JoinHandle<R> {
    let (job, handle) = make_task(runtime, origin.clone(), async move { function() });
    let Err(error) = submit(runtime, job) else {
        return handle;
    };

    // The job is gone. A task takes its place, whose handle gives the error. It does not call the
    // panic hook: nothing of the program's has panicked.
    let origin = Origin { kind: Kind::Async, ..origin };
    let text = format!("a job of spawn_blocking did not run: {error}");
    spawn_on(runtime, origin, async move { resume_unwind(Box::new(text)) }).0
}

/// Hands a job to the pool. After an error, the jobs that waited there are gone.
fn submit(runtime: &Arc<Shared>, job: Runnable) -> io::Result<()> {
    job.metadata().count_step();
    let pushed = runtime.pool.push(job, runtime.config.max_blocking_threads);
    // A job that is refused is dropped here, and its handle says that it was cancelled.
    if !pushed.unwrap_or(false) {
        return Ok(());
    }

    if let Err(error) = threads::start(runtime, "blocking", run_jobs) {
        let stranded = runtime.pool.thread_failed();
        if !stranded.is_empty() {
            return Err(error);
        }
    }
    Ok(())
}

/// The main function of a thread of the pool.
fn run_jobs(runtime: &Arc<Shared>) {
    while let Some(job) = runtime.pool.next() {
        job.run();
    }
}
