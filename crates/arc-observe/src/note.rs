//! What the runtime notes of a task for those who look at it.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A task that a worker polls.
    Task,
    /// A job of `spawn_blocking`, which one poll runs from its beginning to its end.
    Job,
    /// The future of a `block_on`, which the calling thread polls.
    BlockOn,
}

/// What is noted of a task, of a job, or of the future in a `block_on`.
pub struct Note {
    kind: Kind,
    name: Option<Arc<str>>,
    location: &'static Location<'static>,
    steps: AtomicU64,
}

impl Note {
    /// Describes what the caller is about to spawn. Only arc uses this.
    #[doc(hidden)]
    #[track_caller]
    pub fn new(kind: Kind, name: Option<&str>) -> Self {
        let name = name.map(Arc::from);
        Self { kind, name, location: Location::caller(), steps: AtomicU64::new(0) }
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The task's name, if `spawn_named` spawned it.
    pub fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    /// The line that spawned the task, or that called `block_on`.
    pub fn location(&self) -> &'static Location<'static> {
        self.location
    }

    /// How many steps it has made.
    ///
    /// A task or a job makes a step into a queue, and one out of it to be polled: the number is odd
    /// while it waits in a queue. A future in `block_on` makes a step when a poll begins, and one
    /// when that has ended: the number is odd during a poll.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// How often it was polled. A poll that goes on counts.
    pub fn polls(&self) -> u64 {
        match self.kind {
            Kind::BlockOn => self.steps().div_ceil(2),
            Kind::Task | Kind::Job => self.steps() / 2,
        }
    }

    /// Whether it waits in a queue.
    pub fn is_queued(&self) -> bool {
        self.kind != Kind::BlockOn && !self.steps().is_multiple_of(2)
    }

    /// Makes a step. Only arc uses this.
    ///
    /// One step comes after the other, by the queue or by the thread in `block_on`. So none is lost
    /// between the load and the store.
    #[doc(hidden)]
    pub fn step(&self) {
        self.steps.store(self.steps() + 1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut note = formatter.debug_struct("Note");
        note.field("kind", &self.kind).field("name", &self.name);
        note.field("location", &format_args!("{}", self.location));
        note.field("steps", &self.steps()).finish()
    }
}
