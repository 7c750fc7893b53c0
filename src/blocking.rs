//! Jobs of `spawn_blocking`: the threads are the `blocking` crate's, one pool
//! for the whole process; arc counts its own jobs, to wait for them at the end.

use crate::context;
use crate::scheduler::Shared;
use crate::sync::{Arc, Condvar, Mutex, PoisonError, lock};
use std::time::Duration;

/// The jobs of one runtime.
#[derive(Default)]
pub(crate) struct Jobs {
    /// How many have not ended.
    unfinished: Mutex<usize>,
    finished_one: Condvar,
}

impl Jobs {
    /// Waits for the jobs that run. Err: so many had not ended in time.
    pub(crate) fn join(&self, limit: Duration) -> Result<(), usize> {
        let (jobs, ended) = (lock(&self.unfinished), &self.finished_one);
        let waited = ended.wait_timeout_while(jobs, limit, |jobs| *jobs > 0);
        match *waited.unwrap_or_else(PoisonError::into_inner).0 {
            0 => Ok(()),
            unfinished => Err(unfinished),
        }
    }
}

/// Counts a job until it is dropped: run, or given up before it was begun.
struct Job(Arc<Shared>);

impl Drop for Job {
    fn drop(&mut self) {
        *lock(&self.0.jobs.unfinished) -= 1;
        self.0.jobs.finished_one.notify_all();
    }
}

/// Runs `function` on a thread of its own; its panic comes out of the future.
/// When the future is dropped the job is given up, unless it has been begun.
pub(crate) async fn run<F: FnOnce() -> R + Send + 'static, R: Send + 'static>(
    runtime: Arc<Shared>,
    function: F,
) -> R {
    *lock(&runtime.jobs.unfinished) += 1;
    let job = Job(runtime);
    let work = move || {
        let _context = context::enter_blocking(job.0.clone());
        function()
    };
    ::blocking::unblock(work).await
}
