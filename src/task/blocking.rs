//! Run functions that block, on threads of their own.
//!
//! A job is a task like any other, but it goes into the queue of the blocking pool and not into
//! one of a worker. There one poll runs it from its beginning to its end.

use crate::registry::info::{Kind, Origin};
use crate::scheduler::pool::Pushed;
use crate::scheduler::queue::Runnable;
use crate::scheduler::shared::Shared;
use crate::scheduler::{context, threads};
use crate::sync::Arc;
use crate::task::join::JoinHandle;
use crate::task::spawn::{make_task, spawn_on};
use std::io;
use std::panic::resume_unwind;

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
    match submit(runtime, job) {
        Ok(()) => handle,
        Err(error) => {
            // The job is gone. Another task takes its place, to give its handle the error. It does
            // not call the panic hook: nothing of the program's has panicked.
            let origin = Origin { kind: Kind::Async, ..origin };
            let text = format!("a job of spawn_blocking did not run: {error}");
            spawn_on(runtime, origin, async move { resume_unwind(Box::new(text)) }).0
        }
    }
}

/// Hands a job to the pool. On an error, the jobs that waited there are dropped.
fn submit(runtime: &Arc<Shared>, job: Runnable) -> io::Result<()> {
    match runtime.pool.push(job, runtime.config.max_blocking_threads) {
        Pushed::Waits => return Ok(()),
        Pushed::NeedsThread => {}
        Pushed::Refused(job) => {
            drop(job);
            return Ok(());
        }
    }

    let started = threads::start(runtime, "blocking", run_jobs);
    started.map(drop).or_else(|error| {
        let stranded = runtime.pool.thread_failed();
        if stranded.is_empty() { Ok(()) } else { Err(error) }
    })
}

/// The main function of a thread of the pool.
fn run_jobs(runtime: &Arc<Shared>) {
    while let Some(job) = runtime.pool.next() {
        job.run();
    }
}
