//! What can be known of a task from outside: in the task list, in the report of a poll
//! that takes too long, and in the report of what a shutdown ended.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Identifies a task. No two tasks of a process have the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u64);

impl Id {
    /// An id that no task has had. The first one is 1. (For crates that have tasks of their own.)
    #[doc(hidden)]
    pub fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Describes a task: where it was spawned and what it does at the moment. Its `Display` is
/// made for logs.
///
/// `Handle::tasks` gives a list of these.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskInfo {
    /// The task's id, which its handle gives as well.
    pub id: Id,
    /// The task's name, if `spawn_named` spawned it.
    pub name: Option<Arc<str>>,
    /// The line that spawned the task, or that called `block_on`.
    pub location: &'static Location<'static>,
    /// What the task does.
    pub state: TaskState,
    /// How often the task was polled. A poll that still goes on counts.
    pub polls: u64,
}

/// What a task does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// The task waits for something.
    Idle,
    /// The task waits in a queue to be polled.
    Queued,
    /// A worker polls the task.
    Running {
        /// The number of the worker, from 0.
        worker: usize,
        /// For how long the poll has gone on, as far as the monitor knows: it sees the poll some
        /// milliseconds late.
        time: Duration,
    },
    /// The task is a job of `spawn_blocking`: it has a thread, or waits for one.
    Blocking,
    /// This is no task but the future of a `block_on`, and its thread polls it. Only
    /// `Builder::on_long_poll` reports such futures.
    InBlockOn {
        /// For how long the poll has gone on, as far as the monitor knows: it sees the poll some
        /// milliseconds late.
        time: Duration,
    },
}

/// Whether workers poll a task, or a thread of the blocking pool runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Workers poll it.
    Async,
    /// A thread of the blocking pool runs it.
    Blocking,
}

/// Where a task comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The name that it was given, if any.
    pub(crate) name: Option<Arc<str>>,
    /// The line that spawned it.
    pub(crate) location: &'static Location<'static>,
    /// Who runs it.
    pub(crate) kind: Kind,
}

impl Origin {
    /// The origin of a task that the caller spawns.
    #[track_caller]
    pub(crate) fn new(kind: Kind) -> Self {
        Self { name: None, location: Location::caller(), kind }
    }
}

impl fmt::Display for TaskInfo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, so that logs stay readable: who it is, where it comes from, and what it does.
        let Self { id, name, location, state, polls } = self;
        write!(formatter, "task {id}")?;

        // Few tasks have a name.
        if let Some(name) = name {
            write!(formatter, " {name:?}")?;
        }

        write!(formatter, ", spawned at {location}, polled {polls}x: {state:?}")
    }
}
