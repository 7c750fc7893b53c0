//! What a task waits for, and what stands out of that, in sentences: for the dump of a program that
//! goes on meanwhile.

use crate::cycle::{Blockers, Certainty, Cycle, Judgement, Need, Needs, judge};
use crate::resource::{Description, Holder, Resource, What};
use crate::waits::Open;
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Two deadlines that differ by less are taken for the same timer. It is told how much time is left
/// until then, and the clock is read twice for that.
const SAME_DEADLINE: u64 = 1_000_000;

/// So many nanoseconds a task must have waited for a guard that may have been moved, before its
/// owner is suspected.
pub(crate) const PATIENCE: u64 = 10_000_000_000;

/// Of the tasks among which nobody is left, so many are named.
pub(crate) const NAMED_MAX: usize = 4;

/// What a poll asked for and did not get.
#[derive(Clone, Debug)]
pub(crate) enum On {
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
        resource: Arc<Resource>,
        line: Option<&'static Location<'static>>,
        /// How many permits. Zero: it is something else.
        permits: u64,
    },
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
            (
                Self::Resource { resource, line, permits },
                Self::Resource { resource: of, line: at, permits: wanted },
            ) => resource.id == of.id && line == at && permits == wanted,
            _ => false,
        }
    }

    fn text(&self, now: u64, label: &dyn Fn(u64) -> String) -> String {
        match self {
            Self::Io { source, write } => crate::sources::text(*source, *write),
            Self::Time { deadline } => match deadline.checked_sub(now) {
                Some(left) => format!("until {:.1?} from now", Duration::from_nanos(left)),
                None => format!("until {:.1?} ago", Duration::from_nanos(now - deadline)),
            },
            Self::Task { task } => format!("for the end of {}", label(*task)),
            Self::Turn => "for its next turn, as its budget is used up".to_owned(),
            Self::Resource { resource, line, permits } => {
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

/// Who has to act so that a wait for a resource ends. `has_moved` says whether a task has spawned
/// or sent something since it got a thing by a poll. `age` is how old the wait is.
pub(crate) fn need(
    what: What,
    holders: &[Holder],
    receiver: Option<(u64, u64)>,
    is_refilled: bool,
    age: u64,
    has_moved: &dyn Fn(u64, u64) -> bool,
) -> Need {
    let tasks = |one_is_enough| {
        let tasks = holders.iter().map(|holder| holder.task).collect();
        Blockers { tasks, one_is_enough }
    };
    let by = match what {
        What::Mutex | What::RwLock => tasks(false),
        What::Semaphore => tasks(true),
        // A channel has one receiver. Who received last has it, unless it was moved since.
        What::Room => {
            let Some((task, step)) = receiver else {
                return Blockers::default().with(Certainty::Anybody);
            };
            let certainty =
                if has_moved(task, step) { Certainty::WereLast } else { Certainty::Perhaps };
            return Blockers::one(task).with(certainty);
        }
        // Many may send or notify, so nobody is known to be the only one.
        _ => return Blockers::default().with(Certainty::Anybody),
    };
    let may_move = |holder: &&Holder| holder.may_move;
    let certainty = if holders.is_empty() || is_refilled {
        Certainty::Anybody
    } else if !holders.iter().any(|holder| holder.may_move) {
        Certainty::Known
    } else if age < PATIENCE
        || holders.iter().filter(may_move).any(|holder| has_moved(holder.task, holder.step))
    {
        Certainty::WereLast
    } else {
        Certainty::Perhaps
    };
    by.with(certainty)
}

/// The end of one of some tasks. If there are others of which nothing is told, anybody may end.
pub(crate) fn joins(tasks: Vec<u64>, has_others: bool) -> Need {
    let certainty = if has_others { Certainty::Anybody } else { Certainty::Known };
    Blockers { tasks, one_is_enough: true }.with(certainty)
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

impl Waiting {
    /// For each thing that the task waits for: for how long it has, and the end of a sentence, such
    /// as "for the Mutex made at src/main.rs:3:5". `label` names a task.
    pub fn describe(&self, label: &dyn Fn(u64) -> String) -> Vec<(Duration, String)> {
        let mut all: Vec<(Duration, String)> = Vec::new();
        for wait in &self.asked {
            let time = Duration::from_nanos(self.now.saturating_sub(wait.since));
            let text = wait.on.text(self.now, label);
            if all.iter().all(|(_, other)| *other != text) {
                all.push((time, text));
            }
        }
        all
    }

    /// The handle of a task that has ended wakes nobody, unless it is awaited.
    fn without(&self, has_ended: &dyn Fn(u64) -> bool) -> Self {
        let mut left = self.clone();
        let is_open = |wait: &Open| match wait.on {
            On::Task { task } => !has_ended(task),
            _ => true,
        };
        left.kept.retain(is_open);
        left.given_up.retain(is_open);
        left
    }

    /// All waits, in the order in which a cycle numbers them.
    fn wait(&self, number: usize) -> Option<&Open> {
        self.asked.iter().chain(&self.kept).chain(&self.given_up).nth(number)
    }
}

/// A recording knows what the tasks wait for.
pub(crate) fn make_known(all: &[Waiting]) {
    for wait in all.iter().flat_map(|waiting| waiting.asked.iter().chain(&waiting.kept)) {
        if let On::Resource { resource, line, .. } = &wait.on {
            resource.make_known();
            resource.number_of(*line);
        }
    }
}

/// What stands out of the tasks that wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A sentence that names the culprit.
    pub text: String,
    /// It is so only if these tasks have not been polled a moment later, since a wake-up may be on
    /// its way: their ids, and the steps of their last polls. Empty: it is so.
    pub unless_polled: Vec<(u64, u64)>,
}

/// The tasks of a program that wait, to be judged.
#[expect(missing_debug_implementations, reason = "it has functions")]
pub struct Program<'a> {
    /// The tasks that still wait. Pass no others.
    pub waiting: &'a [Waiting],
    /// Nothing else goes on: no task is polled or queued, and no job runs.
    pub is_all: bool,
    /// Whether a task has ended.
    pub has_ended: &'a dyn Fn(u64) -> bool,
    /// Names a task.
    pub label: &'a dyn Fn(u64) -> String,
}

impl Program<'_> {
    /// What stands out: deadlocks first, and then what is one perhaps.
    pub fn findings(&self) -> Vec<Finding> {
        let open: Vec<Waiting> =
            self.waiting.iter().map(|waiting| waiting.without(self.has_ended)).collect();
        let by_id: BTreeMap<u64, &Waiting> =
            open.iter().map(|waiting| (waiting.task, waiting)).collect();
        let moved = |task: u64, step: u64| {
            // Of a task that does not wait it is not known.
            by_id.get(&task).is_none_or(|waiting| waiting.moved >= step)
        };
        let need = |waiting: &Waiting, wait: &Open| match &wait.on {
            On::Task { task } => Blockers::one(*task).with(Certainty::Known),
            // Its tasks are among those whose handles were polled.
            On::Resource { resource, .. } if resource.what == What::JoinSet => {
                let handles = waiting.asked.iter().chain(&waiting.kept);
                let task = |wait: &Open| match wait.on {
                    On::Task { task } => Some(task),
                    _ => None,
                };
                joins(handles.filter_map(task).collect(), resource.numbers().is_refilled)
            }
            On::Resource { resource, .. } => {
                let age = waiting.now.saturating_sub(wait.since);
                let is_refilled = resource.numbers().is_refilled;
                need(
                    resource.what,
                    &resource.holders(),
                    resource.provided(),
                    is_refilled,
                    age,
                    &moved,
                )
            }
            On::Io { .. } | On::Time { .. } | On::Turn => Need::default(),
        };
        let needs = |waiting: &Waiting| {
            let all = |waits: &[Open]| waits.iter().map(|wait| need(waiting, wait)).collect();
            Needs {
                asked: all(&waiting.asked),
                kept: all(&waiting.kept),
                given_up: all(&waiting.given_up),
                is_crowded: waiting.is_crowded,
            }
        };
        let all = open.iter().map(|waiting| (waiting.task, needs(waiting))).collect();

        let Judgement { deadlocks, perhaps, is_quiet } = judge(&all, self.is_all);
        let link = |(task, number): &(u64, usize)| {
            let waiting = by_id[task];
            let wait = waiting.wait(*number).map(|wait| wait.on.text(waiting.now, self.label));
            format!("{} waits {}", (self.label)(*task), wait.unwrap_or_default())
        };
        let given_up = |cycle: &Cycle| {
            let all = cycle.iter().flat_map(|(task, _)| {
                let waiting = by_id[task];
                waiting.given_up.iter().map(|wait| wait.on.text(waiting.now, self.label))
            });
            all.collect::<Vec<String>>()
        };
        let steps: Vec<(u64, u64)> =
            self.waiting.iter().map(|waiting| (waiting.task, waiting.step)).collect();
        let unsure = |text: String| Finding { text, unless_polled: steps.clone() };
        let sure = |text: String| Finding { text, unless_polled: Vec::new() };
        let mut findings: Vec<Finding> = Vec::new();
        for cycle in &deadlocks {
            let text = format!("deadlock: {}", cycle_text(cycle, link));
            findings.push(if is_quiet { unsure(text) } else { sure(text) });
        }
        for cycle in &perhaps {
            let assumption = assumption(&given_up(cycle));
            let text = format!("perhaps a deadlock: {}; {assumption}", cycle_text(cycle, link));
            findings.push(sure(text));
        }
        findings.extend(self.handed_over());
        if is_quiet && deadlocks.is_empty() {
            let text = |waiting: &Waiting| {
                let label = (self.label)(waiting.task);
                let waits: Vec<String> =
                    waiting.describe(self.label).into_iter().map(|(_, text)| text).collect();
                format!("{label} waits {}", waits.join(", or "))
            };
            let named = self.waiting.iter().take(NAMED_MAX).map(text).collect();
            findings.push(unsure(nobody_text(self.waiting.len(), named)));
        }
        findings
    }

    /// Locks that were given to a future which its task does not poll.
    fn handed_over(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for waiting in self.waiting {
            for asked in &waiting.asked {
                let On::Resource { resource, line, .. } = &asked.on else { continue };
                if !resource.what.is_lock() || !resource.holders().is_empty() {
                    continue;
                }
                let first = self.first_in_line(resource.id);
                let Some((task, first)) = first.filter(|(task, wait)| !self.asks(*task, wait))
                else {
                    continue;
                };
                let On::Resource { line: at, .. } = &first.on else { continue };
                let text = handed_over_text(
                    resource.what,
                    resource.location,
                    (&(self.label)(waiting.task), *line),
                    (&(self.label)(task), *at),
                );
                let is_its = |it: &&Waiting| it.task == waiting.task || it.task == task;
                let its = self.waiting.iter().filter(is_its);
                let unless_polled = its.map(|waiting| (waiting.task, waiting.step)).collect();
                findings.push(Finding { text, unless_polled });
            }
        }
        findings
    }

    /// Whether the last poll of a task has asked for a thing.
    fn asks(&self, task: u64, wait: &Open) -> bool {
        let waiting = self.waiting.iter().find(|waiting| waiting.task == task);
        waiting.is_some_and(|waiting| wait.asked == waiting.step && !wait.is_given_up)
    }

    /// Who has waited longest for a resource.
    fn first_in_line(&self, resource: u64) -> Option<(u64, &Open)> {
        let mut first: Option<(u64, &Open)> = None;
        for waiting in self.waiting {
            for wait in waiting.asked.iter().chain(&waiting.kept).chain(&waiting.given_up) {
                let On::Resource { resource: of, .. } = &wait.on else { continue };
                if of.id == resource && first.is_none_or(|(_, first)| wait.since < first.since) {
                    first = Some((waiting.task, wait));
                }
            }
        }
        first
    }
}

/// The end of a sentence: who waits for whom.
pub(crate) fn cycle_text(cycle: &Cycle, link: impl Fn(&(u64, usize)) -> String) -> String {
    let links: Vec<String> = cycle.iter().map(link).collect();
    let who = match links.len() {
        1 => "a task waits for itself",
        _ => "tasks wait for each other",
    };
    format!("{who}: {}", links.join("; and "))
}

/// The end of a sentence: on what it depends whether a cycle is a deadlock.
pub(crate) fn assumption(given_up: &[String]) -> String {
    match given_up {
        [] => "it is one if nobody has moved a guard or a receiver to another task".to_owned(),
        [first, ..] => format!(
            "it is one if no task still waits for what a select! or a timeout has given up, such \
             as {first}"
        ),
    }
}

pub(crate) fn nobody_text(count: usize, named: Vec<String>) -> String {
    let more = if count > NAMED_MAX { "; and more" } else { "" };
    format!(
        "nobody is left who could wake it, but for a thread outside of the runtime: all that has \
         not ended ({count}) waits for locks, channels and tasks, and nothing for a socket or a \
         timer: {}{more}",
        named.join("; ")
    )
}

pub(crate) fn handed_over_text(
    what: What,
    location: &Location<'_>,
    (waiter, line): (&str, Option<&Location<'_>>),
    (first, asked): (&str, Option<&Location<'_>>),
) -> String {
    let at = |line: Option<&Location<'_>>| line.map_or(String::new(), |line| format!(" at {line}"));
    format!(
        "handed over: {waiter} waits{} for {} made at {location}, which nobody has: it was given \
         to a future of {first}, which has asked for it{} and is not polled any more, since a \
         `select!` or a timeout has given it up. Drop such a future before you ask again",
        at(line),
        what.name(),
        at(asked),
    )
}
