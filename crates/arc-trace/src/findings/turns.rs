//! Tasks that wait at the end for a turn, or for nothing that arc knows of.

use super::{Finding, LATE};
use crate::timeline::words::time;
use crate::timeline::{Place, Timeline};
use std::collections::BTreeMap;

/// What a task waits for, when that stands out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum For {
    /// Nothing that arc knows of.
    Nothing,
    /// A thread of the blocking pool.
    Pool,
    /// Its turn in the injector.
    Injector,
    /// Its turn in a worker's queue.
    Worker,
}

/// Of the tasks of one line that wait for the same, the one that has waited the longest.
struct Waiting {
    task: u64,
    since: u64,
    cost: u64,
    /// How many of the line's tasks wait for that.
    tasks_of_line: usize,
}

impl Timeline {
    /// Tasks that wait at the end, or did when the end of their runtime dropped them: for a turn,
    /// or for nothing that arc knows of. Of those of one line, the one that has waited the longest.
    pub(super) fn waits_for_ever(&self) -> Vec<Finding> {
        let mut worst: BTreeMap<(&str, For, bool), Waiting> = BTreeMap::new();
        for (&task, state) in &self.tasks {
            let Some((what, since)) = self.waits_since(task) else { continue };
            let cost = state.dropped.unwrap_or(self.end).saturating_sub(since);
            // Who has just come into a queue waits for its turn, as everybody does.
            if what != For::Nothing && cost <= LATE {
                continue;
            }

            // A burst leaves hundreds of tasks of one line in a queue: they make one sentence.
            let key = (state.location.as_str(), what, state.dropped.is_some());
            let new = Waiting { task, since, cost: 0, tasks_of_line: 0 };
            let waiting = worst.entry(key).or_insert(new);
            waiting.tasks_of_line += 1;
            if cost > waiting.cost {
                waiting.task = task;
                waiting.since = since;
                waiting.cost = cost;
            }
        }

        let mut findings = Vec::new();
        for ((_, what, was_dropped), waiting) in worst {
            let text = self.waiting_text(what, was_dropped, &waiting);
            let Waiting { task, since, cost, .. } = waiting;
            findings.push(Finding { cost, at: since, task: Some(task), text });
        }
        findings
    }

    /// What a task waits for at the end, and since when, if it is a turn or nothing that arc knows.
    fn waits_since(&self, id: u64) -> Option<(For, u64)> {
        let task = &self.tasks[&id];
        if let Some(queued) = task.queued {
            let what = match queued.place {
                Place::Pool => For::Pool,
                Place::Injector => For::Injector,
                Place::Worker(_) => For::Worker,
            };
            return Some((what, queued.at));
        }

        // A job waits for what it likes, on a thread of its own.
        let (waits, since) = self.last_waits(id)?;
        (!task.is_job && waits.is_empty()).then_some((For::Nothing, since))
    }

    fn waiting_text(&self, what: For, was_dropped: bool, waiting: &Waiting) -> String {
        let (label, took) = (self.label(waiting.task), time(waiting.cost));
        let place = match what {
            For::Nothing => "",
            For::Pool => "for a thread of the blocking pool",
            For::Injector => "in the injector",
            For::Worker => "in a queue",
        };

        let mut text = match self.tasks[&waiting.task].queued {
            // arc sees what is asked of its own types. So this is a hint, and no accusation.
            None => format!(
                "{label} has waited for {took} for nothing that arc knows of: a lock, a \
                 channel or a future of another library, which nobody has woken"
            ),
            Some(queued) => {
                // Until the end, or until it was dropped.
                let takers = self.takers(waiting.task, queued.place, None);
                let end = waiting.since + waiting.cost;
                let behind = self.behind(waiting.since, end, &takers, waiting.task);
                let behind = self.behind_text(&behind);
                match was_dropped {
                    false => format!("{label} still waits {place}, for {took}{behind}"),
                    true => format!(
                        "{label} waited {place} until its runtime ended, for \
                         {took}{behind}"
                    ),
                }
            }
        };

        if waiting.tasks_of_line > 1 {
            let verb = if was_dropped { "did" } else { "do" };
            let tasks = waiting.tasks_of_line;
            text += &format!("; with it, {tasks} tasks from this line {verb} so");
        }
        text
    }
}
