//! What stands out of the tasks of a program that goes on meanwhile: for a dump and for a list.
//!
//! Nothing has stopped, so a task may be woken while it is judged. What such a wake-up could refute
//! is said only of tasks that have not been polled a moment later: see [`Finding::unless_polled`].

use crate::accuse::{
    Asker, NAMED_MAX, Wanted, assumption, cycle_text, handed_over_text, joins, nobody_text,
};
use crate::cycle::{Blockers, Certainty, Cycle, Judgement, Need, Needs, judge};
use crate::resource::{Resource, What};
use crate::waiting::{On, Open, Waiting};
use std::collections::BTreeMap;

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

/// The tasks without what can no longer wake them, by their ids.
struct Tasks(BTreeMap<u64, Waiting>);

impl Program<'_> {
    /// What stands out: deadlocks first, and then what is one perhaps.
    pub fn findings(&self) -> Vec<Finding> {
        let open = self.waiting.iter().map(|waiting| waiting.without(self.has_ended));
        let tasks = Tasks(open.map(|waiting| (waiting.task, waiting)).collect());
        let Judgement { deadlocks, perhaps, is_quiet } = judge(&tasks.needs(), self.is_all);

        let mut findings = Vec::new();
        for cycle in &deadlocks {
            let text = format!("deadlock: {}", self.cycle_text(&tasks, cycle));
            // In a quiet program those that wait are suspected, as nobody else is left. A wake-up
            // that is on its way would change that.
            findings.push(match is_quiet {
                true => self.unless_any_is_polled(text),
                false => sure(text),
            });
        }

        for cycle in &perhaps {
            let assumption = assumption(&self.given_up(&tasks, cycle));
            let text = self.cycle_text(&tasks, cycle);
            findings.push(sure(format!("perhaps a deadlock: {text}; {assumption}")));
        }

        findings.extend(self.handed_over());

        // If there is a cycle, it is the reason. Otherwise the tasks themselves are all there is.
        if is_quiet && deadlocks.is_empty() {
            findings.push(self.unless_any_is_polled(self.nobody_text()));
        }
        findings
    }

    /// A finding that a wake-up which is on its way may refute.
    fn unless_any_is_polled(&self, text: String) -> Finding {
        let steps = self.waiting.iter().map(|waiting| (waiting.task, waiting.step));
        Finding { text, unless_polled: steps.collect() }
    }

    fn cycle_text(&self, tasks: &Tasks, cycle: &Cycle) -> String {
        cycle_text(cycle, |(task, number)| {
            let waiting = &tasks.0[task];
            let wait = waiting.all().nth(*number);
            let wait = wait.map(|wait| wait.on.text(waiting.now, self.label));
            format!("{} waits {}", (self.label)(*task), wait.unwrap_or_default())
        })
    }

    /// What the tasks of a cycle have given up, in words.
    fn given_up(&self, tasks: &Tasks, cycle: &Cycle) -> Vec<String> {
        let mut texts = Vec::new();
        for (task, _) in cycle {
            let waiting = &tasks.0[task];
            for wait in &waiting.given_up {
                texts.push(wait.on.text(waiting.now, self.label));
            }
        }
        texts
    }

    fn nobody_text(&self) -> String {
        let text = |waiting: &Waiting| {
            let label = (self.label)(waiting.task);
            let waits = waiting.describe(self.label).into_iter().map(|(_, text)| text);
            format!("{label} waits {}", waits.collect::<Vec<String>>().join(", or "))
        };
        let named = self.waiting.iter().take(NAMED_MAX).map(text).collect();
        nobody_text(self.waiting.len(), named)
    }

    /// Locks that were given to a future which its task does not poll.
    ///
    /// A fair lock is handed to whoever stands first in line. If that future is kept and not
    /// polled, as a `select!` in a loop does that borrows it, then nobody has the lock, and all
    /// others wait for it.
    fn handed_over(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for waiting in self.waiting {
            for asked in &waiting.asked {
                let On::Resource { resource, line, .. } = &asked.on else { continue };
                // While somebody has it, the wait is explained.
                if !resource.what.is_lock() || !resource.holders().is_empty() {
                    continue;
                }

                // A task whose last poll has asked polls the future, so that the lock is taken as
                // soon as it has its turn.
                let Some((task, first)) = self.first_in_line(resource.id) else {
                    continue;
                };
                let On::Resource { line: at, .. } = &first.on else { continue };
                if self.asks(task, first) {
                    continue;
                }

                let text = handed_over_text(
                    resource.what,
                    resource.location,
                    &Asker { label: &(self.label)(waiting.task), line: *line },
                    &Asker { label: &(self.label)(task), line: *at },
                );
                // The lock was free a moment ago, and may be taken in this one.
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
            // What was given up stands in line as well, as long as its future is there.
            for wait in waiting.all() {
                let On::Resource { resource: of, .. } = &wait.on else { continue };
                let is_earlier = first.is_none_or(|(_, first)| wait.since < first.since);
                if of.id == resource && is_earlier {
                    first = Some((waiting.task, wait));
                }
            }
        }
        first
    }
}

fn sure(text: String) -> Finding {
    Finding { text, unless_polled: Vec::new() }
}

impl Tasks {
    /// What each task needs so that it goes on.
    fn needs(&self) -> BTreeMap<u64, Needs> {
        self.0.iter().map(|(&task, waiting)| (task, self.needs_of(waiting))).collect()
    }

    fn needs_of(&self, waiting: &Waiting) -> Needs {
        let need = |wait: &Open| self.need(waiting, wait);
        let all = |waits: &[Open]| waits.iter().map(need).collect();
        Needs {
            asked: all(&waiting.asked),
            kept: all(&waiting.kept),
            given_up: all(&waiting.given_up),
            is_crowded: waiting.is_crowded,
        }
    }

    fn need(&self, waiting: &Waiting, wait: &Open) -> Need {
        match &wait.on {
            // A task is woken by the end of another one, and by nothing else.
            On::Task { task } => Blockers::one(*task).with(Certainty::Known),
            On::Resource { resource, .. } if resource.what == What::JoinSet => {
                joins(handles(waiting), resource.numbers().is_refilled)
            }
            On::Resource { resource, .. } => {
                self.need_of_resource(resource, waiting.now.saturating_sub(wait.since))
            }
            // The kernel or the clock ends it, whatever the other tasks do.
            On::Io { .. } | On::Time { .. } | On::Turn => Need::default(),
        }
    }

    fn need_of_resource(&self, resource: &Resource, age: u64) -> Need {
        let wanted = Wanted {
            what: resource.what,
            holders: &resource.holders(),
            receiver: resource.provided(),
            is_refilled: resource.numbers().is_refilled,
            age,
            has_moved: &|task, step| self.has_moved(task, step),
        };
        wanted.need()
    }

    /// Whether a task has spawned or sent something since a step.
    fn has_moved(&self, task: u64, step: u64) -> bool {
        // Of a task that does not wait it is not known.
        self.0.get(&task).is_none_or(|waiting| waiting.moved >= step)
    }
}

/// The tasks of a `JoinSet`: they are among those whose handles were polled.
fn handles(waiting: &Waiting) -> Vec<u64> {
    let waits = waiting.asked.iter().chain(&waiting.kept);
    let task = |wait: &Open| match wait.on {
        On::Task { task } => Some(task),
        _ => None,
    };
    waits.filter_map(task).collect()
}
