//! Keeps what the threads tell: each thread in a ring of its own (`ring.rs`), so that threads do
//! not wait for each other. A ring has a limit. When it is full, the oldest record is left out,
//! and counted.

use crate::event::{Event, Last, Record, Time};
use crate::resource::{self, ResourceInfo, lock};
use crate::ring::Ring;
use crate::sources::{self, Named};
use crate::waiting::Waiting;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// How many records a thread keeps, unless [`Options`] says otherwise: 3 MB.
const RECORDS_MAX: usize = 100_000;

/// How many threads that have ended keep their records.
const ENDED_THREADS_MAX: usize = 64;

/// How many tasks are remembered by name and place, in each of the tables.
const TASKS_MAX: usize = 16_384;

/// How many tables there are. The ids that one worker gives out go into the same table for a while.
const TABLES: usize = 16;
const IDS_PER_BLOCK: u64 = 1024;

/// Whether anything is kept. Above these bits is a number that each [`start`] changes, so that the
/// threads begin new rings. It orders nothing: the rings take care of that, and locks.
static STATE: AtomicU64 = AtomicU64::new(0);
/// Somebody has said whether anything is kept.
const KNOWN: u64 = 1;
/// What all threads tell is kept.
const ON: u64 = 2;
/// How many threads have a recording of their own, in these bits.
const APART: u64 = 4;
const APART_MASK: u64 = 0xffff * APART;
/// How many times [`start`] was called.
const STARTED: u64 = APART_MASK + APART;

static RECORDS_PER_THREAD: AtomicUsize = AtomicUsize::new(RECORDS_MAX);
static LAST_NANOS: AtomicU64 = AtomicU64::new(u64::MAX);

/// Limits of what is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How many events a thread keeps: 100,000 by default, which take 3 MB when there are as many.
    pub events_per_thread: usize,
    /// How far a timeline reaches back. None: as far as there are events, which is the default.
    pub last: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self { events_per_thread: RECORDS_MAX, last: None }
    }
}

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
        let tasks = std::mem::take(&mut self.tasks);
        self.tasks = tasks.into_iter().map(|(task, origin)| (id(task), origin)).collect();
        for resource in self.resources.values_mut() {
            resource.provider = resource.provider.map(&id);
            resource.receiver = resource.receiver.map(&id);
            resource.provided = resource.provided.map(|(task, step)| (id(task), step));
            for sender in resource.numbers.senders.iter_mut().filter(|sender| **sender > 0) {
                *sender = id(*sender);
            }
        }
    }
}

/// A thread's ring, as others see it.
struct Shelf {
    name: String,
    ring: Ring,
}

static SHELVES: Mutex<Vec<Arc<Shelf>>> = Mutex::new(Vec::new());

#[derive(Default)]
struct Table {
    tasks: HashMap<u64, Origin>,
    left_out: u64,
}

static TASKS: LazyLock<[Mutex<Table>; TABLES]> = LazyLock::new(Default::default);

static EPOCH: OnceLock<Instant> = OnceLock::new();

/// What a thread has of its own.
struct Mine {
    /// The [`STATE`] for which the rest is right. Something has changed if that is another one now.
    state: Cell<u64>,
    /// Where the thread keeps what it tells. None: it keeps nothing.
    shelf: RefCell<Option<Arc<Shelf>>>,
    /// The time of the last record.
    last: Cell<u64>,
    /// For which event that was read from the clock. Other: the program has run since.
    last_read: Cell<Last>,
    /// Set while the thread has a recording of its own.
    apart: RefCell<Option<Apart>>,
    clock: Cell<fn() -> u64>,
    /// The runtime and the worker that the thread runs.
    worker: Cell<Option<(u64, u32)>>,
    /// The future of the `block_on` that the thread is in, or was in last.
    main: Cell<Option<u64>>,
    /// The runtime that the thread has ended last.
    closed: Cell<Option<u64>>,
}

/// What a recording of one thread has of its own.
struct Apart {
    tasks: BTreeMap<u64, Origin>,
    /// Where the thread kept what it told before, and for which state that was right.
    before: Option<Arc<Shelf>>,
    state_before: u64,
}

thread_local! {
    static MINE: Mine = const {
        Mine {
            state: Cell::new(0),
            shelf: RefCell::new(None),
            last: Cell::new(0),
            last_read: Cell::new(Last::Other),
            apart: RefCell::new(None),
            clock: Cell::new(system_clock),
            worker: Cell::new(None),
            main: Cell::new(None),
            closed: Cell::new(None),
        }
    };
}

/// Whether what happens is recorded. None: nobody has said so yet.
#[inline]
pub(crate) fn state() -> Option<bool> {
    let state = STATE.load(Ordering::Relaxed);
    match state & KNOWN {
        0 => None,
        _ => Some(state & (ON | APART_MASK) != 0),
    }
}

/// Whether what happens is recorded. Who asks has asked [`is_on`](crate::is_on) before.
#[inline]
pub(crate) fn is_recording() -> bool {
    STATE.load(Ordering::Relaxed) & (ON | APART_MASK) != 0
}

/// Begins to record, if there are options, unless a program has called [`start`] or [`stop`]
/// meanwhile. Returns whether what happens is recorded.
pub(crate) fn begin(options: Option<Options>) -> bool {
    let state = if options.is_some() { ON } else { 0 };
    let is_first = |before: u64| (before & KNOWN == 0).then_some(before | KNOWN | state);
    let relaxed = Ordering::Relaxed;
    if STATE.fetch_update(relaxed, relaxed, is_first).is_ok()
        && let Some(options) = options
    {
        set(options);
    }
    STATE.load(relaxed) & (ON | APART_MASK) != 0
}

fn set(options: Options) {
    RECORDS_PER_THREAD.store(options.events_per_thread.max(1), Ordering::Relaxed);
    let last = options.last.map_or(u64::MAX, nanos);
    LAST_NANOS.store(last, Ordering::Relaxed);
}

fn nanos(duration: Duration) -> u64 {
    let whole = duration.as_secs().saturating_mul(1_000_000_000);
    whole.saturating_add(duration.subsec_nanos().into())
}

/// Forgets what was recorded, and records from now on.
pub fn start(options: Options) {
    set(options);
    // While nothing was recorded, nobody has told which tasks have ended.
    TASKS.iter().for_each(|table| *lock(table) = Table::default());
    let mut shelves = lock(&SHELVES);
    let again = |state: u64| Some((state | KNOWN | ON) + STARTED);
    let _ = STATE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, again);
    shelves.clear();
}

/// Records nothing more. What was recorded is kept.
pub fn stop() {
    let off = |state: u64| Some((state | KNOWN) & !ON);
    let _ = STATE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, off);
}

/// The time of the system's clock, in nanoseconds.
fn system_clock() -> u64 {
    nanos(EPOCH.get_or_init(Instant::now).elapsed())
}

impl Mine {
    /// Keeps an event, as two words.
    fn keep(&self, words: [u64; 2], time: Time, last: Last) {
        let state = STATE.load(Ordering::Relaxed);
        if self.state.get() != state {
            self.follow(state);
        }
        if let Some(shelf) = &*self.shelf.borrow() {
            let is_read = match time {
                Time::Before => false,
                Time::Now => true,
                // From here on the program runs.
                Time::BeginOfPoll => self.last_read.replace(Last::Other) != Last::Polled,
                Time::Wake => self.last_read.get() != Last::KernelTold,
            };
            if is_read {
                self.last.set((self.clock.get())());
                self.last_read.set(last);
            }
            if shelf.ring.is_at_segment() {
                self.keep_place(shelf);
            }
            shelf.ring.push(self.last.get(), words);
        }
    }

    /// Tells again and again which worker this is, which `block_on`, and which runtime has ended
    /// here, so that none is lost with the oldest records. (The end of a runtime wakes all its
    /// tasks, and each of them is a record.)
    #[cold]
    fn keep_place(&self, shelf: &Shelf) {
        if let Some((runtime, worker)) = self.worker.get() {
            let words = Event::RunsWorker { runtime, worker }.to_words();
            shelf.ring.push(self.last.get(), words);
        }
        if let Some(task) = self.main.get() {
            shelf.ring.push(self.last.get(), Event::BlocksOn { task }.to_words());
        }
        if let Some(runtime) = self.closed.get() {
            shelf.ring.push(self.last.get(), Event::RuntimeCloses { runtime }.to_words());
        }
    }

    /// Begins a ring, or ends one, if that is what has changed.
    #[cold]
    fn follow(&self, state: u64) {
        let before = self.state.replace(state);
        self.last_read.set(Last::Other);
        if self.apart.borrow().is_some() {
            return; // others do not matter
        }
        if state & ON == 0 {
            self.shelf.take();
        } else if self.shelf.borrow().is_none() || before / STARTED != state / STARTED {
            self.last.set(system_clock());
            self.shelf.replace(Some(self.new_shelf()));
        }
    }

    fn new_shelf(&self) -> Arc<Shelf> {
        let shelf = Arc::new(Shelf::new(RECORDS_PER_THREAD.load(Ordering::Relaxed)));
        let mut shelves = lock(&SHELVES);
        // Under the lock, so that the ring is not of an earlier start than the other ones.
        self.state.set(STATE.load(Ordering::Relaxed));
        let has_ended = |shelf: &Arc<Shelf>| Arc::strong_count(shelf) == 1;
        if shelves.iter().filter(|shelf| has_ended(shelf)).count() > ENDED_THREADS_MAX
            && let Some(oldest) = shelves.iter().position(has_ended)
        {
            shelves.remove(oldest);
        }
        shelves.push(shelf.clone());
        shelf
    }
}

impl Shelf {
    fn new(limit: usize) -> Self {
        let thread = std::thread::current();
        let name = thread.name().map_or_else(|| format!("{:?}", thread.id()), str::to_owned);
        Self { name, ring: Ring::new(limit) }
    }
}

/// Keeps an event of this thread.
// Where it is called the event is known, and its words are numbers that the compiler finds.
#[inline(always)]
pub(crate) fn keep(event: Event) {
    keep_words(event.to_words(), event.time(), event.last());
}

/// Keeps an event of this thread, for which the clock is read.
#[inline(always)]
pub(crate) fn keep_now(event: Event) {
    keep_words(event.to_words(), Time::Now, event.last());
}

fn keep_words(words: [u64; 2], time: Time, last: Last) {
    if !is_recording() {
        return;
    }
    // A thread that is being torn down may have lost its ring already.
    let _ = MINE.try_with(|mine| mine.keep(words, time, last));
}

/// The time of the last record of this thread.
pub(crate) fn last() -> u64 {
    MINE.try_with(|mine| mine.last.get()).unwrap_or(0)
}

/// Remembers which worker the thread runs, also for a recording that begins later.
pub(crate) fn runs_worker(runtime: u64, worker: u32) {
    let _ = MINE.try_with(|mine| mine.worker.set(Some((runtime, worker))));
}

/// Remembers which `block_on` the thread is in, also for a recording that begins later.
pub(crate) fn blocks_on(task: u64) {
    let _ = MINE.try_with(|mine| mine.main.set(Some(task)));
}

/// Remembers which runtime the thread ends.
pub(crate) fn closes(runtime: u64) {
    let _ = MINE.try_with(|mine| mine.closed.set(Some(runtime)));
}

/// Another thread of a model goes on here. What that one runs was told before.
pub(crate) fn forget_thread() {
    let _ = MINE.try_with(|mine| {
        mine.worker.set(None);
        mine.main.set(None);
        mine.closed.set(None);
    });
}

/// The future of the `block_on` that the thread is in, or was in last.
pub(crate) fn main() -> Option<u64> {
    MINE.try_with(|mine| mine.main.get()).ok().flatten()
}

/// The runtime whose worker the thread runs.
pub(crate) fn runtime() -> Option<u64> {
    let worker = MINE.try_with(|mine| mine.worker.get()).ok().flatten();
    worker.map(|(runtime, _)| runtime)
}

/// The time of the clock by which the thread records.
pub(crate) fn clock() -> u64 {
    MINE.try_with(|mine| mine.clock.get()).unwrap_or(system_clock)()
}

fn table(task: u64) -> MutexGuard<'static, Table> {
    lock(&TASKS[(task / IDS_PER_BLOCK) as usize % TABLES])
}

/// Calls a function with the tasks of this thread's own recording, if there is one.
fn with_own_tasks<R>(act: impl FnOnce(&mut BTreeMap<u64, Origin>) -> R) -> Option<R> {
    let act = |mine: &Mine| mine.apart.borrow_mut().as_mut().map(|apart| act(&mut apart.tasks));
    MINE.try_with(act).ok().flatten()
}

/// Remembers where a task comes from.
pub(crate) fn remember(task: u64, origin: Origin) {
    if is_apart() {
        with_own_tasks(|tasks| tasks.insert(task, origin));
        return;
    }
    let mut table = table(task);
    if table.tasks.len() >= TASKS_MAX {
        table.make_room();
    }
    if table.tasks.len() < TASKS_MAX {
        table.tasks.insert(task, origin);
    } else {
        table.left_out += 1;
    }
}

/// The task has ended. It is remembered as long as there is room.
pub(crate) fn forget(task: u64) {
    let ended = Some(clock());
    let end = |origin: &mut Origin| origin.ended = ended;
    if with_own_tasks(|tasks| tasks.get_mut(&task).map(end)).is_none() {
        table(task).tasks.get_mut(&task).map(end);
    }
}

impl Table {
    /// Makes room: of the tasks that have ended, the half that ended first is forgotten. If few
    /// have, the older half of all goes. (The end of a runtime cuts tasks off that nobody hears of
    /// any more.) Either way there is room for thousands, as this takes long.
    fn make_room(&mut self) {
        let before = self.tasks.len();
        let mut ended: Vec<u64> = self.tasks.values().filter_map(|task| task.ended).collect();
        if ended.len() >= before / 4 {
            let middle = ended.len() / 2;
            let median = *ended.select_nth_unstable(middle).1;
            self.tasks.retain(|_, task| task.ended.is_none_or(|ended| ended > median));
        } else {
            let mut ids: Vec<u64> = self.tasks.keys().copied().collect();
            let median = *ids.select_nth_unstable(before / 2).1;
            self.tasks.retain(|&id, _| id > median);
        }
        self.left_out += (before - self.tasks.len()) as u64;
    }
}

/// What is kept now, but for what tasks wait for. The threads go on meanwhile.
pub(crate) fn take() -> Recording {
    let taken = system_clock();
    let since = taken.saturating_sub(LAST_NANOS.load(Ordering::Relaxed));
    let shelves = lock(&SHELVES).clone();
    let threads = shelves.iter().map(|shelf| shelf.since(since)).collect();

    let mut tasks = BTreeMap::new();
    let mut tasks_left_out = 0;
    for table in TASKS.iter() {
        let table = lock(table);
        tasks.extend(table.tasks.iter().map(|(&task, origin)| (task, origin.clone())));
        tasks_left_out += table.left_out;
    }
    let resources = resource::known();
    let (waiting, named, others_go_on) = (Vec::new(), sources::names(), false);
    Recording { threads, tasks, taken, tasks_left_out, resources, waiting, named, others_go_on }
}

impl Shelf {
    fn since(&self, since: u64) -> Thread {
        let (mut records, mut left_out) = self.ring.read();
        let runs = |record: &Record| match record.event {
            Event::RunsWorker { runtime, worker } => Some((runtime, worker)),
            _ => None,
        };
        let blocks_on = |record: &Record| match record.event {
            Event::BlocksOn { task } => Some(task),
            _ => None,
        };
        // What the thread ran before the oldest record is told again soon after that.
        let (mut worker, mut main) = match left_out {
            0 => (None, None),
            _ => (records.iter().find_map(runs), records.iter().find_map(blocks_on)),
        };
        let too_many = records.len().saturating_sub(self.ring.limit);
        let first = records.partition_point(|record| record.at < since).max(too_many);
        // If one from before `since` is left, all that there is no room for is older than that.
        left_out = if first > too_many { 0 } else { left_out + too_many as u64 };
        for record in records.drain(..first) {
            worker = runs(&record).or(worker);
            main = blocks_on(&record).or(main);
        }
        Thread { name: self.name.clone(), worker, main, records, left_out }
    }
}

/// A recording of what one thread does, by a clock of its own: a simulation's. While it lives, the
/// thread tells nobody else.
///
/// # Examples
///
/// ```
/// let recorder = arc_trace::ThreadRecorder::begin(|| 0);
/// // ... run a program ...
/// assert_eq!(recorder.recording().threads.len(), 1);
/// ```
#[derive(Debug)]
#[must_use = "it records only while it lives"]
pub struct ThreadRecorder {
    /// It ends on the thread on which it began.
    _thread: PhantomData<*const ()>,
}

impl ThreadRecorder {
    /// Begins to record what this thread does. The clock gives nanoseconds, and never goes back.
    ///
    /// # Panics
    ///
    /// When the thread has such a recording already.
    pub fn begin(clock: fn() -> u64) -> Self {
        assert!(!is_apart(), "this thread is recorded already");
        MINE.with(|mine| {
            let before = mine.shelf.replace(Some(Arc::new(Shelf::new(RECORDS_MAX))));
            let state_before = mine.state.get();
            mine.apart.replace(Some(Apart { tasks: BTreeMap::new(), before, state_before }));
            mine.clock.set(clock);
            mine.last.set(clock());
        });
        STATE.fetch_add(APART, Ordering::Relaxed);
        Self { _thread: PhantomData }
    }

    /// What was recorded so far.
    pub fn recording(&self) -> Recording {
        let thread = MINE.with(|mine| mine.shelf.borrow().as_ref().map(|shelf| shelf.since(0)));
        Recording {
            threads: thread.into_iter().collect(),
            tasks: with_own_tasks(|tasks| tasks.clone()).unwrap_or_default(),
            taken: clock(),
            tasks_left_out: 0,
            resources: resource::known(),
            // Nothing is left out of the recording of a simulation, but of a very long one.
            waiting: Vec::new(),
            named: sources::names(),
            // A simulation has one thread.
            others_go_on: false,
        }
    }
}

impl Drop for ThreadRecorder {
    fn drop(&mut self) {
        STATE.fetch_sub(APART, Ordering::Relaxed);
        let _ = MINE.try_with(|mine| {
            let Some(Apart { before, state_before, .. }) = mine.apart.take() else { return };
            mine.shelf.replace(before);
            mine.clock.set(system_clock);
            mine.last.set(system_clock());
            mine.last_read.set(Last::Other);
            // If others have started or stopped meanwhile, the next event finds that out.
            mine.state.set(state_before);
        });
    }
}

/// Whether this thread has a recording of its own.
pub(crate) fn is_apart() -> bool {
    MINE.try_with(|mine| mine.apart.borrow().is_some()).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full table, in which so many tasks have ended: those of the greatest ids first.
    fn full(ended: usize) -> Table {
        let location = Location::caller();
        let mut table = Table::default();
        for id in 0..TASKS_MAX {
            let is_over = id >= TASKS_MAX - ended;
            let ended = is_over.then_some((TASKS_MAX - id) as u64);
            let origin = Origin { name: None, location, runtime: 0, is_job: false, ended };
            table.tasks.insert(id as u64, origin);
        }
        table
    }

    #[test]
    fn room_is_made_for_thousands_however_few_tasks_have_ended() {
        for ended in [0, 1, TASKS_MAX / 5, TASKS_MAX / 2, TASKS_MAX] {
            let mut table = full(ended);
            table.make_room();
            let room = TASKS_MAX - table.tasks.len();
            assert!(room >= TASKS_MAX / 8, "room for {room} when {ended} have ended");
            assert_eq!(table.left_out, room as u64);
        }
    }

    #[test]
    fn tasks_that_ended_first_are_forgotten_first() {
        let half = TASKS_MAX / 2;
        let mut table = full(half);
        table.make_room();
        // What has not ended is there, and what ended last.
        assert!((0..half as u64).all(|id| table.tasks.contains_key(&id)));
        assert!(table.tasks.contains_key(&(half as u64)));
        assert!(!table.tasks.contains_key(&(TASKS_MAX as u64 - 1)));
    }

    #[test]
    fn oldest_tasks_are_forgotten_if_none_has_ended() {
        let mut table = full(0);
        table.make_room();
        assert!(table.tasks.contains_key(&(TASKS_MAX as u64 - 1)));
        assert!(!table.tasks.contains_key(&0));
    }
}
