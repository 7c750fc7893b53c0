//! What one task waits for while the program goes on, and the words for it.
//!
//! These are values alone: `waits.rs` keeps them, a recording takes them along, and `program.rs`
//! says what stands out of them.

use crate::resource::{Description, Resource};
use crate::sources;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Two deadlines that differ by less are taken for the same timer. It is told how much time is left
/// until then, and the clock is read twice for that.
const SAME_DEADLINE: u64 = 1_000_000;

/// What a poll asked for and did not get.
#[derive(Clone, Debug)]
pub(crate) enum On<R = Arc<Resource>> {
    Io {
        source: i64,
        write: bool,
    },
    Time {
        deadline: u64,
    },
    Task {
        task: u64,
    },
    Turn,
    Resource {
        resource: R,
        line: Option<&'static Location<'static>>,
        /// How many permits. Zero: it is something else.
        permits: u64,
    },
}

/// The same while it is told. Most polls ask for what is known already: then it need not be kept.
pub(crate) type AskedFor<'a> = On<&'a Arc<Resource>>;

/// Something that a task has asked for and not got.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// The place in memory of the future that waits. Zero: a `poll_` function does, and nothing
    /// tells when it is given up.
    pub(crate) waiter: u64,
    pub(crate) on: On,
    pub(crate) since: u64,
    /// The step of the poll that has asked last.
    pub(crate) asked: u64,
    /// How many waits its thread had told of then.
    pub(crate) told: u64,
    /// How many looks at the kernel had brought something by then.
    pub(crate) looks: u64,
    /// A future that has ended meanwhile had asked for it.
    pub(crate) is_given_up: bool,
}

/// What one task waited for after its last poll.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The task's id.
    pub task: u64,
    /// The number of the step by which that poll began: for a task, twice the number of the poll.
    /// If the task was polled more often, it no longer waits for this.
    pub step: u64,
    /// When this was read, in nanoseconds of the recorder's clock.
    pub(crate) now: u64,
    /// When that poll was, if something was recorded.
    pub(crate) since: u64,
    /// What that poll has asked for, what earlier ones have, and what was given up.
    pub(crate) asked: Vec<Open>,
    pub(crate) kept: Vec<Open>,
    pub(crate) given_up: Vec<Open>,
    pub(crate) is_crowded: bool,
    /// The step of the last poll that has spawned or sent something.
    pub(crate) moved: u64,
}

/// What stands for the place in memory of a task's handle, which may be moved. It is no place.
pub(crate) fn handle(task: u64) -> u64 {
    1 << 63 | task
}

impl AskedFor<'_> {
    /// What is kept of it.
    pub(crate) fn owned(self) -> On {
        match self {
            Self::Io { source, write } => On::Io { source, write },
            Self::Time { deadline } => On::Time { deadline },
            Self::Task { task } => On::Task { task },
            Self::Turn => On::Turn,
            Self::Resource { resource, line, permits } => {
                On::Resource { resource: resource.clone(), line, permits }
            }
        }
    }
}

impl Open {
    /// No future waits, so nothing is dropped when the wait is over.
    pub(crate) fn is_by_function(&self) -> bool {
        self.waiter == 0
    }
}

impl On {
    /// Whether another poll asks for the same thing.
    pub(crate) fn is_same(&self, other: &AskedFor<'_>) -> bool {
        match (self, other) {
            (Self::Io { source, write }, On::Io { source: of, write: to }) => {
                (source, write) == (of, to)
            }
            (Self::Time { deadline }, On::Time { deadline: other }) => {
                deadline.abs_diff(*other) < SAME_DEADLINE
            }
            (Self::Task { task }, On::Task { task: other }) => task == other,
            (Self::Turn, On::Turn) => true,
            // The line counts, too: a loop may ask for one lock at two places.
            (
                Self::Resource { resource, line, permits },
                On::Resource { resource: of, line: at, permits: wanted },
            ) => resource.id == of.id && line == at && permits == wanted,
            _ => false,
        }
    }

    /// The end of a sentence that begins with who waits.
    pub(crate) fn text(&self, now: u64, label: &dyn Fn(u64) -> String) -> String {
        match self {
            Self::Io { source, write } => sources::text(*source, *write),
            Self::Time { deadline } => {
                let time = Duration::from_nanos(deadline.abs_diff(now));
                match *deadline >= now {
                    true => format!("until {time:.1?} from now"),
                    // It has expired, and its task has not been polled for that yet.
                    false => format!("until {time:.1?} ago"),
                }
            }
            Self::Task { task } => format!("for the end of {}", label(*task)),
            Self::Turn => "for its next turn, as its budget is used up".to_owned(),
            Self::Resource { resource, line, permits } => {
                // Who has it is asked for now: the program goes on, and that changes.
                let description = Description {
                    what: resource.what,
                    location: resource.location,
                    permits: *permits,
                    holders: &resource.holders(),
                    provider: resource.provider(),
                    numbers: &resource.numbers(),
                };
                let text = description.text(label);
                match line {
                    Some(line) => format!("at {line} for {text}"),
                    None => format!("for {text}"),
                }
            }
        }
    }
}

impl Waiting {
    /// For each thing that the task waits for: for how long it has, and the end of a sentence, such
    /// as "for the Mutex made at src/main.rs:3:5". `label` names a task.
    pub fn describe(&self, label: &dyn Fn(u64) -> String) -> Vec<(Duration, String)> {
        let mut all: Vec<(Duration, String)> = Vec::new();
        for wait in &self.asked {
            let time = Duration::from_nanos(self.now.saturating_sub(wait.since));
            let text = wait.on.text(self.now, label);

            // Several futures of one task may wait for one thing. A reader needs it once.
            if all.iter().all(|(_, other)| *other != text) {
                all.push((time, text));
            }
        }
        all
    }

    /// The handle of a task that has ended wakes nobody, unless it is awaited.
    pub(crate) fn without(&self, has_ended: &dyn Fn(u64) -> bool) -> Self {
        let mut left = self.clone();
        let is_open = |wait: &Open| match wait.on {
            On::Task { task } => !has_ended(task),
            _ => true,
        };

        // What the last poll has asked for stays: the task is woken by it, and goes on.
        left.kept.retain(is_open);
        left.given_up.retain(is_open);
        left
    }

    /// All waits, in the order in which a cycle numbers them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Open> {
        self.asked.iter().chain(&self.kept).chain(&self.given_up)
    }
}

/// A recording knows what the tasks wait for.
pub(crate) fn make_known(all: &[Waiting]) {
    for waiting in all {
        // What was given up is named only beside what the tasks wait for.
        for wait in waiting.asked.iter().chain(&waiting.kept) {
            if let On::Resource { resource, line, .. } = &wait.on {
                resource.make_known();
                resource.number_of(*line);
            }
        }
    }
}
