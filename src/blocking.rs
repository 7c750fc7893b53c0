//! Jobs of `spawn_blocking`: the threads are the `blocking` crate's, one pool
//! for the whole process; arc counts its own jobs, to wait for them at the end.

use crate::context;
use crate::scheduler::{Runnable, Shared};
use crate::sync::lock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// The jobs of one runtime that have not ended.
#[derive(Default)]
pub(crate) struct Jobs {
    /// Jobs that no thread has begun yet.
    pub(crate) waiting: AtomicUsize,
    unfinished: Mutex<usize>,
    finished_one: Condvar,
}

/// Queues a job.
pub(crate) fn submit(runtime: Arc<Shared>, job: Runnable) {
    *lock(&runtime.jobs.unfinished) += 1;
    runtime.jobs.waiting.fetch_add(1, Ordering::Relaxed);
    // It looks after jobs for which no thread can be started.
    runtime.monitor.ring();
    let run = move || {
        runtime.jobs.waiting.fetch_sub(1, Ordering::Relaxed);
        let context = context::enter_blocking(runtime.clone());
        if runtime.is_shutdown() {
            // Its handle says cancelled.
            drop(job);
        } else {
            // A panic is kept in the job's handle.
            job.run();
        }
        drop(context);
        *lock(&runtime.jobs.unfinished) -= 1;
        runtime.jobs.finished_one.notify_all();
    };
    blocking::unblock(run).detach();
}

impl Jobs {
    /// Waits for the jobs that run. Err: so many had not ended at the deadline.
    pub(crate) fn join(&self, deadline: Option<Instant>) -> Result<(), usize> {
        let mut unfinished = lock(&self.unfinished);
        while *unfinished > 0 {
            let now = Instant::now();
            let waited = match deadline {
                None => self.finished_one.wait(unfinished),
                Some(deadline) if deadline <= now => return Err(*unfinished),
                Some(deadline) => {
                    let waited = self.finished_one.wait_timeout(unfinished, deadline - now);
                    Ok(waited.unwrap_or_else(PoisonError::into_inner).0)
                }
            };
            unfinished = waited.unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}
