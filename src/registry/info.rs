//! What can be known of a task from outside: in the task list, in the report of a poll
//! that takes too long, and in the report of what a shutdown ended.

use crate::sync::{Arc, Duration, Ordering};
use std::{fmt, panic::Location};

/// Identifies a task. No two tasks of a process have the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub(crate) u64);

/// Ids are handed out in blocks. One counter for every spawn would be a cache line that
/// all workers write to.
const IDS_PER_BLOCK: u64 = 1024;

impl Id {
    /// The id that follows `last` in its block, or the first one of a new block.
    pub(crate) fn after(last: u64) -> Self {
        static BLOCKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

        if last.is_multiple_of(IDS_PER_BLOCK) {
            let block = BLOCKS.fetch_add(1, Ordering::Relaxed);
            return Self(block * IDS_PER_BLOCK + 1);
        }
        Self(last + 1)
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
/// [`Handle::tasks`](crate::runtime::Handle::tasks) gives a list of these.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskInfo {
    /// The task's id, which its handle gives as well.
    pub id: Id,
    /// The task's name, if [`spawn_named`](crate::task::spawn_named) spawned it.
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
        /// How long the poll has taken so far, in steps of 5 ms.
        time: Duration,
    },
    /// The task is a job of `spawn_blocking`: it has a thread, or waits for one.
    Blocking,
    /// This is no task but the future of a `block_on`, and its thread polls it. Only
    /// [`on_long_poll`](crate::runtime::Builder::on_long_poll) reports such futures.
    InBlockOn {
        /// How long the poll has taken so far, in steps of 5 ms.
        time: Duration,
    },
}

/// Whether workers poll a task, or a thread of the blocking pool runs it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Async,
    Blocking,
}

/// Where a task comes from.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) location: &'static Location<'static>,
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
        let Self { id, name, location, state, polls } = self;
        write!(formatter, "task {id}")?;
        if let Some(name) = name {
            write!(formatter, " {name:?}")?;
        }
        write!(formatter, ", spawned at {location}, polled {polls}x: {state:?}")
    }
}
