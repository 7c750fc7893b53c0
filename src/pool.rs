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
    /// The jobs that no thread has taken, in the order in which they came, with their numbers.
    jobs: VecDeque<(u64, J)>,
    /// Those of them that will never begin, because the pool was closed.
    given_up: VecDeque<(u64, J)>,
    /// The number of the last job.
    last: u64,
    /// How many threads there are, with those that are being started.
    threads: usize,
    /// How many are being started, of which nobody knows yet whether they will run.
    starting: usize,
    /// How many threads wait for a job or are on their way to it, those that are being started
    /// among them. A thread that was notified counts until it runs.
    free: usize,
    is_closed: bool,
}

impl<J> Default for Pool<J> {
    fn default() -> Self {
        let state = State {
            // No threads at first: a program without such jobs has none.
            jobs: VecDeque::new(),
            given_up: VecDeque::new(),
            last: 0,
            threads: 0,
            starting: 0,
            free: 0,
            is_closed: false,
        };
        Self { state: Mutex::new(state), news: Condvar::default() }
    }
}

impl<J> Pool<J> {
    /// Hands a job to a thread that waits, or to a new one if there are not `threads_max` already.
    /// `start` starts a thread that calls [`next`](Self::next) until that gives nothing. If the
    /// pool is closed, the job is dropped.
    ///
    /// # Errors
    ///
    /// That of `start`, if no thread is left which could run the job. It is dropped then. As long
    /// as another thread runs, that one comes to the job.
    pub(crate) fn push(
        &self,
        job: J,
        threads_max: usize,
        start: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut state = lock(&self.state);
        if state.is_closed {
            // Before the job: what that holds is the user's.
            drop(state);
            return Ok(());
        }

        // The number tells the job from others, should its thread not start.
        state.last += 1;
        let number = state.last;
        state.jobs.push_back((number, job));

        // Each free thread takes one job.
        let has_thread = state.free >= state.jobs.len();
        if has_thread || state.threads >= threads_max {
            drop(state);
            self.news.notify_one();
            return Ok(());
        }

        // The thread counts as free from now on: who comes next need not start another one for this
        // job.
        state.threads += 1;
        state.free += 1;
        state.starting += 1;
        drop(state);
        let started = contain(start).unwrap_or_else(|panic| {
            ignore_panic(|| drop(panic));
            Err(Error::other("a function of the user's that names the thread panicked"))
        });
        self.has_started(number, started)
    }

    /// A thread was started for the job of this number, or was not.
    fn has_started(&self, number: u64, started: Result<()>) -> Result<()> {
        let mut state = lock(&self.state);

        // From here on it is known whether the thread runs.
        state.starting -= 1;
        if started.is_ok() {
            return Ok(());
        }

        // As long as any thread runs, it comes to the job. The jobs of others stay in any case:
        // what they hold may need a lock of the caller's in order to be dropped.
        state.threads -= 1;
        state.free -= 1;
        let place = state.jobs.iter().position(|(other, _)| *other == number);

        // If the job is not there any more, a thread has taken it.
        let own = match place {
            Some(place) if state.threads == state.starting => state.jobs.remove(place),
            _ => None,
        };
        drop(state);
        if own.is_some() { started } else { Ok(()) }
    }

    /// The calling thread has run its job, and is free.
    pub(crate) fn is_done(&self) {
        lock(&self.state).free += 1;
    }

    /// The next job for the calling thread, which waits for one for `keep_alive` at most. `None`
    /// means that the thread has to end.
    pub(crate) fn next(&self, keep_alive: Duration) -> Option<J> {
        let state = lock(&self.state);

        // A thread that is notified of one job may find another one, or none: so it looks for
        // itself.
        let waits = |state: &mut State<J>| state.jobs.is_empty() && !state.is_closed;
        let waited = self.news.wait_timeout_while(state, keep_alive, waits);

        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.free -= 1;
        let job = state.jobs.pop_front();

        // There was none for long enough, or the pool was closed.
        if job.is_none() {
            state.threads -= 1;
        }
        job.map(|(_, job)| job)
    }

    /// From now on a job begins only if a free thread takes it.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        let begun = state.jobs.len().min(state.free);

        // Each free thread takes one of the first jobs. Nobody comes for those behind them.
        let mut given_up = state.jobs.split_off(begun);
        state.given_up.append(&mut given_up);
        state.is_closed = true;
        drop(state);

        // All threads that wait look whether there is a job for them, and end if not.
        self.news.notify_all();
    }

    /// Takes out a job that will never begin.
    pub(crate) fn next_given_up(&self) -> Option<J> {
        lock(&self.state).given_up.pop_front().map(|(_, job)| job)
    }
}
