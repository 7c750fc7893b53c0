//! What a runtime was configured with before it was built.

use crate::registry::info::TaskInfo;
use crate::sync::Duration;

/// One bit of a 64-bit word tells whether a worker sleeps (`scheduler/idle.rs`).
pub(crate) const WORKERS_MAX: usize = 64;

/// A function that each thread of the runtime calls.
pub(crate) type Hook = Box<dyn Fn() + Send + Sync>;

/// The options of [`Builder`](crate::runtime::Builder), which documents them.
pub(crate) struct Config {
    pub(crate) flavor: Flavor,
    pub(crate) workers: usize,
    pub(crate) max_blocking_threads: usize,
    pub(crate) thread_name: String,
    pub(crate) thread_stack_size: usize,
    pub(crate) on_thread_start: Hook,
    pub(crate) on_thread_stop: Hook,
    pub(crate) event_interval: u32,
    pub(crate) long_poll_limit: Duration,
    pub(crate) on_long_poll: Box<dyn Fn(&TaskInfo) + Send + Sync>,
    pub(crate) unhandled_panic: UnhandledPanic,
}

/// Who runs the workers.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Flavor {
    /// Each worker has a thread of its own.
    MultiThread,
    /// There is one worker, and a thread in `block_on` runs it.
    CurrentThread,
}

impl Config {
    pub(crate) fn new(flavor: Flavor) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            flavor,
            workers: cores.min(WORKERS_MAX),
            // As in tokio: enough for a burst of file accesses, and few enough for a
            // machine with little memory.
            max_blocking_threads: 512,
            thread_name: "arc".to_owned(),
            thread_stack_size: 2 << 20,
            on_thread_start: Box::new(|| {}),
            on_thread_stop: Box::new(|| {}),
            // As in tokio. A prime number does not fall into step with what a program
            // does in batches.
            event_interval: 61,
            long_poll_limit: Duration::from_millis(100),
            on_long_poll: Box::new(|task| eprintln!("arc: a poll holds its worker up: {task}")),
            unhandled_panic: UnhandledPanic::Ignore,
        }
    }

    pub(crate) fn is_current_thread(&self) -> bool {
        self.flavor == Flavor::CurrentThread
    }
}

/// What happens to a runtime when one of its tasks panics. (The process's panic hook
/// runs in each case.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnhandledPanic {
    /// Only the task ends. Its handle gives the panic.
    Ignore,
    /// The runtime ends. Every `block_on` on it panics.
    ShutdownRuntime,
    /// The process aborts.
    Abort,
}
