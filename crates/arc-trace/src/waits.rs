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

use crate::recorder::{self, Recording, clock};
use crate::resource::lock;
pub use crate::waiting::{Link, Waiting, cycles};
use crate::waiting::{On, make_known};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{LazyLock, Mutex, MutexGuard};

/// How many tables there are, so that workers seldom meet at one.
const TABLES: usize = 64;

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
            // The poll has just been recorded.
            self.since = recorder::last();
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

/// The task has ended.
pub(crate) fn forget(task: u64) {
    let entry = table(task).remove(&task);
    drop(entry);
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

/// What is recorded now. The threads go on meanwhile.
pub fn recording() -> Recording {
    // Before the rest, which has what these wait for.
    let waiting = waiting();
    make_known(&waiting);
    Recording { waiting, ..recorder::take() }
}
