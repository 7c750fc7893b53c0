//! What each task waits for now, and which of them wait for each other: without a recording by the
//! feature `waits`, and while something is recorded.
//!
//! A poll tells what it asks for and does not get. That is kept here under the id of its task,
//! together with the number of the poll. It is forgotten when the task ends, and means nothing once
//! the task was polled again: who asks compares the numbers. So nothing need be done here when a
//! poll begins.
//!
//! It is told in the poll, and not when that has ended: then the task may be polled by another
//! thread already.

use crate::cycle::{self, Blockers};
use crate::now;
use crate::recorder::{self, clock};
use crate::resource::{Resource, blockers, describe};
use crate::timeline::Wait;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::Location;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many tables there are, so that workers seldom meet at one.
const TABLES: usize = 64;

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

    /// The same, as a timeline says it.
    pub(crate) fn wait(&self) -> Wait {
        match self {
            Self::Io { source, write } => Wait::Io { source: *source, write: *write },
            Self::Time { deadline } => Wait::Time { deadline: *deadline },
            Self::Task { task } => Wait::Task { task: *task },
            Self::Turn => Wait::Turn,
            Self::Resource { resource, line } => {
                Wait::Resource { resource: resource.id, line: resource.number_of(*line) }
            }
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
    now: u64,
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

/// What a table keeps of a task.
struct Entry {
    /// That of the poll to which all of this belongs.
    step: u64,
    /// When that was, if something is recorded.
    since: u64,
    /// The runtime whose worker polled it.
    runtime: Option<u64>,
    waits: Vec<(u64, On)>,
    /// What the task waited for after the poll before.
    before: Vec<(u64, On)>,
    /// It is the future of a `block_on`, and its poll has ended.
    is_settled: bool,
}

impl Entry {
    fn new() -> Self {
        Self {
            step: 0,
            since: 0,
            runtime: recorder::runtime(),
            waits: Vec::new(),
            before: Vec::new(),
            is_settled: false,
        }
    }

    /// What is told from now on belongs to this poll.
    fn begin(&mut self, step: u64) {
        if self.step == step {
            return;
        }
        self.step = step;
        self.before.clear();
        std::mem::swap(&mut self.before, &mut self.waits);
        if recorder::is_recording() {
            self.since = clock();
        }
    }
}

/// Ids are numbers that follow each other: they need no hash.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, id: u64) {
        // The table's low bits choose a bucket, and its high bits tell keys apart.
        self.0 = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

type Table = HashMap<u64, Entry, BuildHasherDefault<IdHasher>>;

static TASKS: LazyLock<[Mutex<Table>; TABLES]> =
    LazyLock::new(|| std::array::from_fn(|_| Mutex::default()));

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

fn table(task: u64) -> MutexGuard<'static, Table> {
    lock(&TASKS[task as usize % TABLES])
}

/// A poll has begun.
pub(crate) fn polls(task: u64, step: u64) {
    table(task).entry(task).or_insert_with(Entry::new).begin(step);
}

/// Keeps what a poll asks for and does not get. What the task had waited for before is waited for
/// since then.
pub(crate) fn keep(task: u64, step: u64, on: On) {
    let mut table = table(task);
    let entry = table.entry(task).or_insert_with(Entry::new);
    entry.begin(step);
    let is_same = |(_, other): &&(u64, On)| other.is_same(&on);
    if entry.waits.iter().any(|other| is_same(&other)) {
        return;
    }
    let since = entry.before.iter().find(is_same).map(|(since, _)| *since);
    entry.waits.push((since.unwrap_or_else(clock), on));
}

/// The future of a `block_on` is being polled. Nobody else knows that.
pub(crate) fn unsettle(task: u64) {
    if let Some(entry) = table(task).get_mut(&task) {
        entry.is_settled = false;
    }
}

/// The future of a `block_on` has been polled.
pub(crate) fn settle(task: u64) {
    if let Some(entry) = table(task).get_mut(&task) {
        entry.is_settled = true;
    }
}

/// The task has ended. Of a job, this is told in its poll.
pub(crate) fn ends(task: u64) {
    let entry = table(task).remove(&task);
    drop(entry);
    now::ended(task);
}

/// A runtime has ended, and all its tasks with it.
pub(crate) fn forget_runtime(runtime: u64) {
    for table in TASKS.iter() {
        let is_its = |_: &u64, entry: &mut Entry| entry.runtime == Some(runtime);
        let entries: Vec<_> = lock(table).extract_if(is_its).collect();
        drop(entries);
    }
}

/// What all tasks wait for that were polled and have not ended, in the order of their ids.
///
/// The tasks go on meanwhile. One that was polled since waits for something else: compare
/// [`Waiting::step`] with the number of its polls.
pub fn waiting() -> Vec<Waiting> {
    let now = clock();
    let mut all = Vec::new();
    for table in TASKS.iter() {
        let of_table = lock(table);
        // The future of a `block_on` is polled from an odd step on.
        let is_known = |entry: &Entry| entry.is_settled || entry.step.is_multiple_of(2);
        let known = of_table.iter().filter(|(_, entry)| is_known(entry));
        let waiting = |(&task, entry): (&u64, &Entry)| Waiting {
            task,
            step: entry.step,
            now,
            since: entry.since,
            waits: entry.waits.clone(),
        };
        all.extend(known.map(waiting));
    }
    all.sort_by_key(|waiting: &Waiting| waiting.task);
    all
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
