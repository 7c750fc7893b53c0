//! Keeps what the threads tell: each thread in a ring of its own (`ring.rs`), so that threads do
//! not wait for each other. A ring has a limit. When it is full, the oldest record is left out,
//! and counted.

use crate::event::{Event, Last, Record, Time};
use crate::lock::lock;
use crate::origins;
use crate::recording::{Origin, Recording, Thread};
use crate::resource;
use crate::ring::Ring;
use crate::sources;
use crate::switch::{self, Options, RECORDS_MAX, State, is_recording};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// How many threads that have ended keep their records.
const ENDED_THREADS_MAX: usize = 64;

/// A thread's ring, as others see it.
struct Shelf {
    name: String,
    ring: Ring,
}

static SHELVES: Mutex<Vec<Arc<Shelf>>> = Mutex::new(Vec::new());

static EPOCH: OnceLock<Instant> = OnceLock::new();

/// What a thread has of its own.
struct Mine {
    /// The state for which the rest is right. Something has changed if that is another one now.
    state: Cell<State>,
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
    state_before: State,
}

thread_local! {
    static MINE: Mine = const {
        Mine {
            state: Cell::new(State::UNSEEN),
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

/// Forgets what was recorded, and records from now on.
pub fn start(options: Options) {
    switch::set_limits(options);
    // While nothing was recorded, nobody has told which tasks have ended.
    origins::clear();

    // Under the lock, so that no ring of the earlier start is put there after this.
    let mut shelves = lock(&SHELVES);
    switch::begin_again();
    shelves.clear();
}

/// The time of the system's clock, in nanoseconds.
fn system_clock() -> u64 {
    switch::nanos(EPOCH.get_or_init(Instant::now).elapsed())
}

impl Mine {
    /// Keeps an event, as two words.
    fn keep(&self, words: [u64; 2], time: Time, last: Last) {
        let state = State::now();
        if self.state.get() != state {
            self.follow(state);
        }

        if let Some(shelf) = &*self.shelf.borrow() {
            // To read the clock is most of what an event costs: see `Record::at`.
            let is_read = match time {
                Time::Before => false,
                Time::Now => true,
                // From here on the program runs.
                Time::BeginOfPoll => self.last_read.replace(Last::Other) != Last::Polled,
                Time::AfterPoll => self.last_read.get() != Last::Polled,
                Time::Wake => self.last_read.get() != Last::KernelTold,
            };
            if is_read {
                self.last.set((self.clock.get())());
                self.last_read.set(last);
            }

            self.push(shelf, words);
        }
    }

    /// Keeps events that add to the one that the thread has just told.
    fn keep_also(&self, events: impl Iterator<Item = Event>) {
        if let Some(shelf) = &*self.shelf.borrow() {
            events.for_each(|event| self.push(shelf, event.to_words()));
        }
    }

    #[inline(always)]
    fn push(&self, shelf: &Shelf, words: [u64; 2]) {
        if shelf.ring.is_at_segment() {
            self.keep_place(shelf);
        }
        shelf.ring.push(self.last.get(), words);
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
            let words = Event::RuntimeCloses { runtime }.to_words();
            shelf.ring.push(self.last.get(), words);
        }
    }

    /// Begins a ring, or ends one, if that is what has changed.
    #[cold]
    fn follow(&self, state: State) {
        let before = self.state.replace(state);
        self.last_read.set(Last::Other);
        if self.apart.borrow().is_some() {
            return; // others do not matter
        }

        if !state.is_on() {
            self.shelf.take();
        } else if self.shelf.borrow().is_none() || !before.has_same_start(state) {
            self.last.set(system_clock());
            self.shelf.replace(Some(self.new_shelf()));
        }
    }

    fn new_shelf(&self) -> Arc<Shelf> {
        let shelf = Arc::new(Shelf::new(switch::records_per_thread()));
        let mut shelves = lock(&SHELVES);
        // Under the lock, so that the ring is not of an earlier start than the other ones.
        self.state.set(State::now());

        // A thread holds its shelf as long as it lives. Those of the others are kept for a while.
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

/// Keeps events that add to the one that this thread has just told: they get its time.
pub(crate) fn keep_also(events: impl Iterator<Item = Event>) {
    if is_recording() {
        let _ = MINE.try_with(|mine| mine.keep_also(events));
    }
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

/// Calls a function with the tasks of this thread's own recording, if there is one.
fn with_own_tasks<R>(act: impl FnOnce(&mut BTreeMap<u64, Origin>) -> R) -> Option<R> {
    let with_apart = |mine: &Mine| {
        let mut apart = mine.apart.borrow_mut();
        apart.as_mut().map(|apart| act(&mut apart.tasks))
    };
    MINE.try_with(with_apart).ok().flatten()
}

/// Remembers where a task comes from.
pub(crate) fn remember(task: u64, origin: Origin) {
    if is_apart() {
        with_own_tasks(|tasks| tasks.insert(task, origin));
    } else {
        origins::remember(task, origin);
    }
}

/// The task has ended. It is remembered as long as there is room.
pub(crate) fn forget(task: u64) {
    let at = clock();
    let end = |origin: &mut Origin| origin.ended = Some(at);
    if with_own_tasks(|tasks| tasks.get_mut(&task).map(end)).is_none() {
        origins::end(task, at);
    }
}

/// What is kept now, but for what tasks wait for. The threads go on meanwhile.
pub(crate) fn take() -> Recording {
    let taken = system_clock();
    let since = taken.saturating_sub(switch::last_nanos());
    // The lock is not held while rings are read: that takes long, and threads that begin wait.
    let shelves = lock(&SHELVES).clone();
    let threads = shelves.iter().map(|shelf| shelf.since(since)).collect();

    // Behind the rings: whatever a record names was remembered before it.
    let (tasks, tasks_left_out) = origins::all();
    Recording {
        threads,
        tasks,
        taken,
        tasks_left_out,
        resources: resource::known(),
        waiting: Vec::new(),
        named: sources::names(),
        others_go_on: false,
    }
}

impl Shelf {
    fn new(limit: usize) -> Self {
        let thread = std::thread::current();
        let name = match thread.name() {
            Some(name) => name.to_owned(),
            None => format!("{:?}", thread.id()),
        };
        Self { name, ring: Ring::new(limit) }
    }

    /// What the thread has told from some time on.
    fn since(&self, since: u64) -> Thread {
        let (mut records, mut left_out) = self.ring.read();

        // What the thread ran before the oldest record is told again soon after that.
        let (mut worker, mut main) = match left_out {
            0 => (None, None),
            _ => (records.iter().find_map(worker_in), records.iter().find_map(main_in)),
        };

        // A ring has room for more than its limit, since its segments are whole.
        let too_many = records.len().saturating_sub(self.ring.limit);
        let first = records.partition_point(|record| record.at < since).max(too_many);
        // If one from before `since` is left, all that there is no room for is older than that.
        left_out = if first > too_many { 0 } else { left_out + too_many as u64 };

        for record in records.drain(..first) {
            worker = worker_in(&record).or(worker);
            main = main_in(&record).or(main);
        }
        Thread { name: self.name.clone(), worker, main, records, left_out }
    }
}

fn worker_in(record: &Record) -> Option<(u64, u32)> {
    match record.event {
        Event::RunsWorker { runtime, worker } => Some((runtime, worker)),
        _ => None,
    }
}

fn main_in(record: &Record) -> Option<u64> {
    match record.event {
        Event::BlocksOn { task } => Some(task),
        _ => None,
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
            let apart = Apart { tasks: BTreeMap::new(), before, state_before };
            mine.apart.replace(Some(apart));
            mine.clock.set(clock);
            mine.last.set(clock());
        });
        switch::begin_apart();
        Self { _thread: PhantomData }
    }

    /// What was recorded so far.
    pub fn recording(&self) -> Recording {
        let thread = MINE.with(|mine| {
            let shelf = mine.shelf.borrow();
            shelf.as_ref().map(|shelf| shelf.since(0))
        });
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
        switch::end_apart();
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
