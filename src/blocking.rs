//! Jobs of `spawn_blocking`: the threads are the `blocking` crate's, one pool
//! for the whole process; arc knows its own jobs, to wait for them at the end.

use crate::context::{self, Role};
use crate::inspect::{Origin, TaskInfo, TaskState};
use crate::scheduler::Shared;
use crate::sync::{Arc, Condvar, Duration, Mutex, PoisonError, Unread, contain, lock, unblock};
use slab::Slab;
use std::panic::resume_unwind;

/// What the end of a runtime waits for: its jobs, and its threads.
#[derive(Default)]
pub(crate) struct Jobs {
    /// Those that have not ended; None: a thread, or a job that has not begun.
    unfinished: Mutex<Slab<Option<TaskInfo>>>,
    finished_one: Condvar,
}

impl Jobs {
    /// Waits until all but so many have ended. Gives those that did not in time.
    pub(crate) fn join(&self, limit: Duration, but: usize) -> Vec<Option<TaskInfo>> {
        let (jobs, ended) = (lock(&self.unfinished), &self.finished_one);
        let waited = ended.wait_timeout_while(jobs, limit, |jobs| jobs.len() > but);
        let jobs = waited.unwrap_or_else(PoisonError::into_inner).0;
        jobs.iter().map(|(_, job)| job.clone()).collect()
    }
}

/// Stands for a job or a thread until it is dropped: run, or given up before it was
/// begun.
pub(crate) struct Job(Arc<Shared>, usize);

impl Job {
    pub(crate) fn new(runtime: Arc<Shared>, task: Option<TaskInfo>) -> Self {
        let index = lock(&runtime.jobs.unfinished).insert(task);
        Self(runtime, index)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        drop(lock(&self.0.jobs.unfinished).try_remove(self.1));
        self.0.jobs.finished_one.notify_all();
    }
}

/// Runs `function` on a thread of its own; its panic comes out of the future.
/// The job waits in a slot of the future's: when that is dropped the job is given up,
/// unless it has been begun. What the function is and gives is dropped as contained as a
/// task's future and output are, by the job itself when its task is there no more.
pub(crate) async fn run<F: FnOnce() -> R + Send + 'static, R: Send + 'static>(
    runtime: Arc<Shared>,
    origin: Origin,
    function: F,
) -> R {
    let (Origin { name, location, .. }, state) = (origin, TaskState::Blocking);
    let task = context::try_id().map(|id| TaskInfo { id, name, location, state, polls: 1 });
    let slot = Arc::new(Mutex::new(Some((Job::new(runtime, None), task, function))));
    let waiting = Arc::downgrade(&slot);
    let work = move || {
        let (job, task, function) = lock(&*waiting.upgrade()?).take()?;
        lock(&job.0.jobs.unfinished)[job.1] = task;
        let _context = context::enter_as(Role::RunsJob(job.0.number), job.0.clone(), None);
        Some(Unread(Some(contain(function)))).filter(|_| waiting.strong_count() > 0)
    };
    let mut done = unblock(work).await.expect("the slot was there");
    done.0.take().expect("nobody else takes it").unwrap_or_else(|payload| resume_unwind(payload))
}
