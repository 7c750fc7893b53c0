//! The threads of an arc runtime that run jobs, which may block.
//!
//! This is a part of the runtime `arc`, and of no use without it. It knows nothing of tasks. (What
//! the runtime and its list of tasks share is here as well: how foreign code may panic without
//! harm, and how a mutex is locked.)
//!
//! A job goes to a thread that waits for one. If there are more jobs than threads that wait, a new
//! thread is started, up to a limit. Beyond that the job waits until a thread is done with another
//! one. A thread that has waited for a job in vain for a while ends.
//!
//! All of it is one state under one lock. To begin a job costs more than the lock does.

pub mod panic;

#[cfg(arc_model)]
use crate::sync::{Condvar, Mutex, PoisonError, lock};
use panic::{contain, ignore_panic};
#[cfg(not(arc_model))]
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{collections::VecDeque, io, iter, time::Duration};

/// Locks a mutex, also after another thread has panicked while it held the lock: no foreign code
/// runs under a lock, so what the lock guards is whole.
#[cfg(not(arc_model))]
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error is that of the system.
type Done = io::Result<()>;

/// The jobs that wait for a thread, and how many threads there are.
pub struct Pool<J> {
    state: Mutex<State<J>>,
    /// A job has come, or the pool was closed.
    news: Condvar,
}

struct State<J> {
    /// The jobs that have not begun, in the order in which they came, with their numbers.
    jobs: VecDeque<(u64, J)>,
    /// The number of the last job.
    last: u64,
    /// How many threads there are, with those that are being started.
    threads: usize,
    /// How many are being started, of which nobody knows yet whether they will run.
    starting: usize,
    /// How many threads wait for a job. A thread that was notified counts until it runs.
    idle: usize,
    is_closed: bool,
}

impl<J> Default for Pool<J> {
    fn default() -> Self {
        let (jobs, last, threads, starting, idle) = (VecDeque::new(), 0, 0, 0, 0);
        let state = State { jobs, last, threads, starting, idle, is_closed: false };
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
    ///
    /// When the pool was closed meanwhile, the new thread may have ended at once, and nobody may
    /// come to the job. So the job is dropped here, if it still waits. The jobs of others stay:
    /// what they hold may need a lock of the caller's in order to be dropped.
    pub fn push(&self, job: J, threads_max: usize, start: impl FnOnce() -> Done) -> Done {
        let mut state = lock(&self.state);
        if state.is_closed {
            drop(state); // before the job: what that holds is foreign
            return Ok(());
        }

        state.last += 1;
        let number = state.last;
        state.jobs.push_back((number, job));
        // Each thread that waits takes one job, also if it was notified of an earlier one.
        let has_thread = state.idle >= state.jobs.len();
        if has_thread || state.threads >= threads_max {
            drop(state);
            self.news.notify_one();
            return Ok(());
        }

        (state.threads, state.starting) = (state.threads + 1, state.starting + 1);
        drop(state);
        let started = contain(start).unwrap_or_else(|panic| {
            ignore_panic(|| drop(panic));
            Err(io::Error::other("a function of the user's that names the thread panicked"))
        });
        let mut state = lock(&self.state);
        state.threads -= usize::from(started.is_err());
        state.starting -= 1;
        let is_left = state.is_closed || started.is_err() && state.threads == state.starting;
        let place = state.jobs.iter().take_while(|_| is_left).position(|(it, _)| *it == number);
        let own = place.and_then(|place| state.jobs.remove(place));
        drop(state);
        own.map_or(Ok(()), |_| started)
    }

    /// The next job for the calling thread, which waits for one for `keep_alive` at most. `begin`
    /// is called under the lock: who has closed the pool sees what it did to a job that has begun.
    /// None: the thread has to end.
    pub fn next(&self, keep_alive: Duration, begin: impl FnOnce(&J)) -> Option<J> {
        let mut state = lock(&self.state);
        state.idle += 1;
        let waits = |state: &mut State<J>| state.jobs.is_empty() && !state.is_closed;
        let waited = self.news.wait_timeout_while(state, keep_alive, waits);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.idle -= 1;
        let job = if state.is_closed { None } else { state.jobs.pop_front() };
        match &job {
            Some((_, job)) => begin(job),
            None => state.threads -= 1,
        }
        job.map(|(_, job)| job)
    }

    /// From now on no job begins, and each thread ends when it is done with the one that it runs.
    pub fn close(&self) {
        lock(&self.state).is_closed = true;
        self.news.notify_all();
    }

    /// Takes out the jobs that will never begin: all that wait, if the pool is closed. Each is
    /// taken by itself, as the drop of one may wait for that of another one, by another thread.
    pub fn given_up(&self) -> impl Iterator<Item = J> {
        let next = || Some(lock(&self.state)).filter(|state| state.is_closed)?.jobs.pop_front();
        iter::from_fn(next).map(|(_, job)| job)
    }
}
