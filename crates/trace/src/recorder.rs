//! Keeps what the threads tell: each thread in a list of its own, so that threads do not wait for
//! each other. A list has a limit. When it is full, the oldest record is left out, and counted.

use crate::event::{Event, Record};
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::Location;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
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

/// Whether anything is kept. It orders nothing: what is kept is behind locks.
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

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
    /// In the order of their times.
    pub records: Vec<Record>,
    /// How many older records there were.
    pub left_out: u64,
}

/// All that is kept at some time.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The threads, in the order in which they told something first.
    pub threads: Vec<Thread>,
    /// The tasks by their ids.
    pub tasks: BTreeMap<u64, Origin>,
    /// When this was taken, in nanoseconds of the recorder's clock.
    pub taken: u64,
    /// How many tasks are not known by name and place, because there were too many.
    pub tasks_left_out: u64,
}

struct Kept {
    name: String,
    worker: Option<(u64, u32)>,
    records: VecDeque<Record>,
    left_out: u64,
}

type Shelf = Arc<Mutex<Kept>>;

static SHELVES: Mutex<Vec<Shelf>> = Mutex::new(Vec::new());

#[derive(Default)]
struct Table {
    tasks: HashMap<u64, Origin>,
    left_out: u64,
}

static TASKS: LazyLock<[Mutex<Table>; TABLES]> = LazyLock::new(Default::default);

static EPOCH: OnceLock<Instant> = OnceLock::new();

thread_local! {
    static MINE: OnceCell<Shelf> = const { OnceCell::new() };
    static CLOCK: Cell<Option<fn() -> u64>> = const { Cell::new(None) };
}

/// Locks a mutex. Nothing foreign runs under these locks, so what they guard is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether what happens is recorded. None: nobody has said so yet.
#[inline]
pub(crate) fn state() -> Option<bool> {
    match STATE.load(Ordering::Relaxed) {
        ON => Some(true),
        OFF => Some(false),
        _ => None,
    }
}

/// Begins to record, if there are options, unless a program has called [`start`] or [`stop`]
/// meanwhile. Returns whether what happens is recorded.
pub(crate) fn begin(options: Option<Options>) -> bool {
    let state = if options.is_some() { ON } else { OFF };
    let relaxed = Ordering::Relaxed;
    if STATE.compare_exchange(UNKNOWN, state, relaxed, relaxed).is_ok()
        && let Some(options) = options
    {
        set(options);
    }
    STATE.load(relaxed) == ON
}

fn set(options: Options) {
    RECORDS_PER_THREAD.store(options.events_per_thread.max(1), Ordering::Relaxed);
    let last = options.last.map_or(u64::MAX, nanos);
    LAST_NANOS.store(last, Ordering::Relaxed);
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Forgets what was recorded, and records from now on.
pub fn start(options: Options) {
    set(options);
    for shelf in &*lock(&SHELVES) {
        let mut kept = lock(shelf);
        kept.records.clear();
        kept.left_out = 0;
    }
    STATE.store(ON, Ordering::Relaxed);
}

/// Records nothing more. What was recorded is kept.
pub fn stop() {
    STATE.store(OFF, Ordering::Relaxed);
}

/// Makes this thread record the times of another clock, for a simulation. None: the system's.
pub fn set_clock(clock: Option<fn() -> u64>) {
    CLOCK.set(clock);
}

/// The time, in nanoseconds.
pub(crate) fn clock() -> u64 {
    match CLOCK.try_with(Cell::get).ok().flatten() {
        Some(clock) => clock(),
        None => nanos(EPOCH.get_or_init(Instant::now).elapsed()),
    }
}

/// Keeps an event of this thread.
pub(crate) fn keep(event: Event) {
    // A thread that is being torn down may have lost its list already.
    let _ = MINE.try_with(|mine| {
        let mut kept = lock(mine.get_or_init(new_shelf));
        let at = clock();
        if kept.records.len() >= RECORDS_PER_THREAD.load(Ordering::Relaxed) {
            kept.leave_out_oldest();
        }
        kept.records.push_back(Record { at, event });
    });
}

fn new_shelf() -> Shelf {
    let thread = std::thread::current();
    let name = thread.name().map_or_else(|| format!("{:?}", thread.id()), str::to_owned);
    let kept = Kept { name, worker: None, records: VecDeque::new(), left_out: 0 };
    let shelf = Arc::new(Mutex::new(kept));

    let mut shelves = lock(&SHELVES);
    let has_ended = |shelf: &Shelf| Arc::strong_count(shelf) == 1;
    if shelves.iter().filter(|shelf| has_ended(shelf)).count() > ENDED_THREADS_MAX
        && let Some(oldest) = shelves.iter().position(has_ended)
    {
        shelves.remove(oldest);
    }
    shelves.push(shelf.clone());
    shelf
}

impl Kept {
    fn leave_out_oldest(&mut self) {
        let oldest = self.records.pop_front();
        self.left_out += 1;
        if let Some(Record { event: Event::RunsWorker { runtime, worker }, .. }) = oldest {
            self.worker = Some((runtime, worker));
        }
    }
}

fn table(task: u64) -> MutexGuard<'static, Table> {
    lock(&TASKS[(task / IDS_PER_BLOCK) as usize % TABLES])
}

/// Remembers where a task comes from.
pub(crate) fn remember(task: u64, origin: Origin) {
    let mut table = table(task);
    if table.tasks.len() >= TASKS_MAX {
        table.leave_out_ended();
    }
    if table.tasks.len() < TASKS_MAX {
        table.tasks.insert(task, origin);
    } else {
        table.left_out += 1;
    }
}

/// The task has ended. It is remembered as long as there is room.
pub(crate) fn forget(task: u64) {
    if let Some(origin) = table(task).tasks.get_mut(&task) {
        origin.ended = Some(clock());
    }
}

impl Table {
    /// Makes room: of the tasks that have ended, the half that ended first is forgotten.
    fn leave_out_ended(&mut self) {
        let mut ended: Vec<u64> = self.tasks.values().filter_map(|task| task.ended).collect();
        ended.sort_unstable();
        let Some(&median) = ended.get(ended.len() / 2) else { return };
        let before = self.tasks.len();
        self.tasks.retain(|_, task| task.ended.is_none_or(|ended| ended > median));
        self.left_out += (before - self.tasks.len()) as u64;
    }
}

/// What is kept now. The threads go on meanwhile.
pub fn recording() -> Recording {
    let taken = clock();
    let since = taken.saturating_sub(LAST_NANOS.load(Ordering::Relaxed));
    let shelves = lock(&SHELVES).clone();
    let threads = shelves.iter().map(|shelf| lock(shelf).since(since)).collect();

    let mut tasks = BTreeMap::new();
    let mut tasks_left_out = 0;
    for table in TASKS.iter() {
        let table = lock(table);
        tasks.extend(table.tasks.iter().map(|(&task, origin)| (task, origin.clone())));
        tasks_left_out += table.left_out;
    }
    Recording { threads, tasks, taken, tasks_left_out }
}

impl Kept {
    fn since(&self, since: u64) -> Thread {
        let first = self.records.partition_point(|record| record.at < since);
        let mut worker = self.worker;
        for record in self.records.range(..first) {
            if let Event::RunsWorker { runtime, worker: index } = record.event {
                worker = Some((runtime, index));
            }
        }
        Thread {
            name: self.name.clone(),
            worker,
            records: self.records.range(first..).copied().collect(),
            left_out: self.left_out,
        }
    }
}
