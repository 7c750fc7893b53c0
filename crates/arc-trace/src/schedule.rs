//! The schedule of a model: whose step it was, and what happened in it.
//!
//! All threads of a model take turns on one thread of the system, which therefore records them
//! all. Each turn begins with an event that says whose it is.

use crate::event::Event;
use crate::recording::{Recording, Thread};
use crate::timeline::{By, ScheduleStep, Timeline};
use std::collections::BTreeMap;

impl Recording {
    /// Gives each thread of a model what was told in its turns.
    pub fn by_schedule(mut self) -> Self {
        let left_out: u64 = self.threads.iter().map(|thread| thread.left_out).sum();
        let mut threads: BTreeMap<u32, Thread> = BTreeMap::new();
        let mut turn = None;
        for record in self.threads.drain(..).flat_map(|thread| thread.records) {
            if let Event::Scheduled { thread } = record.event {
                turn = Some(thread);
            }

            // Whose the oldest ones are was left out.
            let Some(turn) = turn else { continue };
            let new = || Thread {
                name: format!("thread {turn}"),
                worker: None,
                main: None,
                records: Vec::new(),
                left_out: 0,
            };
            threads.entry(turn).or_insert_with(new).records.push(record);
        }
        self.threads = threads.into_values().collect();

        // The sum is what a reader sees. It does not matter which thread has it.
        if let Some(first) = self.threads.first_mut() {
            first.left_out = left_out;
        }
        self
    }
}

impl Timeline {
    /// An event belongs to the step that began last.
    pub(crate) fn read_schedule(&mut self, lane: usize, at: u64, event: Event) {
        match (event, self.schedule.last_mut()) {
            (Event::Scheduled { .. }, _) => {
                self.schedule.push(ScheduleStep { lane, at, events: Vec::new() });
            }
            (_, Some(step)) => step.events.push(event),
            (_, None) => {}
        }
    }

    /// What happened in a step, for a reader.
    pub(crate) fn step_text(&self, step: &ScheduleStep) -> String {
        let texts: Vec<String> = step.events.iter().map(|event| self.describe(*event)).collect();
        texts.join("; ")
    }

    /// An event, for a reader: the end of a sentence that begins with who did it.
    pub fn describe(&self, event: Event) -> String {
        match event {
            // The life of a task.
            Event::Spawned { task, .. } => format!("spawns {}", self.label(task)),
            Event::BlocksOn { task } => format!("enters {}", self.label(task)),
            Event::Step { task, number } => {
                format!("{} {}", self.verb_of_step(task, number), self.label(task))
            }
            Event::Polled { task, .. } => format!("has polled {}", self.label(task)),
            Event::Drops { task } => format!("drops the future of {}", self.label(task)),
            Event::Panicked { task } => format!("{} panics", self.label(task)),
            Event::Ended { task } => format!("{} ends", self.label(task)),
            Event::OutOfBudget => "has used up its budget".to_owned(),

            // The workers and the kernel.
            Event::RunsWorker { worker, .. } => format!("runs worker {worker}"),
            Event::Sleeps => "falls asleep".to_owned(),
            Event::Awake => "is awake".to_owned(),
            Event::Wakes { worker, .. } => format!("wakes worker {worker}"),
            Event::AsksKernel { waits: true } => "waits for the kernel".to_owned(),
            Event::AsksKernel { waits: false } => "asks the kernel".to_owned(),
            Event::KernelTold => "the kernel has answered".to_owned(),
            Event::Ready { source, .. } => format!("descriptor {source} is ready"),
            Event::RuntimeCloses { runtime } => format!("closes runtime {runtime}"),

            // Locks and channels.
            Event::Holds { resource, line, .. } => {
                let at = self.line(resource, line).map(|line| format!(" at {line}"));
                format!("gets {}{}", self.thing(resource), at.unwrap_or_default())
            }
            Event::Releases { resource, .. } => format!("gives back {}", self.thing(resource)),
            Event::Sends { resource } => format!("sends into {}", self.thing(resource)),
            Event::Receives { resource, count } => {
                format!("receives {count} from {}", self.thing(resource))
            }
            Event::Chooses { resource, branch, branches } => {
                let choice = self.thing(resource);
                format!("takes branch {branch} of {branches} of {choice}, and drops the others")
            }

            // What only a simulation or a model tells.
            Event::Marked => "notes something".to_owned(),
            Event::Scheduled { thread } => format!("thread {thread} goes on"),

            Event::WaitsForIo { .. }
            | Event::WaitsForTime { .. }
            | Event::WaitsForTask { .. }
            | Event::WaitsFor { .. }
            | Event::NoLongerWaits { .. }
            | Event::NoLongerWaitsForTask { .. }
            | Event::Got { .. }
            | Event::GivesUp { .. } => self.describe_wait(event),
        }
    }

    /// A step of a task, which has another meaning for the future of a `block_on`.
    fn verb_of_step(&self, task: u64, number: u64) -> &'static str {
        let is_main = self.tasks.get(&task).is_some_and(|task| task.is_main);
        match (is_main, number.is_multiple_of(2)) {
            (true, true) => "has polled",
            (true, false) | (false, true) => "polls",
            (false, false) => "queues",
        }
    }

    /// What the task that is polled asks for, gets, and gives up.
    fn describe_wait(&self, event: Event) -> String {
        match event {
            Event::WaitsForIo { source, write, .. } => {
                let what = if write { "write" } else { "read" };
                format!("waits to {what} descriptor {source}")
            }
            Event::WaitsForTime { deadline, .. } => {
                format!("waits for a timer that is due at {}", self.clock(deadline))
            }
            Event::WaitsForTask { task } => format!("waits for {} to end", self.label(task)),
            // Who has it at this step is what the steps before have told.
            Event::WaitsFor { resource, line, permits, .. } => {
                format!("waits {}", self.text_with_holders(resource, line, permits, &[]))
            }

            // A place in memory says nothing to a reader.
            Event::NoLongerWaits { .. } => "no longer waits by a future".to_owned(),
            Event::NoLongerWaitsForTask { task } => {
                format!("no longer waits for {} to end", self.label(task))
            }
            Event::Got { resource } => format!("has got something of {}", self.thing(resource)),
            Event::GivesUp { waits } => format!("has given up {waits} waits"),
            _ => String::new(),
        }
    }

    /// Whether a task is polled by this step. Of the future of a `block_on` that is not told.
    pub fn is_poll(&self, task: u64, step: u64) -> bool {
        step.is_multiple_of(2) && self.tasks.get(&task).is_none_or(|task| !task.is_main)
    }

    /// Why a task was polled by a step: a timer that expired, a socket, or who woke or spawned it.
    pub fn cause(&self, task: u64, step: u64) -> Option<String> {
        let polls = &self.tasks.get(&task)?.polls;
        let index = *polls.get(polls.partition_point(|&poll| self.polls[poll].step < step))?;
        // If the poll of this step was left out, another one is at its place.
        let queued = self.polls[index].queued.filter(|_| self.polls[index].step == step)?;

        let by = match queued.by {
            By::Poll(by) => self.label(self.polls[by].task),
            By::Thread(lane) => self.lane_label(lane),
            By::Look(look) => {
                let told = self.looks[look].end.unwrap_or(queued.at);
                return Some(match self.deadline_before(index, told) {
                    Some(deadline) => {
                        format!("because its timer of {} expired", self.clock(deadline))
                    }
                    None => "because the kernel has told of an event".to_owned(),
                });
            }
        };

        // The first time that a task comes into a queue is when it is spawned.
        let verb = if step == 2 { "spawned" } else { "woken" };
        Some(format!("{verb} by {by}"))
    }
}
