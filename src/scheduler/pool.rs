//! Which thread runs a job of `spawn_blocking`.
//!
//! A job goes to a thread that waits for one. If there are more jobs than threads that wait, a new
//! thread is started, up to a limit. Beyond that the job waits until a thread is done with another
//! one. A thread that has waited for a job in vain for a while ends.
//!
//! A job that a thread is on its way to counts as begun: when the pool is closed it runs all the
//! same. The others are given up.
//!
//! All of it is one state under one lock, under which threads are started as well. To begin a job
//! costs more than the lock does. The user's function that names a thread runs under this lock: its
//! documentation says what it must not do.

use crate::registry::Record;
use crate::scheduler::queue::{BATCH_MAX, Runnable};
use crate::sync::{Arc, Condvar, Duration, Mutex, PoisonError, lock};
use std::collections::VecDeque;
use std::io::Result;

/// The jobs that wait for a thread, and how many threads there are.
pub(crate) struct Pool<R> {
    state: Mutex<State<R>>,
    /// A job has come, or the pool was closed.
    news: Condvar,
}

struct State<R> {
    /// The jobs that no thread has taken, in the order in which they came.
    jobs: VecDeque<Runnable<R>>,
    /// Those that will never begin, because the pool was closed before a thread could take them.
    given_up: VecDeque<Runnable<R>>,
    threads: usize,
    /// How many threads wait for a job or are on their way to it. A thread that was notified counts
    /// until it runs.
    free: usize,
    /// The end has begun. It closes the runtime only later.
    is_closed: bool,
}

impl<R> Pool<R> {
    /// There are no threads at first: a program without jobs has none.
    pub(crate) fn new() -> Self {
        let jobs = VecDeque::new();
        let given_up = VecDeque::new();
        let state = State { jobs, given_up, threads: 0, free: 0, is_closed: false };
        Self { state: Mutex::new(state), news: Condvar::default() }
    }

    /// Hands a job to a thread that waits, or to a new one if there are not `threads_max` already.
    /// `start` starts a thread that calls [`next`](Self::next) until that gives nothing. If the
    /// pool is closed, the job is dropped.
    ///
    /// # Errors
    ///
    /// There is no thread, and none was started. The job is dropped. As long as another thread
    /// runs, that one comes to the job.
    pub(crate) fn push(
        &self,
        job: Runnable<R>,
        threads_max: usize,
        start: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut state = lock(&self.state);
        if state.is_closed {
            // The job is dropped after the lock: its drop is user code.
            return Ok(());
        }

        // Each free thread takes one job.
        if state.free <= state.jobs.len() && state.threads < threads_max {
            match start() {
                Ok(()) => {
                    state.threads += 1;
                    state.free += 1;
                }
                // As long as any thread runs, it comes to the job.
                Err(_) if state.threads > 0 => {}
                Err(error) => return Err(error),
            }
        }

        // A thread that waits is notified. Whichever thread comes first takes the job.
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
    pub(crate) fn next(&self, keep_alive: Duration) -> Option<Runnable<R>> {
        // The lock is given back while this waits.
        let state = lock(&self.state);

        // A thread that is notified of one job may find another one, or none: so it looks for
        // itself.
        let waits = |state: &mut State<R>| state.jobs.is_empty() && !state.is_closed;
        let waited = self.news.wait_timeout_while(state, keep_alive, waits);

        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.free -= 1;
        let job = state.jobs.pop_front();
        if state.jobs.is_empty() {
            state.jobs.shrink_to(BATCH_MAX);
        }

        // There was none for long enough, or the pool was closed.
        if job.is_none() {
            state.threads -= 1;
        }
        job
    }

    /// From now on a job begins only if a free thread takes it. Returns the records of the others.
    pub(crate) fn close(&self) -> Vec<Arc<Record<R>>> {
        let mut state = lock(&self.state);
        let begun = state.jobs.len().min(state.free);

        // Each free thread takes one of the first jobs. Nobody comes for those behind them.
        let mut given_up = state.jobs.split_off(begun);
        let records = given_up.iter().map(|job| job.metadata().clone()).collect();
        state.given_up.append(&mut given_up);
        state.is_closed = true;
        drop(state);

        // All threads that wait look whether there is a job for them, and end if not.
        self.news.notify_all();
        records
    }

    /// Takes out a job that will never begin. Each is dropped before the next one is taken: its
    /// drop may wait for that of another one, by another thread.
    pub(crate) fn next_given_up(&self) -> Option<Runnable<R>> {
        lock(&self.state).given_up.pop_front()
    }
}
