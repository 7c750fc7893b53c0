//! What happened in a program, as tables: which poll began when, on which thread, and who had woken
//! its task.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the tables |
//! | `reader.rs` | fills them from the records of all threads |
//! | `open.rs` | what tasks have asked for and not got, while the records are read |
//! | `things.rs` | who has which lock, and which value is in which channel, likewise |
//! | `at_end.rs` | what each task waits for at the end |
//! | `words.rs` | the words for all of it |

mod at_end;
mod open;
mod reader;
mod things;
pub(crate) mod words;

use crate::event::Event;
use crate::recording::Origin;
use crate::resource::ResourceInfo;
use crate::sources::Named;
use std::collections::{BTreeMap, HashMap};

/// Of a longer name a reader sees so many letters. A program may give any.
const NAME_MAX: usize = 200;

/// What happened in a program. All times are nanoseconds of the recorder's clock.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Timeline {
    /// When the first event happened.
    pub begin: u64,
    /// When the recording was taken.
    pub end: u64,
    /// The threads.
    pub lanes: Vec<Lane>,
    /// The tasks, the jobs of `spawn_blocking`, and the futures of `block_on`, by their ids.
    pub tasks: BTreeMap<u64, Task>,
    /// In the order in which they began.
    pub polls: Vec<Poll>,
    /// In the order in which they began.
    pub sleeps: Vec<Sleep>,
    /// The looks at the kernel, in the order in which they began.
    pub looks: Vec<Look>,
    /// The steps of a model, in their order. Empty if it is no model that was recorded.
    pub schedule: Vec<ScheduleStep>,
    /// The locks, channels and so on that tasks wait for, by their numbers.
    pub resources: BTreeMap<u64, ResourceInfo>,
    /// Who had a lock or a permit, and when, in the order in which they got it.
    pub holds: Vec<Hold>,
    /// The places of those of each resource.
    pub(crate) holds_of: BTreeMap<u64, Vec<usize>>,
    /// The values that were sent into channels, in that order.
    pub(crate) values: Vec<Value>,
    /// How often each task received from each `watch` channel, and how often anybody sent there.
    pub(crate) seen: BTreeMap<(u64, u64), Seen>,
    pub(crate) sent: BTreeMap<u64, usize>,
    /// What the tasks wait for whose last polls were left out, and since when.
    pub(crate) kept: BTreeMap<u64, (u64, Vec<Wait>)>,
    /// What tasks have asked for before their last polls.
    pub(crate) earlier: BTreeMap<u64, Earlier>,
    /// The step of the last poll of each task that has spawned or sent something.
    pub(crate) moved: HashMap<u64, u64>,
    /// What descriptors are that are no sockets.
    pub(crate) named: Vec<Named>,
    /// A thread that is none of arc's goes on by itself.
    pub(crate) others_go_on: bool,
    /// How many events there are.
    pub events: usize,
    /// How many older events were left out.
    pub left_out: u64,
    /// From when on no thread has left anything out.
    pub(crate) complete_since: u64,
}

/// What a task has asked for, by futures that are still there, and which its last poll has not
/// asked for again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Earlier {
    /// Since when, and what.
    pub(crate) kept: Vec<(u64, Wait)>,
    /// These were given up, as by a `select!` that has borrowed them.
    pub(crate) given_up: Vec<(u64, Wait)>,
    /// There is more.
    pub(crate) is_crowded: bool,
}

/// A thread.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Lane {
    /// The thread's name. Of a long one, the beginning.
    pub name: String,
    /// The runtime and the number of the worker that the thread ran last.
    pub worker: Option<(u64, u32)>,
    /// Indices into [`Timeline::polls`], in their order.
    pub polls: Vec<usize>,
    /// The runtimes whose workers it has run.
    pub(crate) runtimes: Vec<u64>,
    /// From when on the thread has left nothing out.
    pub(crate) complete_since: u64,
}

/// A task, a job of `spawn_blocking`, or the future of a `block_on`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Task {
    /// Its name, if it has one. Of a long one, the beginning.
    pub name: Option<String>,
    /// The line that spawned it: file, line and column.
    pub location: String,
    /// The id of its runtime, if that is known.
    pub runtime: Option<u64>,
    /// It is a job of `spawn_blocking`.
    pub is_job: bool,
    /// It is no task but the future of a `block_on`.
    pub is_main: bool,
    /// When it was spawned, and by whom. None: that was before the first event.
    pub spawned: Option<(u64, By)>,
    /// When it ended.
    pub ended: Option<u64>,
    /// When it panicked, which it ended by.
    pub panicked: Option<u64>,
    /// When its runtime ended, and dropped it unfinished.
    pub dropped: Option<u64>,
    /// Indices into [`Timeline::polls`], in their order.
    pub polls: Vec<usize>,
    /// It waits in a queue at the end, or did when it was dropped.
    pub queued: Option<Queued>,
}

/// What a thread did when it spawned or woke a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum By {
    /// It polled a task: an index into [`Timeline::polls`].
    Poll(usize),
    /// It woke what the kernel and the clock had ready: an index into [`Timeline::looks`].
    Look(usize),
    /// Something else: an index into [`Timeline::lanes`].
    Thread(usize),
}

/// Which queue a task waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// That of the worker which this thread runs: an index into [`Timeline::lanes`].
    Worker(usize),
    /// That of tasks which were spawned or woken outside of the workers.
    Injector,
    /// That of the blocking pool.
    Pool,
}

/// A task was put into a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Queued {
    /// When.
    pub at: u64,
    /// By whom.
    pub by: By,
    /// Into which queue.
    pub place: Place,
    /// Which step of the task that was. The next one takes it out of the queue.
    pub(crate) step: u64,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// A socket or another descriptor, by its number.
    Io {
        /// The number.
        source: i64,
        /// To write. Otherwise it waits to read.
        write: bool,
    },
    /// A time.
    Time {
        /// The time.
        deadline: u64,
    },
    /// The end of a task.
    Task {
        /// The task's id.
        task: u64,
    },
    /// Its next turn: its budget is used up.
    Turn,
    /// A lock, a channel or the like.
    Resource {
        /// Its number in [`Timeline::resources`].
        resource: u64,
        /// The line that waits, by its place in [`ResourceInfo::lines`], from 1. Zero: not known.
        line: u64,
        /// How many permits it waits for. Zero: it waits for something else.
        permits: u64,
    },
}

/// A task had a lock or a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hold {
    /// Its number in [`Timeline::resources`].
    pub resource: u64,
    /// The task that got it. Zero: it was no task.
    pub task: u64,
    /// The line that asked for it, as in [`Wait::Resource`].
    pub line: u64,
    /// When the task got it.
    pub begin: u64,
    /// When it was given back. None: it was not.
    pub end: Option<u64>,
    /// Its guard may be moved to another task.
    pub may_move: bool,
    /// The step by which the poll began that got it.
    pub(crate) step: u64,
}

/// A value that was sent into a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) resource: u64,
    pub(crate) sent: u64,
    /// When it was received, and by which task.
    pub(crate) received: Option<(u64, u64)>,
}

/// How often a task saw values of a `watch` channel, and when first and last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) count: usize,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// One poll of a task, or a job from its beginning to its end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Poll {
    /// The task's id.
    pub task: u64,
    /// The thread: an index into [`Timeline::lanes`].
    pub lane: usize,
    /// How the task came into a queue. None for the future of a `block_on`, or if that was before
    /// the first event.
    pub queued: Option<Queued>,
    /// When it began.
    pub begin: u64,
    /// When it ended. None: it has not ended.
    pub end: Option<u64>,
    /// The number of the step by which it began.
    pub(crate) step: u64,
    /// How many operations of arc's succeeded in it.
    pub operations: u32,
    /// The task has ended with it.
    pub is_last: bool,
    /// What the task waits for after it, as far as arc knows.
    pub waits: Vec<Wait>,
    /// When the drop of the task's future began, if it was dropped in this poll.
    pub(crate) drops: Option<u64>,
    /// It spawned or woke a task.
    pub did_wake: bool,
    /// It did nothing that arc knows of, and the task waits for the same as before.
    pub did_nothing: bool,
}

/// A sleep of a worker.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sleep {
    /// The thread: an index into [`Timeline::lanes`].
    pub lane: usize,
    /// The runtime of the worker, if that is known.
    pub runtime: Option<u64>,
    /// When it began.
    pub begin: u64,
    /// When it ended. None: it has not ended.
    pub end: Option<u64>,
    /// The worker waited for the kernel, in the driver's seat. Otherwise it was parked.
    pub in_seat: bool,
    /// Who woke it. None: the kernel, or the clock.
    pub woken: Option<(u64, By)>,
}

/// A look at the kernel and the clock.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Look {
    /// The thread: an index into [`Timeline::lanes`].
    pub lane: usize,
    /// The runtime for which it asked, if that is known.
    pub runtime: Option<u64>,
    /// When the thread asked.
    pub begin: u64,
    /// When the kernel answered. None: it has not.
    pub end: Option<u64>,
    /// The thread waited for something to happen.
    pub waits: bool,
    /// The sources that the kernel reported, and whether it is worth trying to read and to write.
    pub ready: Vec<(i64, [bool; 2])>,
}

/// A step of a model's schedule: a thread goes on until it touches something that others share.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScheduleStep {
    /// The thread: an index into [`Timeline::lanes`].
    pub lane: usize,
    /// When it began.
    pub at: u64,
    /// What the runtime told of it.
    pub events: Vec<Event>,
}

impl Lane {
    /// Where the thread's row stands: the workers come first, by their runtimes and numbers.
    pub(crate) fn rank(&self) -> (u64, u32) {
        self.worker.unwrap_or((u64::MAX, u32::MAX))
    }

    /// Whether it has run a worker of a runtime. None: of any.
    pub(crate) fn works_for(&self, runtime: Option<u64>) -> bool {
        self.worker.is_some() && runtime.is_none_or(|runtime| self.runtimes.contains(&runtime))
    }

    /// From now on it runs this worker.
    fn runs(&mut self, worker: (u64, u32)) {
        self.worker = Some(worker);
        if !self.runtimes.contains(&worker.0) {
            self.runtimes.push(worker.0);
        }
    }
}

impl Poll {
    /// How long it took, in nanoseconds. A poll that has not ended took until `end`.
    pub fn time(&self, end: u64) -> u64 {
        self.end.unwrap_or(end).saturating_sub(self.begin)
    }

    /// How long the task had waited in the queue, in nanoseconds.
    pub fn waited(&self) -> u64 {
        self.queued.map_or(0, |queued| self.begin.saturating_sub(queued.at))
    }
}

impl Timeline {
    /// Whether the task panicked in a poll, which ended it.
    pub(crate) fn did_panic(&self, poll: &Poll) -> bool {
        poll.is_last && self.tasks[&poll.task].panicked.is_some()
    }

    /// When tasks came into queues (1) and left them (-1), in the order of time.
    pub(crate) fn queue_changes(&self) -> Vec<(u64, i64)> {
        let mut changes = Vec::new();
        for poll in &self.polls {
            if let Some(queued) = poll.queued {
                changes.extend([(queued.at, 1), (poll.begin, -1)]);
            }
        }

        // Those that were not polled any more. The end of their runtime empties the queues.
        for task in self.tasks.values() {
            let Some(queued) = task.queued else { continue };
            changes.push((queued.at, 1));
            changes.extend(task.dropped.map(|at| (at, -1)));
        }
        changes.sort_unstable();
        changes
    }
}

impl Task {
    fn new(origin: Option<&Origin>) -> Self {
        let Some(origin) = origin else { return Self::default() };
        Self {
            name: origin.name.as_deref().map(cut),
            location: origin.location.to_string(),
            runtime: Some(origin.runtime),
            is_job: origin.is_job,
            ..Self::default()
        }
    }
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(NAME_MAX) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// Whether two runtimes are known to differ.
pub(crate) fn is_another(runtime: Option<u64>, other: Option<u64>) -> bool {
    runtime.zip(other).is_some_and(|(runtime, other)| runtime != other)
}
