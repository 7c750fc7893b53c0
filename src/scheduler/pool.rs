//! Jobs that block, and the threads that run them. This file decides how many threads there
//! are; `task/blocking.rs` starts them.
//!
//! A thread is started when more jobs wait than there are idle threads. A thread that has been
//! idle for `KEEP_ALIVE` ends. When the runtime ends, no more jobs begin and the threads end.

use crate::scheduler::queue::Runnable;
use crate::sync::{Condvar, Duration, Mutex, PoisonError, lock};
use std::collections::VecDeque;

/// As in tokio: longer than the pauses of most programs that block now and then.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    /// Notified when there is something to do for an idle thread.
    called: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Runnable>,
    /// The threads that were started and have not ended, or are about to be started.
    threads: usize,
    /// Those of them that wait for a job.
    idle: usize,
    closed: bool,
}

/// What the thread that brought a job has to do now.
#[must_use]
pub(crate) enum Pushed {
    /// Nothing: some thread comes to the job.
    Waits,
    /// Start a thread. If that fails, call `thread_failed`.
    NeedsThread,
    /// Drop the job: the runtime has ended.
    Refused(Runnable),
}

impl Pool {
    /// Adds a job. `threads_max` is the greatest number of threads that there may be.
    pub(crate) fn push(&self, job: Runnable, threads_max: usize) -> Pushed {
        let mut state = lock(&self.state);
        if state.closed {
            return Pushed::Refused(job);
        }
        state.jobs.push_back(job);

        // A thread that was notified counts as idle until it has run. So the jobs that wait are
        // compared with the idle threads, and it is not asked whether there is one.
        if state.jobs.len() <= state.idle {
            self.called.notify_one();
            return Pushed::Waits;
        }
        if state.threads >= threads_max {
            return Pushed::Waits;
        }
        state.threads += 1;
        Pushed::NeedsThread
    }

    /// A thread could not be started. If there is no other one either, the jobs that wait are
    /// returned: nobody would ever come to them.
    pub(crate) fn thread_failed(&self) -> VecDeque<Runnable> {
        let mut state = lock(&self.state);
        state.threads -= 1;
        if state.threads == 0 { std::mem::take(&mut state.jobs) } else { VecDeque::new() }
    }

    /// The next job for a thread of the pool, which waits for one. None: the thread is to end.
    pub(crate) fn next(&self) -> Option<Runnable> {
        let mut state = lock(&self.state);
        let mut was_idle_for_long = false;
        loop {
            if state.closed {
                break;
            }
            if let Some(job) = state.jobs.pop_front() {
                // Under the lock: once the pool is closed, each job says whether it has begun.
                job.metadata().count_step();
                return Some(job);
            }
            if was_idle_for_long {
                break;
            }

            state.idle += 1;
            let waited = self.called.wait_timeout(state, KEEP_ALIVE);
            let (locked, result) = waited.unwrap_or_else(PoisonError::into_inner);
            state = locked;
            state.idle -= 1;
            was_idle_for_long = result.timed_out();
        }
        state.threads -= 1;
        None
    }

    /// The runtime ends: no job begins from now on, and the idle threads end.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.called.notify_all();
    }

    /// Takes the jobs that have not begun. They must be dropped outside of any lock.
    pub(crate) fn take_jobs(&self) -> VecDeque<Runnable> {
        std::mem::take(&mut lock(&self.state).jobs)
    }
}
