//! The words for what is in a timeline: for tasks, threads, times, and for what a task waits for.

use super::{Hold, Timeline, Wait};
use crate::resource::{Description, Holder};
use crate::sources;
use std::fmt::Write;
use std::panic::Location;

impl Timeline {
    /// The task's id, name and place, for a reader.
    pub fn label(&self, id: u64) -> String {
        let Some(task) = self.tasks.get(&id) else { return format!("task {id}") };
        let kind = match (task.is_main, task.is_job) {
            (true, _) => "block_on",
            (false, true) => "job",
            (false, false) => "task",
        };

        // Many tasks may have one name, so the id comes first.
        let mut label = format!("{kind} {id}");
        if let Some(name) = &task.name {
            let _ = write!(label, " \"{name}\"");
        }
        // A task from before the first event has no place.
        if !task.location.is_empty() {
            let _ = write!(label, " ({})", task.location);
        }
        label
    }

    /// The label of a task that did something, or of a thread if the id is zero.
    pub(crate) fn who(&self, task: u64) -> String {
        if task == 0 { "a thread".to_owned() } else { self.label(task) }
    }

    /// The thread's role and name, for a reader.
    pub fn lane_label(&self, lane: usize) -> String {
        let lane = &self.lanes[lane];
        let Some((_, worker)) = lane.worker else { return lane.name.clone() };
        let mut label = format!("worker {worker}");

        // A thread that has run workers of several, one after the other, is of none of them.
        if let [runtime] = lane.runtimes[..]
            && self.lanes.iter().any(|other| other.runtimes.iter().any(|other| *other != runtime))
        {
            let _ = write!(label, " of runtime {runtime}");
        }

        // arc's own name for the thread of a worker adds nothing.
        if !lane.name.ends_with(&format!("worker-{worker}")) {
            let _ = write!(label, " ({})", lane.name);
        }
        label
    }

    /// A time since the first event.
    pub(crate) fn clock(&self, at: u64) -> String {
        format!("{:.3} ms", at.saturating_sub(self.begin) as f64 / 1e6)
    }

    /// The name of a source, if it has one.
    pub(crate) fn name_of(&self, source: i64) -> Option<&str> {
        sources::name_in(&self.named, source)
    }

    /// A sentence's end: what a task waits for, and who has it at a time.
    pub(crate) fn text_of_waits(&self, waits: &[Wait], at: u64) -> String {
        if waits.is_empty() {
            return "for nothing that arc knows of".to_owned();
        }
        let waits: Vec<String> = waits.iter().map(|wait| self.text_of_wait(wait, at)).collect();
        waits.join(", or ")
    }

    fn text_of_wait(&self, wait: &Wait, at: u64) -> String {
        match *wait {
            Wait::Io { source, write } => match (self.name_of(source), write) {
                (Some(name), _) => format!("for {name}"),
                (None, false) => format!("to read descriptor {source}"),
                (None, true) => format!("to write to descriptor {source}"),
            },
            Wait::Time { deadline } if deadline > self.end => {
                format!("for a timer that is due {} after the end", time(deadline - self.end))
            }
            // It has expired, and the task was not polled for it any more.
            Wait::Time { deadline } => {
                format!("for a timer that was due at {}", self.clock(deadline))
            }
            Wait::Task { task } => format!("for {} to end", self.label(task)),
            Wait::Turn => "for its next turn".to_owned(),
            Wait::Resource { resource, line, permits } => {
                self.resource_text(resource, line, permits, at)
            }
        }
    }

    /// Where a wait for a resource was asked for, what that is, and who has it at a time.
    fn resource_text(&self, resource: u64, line: u64, permits: u64, at: u64) -> String {
        let holders = self.holders_at(resource, at);
        self.text_with_holders(resource, line, permits, &holders)
    }

    pub(crate) fn text_with_holders(
        &self,
        resource: u64,
        line: u64,
        permits: u64,
        holders: &[Holder],
    ) -> String {
        // A recording knows many resources, but not any number of them.
        let Some(info) = self.resources.get(&resource) else {
            return format!("for the lock or channel {resource}");
        };

        let description = Description {
            what: info.what,
            location: info.location,
            permits,
            holders,
            provider: info.provider,
            numbers: &info.numbers,
        };
        let text = description.text(&|task| self.label(task));
        // Only so many lines of one resource are known.
        match self.line(resource, line) {
            Some(line) => format!("at {line} for {text}"),
            None => format!("for {text}"),
        }
    }

    /// A lock, a channel or the like, by the line that made it.
    pub(crate) fn thing(&self, resource: u64) -> String {
        match self.resources.get(&resource) {
            Some(info) => format!("{} made at {}", info.what.name(), info.location),
            None => format!("the lock or channel {resource}"),
        }
    }

    /// The line of a resource that has a number there, from 1.
    pub(crate) fn line(&self, resource: u64, number: u64) -> Option<&'static Location<'static>> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.resources.get(&resource)?.lines.get(index).copied()
    }

    /// Who has a resource at a time, as its description names them.
    pub(crate) fn holders_at(&self, resource: u64, at: u64) -> Vec<Holder> {
        // The number of a line means something only beside the resource.
        let holder = |hold: &Hold| Holder {
            task: hold.task,
            line: self.line(resource, hold.line),
            may_move: hold.may_move,
            step: hold.step,
        };
        self.holds_at(resource, at).map(holder).collect()
    }

    /// Who has a resource at a time.
    pub(crate) fn holds_at(&self, resource: u64, at: u64) -> impl Iterator<Item = &Hold> {
        let is_held = move |hold: &&Hold| hold.begin <= at && hold.end.is_none_or(|end| end > at);
        self.holds_of(resource).filter(is_held)
    }

    /// Who had a resource at any time.
    pub(crate) fn holds_of(&self, resource: u64) -> impl DoubleEndedIterator<Item = &Hold> {
        let of_resource = self.holds_of.get(&resource).into_iter().flatten();
        of_resource.map(|&index| &self.holds[index])
    }
}

/// A duration for a reader, with three digits.
pub(crate) fn time(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{} us", digits(nanos as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", digits(nanos as f64 / 1e6)),
        _ => format!("{} s", digits(nanos as f64 / 1e9)),
    }
}

fn digits(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
