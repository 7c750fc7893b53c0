//! Run functions that block, on threads of their own. The threads are the `blocking` crate's: one
//! pool for the whole process.
//!
//! A job is a task like any other, but it goes to a thread of the pool and not into the queue of a
//! worker. There one poll runs it from its beginning to its end.

use crate::registry::{Kind, Origin};
use crate::scheduler::{context, context::Role, queue::Runnable, threads::SignedOn};
use crate::sync::{Arc, unblock};
use crate::task::{join::JoinHandle, spawn::make_task};

/// Runs a function that blocks (a file access, a lookup, a long computation) on a thread of its
/// own, away from the workers.
///
/// The job begins at once, unless 500 jobs run in the process already (`BLOCKING_MAX_THREADS` in
/// the environment sets another number). Then it waits until one of them ends.
///
/// A job that has begun cannot be stopped: [`abort`](JoinHandle::abort) has an effect only on jobs
/// that have not begun. The end of the runtime waits for the jobs that have begun, and gives up
/// the others.
///
/// # Panics
///
/// Outside a runtime, as [`spawn`](crate::spawn).
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
    let runtime = context::with_current("arc::task::spawn_blocking", Arc::clone);
    let (job, handle) = make_task(&runtime, Origin::new(Kind::Blocking), async { function() });
    job.metadata().count_step();
    unblock(move || run(job)).detach();
    handle
}

/// Runs a job on a thread of the pool. When the runtime has ended, the job is dropped.
fn run(job: Runnable) {
    let key = *job.metadata();
    let Some(runtime) = context::find_runtime(key.runtime, Arc::clone) else { return };

    // From here on the job counts as begun. So the end does not take it out of the registry.
    key.count_step();
    let signed_on = SignedOn::new(runtime.clone());
    if signed_on.is_some() {
        let role = Role::OwnThread(key.runtime, Some(key.id));
        let _context = context::enter_as(role, runtime.clone(), None);
        job.run();
    }

    // `Contained::poll` has done this, unless the runtime left its table meanwhile. It must be done
    // before the thread signs off, at the end of this function: then the end reports what is left.
    drop(runtime.registry.remove(&key));
}
