//! The threads of `spawn_blocking`: started when needed, ended when idle.

use crate::context;
use crate::scheduler::{Hook, Runnable, Shared};
use crate::sync::{discard, lock};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub(crate) struct Pool {
    state: Mutex<State>,
    /// A job was queued, or the pool was closed.
    changed: Condvar,
    /// A thread has ended.
    ended: Condvar,
    threads_max: usize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Runnable>,
    threads: usize,
    idle: usize,
    handles: Vec<JoinHandle<()>>,
    closed: bool,
}

/// Queues a job.
pub(crate) fn submit(shared: &Arc<Shared>, job: Runnable) {
    let pool = &shared.blocking;
    let rejected = {
        let mut state = lock(&pool.state);
        if state.closed {
            Some(job)
        } else {
            state.jobs.push_back(job);
            None
        }
    };
    // Dropped outside the lock: its handle says cancelled.
    drop(rejected);
    pool.changed.notify_one();
    pool.grow(shared);
    if pool.is_stranded() {
        // No thread could be started: the monitor tries again.
        shared.monitor.ring();
    }
}

impl Pool {
    pub(crate) fn new(threads_max: usize) -> Self {
        let (changed, ended) = (Condvar::new(), Condvar::new());
        Self {
            state: Mutex::default(),
            changed,
            ended,
            threads_max,
        }
    }

    /// Starts a thread if more jobs wait than threads do. When that fails, the
    /// jobs wait for the threads there are; with none, for another attempt.
    pub(crate) fn grow(&self, shared: &Arc<Shared>) {
        let mut state = lock(&self.state);
        if state.jobs.len() <= state.idle || state.threads >= self.threads_max || state.closed {
            return;
        }
        let runtime = shared.clone();
        if let Ok(handle) = start_thread(shared, "blocking", move || work(&runtime)) {
            state.threads += 1;
            state.handles.retain(|handle| !handle.is_finished());
            state.handles.push(handle);
        }
    }

    /// Whether jobs wait and there is no thread that could ever run them.
    pub(crate) fn is_stranded(&self) -> bool {
        let state = lock(&self.state);
        state.threads == 0 && !state.jobs.is_empty()
    }

    /// Nothing is begun any more: jobs that wait are dropped, the threads end
    /// as soon as the jobs they run do.
    pub(crate) fn close(&self) {
        let jobs = {
            let mut state = lock(&self.state);
            state.closed = true;
            std::mem::take(&mut state.jobs)
        };
        drop(jobs);
        self.changed.notify_all();
    }

    /// Waits for the jobs that run. Err: so many still did at the deadline.
    pub(crate) fn join(&self, deadline: Option<Instant>) -> Result<(), usize> {
        let mut state = lock(&self.state);
        while state.threads > 0 {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(state.threads);
            }
            let left = left.unwrap_or(Duration::from_secs(3600));
            let waited = self.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let handles = std::mem::take(&mut state.handles);
        drop(state);
        for handle in handles {
            // A panic of a thread's hook; it has been printed.
            let _ = handle.join();
        }
        Ok(())
    }
}

/// The main function of a thread of the pool.
fn work(shared: &Arc<Shared>) {
    let _context = context::enter_blocking(shared.clone());
    let pool = &shared.blocking;
    let mut state = lock(&pool.state);
    loop {
        if let Some(job) = state.jobs.pop_front() {
            drop(state);
            // A panic is kept in the job's handle.
            job.run();
            state = lock(&pool.state);
        } else if state.closed {
            break;
        } else {
            state.idle += 1;
            let keep_alive = shared.config.thread_keep_alive;
            let waited = pool.changed.wait_timeout(state, keep_alive);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            state.idle -= 1;
            if timeout.timed_out() && state.jobs.is_empty() {
                break;
            }
        }
    }
    state.threads -= 1;
    drop(state);
    pool.ended.notify_all();
}

/// Starts one of the runtime's threads, with its name, stack and hooks.
pub(crate) fn start_thread(
    shared: &Arc<Shared>,
    role: &str,
    main: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let config = &shared.config;
    let mut builder = thread::Builder::new().name(format!("{}-{role}", config.thread_name));
    if let Some(size) = config.thread_stack_size {
        builder = builder.stack_size(size);
    }
    let shared = shared.clone();
    builder.spawn(move || {
        call(shared.config.on_thread_start.as_ref());
        main();
        call(shared.config.on_thread_stop.as_ref());
    })
}

/// A hook that panics must not take the thread down: the panic is printed, and
/// that is all.
fn call(hook: Option<&Hook>) {
    if let Some(Err(payload)) = hook.map(|hook| catch_unwind(AssertUnwindSafe(hook))) {
        discard(payload);
    }
}
