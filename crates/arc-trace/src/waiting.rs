//! What a task waits for, and cycles of tasks that wait for each other, in sentences.

use crate::cycle::{self, Blockers};
use crate::resource::{Resource, blockers, describe};
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Two deadlines that differ by less are taken for the same timer. It is told how much time is left
/// until then, and the clock is read twice for that.
const SAME_DEADLINE: u64 = 1_000_000;

/// What a poll asked for and did not get.
#[derive(Clone, Debug)]
pub(crate) enum On {
    Io { source: i64, write: bool },
    Time { deadline: u64 },
    Task { task: u64 },
    Turn,
    Resource { resource: Arc<Resource>, line: Option<&'static Location<'static>> },
}

impl On {
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Io { source, write }, Self::Io { source: of, write: to }) => {
                (source, write) == (of, to)
            }
            (Self::Time { deadline }, Self::Time { deadline: other }) => {
                deadline.abs_diff(*other) < SAME_DEADLINE
            }
            (Self::Task { task }, Self::Task { task: other }) => task == other,
            (Self::Turn, Self::Turn) => true,
            (Self::Resource { resource, line }, Self::Resource { resource: of, line: at }) => {
                resource.id == of.id && line == at
            }
            _ => false,
        }
    }

    fn blockers(&self) -> Blockers {
        match self {
            Self::Task { task } => Blockers::one(*task),
            Self::Resource { resource, .. } => {
                let holders: Vec<u64> = resource.holders().iter().map(|it| it.task).collect();
                blockers(resource.what, &holders, resource.provider())
            }
            Self::Io { .. } | Self::Time { .. } | Self::Turn => Blockers::default(),
        }
    }

    fn text(&self, now: u64, label: &dyn Fn(u64) -> String) -> String {
        match self {
            Self::Io { source, write: true } => format!("until descriptor {source} can be written"),
            Self::Io { source, write: false } => format!("until descriptor {source} can be read"),
            Self::Time { deadline } => match deadline.checked_sub(now) {
                Some(left) => format!("until {:.1?} from now", Duration::from_nanos(left)),
                None => format!("until {:.1?} ago", Duration::from_nanos(now - deadline)),
            },
            Self::Task { task } => format!("for the end of {}", label(*task)),
            Self::Turn => "for its next turn, as its budget is used up".to_owned(),
            Self::Resource { resource, line } => {
                let holders: Vec<_> =
                    resource.holders().iter().map(|it| (it.task, it.line)).collect();
                let (what, location) = (resource.what, resource.location);
                let text = describe(what, location, &holders, resource.provider(), label);
                match line {
                    Some(line) => format!("at {line} for {text}"),
                    None => format!("for {text}"),
                }
            }
        }
    }
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
    /// What it waits for, and since when.
    pub(crate) waits: Vec<(u64, On)>,
}

impl Waiting {
    /// For each thing that the task waits for: for how long it has, and the end of a sentence, such
    /// as "for the Mutex made at src/main.rs:3:5". `label` names a task.
    pub fn describe(&self, label: &dyn Fn(u64) -> String) -> Vec<(Duration, String)> {
        let describe = |(since, on): &(u64, On)| {
            let time = Duration::from_nanos(self.now.saturating_sub(*since));
            (time, on.text(self.now, label))
        };
        self.waits.iter().map(describe).collect()
    }
}

/// A recording knows what the tasks wait for.
pub(crate) fn make_known(all: &[Waiting]) {
    for (_, on) in all.iter().flat_map(|waiting| &waiting.waits) {
        if let On::Resource { resource, line } = on {
            resource.make_known();
            resource.number_of(*line);
        }
    }
}

/// A task of a cycle, in which each waits for the next one, and the last for the first.
#[derive(Clone, Debug)]
pub struct Link {
    /// The task's id.
    pub task: u64,
    /// What it waits for, as the end of a sentence.
    pub wait: String,
}

/// The cycles of tasks that wait for each other, so that none of them can go on. Only pass tasks
/// that still wait. `label` names a task.
pub fn cycles(all: &[Waiting], label: &dyn Fn(u64) -> String) -> Vec<Vec<Link>> {
    let by_id: BTreeMap<u64, &Waiting> =
        all.iter().map(|waiting| (waiting.task, waiting)).collect();
    let blockers = |waiting: &Waiting| waiting.waits.iter().map(|(_, on)| on.blockers()).collect();
    let waits = all.iter().map(|waiting| (waiting.task, blockers(waiting))).collect();

    let link = |(task, index): (u64, usize)| {
        let waiting = by_id[&task];
        Link { task, wait: waiting.waits[index].1.text(waiting.now, label) }
    };
    let cycles = cycle::find(&waits).into_iter();
    cycles.map(|cycle| cycle.into_iter().map(link).collect()).collect()
}
