//! What can be told of a task.

use arc::observe::{Kind, Note};
use arc::task::Id;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Describes a task: where it was spawned and what it does at the moment.
///
/// [`Handle::tasks`](crate::runtime::Handle::tasks) gives a list of these. Its `Display` is a line
/// of such a list. With `{:#}` it is a sentence on the poll that goes on, as the reports of
/// [long polls](crate::runtime::Builder::on_long_poll) have it.
///
/// # Examples
///
/// ```
/// use arc_util::runtime::Handle;
/// # #[arc::main]
/// # async fn main() {
/// let task = arc::task::spawn_named("waiter", std::future::pending::<()>());
/// arc::task::yield_now().await;
/// for task in Handle::current().tasks() {
///     // task 3 "waiter", spawned at src/main.rs:4:12, polled once: idle
///     println!("{task}");
/// }
/// # task.abort();
/// # }
/// ```
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
    /// This is the future of a `block_on`, and its thread polls it. Only
    /// [`on_long_poll`](crate::runtime::Builder::on_long_poll) reports such futures.
    InBlockOn {
        /// For how long the poll has gone on, as far as the monitor knows: it sees the poll some
        /// milliseconds late.
        time: Duration,
    },
}

impl TaskInfo {
    /// Describes a task by its note, which does not know whether a worker polls it.
    pub(crate) fn new(id: Id, note: &Note) -> Self {
        let state = match note.kind() {
            Kind::Task if note.is_queued() => TaskState::Queued,
            Kind::Task => TaskState::Idle,
            // Whether it has a thread already is not noted.
            Kind::Job => TaskState::Blocking,
            // For how long, the monitor knows.
            Kind::BlockOn => TaskState::InBlockOn { time: Duration::ZERO },
        };

        // The future of a `block_on` has no name, and a reader has to know what it is.
        let name = match note.kind() {
            Kind::BlockOn => Some("block_on".into()),
            Kind::Task | Kind::Job => note.name().cloned(),
        };
        Self { id, name, location: note.location(), state, polls: note.polls() }
    }
}

/// One line in either form, so that logs stay readable.
impl fmt::Display for TaskInfo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, name, location: at, state, polls } = self;
        let polls = match polls {
            0 => "never polled".to_owned(),
            1 => "polled once".to_owned(),
            polls => format!("polled {polls} times"),
        };

        write!(formatter, "task {id}")?;
        if let Some(name) = name {
            write!(formatter, " {name:?}")?;
        }

        // In a list each line has the same parts, in the same order.
        if !formatter.alternate() {
            return write!(formatter, ", spawned at {at}, {polls}: {state}");
        }

        // A report is a sentence.
        match *state {
            TaskState::Idle => write!(formatter, " is idle"),
            TaskState::Queued => write!(formatter, " waits in a queue"),
            TaskState::Blocking => write!(formatter, " is a job of spawn_blocking"),
            TaskState::Running { worker, time } => {
                write!(formatter, " has been blocking worker {worker} for {}", Millis(time))
            }
            TaskState::InBlockOn { time } => {
                write!(formatter, " has been blocking its thread for {}", Millis(time))
            }
        }?;

        // Nobody has spawned the future of a `block_on`.
        let what = match state {
            TaskState::InBlockOn { .. } => "called",
            _ => "spawned",
        };
        write!(formatter, " ({what} at {at}, {polls})")
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Idle => formatter.write_str("idle"),
            Self::Queued => formatter.write_str("queued"),
            Self::Blocking => formatter.write_str("a job of spawn_blocking"),
            // The monitor has not seen it twice in the same poll.
            Self::Running { worker, time: Duration::ZERO } => {
                write!(formatter, "running on worker {worker}")
            }
            Self::Running { worker, time } => {
                write!(formatter, "running on worker {worker} for {}", Millis(time))
            }
            Self::InBlockOn { time } => write!(formatter, "in block_on for {}", Millis(time)),
        }
    }
}

/// A time as people read it.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(time) = *self;
        if time < Duration::from_secs(10) {
            write!(formatter, "{} ms", time.as_millis())
        } else {
            write!(formatter, "{:.1} s", time.as_secs_f64())
        }
    }
}
