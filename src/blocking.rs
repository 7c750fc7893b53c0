//! Jobs of `spawn_blocking`: the threads are the `blocking` crate's, one pool
//! for the whole process; arc counts its own jobs, to wait for them at the end.

use crate::context;
use crate::scheduler::Shared;
use crate::sync::{Arc, AtomicUsize, Condvar, Mutex, Ordering, PoisonError, lock};
use std::time::Duration;

/// The jobs of one runtime.
#[derive(Default)]
pub(crate) struct Jobs {
    /// Those that no thread has begun yet.
    waiting: AtomicUsize,
    /// Those that have not ended.
    unfinished: Mutex<usize>,
    finished_one: Condvar,
}

impl Jobs {
    pub(crate) fn are_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Waits for the jobs that run. Err: so many had not ended in time.
    pub(crate) fn join(&self, limit: Duration) -> Result<(), usize> {
        let unfinished = lock(&self.unfinished);
        let waited = self
            .finished_one
            .wait_timeout_while(unfinished, limit, |jobs| *jobs > 0);
        let (unfinished, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *unfinished == 0 {
            Ok(())
        } else {
            Err(*unfinished)
        }
    }
}

/// Counts a job until it is dropped: run, or given up before it was begun.
struct Job {
    runtime: Arc<Shared>,
    begun: bool,
}

impl Job {
    fn begin(&mut self) {
        self.begun = true;
        self.runtime.jobs.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !self.begun {
            self.begin();
        }
        *lock(&self.runtime.jobs.unfinished) -= 1;
        self.runtime.jobs.finished_one.notify_all();
    }
}

/// Runs `function` on a thread of its own; its panic comes out of the future.
/// When the future is dropped the job is given up, unless it has been begun.
pub(crate) async fn run<F, R>(runtime: Arc<Shared>, function: F) -> R
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    *lock(&runtime.jobs.unfinished) += 1;
    runtime.jobs.waiting.fetch_add(1, Ordering::Relaxed);
    // It looks after jobs for which no thread can be started.
    runtime.monitor.ring();
    let mut job = Job {
        runtime,
        begun: false,
    };
    let work = move || {
        job.begin();
        let _context = context::enter_blocking(job.runtime.clone());
        function()
    };
    ::blocking::unblock(work).await
}
