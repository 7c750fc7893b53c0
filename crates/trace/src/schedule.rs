//! The schedule of a model: whose step it was, and what happened in it.
//!
//! All threads of a model take turns on one thread of the system, which therefore records them
//! all. Each turn begins with an event that says whose it is.

use crate::event::Event;
use crate::recorder::{Recording, Thread};
use crate::timeline::{ScheduleStep, Timeline};
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
        let texts: Vec<String> = step.events.iter().map(|event| self.event_text(*event)).collect();
        texts.join("; ")
    }

    fn event_text(&self, event: Event) -> String {
        let what = |write| if write { "write" } else { "read" };
        match event {
            Event::Spawned { task, .. } => format!("spawns {}", self.label(task)),
            Event::BlocksOn { task } => format!("enters {}", self.label(task)),
            Event::Step { task, number } => {
                let is_main = self.tasks.get(&task).is_some_and(|task| task.is_main);
                let verb = match (is_main, number.is_multiple_of(2)) {
                    (true, true) => "has polled",
                    (true, false) | (false, true) => "polls",
                    (false, false) => "queues",
                };
                format!("{verb} {}", self.label(task))
            }
            Event::Polled { task, .. } => format!("has polled {}", self.label(task)),
            Event::Ended { task } => format!("{} ends", self.label(task)),
            Event::Panicked { task } => format!("{} panics", self.label(task)),
            Event::RunsWorker { worker, .. } => format!("runs worker {worker}"),
            Event::Sleeps => "falls asleep".to_owned(),
            Event::Awake => "is awake".to_owned(),
            Event::Wakes { worker, .. } => format!("wakes worker {worker}"),
            Event::AsksKernel { waits: true } => "waits for the kernel".to_owned(),
            Event::AsksKernel { waits: false } => "asks the kernel".to_owned(),
            Event::KernelTold => "the kernel has answered".to_owned(),
            Event::Ready { source, .. } => format!("descriptor {source} is ready"),
            Event::WaitsForIo { source, write } => {
                format!("waits to {} descriptor {source}", what(write))
            }
            Event::WaitsForTime { .. } => "waits for a time".to_owned(),
            Event::WaitsForTask { task } => format!("waits for {} to end", self.label(task)),
            Event::WaitsFor { resource, .. } => format!("waits for resource {resource}"),
            Event::Holds { resource, .. } => format!("has got resource {resource}"),
            Event::Releases { resource, .. } => format!("gives resource {resource} back"),
            Event::Sends { resource } => format!("sends into channel {resource}"),
            Event::Receives { resource, .. } => format!("receives from channel {resource}"),
            Event::OutOfBudget => "has used up its budget".to_owned(),
            Event::RuntimeCloses { runtime } => format!("closes runtime {runtime}"),
            Event::Scheduled { thread } => format!("thread {thread} goes on"),
        }
    }
}
