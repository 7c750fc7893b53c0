//! Why a simulation failed, and what had not ended then.

use arc::time::Duration;
use arc_sim_core::{Log, elapsed};
use arc_trace::Timeline;
use arc_util::task::TaskInfo;
use std::any::Any;
use std::cmp::Reverse;
use std::fmt;

/// How many tasks the text of a failure lists.
const TASKS_SHOWN: usize = 50;

/// Why a simulation gave no output.
#[non_exhaustive]
pub enum Failure {
    /// The future panicked, with this payload.
    Panicked(Box<dyn Any + Send>),
    /// A task panicked, or a job of `spawn_blocking`. Only a [`Test`](crate::Test) fails by that,
    /// unless it is told otherwise.
    TaskPanicked,
    /// The future of a [`Test`](crate::Test) returned this error.
    Returned(String),
    /// Every task waits, no timer is armed, and no socket has anything to report. This is what
    /// waits.
    Deadlock(Vec<Unfinished>),
    /// The simulation had as many polls as it may have. This had not ended.
    TooManyPolls(u64, Vec<Unfinished>),
    /// As much time passed on the simulated clock as may pass. This had not ended.
    TooLong(Duration, Vec<Unfinished>),
}

/// What a task waits for of which nothing was told.
const UNKNOWN: &str = "for nothing that arc knows of";

/// arc-sim has arc-util tell of all that it has, so what is not known is somebody else's.
const NOT_ARCS: &str = "\n    (the locks and channels of arc are named: one that is not known is \
                        of another crate)";

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(payload) => {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or(payload.downcast_ref::<&str>().copied());
                write!(formatter, "it panicked: {}", text.unwrap_or("with no text"))
            }
            Self::TaskPanicked => formatter.write_str(
                "a task or a job of spawn_blocking panicked, as is told above. If that is meant, \
                 write `unhandled_panic = \"ignore\"`",
            ),
            Self::Returned(error) => write!(formatter, "it returned {error}"),
            Self::Deadlock(tasks) => {
                formatter.write_str("every task waits, and no timer is armed:")?;
                list(tasks, formatter)?;

                // Else a reader would look for it among what arc has.
                let is_unknown = |task: &Unfinished| task.waits.as_deref() == Some(UNKNOWN);
                match tasks.iter().any(is_unknown) {
                    true => formatter.write_str(NOT_ARCS),
                    false => Ok(()),
                }
            }
            // The limit says nothing of the cause, and there are two.
            Self::TooManyPolls(polls, tasks) => {
                write!(formatter, "it has not ended after {polls} polls: ")?;
                formatter.write_str("does a loop never end, or does one of these wait in vain?")?;
                list(tasks, formatter)
            }
            Self::TooLong(limit, tasks) => {
                write!(formatter, "it has not ended after {limit:?} of simulated time:")?;
                list(tasks, formatter)
            }
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Lists the first of them.
fn list(tasks: &[Unfinished], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let shown = &tasks[..tasks.len().min(TASKS_SHOWN)];
    shown.iter().try_for_each(|task| write!(formatter, "\n    {task}"))?;
    match tasks.len() - shown.len() {
        0 => Ok(()),
        more => write!(formatter, "\n    and {more} more"),
    }
}

/// What had not ended when a simulation did: a task, or the main future.
///
/// Its `Display` is made for lists.
///
/// # Examples
///
/// ```
/// let run = arc_sim::simulate(1, async {
///     arc::task::spawn_named("waits", std::future::pending::<()>()).await.unwrap();
/// });
/// let Err(arc_sim::Failure::Deadlock(unfinished)) = run.outcome else { panic!() };
/// let texts: Vec<_> = unfinished.iter().map(ToString::to_string).collect();
/// assert!(texts.iter().any(|text| text.starts_with("the main future, last polled")));
/// assert!(texts.iter().any(|text| text.starts_with("task 1 \"waits\", spawned at")));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unfinished {
    /// The task. `None` is the main future.
    pub task: Option<TaskInfo>,
    /// The number that the events of the log give to the task. `None` if it was never polled.
    pub number: Option<usize>,
    /// How much simulated time had passed since its last poll, or since the beginning if there was
    /// none.
    pub idle: Duration,
    /// What it waits for, as the end of a sentence, if it waits. Locks and channels of other crates
    /// are not known.
    pub waits: Option<String>,
}

impl Unfinished {
    /// The main future and these tasks. What has been idle for the longest time is the first.
    pub(crate) fn list(tasks: Vec<TaskInfo>, log: &Log, timeline: &Timeline) -> Vec<Self> {
        // What was never polled has been idle from the beginning.
        let idle = |number: Option<usize>| {
            let last = number.and_then(|number| log.last_poll(number));
            let last = last.unwrap_or_default();
            elapsed().saturating_sub(last)
        };
        let main = Self { task: None, number: None, idle: idle(Some(0)), waits: None };
        let tasks = tasks.into_iter().map(|task| {
            let number = log.number(task.id.0);
            let waits = number.and_then(|number| timeline.waits(number as u64));
            Self { task: Some(task), number, idle: idle(number), waits }
        });

        // Ids differ from run to run, and numbers do not: so these come first.
        let mut all: Vec<_> = std::iter::once(main).chain(tasks).collect();
        all.sort_by_key(|it| {
            let id = it.task.as_ref().map(|task| task.id);
            (Reverse(it.idle), it.number, id)
        });
        all
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(TaskInfo { name, location, state, polls, .. }) = &self.task else {
            let idle = self.idle;
            return write!(formatter, "the main future, last polled {idle:.3?} ago");
        };

        // Which one it is.
        match self.number {
            Some(number) => write!(formatter, "task {number}")?,
            None => formatter.write_str("a task")?,
        }
        if let Some(name) = name {
            write!(formatter, " {name:?}")?;
        }
        write!(formatter, ", spawned at {location}, ")?;

        // What it did last.
        match self.number {
            Some(_) => write!(formatter, "polled {polls}x, last {:.3?} ago: ", self.idle)?,
            None => formatter.write_str("never polled: ")?,
        }
        write!(formatter, "{state:?}")?;

        // And what for.
        match &self.waits {
            Some(waits) => write!(formatter, ", {waits}"),
            None => Ok(()),
        }
    }
}
