//! Jobs that block, and the threads that run them. This file decides how many threads there
//! are; `task/blocking.rs` starts them.
//!
//! A thread is started when more jobs wait than there are idle threads. A thread that has been
//! idle for `KEEP_ALIVE` ends. When the runtime ends, no more jobs begin, and the threads end.

use crate::scheduler::queue::Runnable;
use crate::sync::{Condvar, Duration, Mutex, PoisonError, lock};
use std::{collections::VecDeque, mem::take};

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
    /// The threads that have not ended. One that is about to be started counts.
    threads: usize,
    /// Those of them that wait for a job.
    idle: usize,
    closed: bool,
}

impl Pool {
    /// Adds a job. Returns whether the caller must start a thread for it: there may be `threads_max`
    /// at most. Err: the runtime has ended, and the job is to be dropped.
    pub(crate) fn push(&self, job: Runnable, threads_max: usize) -> Result<bool, Runnable> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(job);
        }
        state.jobs.push_back(job);
        self.called.notify_one();

        // A thread that was notified counts as idle until it runs. So the jobs that wait are
        // compared with the idle threads. To ask whether some thread is idle would not do.
        let needs_thread = state.jobs.len() > state.idle && state.threads < threads_max;
        state.threads += usize::from(needs_thread);
        Ok(needs_thread)
    }

    /// A thread could not be started. If there is no other one, nobody will ever come to the jobs
    /// that wait: they are returned, to be dropped.
    pub(crate) fn thread_failed(&self) -> VecDeque<Runnable> {
        let mut state = lock(&self.state);
        state.threads -= 1;
        if state.threads == 0 { take(&mut state.jobs) } else { VecDeque::new() }
    }

    /// The next job for a thread of the pool, which waits for one. None: the thread is to end.
    pub(crate) fn next(&self) -> Option<Runnable> {
        let mut state = lock(&self.state);
        let mut is_over = false;
        while !state.closed {
            if let Some(job) = state.jobs.pop_front() {
                // Under the lock: once the pool is closed, each job shows whether it has begun.
                job.metadata().count_step();
                return Some(job);
            }
            if is_over {
                break;
            }

            state.idle += 1;
            let waited = self.called.wait_timeout(state, KEEP_ALIVE);
            let (locked, result) = waited.unwrap_or_else(PoisonError::into_inner);
            state = locked;
            state.idle -= 1;
            // A job that came at the last moment is still run.
            is_over = result.timed_out();
        }
        state.threads -= 1;
        None
    }

    /// The runtime ends: no job begins from now on, and the idle threads end.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.called.notify_all();
    }

    /// Takes the jobs that have not begun, to be dropped outside of the lock.
    pub(crate) fn take_jobs(&self) -> VecDeque<Runnable> {
        take(&mut lock(&self.state).jobs)
    }
}
