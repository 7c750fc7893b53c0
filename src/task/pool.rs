//! Which thread runs a job of `spawn_blocking`.
//!
//! A job goes to a thread that waits for one. If there are more jobs than threads that wait, a new
//! thread is started, up to a limit. Beyond that the job waits until a thread is done with another
//! one. A thread that has waited for a job in vain for a while ends.
//!
//! A job that a thread is on its way for counts as begun: when the pool is closed it runs all the
//! same. The others are given up.
//!
//! All of it is one state under one lock. To begin a job costs more than the lock does.

use crate::panic::{contain, ignore_panic};
use crate::sync::{Condvar, Duration, Mutex, PoisonError, lock};
use std::collections::VecDeque;
use std::io::{Error, Result};

/// The jobs that wait for a thread, and how many threads there are.
pub(crate) struct Pool<J> {
    state: Mutex<State<J>>,
    /// A job has come, or the pool was closed.
    news: Condvar,
}

struct State<J> {
    /// The jobs that no thread has taken, in the order in which they came.
    jobs: VecDeque<J>,
    /// Those of them that will never begin, because the pool was closed.
    given_up: VecDeque<J>,
    /// How many threads there are, with those that are being started.
    threads: usize,
    /// How many of them wait for a job or are on their way to it. A thread that was notified counts
    /// until it runs.
    free: usize,
    is_closed: bool,
}

impl<J> Default for Pool<J> {
    fn default() -> Self {
        let jobs = VecDeque::new();
        let given_up = VecDeque::new();
        let state = State { jobs, given_up, threads: 0, free: 0, is_closed: false };
        Self { state: Mutex::new(state), news: Condvar::default() }
    }
}

impl<J> Pool<J> {
    /// Hands a job to a free thread, or to a new one if there are not `threads_max` already. `start`
    /// starts a thread that calls [`next`](Self::next) until that gives nothing. If the pool is
    /// closed, the job is dropped.
    ///
    /// # Errors
    ///
    /// That of `start`, if there is no other thread which could run the job. It is dropped then.
    pub(crate) fn push(
        &self,
        job: J,
        threads_max: usize,
        start: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let mut state = lock(&self.state);
        while state.free <= state.jobs.len() && state.threads < threads_max && !state.is_closed {
            // Outside of the lock: the thread may be named by code of the user's.
            state.threads += 1;
            state.free += 1;
            drop(state);
            let started = contain(&start).unwrap_or_else(|panic| {
                ignore_panic(|| drop(panic));
                Err(Error::other("a function of the user's that names the thread panicked"))
            });

            state = lock(&self.state);
            if let Err(error) = started {
                state.threads -= 1;
                state.free -= 1;
                // As long as any thread runs, it comes to the job.
                if state.threads == 0 {
                    return Err(error);
                }
                break;
            }
        }

        // Otherwise the job is dropped, after the lock: what it holds is the user's.
        if !state.is_closed {
            state.jobs.push_back(job);
            drop(state);
            self.news.notify_one();
        }
        Ok(())
    }

    /// The calling thread has run its job, and is free.
    pub(crate) fn is_done(&self) {
        lock(&self.state).free += 1;
    }

    /// The next job for the calling thread, which waits for one for `keep_alive` at most. `None`
    /// means that the thread has to end.
    pub(crate) fn next(&self, keep_alive: Duration) -> Option<J> {
        let state = lock(&self.state);
        let waits = |state: &mut State<J>| state.jobs.is_empty() && !state.is_closed;
        let waited = self.news.wait_timeout_while(state, keep_alive, waits);

        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.free -= 1;
        let job = state.jobs.pop_front();
        if job.is_none() {
            state.threads -= 1;
        }
        job
    }

    /// From now on a job begins only if a free thread takes it.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        let begun = state.jobs.len().min(state.free);
        let mut given_up = state.jobs.split_off(begun);
        state.given_up.append(&mut given_up);
        state.is_closed = true;
        drop(state);
        self.news.notify_all();
    }

    /// Takes out a job that will never begin.
    pub(crate) fn next_given_up(&self) -> Option<J> {
        lock(&self.state).given_up.pop_front()
    }
}
