//! Which thread runs a job of `spawn_blocking`.
//!
//! A job goes to a thread that waits for one. If there are more jobs than threads that wait, a new
//! thread is started, up to a limit. Beyond that the job waits until a thread is done with another
//! one. A thread that has waited for a job in vain for a while ends.
//!
//! A job that a thread is on its way for counts as begun: when the pool is closed it runs all the
//! same. The others are given up.
//!
//! All of it is one state under one lock, under which threads are started as well. To begin a job
//! costs more than the lock does.

use crate::panic::{contain, ignore_panic};
use crate::registry::Id;
use crate::scheduler::queue::Runnable;
use crate::sync::{Condvar, Duration, Mutex, PoisonError, lock};
use std::collections::VecDeque;
use std::io::{Error, Result};

/// The jobs that wait for a thread, and how many threads there are.
#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    /// A job has come, or the pool was closed.
    news: Condvar,
}

/// There are no threads at first: a program without jobs has none.
#[derive(Default)]
struct State {
    /// The jobs that no thread has taken, in the order in which they came.
    jobs: VecDeque<Runnable>,
    /// Those of them that will never begin, because the pool was closed.
    given_up: VecDeque<Runnable>,
    /// Those that a thread was on its way for when the pool was closed.
    begun: Vec<Id>,
    threads: usize,
    /// How many threads wait for a job or are on their way to it. A thread that was notified counts
    /// until it runs.
    free: usize,
    is_closed: bool,
}

impl State {
    /// Each free thread takes one job.
    fn needs_thread(&self, threads_max: usize) -> bool {
        !self.is_closed && self.free <= self.jobs.len() && self.threads < threads_max
    }
}

impl Pool {
    /// Hands a job to a thread that waits, or to a new one if there are not `threads_max` already.
    /// `start` starts a thread of this name that calls [`next`](Self::next) until that gives
    /// nothing. If the pool is closed, the job is dropped.
    ///
    /// # Errors
    ///
    /// There is no thread, and none was started. The job is dropped. As long as another thread
    /// runs, that one comes to the job.
    pub(crate) fn push(
        &self,
        job: Runnable,
        threads_max: usize,
        name: impl FnOnce() -> String,
        start: impl FnOnce(String) -> Result<()>,
    ) -> Result<()> {
        let mut state = lock(&self.state);
        if state.needs_thread(threads_max) {
            // The user's function is not called under the lock.
            drop(state);
            let name = contain(name).map_err(|panic| {
                ignore_panic(|| drop(panic));
                Error::other("a function of the user's that names the thread panicked")
            });

            // Meanwhile a thread may have come, or the end.
            state = lock(&self.state);
            if state.needs_thread(threads_max) {
                match name.and_then(start) {
                    Ok(()) => {
                        state.threads += 1;
                        state.free += 1;
                    }
                    // As long as any thread runs, it comes to the job.
                    Err(_) if state.threads > 0 => {}
                    Err(error) => return Err(error),
                }
            }
        }

        if state.is_closed {
            // The job is dropped behind the lock: what it holds is the user's.
            return Ok(());
        }
        state.jobs.push_back(job);
        drop(state);
        self.news.notify_one();
        Ok(())
    }

    /// The calling thread has run its job, and is free.
    pub(crate) fn is_done(&self) {
        lock(&self.state).free += 1;
    }

    /// The next job for the calling thread, which waits for one for `keep_alive` at most. `None`
    /// means that the thread has to end.
    pub(crate) fn next(&self, keep_alive: Duration) -> Option<Runnable> {
        let state = lock(&self.state);

        // A thread that is notified of one job may find another one, or none: so it looks for
        // itself.
        let waits = |state: &mut State| state.jobs.is_empty() && !state.is_closed;
        let waited = self.news.wait_timeout_while(state, keep_alive, waits);

        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.free -= 1;
        let job = state.jobs.pop_front();

        // There was none for long enough, or the pool was closed.
        if job.is_none() {
            state.threads -= 1;
        }
        job
    }

    /// From now on a job begins only if a free thread takes it.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        let begun = state.jobs.len().min(state.free);

        // Each free thread takes one of the first jobs. Nobody comes for those behind them.
        let mut given_up = state.jobs.split_off(begun);
        state.given_up.append(&mut given_up);
        state.begun = state.jobs.iter().map(|job| job.metadata().id).collect();
        state.is_closed = true;
        let any_thread = state.threads > 0;
        drop(state);

        // All threads that wait look whether there is a job for them, and end if not.
        if any_thread {
            self.news.notify_all();
        }
    }

    /// The jobs that a thread was on its way for when the pool was closed.
    pub(crate) fn begun(&self) -> Vec<Id> {
        lock(&self.state).begun.clone()
    }

    /// Takes out a job that will never begin.
    pub(crate) fn next_given_up(&self) -> Option<Runnable> {
        lock(&self.state).given_up.pop_front()
    }
}
