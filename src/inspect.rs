//! What is known of a task from outside: for the task list, for the report of a poll
//! that takes too long, and for the report of what a shutdown ended.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, time::Duration};

/// Names a task. Unique among all tasks of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub(crate) u64);

impl Id {
    /// The next one. A shard is given 1024 at once: workers would contend for one.
    pub(crate) fn after(last: u64) -> Self {
        static BLOCKS: AtomicU64 = AtomicU64::new(0);
        if last.is_multiple_of(1024) {
            return Self(BLOCKS.fetch_add(1, Ordering::Relaxed) * 1024 + 1);
        }
        Self(last + 1)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What is known of a task: where it was spawned and what it does. Its `Display` is
/// made for logs.
///
/// [`Handle::tasks`](crate::runtime::Handle::tasks) lists them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskInfo {
    /// Its id, as the handle of the task has it.
    pub id: Id,
    /// Its name, if it was spawned by [`spawn_named`](crate::task::spawn_named).
    pub name: Option<Arc<str>>,
    /// The line that spawned it.
    pub location: &'static Location<'static>,
    /// What it does.
    pub state: TaskState,
    /// How often it was polled; the poll it is in counts.
    pub polls: u64,
}

/// What a task does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// It waits for something.
    Idle,
    /// It waits in a queue to be polled.
    Queued,
    /// It is polled.
    Running {
        /// The number of the worker that polls it, from 0.
        worker: usize,
        /// For how long, in steps of 5 ms.
        time: Duration,
    },
    /// It is a job of `spawn_blocking`, which has a thread or waits for one.
    Blocking,
}

/// Who spawned a task.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) location: &'static Location<'static>,
    /// It is a job of `spawn_blocking`.
    pub(crate) blocking: bool,
}

impl Origin {
    /// Of a task that the caller spawns.
    #[track_caller]
    pub(crate) fn new(name: Option<Arc<str>>, blocking: bool) -> Self {
        Self { name, location: Location::caller(), blocking }
    }
}

impl fmt::Display for TaskInfo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, name, location, state, polls } = self;
        let name = name.as_ref().map_or(String::new(), |name| format!(" {name:?}"));
        write!(formatter, "task {id}{name}, spawned at {location}, polled {polls}x: {state:?}")
    }
}
