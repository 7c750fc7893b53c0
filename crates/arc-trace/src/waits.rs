//! What each task waits for now, and which of them wait for each other: without a recording by the
//! feature `waits`, and while something is recorded.
//!
//! A poll tells what it asks for and does not get. That is kept here under the id of its task,
//! together with the number of the poll, until the future that asked is ready or dropped, or the
//! task has ended. A later poll need not ask again: a set of futures polls only those that were
//! woken. So there are three kinds of waits:
//!
//! * those of the last poll,
//! * those that an earlier poll has asked for, whose futures are still there,
//! * those that were given up, as by a `select!` that borrows a future and takes another branch.
//!
//! Nothing need be done here when a poll begins: who asks compares the number of the poll with that
//! of the task's last one.
//!
//! It is told in the poll, and not when that has ended: then the task may be polled by another
//! thread already.

use crate::lock::lock;
pub use crate::program::{Finding, Program};
use crate::recorder::{self, clock};
use crate::recording::Recording;
use crate::switch::is_recording;
pub use crate::threads::others_go_on;
pub use crate::waiting::Waiting;
use crate::waiting::{AskedFor, On, Open, make_known};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// How many tables there are, so that workers seldom meet at one, and few tasks share one.
const TABLES: usize = 256;

/// So many waits of one task are known.
const WAITS_MAX: usize = 1_024;

/// A timer that has expired so long ago has woken its task, which has not asked for it again.
const EXPIRED: u64 = 1_000_000_000;

/// Who asks for something.
pub(crate) struct Asked {
    pub(crate) task: u64,
    pub(crate) step: u64,
    /// How many waits the thread has told of, with this one.
    pub(crate) told: u64,
    pub(crate) waiter: u64,
    /// The poll has spawned or sent something.
    pub(crate) has_moved: bool,
}

/// What a table keeps of a task.
struct Entry {
    /// That of the poll to which all of this belongs.
    step: u64,
    /// When that was, if something is recorded.
    since: u64,
    /// The runtime whose worker polled it.
    runtime: Option<u64>,
    waits: Vec<Open>,
    /// There were more waits than are kept.
    is_crowded: bool,
    /// The last poll that has spawned or sent something.
    moved: u64,
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
            is_crowded: false,
            moved: 0,
            is_settled: false,
        }
    }

    /// What is told from now on belongs to this poll.
    fn begin(&mut self, step: u64) {
        if self.step == step {
            return;
        }
        self.step = step;
        if is_recording() {
            // The poll has just been recorded.
            self.since = recorder::last();
        }
    }

    fn end(&mut self, is_over: impl Fn(&Open) -> bool) {
        self.waits.retain(|wait| !is_over(wait));
        self.is_crowded &= !self.waits.is_empty();
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

type ById<T> = HashMap<u64, T, BuildHasherDefault<IdHasher>>;

/// What is kept of some tasks.
///
/// Each poll comes here, and often on another core than the one before. What it costs is to fetch
/// the memory that the other core has written, one piece after the other. So a task has its place
/// in the table itself, and only those that find it taken are in a map.
struct Table {
    first: Option<(u64, Entry)>,
    others: ById<Entry>,
}

impl Table {
    const fn new() -> Self {
        Self { first: None, others: HashMap::with_hasher(BuildHasherDefault::new()) }
    }

    fn get(&mut self, task: u64) -> Option<&mut Entry> {
        match &mut self.first {
            Some((id, entry)) if *id == task => Some(entry),
            _ => self.others.get_mut(&task),
        }
    }

    #[inline]
    fn get_or_insert(&mut self, task: u64) -> &mut Entry {
        // The place may have become free since the task came into the map.
        if self.first.is_none() && !self.others.contains_key(&task) {
            self.first = Some((task, Entry::new()));
        }
        match &mut self.first {
            Some((id, entry)) if *id == task => entry,
            _ => self.others.entry(task).or_insert_with(Entry::new),
        }
    }

    fn remove(&mut self, task: u64) -> Option<Entry> {
        let first = self.first.take_if(|(id, _)| *id == task);
        first.map(|(_, entry)| entry).or_else(|| self.others.remove(&task))
    }

    /// Takes the tasks of a runtime out.
    fn remove_runtime(&mut self, runtime: u64) -> Vec<Entry> {
        let is_its = |entry: &Entry| entry.runtime == Some(runtime);
        let first = self.first.take_if(|(_, entry)| is_its(entry));
        let others = self.others.extract_if(|_, entry| is_its(entry));
        first.into_iter().chain(others).map(|(_, entry)| entry).collect()
    }

    fn iter(&self) -> impl Iterator<Item = (u64, &Entry)> {
        let first = self.first.iter().map(|(task, entry)| (*task, entry));
        first.chain(self.others.iter().map(|(task, entry)| (*task, entry)))
    }
}

/// Two cores that use two tables do not wait for each other's memory.
#[repr(align(128))]
struct Place(Mutex<Table>);

static TASKS: [Place; TABLES] = [const { Place(Mutex::new(Table::new())) }; TABLES];

fn table(task: u64) -> MutexGuard<'static, Table> {
    lock(&TASKS[task as usize % TABLES].0)
}

/// A poll has begun.
pub(crate) fn polls(task: u64, step: u64) {
    table(task).get_or_insert(task).begin(step);
}

/// Keeps what a poll asks for and does not get.
pub(crate) fn keep(asked: &Asked, on: AskedFor<'_>) {
    let Asked { task, step, told, waiter, has_moved } = *asked;
    // What the kernel reports after this ends the wait of a `poll_` function.
    let looks = LOOKS.load(Ordering::Relaxed);
    let mut table = table(task);
    let entry = table.get_or_insert(task);
    entry.begin(step);
    if has_moved {
        entry.moved = step;
    }

    // A future is known by its place, whatever it asks for. A `poll_` function has none, and is
    // known by what it asks for.
    let is_it = |wait: &&mut Open| {
        let is_same_future = waiter > 0 && wait.waiter == waiter;
        is_same_future || (waiter == wait.waiter && wait.on.is_same(&on))
    };
    if let Some(wait) = entry.waits.iter_mut().find(is_it) {
        // Another future may have come to the place of one that was moved away. And a turn ends
        // with each poll.
        if (waiter > 0 && !wait.on.is_same(&on)) || matches!(on, On::Turn) {
            wait.since = clock();
            wait.on = on.owned();
        }
        wait.asked = step;
        wait.told = told;
        wait.looks = looks;
        wait.is_given_up = false;
        return;
    }

    if entry.waits.len() >= WAITS_MAX {
        entry.is_crowded = true;
        return;
    }

    // The clock is read for a new wait alone, and not each time that a poll asks again.
    let since = clock();
    let on = on.owned();
    entry.waits.push(Open { waiter, on, since, asked: step, told, looks, is_given_up: false });
}

/// Some waits of a task are over.
pub(crate) fn end(task: u64, is_over: impl Fn(&Open) -> bool) {
    if let Some(entry) = table(task).get(task) {
        entry.end(is_over);
    }
}

/// Some waits of a task are given up.
pub(crate) fn give_up(task: u64, is_it: impl Fn(&Open) -> bool) {
    if let Some(entry) = table(task).get(task) {
        let given_up = |wait: &&mut Open| is_it(wait);
        entry.waits.iter_mut().filter(given_up).for_each(|wait| wait.is_given_up = true);
    }
}

/// A poll has spawned or sent something. (If nothing is kept of its task, that may have ended.)
pub(crate) fn moves(task: u64, step: u64) {
    if let Some(entry) = table(task).get(task) {
        entry.moved = step;
    }
}

/// How many looks at the kernel have brought something, and for each source which of them has
/// reported it last, for reading and for writing.
static LOOKS: AtomicU64 = AtomicU64::new(0);
static REPORTED: Mutex<ById<[Look; 2]>> =
    Mutex::new(HashMap::with_hasher(BuildHasherDefault::new()));

/// A look at the kernel that has reported a source.
#[derive(Clone, Copy, Default)]
struct Look {
    number: u64,
    /// When that was.
    at: u64,
}

/// The kernel has reported these sources. What waits for them by a `poll_` function is woken, and
/// has to ask again.
pub(crate) fn ready(sources: &[(i64, [bool; 2])]) {
    if sources.is_empty() {
        return;
    }
    // What the kernel has told has just been recorded.
    let at = if is_recording() { recorder::last() } else { clock() };
    let mut all = lock(&REPORTED);
    let look = Look { number: LOOKS.load(Ordering::Relaxed) + 1, at };
    for &(source, directions) in sources {
        let last = all.entry(source as u64).or_default();
        for direction in [0, 1] {
            if directions[direction] {
                last[direction] = look;
            }
        }
    }

    // Behind the rest: whoever asks from now on asks after this look. The lock makes one thread at
    // a time count.
    LOOKS.store(look.number, Ordering::Relaxed);
}

/// The runtimes that have a worker and have not ended.
static RUNTIMES: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// A thread runs a worker of a runtime.
pub(crate) fn runtime_works(runtime: u64) {
    lock(&RUNTIMES).insert(runtime);
}

/// How many runtimes there are whose tasks may wake others.
pub fn runtimes() -> usize {
    lock(&RUNTIMES).len()
}

/// The future of a `block_on` is being polled. Nobody else knows that.
pub(crate) fn unsettle(task: u64) {
    if let Some(entry) = table(task).get(task) {
        entry.is_settled = false;
    }
}

/// The future of a `block_on` has been polled.
pub(crate) fn settle(task: u64) {
    if let Some(entry) = table(task).get(task) {
        entry.is_settled = true;
    }
}

/// The task has ended.
pub(crate) fn forget(task: u64) {
    let entry = table(task).remove(task);
    drop(entry);
}

/// A runtime has ended, and all its tasks with it.
pub(crate) fn forget_runtime(runtime: u64) {
    lock(&RUNTIMES).remove(&runtime);

    for Place(table) in &TASKS {
        // They are dropped when the lock is free again.
        let entries = lock(table).remove_runtime(runtime);
        drop(entries);
    }
}

/// The futures of `block_on`s that have not ended.
static MAINS: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// A `block_on` begins.
pub(crate) fn blocks_on(task: u64) {
    lock(&MAINS).insert(task);
}

/// A `block_on` has ended.
pub(crate) fn main_ended(task: u64) {
    lock(&MAINS).remove(&task);
}

/// The futures of `block_on`s that have not ended.
pub fn mains() -> Vec<u64> {
    lock(&MAINS).iter().copied().collect()
}

/// What all tasks wait for that were polled and have not ended, in the order of their ids.
///
/// The tasks go on meanwhile. One that was polled since waits for something else: compare
/// [`Waiting::step`] with the number of its polls.
pub fn waiting() -> Vec<Waiting> {
    let now = clock();
    // Before the waits: what is told meanwhile ends none of them.
    let reported = lock(&REPORTED).clone();

    let mut all = Vec::new();
    for Place(table) in &TASKS {
        let of_table = lock(table);
        // The future of a `block_on` is polled from an odd step on.
        let is_known = |entry: &Entry| entry.is_settled || entry.step.is_multiple_of(2);
        let known = of_table.iter().filter(|(_, entry)| is_known(entry));
        all.extend(known.map(|(task, entry)| entry.waiting(task, now, &reported)));
    }

    all.sort_by_key(|waiting: &Waiting| waiting.task);
    all
}

impl Entry {
    fn waiting(&self, task: u64, now: u64, reported: &ById<[Look; 2]>) -> Waiting {
        let mut waiting = Waiting {
            task,
            step: self.step,
            now,
            since: self.since,
            asked: Vec::new(),
            kept: Vec::new(),
            given_up: Vec::new(),
            is_crowded: self.is_crowded,
            moved: self.moved,
        };

        for wait in &self.waits {
            // The last poll has asked for it, and so it is what the task waits for at any rate.
            let is_asked = wait.asked == self.step && !wait.is_given_up;
            if !is_asked && is_over(wait, now, reported) {
                continue;
            }
            let list = match (is_asked, wait.is_given_up) {
                (true, _) => &mut waiting.asked,
                (false, true) => &mut waiting.given_up,
                (false, false) => &mut waiting.kept,
            };

            // What came until then was not waited for any longer. A future is another one each
            // time, but a `poll_` function asks again for the same.
            let last = last_look(wait, reported).map_or(0, |last| last.at);
            list.push(Open { since: wait.since.max(last), ..wait.clone() });
        }
        waiting
    }
}

/// Whether a wait that the last poll has not asked for is over, though nothing told so.
///
/// A future tells when it is dropped, and a `poll_` function tells nothing. Of what it has asked
/// for, only what ends the wait is known.
fn is_over(wait: &Open, now: u64, reported: &ById<[Look; 2]>) -> bool {
    match &wait.on {
        // Its next turn has come, or this would be its last poll.
        On::Turn => true,
        On::Time { deadline } => deadline.saturating_add(EXPIRED) < now,
        On::Io { .. } => last_look(wait, reported).is_some_and(|last| last.number > wait.looks),
        On::Resource { resource, .. } => wait.is_by_function() && resource.is_gone(),
        On::Task { .. } => false,
    }
}

/// The last look at the kernel that has reported what a `poll_` function waits for.
fn last_look(wait: &Open, reported: &ById<[Look; 2]>) -> Option<Look> {
    let On::Io { source, write } = wait.on else { return None };
    let looks = reported.get(&(source as u64)).filter(|_| wait.is_by_function())?;
    Some(looks[usize::from(write)])
}

/// What is recorded now. The threads go on meanwhile.
pub fn recording() -> Recording {
    // Before the rest, which has what these wait for.
    let waiting = waiting();
    make_known(&waiting);
    Recording { waiting, others_go_on: others_go_on(), ..recorder::take() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_one_table_are_found_whoever_comes_and_goes() {
        let mut table = Table::new();
        let steps = |table: &mut Table| [1, 2, 3].map(|task| table.get(task).map(|it| it.step));
        for task in [1, 2] {
            table.get_or_insert(task).begin(10 * task);
        }
        assert_eq!(steps(&mut table), [Some(10), Some(20), None]);

        // The second one is in the map, and stays there when the place becomes free.
        assert_eq!(table.remove(1).map(|it| it.step), Some(10));
        table.get_or_insert(2).begin(22);
        assert_eq!(steps(&mut table), [None, Some(22), None]);
        assert!(table.first.is_none());

        table.get_or_insert(3).begin(30);
        assert!(table.first.is_some());
        assert_eq!(steps(&mut table), [None, Some(22), Some(30)]);
        let mut all: Vec<u64> = table.iter().map(|(task, _)| task).collect();
        all.sort_unstable();
        assert_eq!(all, [2, 3]);
        assert!(table.remove(2).is_some() && table.remove(2).is_none());
        assert_eq!(steps(&mut table), [None, None, Some(30)]);
    }

    #[test]
    fn tasks_of_a_runtime_are_taken_out_of_the_place_and_of_the_map() {
        let mut table = Table::new();
        for (task, runtime) in [(1, 7), (2, 8), (3, 7), (4, 8)] {
            table.get_or_insert(task).runtime = Some(runtime);
        }
        assert_eq!(table.remove_runtime(7).len(), 2);
        assert!(table.get(1).is_none() && table.get(3).is_none());
        assert_eq!(table.remove_runtime(7).len(), 0);
        assert_eq!(table.remove_runtime(8).len(), 2);
        assert_eq!(table.iter().count(), 0);
    }

    #[test]
    fn a_function_has_waited_since_the_last_report_of_what_it_asks_for() {
        let (task, source) = (1 << 40, 1 << 40);
        let ask = |step| {
            let asked = Asked { task, step, told: 0, waiter: 0, has_moved: false };
            keep(&asked, On::Io { source, write: false });
        };
        let since = || {
            let all = waiting();
            all.iter().find(|it| it.task == task).unwrap().asked[0].since
        };

        ask(2);
        let first = since();
        while clock() == first {}
        ask(4);
        assert_eq!(since(), first);
        ready(&[(source, [false, true])]);
        ask(6);
        assert_eq!(since(), first, "what can be written was not asked for");

        let before = clock();
        ready(&[(source, [true, false])]);
        ask(8);
        assert!(since() >= before);
        forget(task);
    }
}
