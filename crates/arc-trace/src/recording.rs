//! What a recording is made of: what each thread told, and what is known of that by name.

use crate::event::Record;
use crate::resource::ResourceInfo;
use crate::sources::Named;
use crate::waiting::Waiting;
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::Arc;

/// Where a task comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The name that it was given, if any.
    pub name: Option<Arc<str>>,
    /// The line that spawned it.
    pub location: &'static Location<'static>,
    /// The id of its runtime.
    pub runtime: u64,
    /// Whether it is a job of `spawn_blocking`.
    pub is_job: bool,
    /// When it ended, in nanoseconds of the recorder's clock.
    pub ended: Option<u64>,
}

/// What one thread told.
#[derive(Clone, Debug)]
pub struct Thread {
    /// The thread's name.
    pub name: String,
    /// The runtime and the worker that it ran when the first record was made.
    pub worker: Option<(u64, u32)>,
    /// The future of the `block_on` that it was in when the first record was made, or before.
    pub main: Option<u64>,
    /// In the order of their times.
    pub records: Vec<Record>,
    /// How many older records there is no more room for, of the time that was asked for.
    pub left_out: u64,
}

/// All that is kept at some time.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The threads, in the order in which they told something first.
    pub threads: Vec<Thread>,
    /// The tasks by their ids.
    pub tasks: BTreeMap<u64, Origin>,
    /// When this was taken, in nanoseconds of the recorder's clock.
    pub taken: u64,
    /// How many tasks are not known by name and place, because there were too many.
    pub tasks_left_out: u64,
    /// The locks, channels and so on that events name, by their numbers.
    pub resources: BTreeMap<u64, ResourceInfo>,
    /// What unfinished tasks wait for, also where the record of that was left out.
    pub waiting: Vec<Waiting>,
    /// What descriptors are that are no sockets.
    pub named: Vec<Named>,
    /// A thread that is none of arc's went on by itself. It may have woken tasks.
    pub others_go_on: bool,
}

impl Recording {
    /// Gives the tasks other ids: those by which something else names them. Two tasks must not get
    /// the same one.
    pub fn renumber(&mut self, id: impl Fn(u64) -> u64) {
        for thread in &mut self.threads {
            thread.main = thread.main.map(&id);
            for record in &mut thread.records {
                // Zero stands for no task.
                if let Some(task) = record.event.task_mut().filter(|task| **task > 0) {
                    *task = id(*task);
                }
            }
        }

        let tasks = std::mem::take(&mut self.tasks).into_iter();
        self.tasks = tasks.map(|(task, origin)| (id(task), origin)).collect();

        // Who has sent into a channel, or received from it, is named by its id as well.
        for resource in self.resources.values_mut() {
            resource.provider = resource.provider.map(&id);
            resource.receiver = resource.receiver.map(&id);
            resource.provided = resource.provided.map(|(task, step)| (id(task), step));
            let senders = resource.numbers.senders.iter_mut();
            for sender in senders.filter(|sender| **sender > 0) {
                *sender = id(*sender);
            }
        }
    }
}
