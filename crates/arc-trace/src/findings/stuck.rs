//! Tasks that wait for each other, or that nobody is left to wake.

use super::{Finding, LONG_WAIT};
use crate::accuse::{NAMED_MAX, Wanted, assumption, cycle_text, joins, nobody_text};
use crate::cycle::{Blockers, Certainty, Cycle, Judgement, Need, Needs, judge};
use crate::resource::What;
use crate::timeline::{Earlier, Timeline, Wait};
use std::collections::BTreeMap;

/// A task that waits at the end.
struct Waiting {
    since: u64,
    /// All that it waits for, in the order in which a cycle numbers it.
    waits: Vec<Wait>,
    /// How many of these its last poll has asked for.
    asked: usize,
    needs: Needs,
}

/// All tasks that wait at the end, by their ids.
struct Tasks {
    waiting: BTreeMap<u64, Waiting>,
    /// Nothing else goes on in the program.
    is_all: bool,
}

impl Timeline {
    /// Tasks that wait for each other, and will for ever, or that nobody is left who could wake.
    /// Then what is so perhaps.
    pub(super) fn stuck(&self) -> Vec<Finding> {
        let tasks = self.waiting_tasks();
        let needs = tasks.waiting.iter();
        let needs = needs.map(|(&id, waiting)| (id, waiting.needs.clone())).collect();
        let Judgement { deadlocks, perhaps, is_quiet } = judge(&needs, tasks.is_all);

        let mut findings = Vec::new();
        for cycle in &deadlocks {
            let text = format!("deadlock: {}", self.cycle_text(&tasks, cycle));
            findings.push(self.finding_of(&tasks, cycle, text));
        }

        // If there is a cycle, it is the reason. Otherwise the tasks themselves are all there is.
        if is_quiet && deadlocks.is_empty() {
            let since = tasks.waiting.values().map(|waiting| waiting.since);
            let at = since.max().unwrap_or(self.end);
            let cost = self.end.saturating_sub(at);
            let task = tasks.waiting.keys().next().copied();
            let text = nobody_text(tasks.waiting.len(), self.named(&tasks));
            findings.push(Finding { cost, at, task, text });
        }

        // What is not sure stands behind what is.
        for cycle in &perhaps {
            let assumption = assumption(&self.given_up_by(cycle));
            let text = self.cycle_text(&tasks, cycle);
            let text = format!("perhaps a deadlock: {text}; {assumption}");
            findings.push(self.finding_of(&tasks, cycle, text));
        }
        findings
    }

    fn waiting_tasks(&self) -> Tasks {
        let mut waiting = BTreeMap::new();
        let mut has_main = false;
        let mut any_goes_on = false;
        for (&id, task) in &self.tasks {
            if task.dropped.is_some() || task.ended.is_some() {
                continue;
            }
            // A job may do anything, on a thread of its own.
            let waits = self.last_waits(id).filter(|_| !task.is_job);
            let Some((asked, since)) = waits else {
                any_goes_on = true;
                continue;
            };
            has_main |= task.is_main;
            waiting.insert(id, self.waiting_task(id, &asked, since));
        }

        // What was polled last may have woken the future of a `block_on`, which is not told.
        let last = self.polls.iter().filter_map(|poll| poll.end).max();
        let last = last.unwrap_or(self.begin);
        let has_settled = self.end.saturating_sub(last) >= LONG_WAIT;

        // Without a `block_on` the program goes on outside of the runtime.
        let is_all = has_main && !any_goes_on && has_settled && !self.others_go_on;
        Tasks { waiting, is_all }
    }

    fn waiting_task(&self, id: u64, asked: &[Wait], since: u64) -> Waiting {
        let Earlier { kept, given_up, is_crowded } =
            self.earlier.get(&id).cloned().unwrap_or_default();
        let kept: Vec<Wait> = kept.iter().map(|(_, wait)| *wait).collect();
        let given_up: Vec<Wait> = given_up.iter().map(|(_, wait)| *wait).collect();

        // The tasks of a `JoinSet` are among those whose handles were polled.
        let handle = |wait: &Wait| match wait {
            Wait::Task { task } => Some(*task),
            _ => None,
        };
        let handles: Vec<u64> = asked.iter().chain(&kept).filter_map(handle).collect();

        let needs = |waits: &[Wait]| {
            let need = |wait: &Wait| self.need(wait, since, &handles);
            waits.iter().map(need).collect()
        };
        let needs = Needs {
            asked: needs(asked),
            kept: needs(&kept),
            given_up: needs(&given_up),
            is_crowded,
        };
        let waits = [asked, &kept, &given_up].concat();
        Waiting { since, waits, asked: asked.len(), needs }
    }

    /// Who has to act so that a wait ends that has lasted since some time.
    fn need(&self, wait: &Wait, since: u64, handles: &[u64]) -> Need {
        match *wait {
            // A task is woken by the end of another one, and by nothing else.
            Wait::Task { task } => Blockers::one(task).with(Certainty::Known),
            Wait::Resource { resource, .. } => self.need_of_resource(resource, since, handles),
            // The kernel or the clock ends it, whatever the other tasks do.
            Wait::Io { .. } | Wait::Time { .. } | Wait::Turn => Need::default(),
        }
    }

    fn need_of_resource(&self, resource: u64, since: u64, handles: &[u64]) -> Need {
        // What is not known may be in anybody's hands.
        let Some(info) = self.resources.get(&resource) else {
            return Blockers::default().with(Certainty::Anybody);
        };
        if info.what == What::JoinSet {
            return joins(handles.to_vec(), info.numbers.is_refilled);
        }

        let has_moved = |task: u64, step: u64| {
            let moved = self.moved.get(&task);
            moved.is_some_and(|moved| *moved >= step)
        };
        let wanted = Wanted {
            what: info.what,
            holders: &self.holders_at(resource, self.end),
            receiver: info.provided,
            is_refilled: info.numbers.is_refilled,
            age: self.end.saturating_sub(since),
            has_moved: &has_moved,
        };
        wanted.need()
    }

    /// The cycle has existed since its last task began to wait.
    fn finding_of(&self, tasks: &Tasks, cycle: &Cycle, text: String) -> Finding {
        let since = cycle.iter().map(|(task, _)| tasks.waiting[task].since);
        let at = since.max().unwrap_or(self.end);
        let cost = self.end.saturating_sub(at);
        Finding { cost, at, task: Some(cycle[0].0), text }
    }

    fn cycle_text(&self, tasks: &Tasks, cycle: &Cycle) -> String {
        cycle_text(cycle, |(task, number)| {
            let wait = tasks.waiting[task].waits[*number];
            let wait = self.text_of_waits(&[wait], self.end);
            format!("{} waits {wait}", self.label(*task))
        })
    }

    /// Some of the tasks, and what they wait for.
    fn named(&self, tasks: &Tasks) -> Vec<String> {
        let named = tasks.waiting.iter().take(NAMED_MAX).map(|(task, waiting)| {
            // What earlier polls have asked for would make the sentence long, and no clearer.
            let asked = &waiting.waits[..waiting.asked];
            let asked = self.text_of_waits(asked, self.end);
            format!("{} waits {asked}", self.label(*task))
        });
        named.collect()
    }

    /// What the tasks of a cycle have given up, in words.
    fn given_up_by(&self, cycle: &Cycle) -> Vec<String> {
        let mut texts = Vec::new();
        for earlier in cycle.iter().filter_map(|(task, _)| self.earlier.get(task)) {
            for (_, wait) in &earlier.given_up {
                texts.push(self.text_of_waits(&[*wait], self.end));
            }
        }
        texts
    }
}
