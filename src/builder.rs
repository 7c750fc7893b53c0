//! What a runtime can be configured with before it is built.

use crate::sync::{Arc, Duration};
use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::thread;

/// Each worker has a bit in a 64-bit word, which says who sleeps (`scheduler/sleep.rs`).
pub(crate) const WORKERS_MAX: usize = 64;

/// Which threads run the tasks of a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// There is one worker, and a thread in `block_on` runs it.
    CurrentThread,
    /// Each worker has a thread of its own.
    MultiThread,
}

/// A hook that a thread calls.
pub(crate) type Hook = Arc<dyn Fn() + Send + Sync>;

/// Configures and builds a [`Runtime`](crate::runtime::Runtime).
///
/// Each method changes the builder and returns it. So calls can be chained, or made one by one.
///
/// # Examples
///
/// ```
/// let mut builder = arc::runtime::Builder::new_multi_thread();
/// builder.workers(2);
/// let runtime = builder.thread_stack_size(4 << 20).build()?;
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone)]
pub struct Builder {
    pub(crate) flavor: RuntimeFlavor,
    pub(crate) workers: usize,
    /// Returns the name of a thread, of which it is told what it is for.
    pub(crate) thread_name: Arc<dyn Fn(&str) -> String + Send + Sync>,
    pub(crate) thread_stack_size: usize,
    pub(crate) max_blocking_threads: usize,
    pub(crate) thread_keep_alive: Duration,
    pub(crate) on_thread_start: Vec<Hook>,
    pub(crate) on_thread_stop: Vec<Hook>,
    pub(crate) event_interval: u32,
}

impl Builder {
    /// Configures a runtime with several workers, each on a thread of its own. By default there is
    /// one per core.
    pub fn new_multi_thread() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);

        Self {
            flavor: RuntimeFlavor::MultiThread,
            workers: cores.min(WORKERS_MAX),
            thread_name: Arc::new(|purpose| format!("arc-{purpose}")),
            // 2 MiB of stack are std's default, too. The numbers for jobs are tokio's.
            thread_stack_size: 2 << 20,
            max_blocking_threads: 512,
            thread_keep_alive: Duration::from_secs(10),
            on_thread_start: Vec::new(),
            on_thread_stop: Vec::new(),
            // After so many polls a worker looks outside of its queue: tokio's number.
            event_interval: 61,
        }
    }

    /// Configures a runtime with one worker, which the thread in
    /// [`block_on`](crate::runtime::Handle::block_on) runs.
    ///
    /// Tasks run only while some thread is in `block_on`. If several are, one of them runs all
    /// tasks, and each polls its own future. A thread that leaves `block_on` hands the tasks on to
    /// another one.
    pub fn new_current_thread() -> Self {
        let mut builder = Self::new_multi_thread();
        builder.flavor = RuntimeFlavor::CurrentThread;
        builder
    }

    /// Sets how many workers run tasks at once. By default there are as many as the process may use
    /// cores, but at most 64. A current-thread runtime always has one.
    ///
    /// # Panics
    ///
    /// When the number is 0 or more than 64.
    #[track_caller]
    pub fn workers(&mut self, workers: usize) -> &mut Self {
        self.workers = within("workers", workers, 1..=WORKERS_MAX);
        self
    }

    /// Sets a function that names the runtime's threads. It is called once for each thread, with
    /// what the thread is for: "worker-0", "monitor" or "blocking". By default the name is
    /// "arc-" and that.
    ///
    /// If it panics, so does `build`, after it has ended the threads that were started before. A
    /// name with a null byte, which the system does not take, has the same effect. Later it is
    /// called when a job needs a new thread. If it panics then, so does `spawn_blocking`, and the
    /// job is dropped.
    ///
    /// It must not wait for anything, nor spawn a job of the runtime: other jobs, and the end of
    /// the runtime, wait until it has returned.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = arc::runtime::Builder::new_multi_thread()
    ///     .thread_name_fn(|purpose| format!("server-{purpose}"))
    ///     .build()?;
    /// let name = runtime.spawn(async { std::thread::current().name().map(str::to_owned) });
    /// assert!(runtime.block_on(name)?.unwrap().starts_with("server-worker-"));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn thread_name_fn(
        &mut self,
        name: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> &mut Self {
        self.thread_name = Arc::new(name);
        self
    }

    /// Sets the stack size of the runtime's threads, in bytes; 2 MiB by default.
    ///
    /// # Panics
    ///
    /// When the size is 0.
    #[track_caller]
    pub fn thread_stack_size(&mut self, bytes: usize) -> &mut Self {
        self.thread_stack_size = within("thread_stack_size", bytes, 1..=usize::MAX);
        self
    }

    /// Sets how many jobs of [`spawn_blocking`](crate::task::spawn_blocking) may run at once, each
    /// on a thread of its own; 512 by default. Further jobs wait until one of them ends.
    ///
    /// # Panics
    ///
    /// When the number is 0.
    #[track_caller]
    pub fn max_blocking_threads(&mut self, threads: usize) -> &mut Self {
        let threads = within("max_blocking_threads", threads, 1..=usize::MAX);
        self.max_blocking_threads = threads;
        self
    }

    /// Sets for how long a thread of `spawn_blocking` that has no job stays for the next one; 10 s
    /// by default.
    pub fn thread_keep_alive(&mut self, duration: Duration) -> &mut Self {
        self.thread_keep_alive = duration;
        self
    }

    /// Sets a hook that each thread of the runtime calls when it starts, if it runs tasks or jobs.
    ///
    /// A worker runs no task before its call has returned, and while all workers are in it nobody
    /// waits for sockets and timers: keep the hook short. A panic in it is printed and otherwise
    /// ignored. A hook that owns a handle of the runtime, or of a task in it, keeps the runtime's
    /// memory for ever.
    pub fn on_thread_start(&mut self, hook: impl Fn() + Send + Sync + 'static) -> &mut Self {
        self.on_thread_start.push(Arc::new(hook));
        self
    }

    /// Sets a hook that each of these threads calls before it ends. A panic in it is printed and
    /// otherwise ignored.
    pub fn on_thread_stop(&mut self, hook: impl Fn() + Send + Sync + 'static) -> &mut Self {
        self.on_thread_stop.push(Arc::new(hook));
        self
    }

    /// Sets after how many polls a busy worker looks at sockets, timers and the tasks from outside;
    /// 61 by default, as in tokio. A smaller number favours them, a greater one favours the tasks
    /// that are in the worker's queue already.
    ///
    /// # Panics
    ///
    /// When the number is 0.
    #[track_caller]
    pub fn event_interval(&mut self, polls: u32) -> &mut Self {
        self.event_interval = within("event_interval", polls, 1..=u32::MAX);
        self
    }
}

#[track_caller]
fn within<T: PartialOrd + Debug>(what: &str, value: T, range: RangeInclusive<T>) -> T {
    assert!(range.contains(&value), "{what} must be in {range:?}, not {value:?}");
    value
}
