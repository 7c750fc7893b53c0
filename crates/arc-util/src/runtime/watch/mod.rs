//! What watches the runtimes of a process: counts for each worker, what a poll's time is, and what
//! had not finished when a runtime was closed.
//!
//! All of it is one observer of arc's core, which hears of the events of every runtime. It keeps no
//! list of tasks: the core has one, which is walked when somebody asks.

pub(super) mod observer;
mod report;

pub(super) use report::{Reports, know_printed_panics};
use report::{is_panic_printed, lock};

use crate::task::{TaskInfo, TaskState};
use arc::observe::{Kind, Note};
use arc::runtime::{Handle, Id};
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::RefUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

/// A runtime, and what is known of it.
pub(super) struct Watched {
    pub(super) handle: Handle,
    workers: Box<[Arc<Worker>]>,
    /// Set by `build`. A runtime that the core's own builder has built has none.
    reports: OnceLock<Reports>,
    /// The runtime ends when a task of it panics. Set by `build`.
    ends_by_panic: AtomicBool,
    /// A task has panicked, perhaps before `build` has set what follows from that.
    has_panicked: AtomicBool,
    /// A task has panicked that ends the runtime, or the runtime was closed.
    has_ended: AtomicBool,
    /// The futures in `block_on` that the last tick has found.
    roots: Mutex<Vec<(u64, Sighting)>>,
    /// The tasks that had not finished when the runtime was closed. It is `None` until then, and an
    /// empty list from the beginning if nobody reads it.
    unfinished: Mutex<Option<Vec<TaskInfo>>>,
}

/// A panic breaks nothing in here: foreign code, which is the hook of the reports alone, runs on a
/// thread of its own and under no lock.
impl RefUnwindSafe for Watched {}

/// What is known of a worker. Its own thread counts, and the monitor's has the sighting.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Worker {
    polls: AtomicU64,
    steals: AtomicU64,
    parks: AtomicU64,
    sighting: Sighting,
}

/// What the monitor knows of a thread that polls. Only the monitor changes it.
#[derive(Default)]
struct Sighting {
    /// Which turn the thread was in at the last tick.
    turn: AtomicU64,
    /// For how long it has been in it, in nanoseconds, from the first tick that saw that.
    time: AtomicU64,
    /// How much of that had passed when a panic was last seen to be printed in this turn.
    printed: AtomicU64,
    /// The turn whose poll was reported last.
    reported: AtomicU64,
}

/// The runtimes that somebody has a handle of, or runs a worker of.
static RUNTIMES: RwLock<Option<HashMap<Id, Weak<Watched>>>> = RwLock::new(None);

thread_local! {
    /// The worker that this thread runs, and its runtime.
    static CURRENT: RefCell<Option<(Arc<Watched>, Arc<Worker>)>> = const { RefCell::new(None) };
}

impl Watched {
    /// Finds what is known of a runtime. It is made at the first call, which is by the first worker
    /// of the runtime, or by `build`.
    pub(super) fn of(handle: &Handle) -> Arc<Self> {
        let id = handle.id();
        let of_thread = CURRENT.try_with(|current| {
            let current = current.borrow();
            current.as_ref().map(|(watched, _)| watched).filter(|it| it.handle.id() == id).cloned()
        });
        let known = of_thread.ok().flatten().or_else(|| Self::find(id));
        known.unwrap_or_else(|| Self::enter(handle))
    }

    /// Finds what is known of the runtime of this number, if anybody still cares.
    fn find(id: Id) -> Option<Arc<Self>> {
        RUNTIMES.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(&id)?.upgrade()
    }

    fn enter(handle: &Handle) -> Arc<Self> {
        let new = Arc::new(Self {
            handle: handle.clone(),
            workers: (0..handle.workers()).map(|_| Arc::default()).collect(),
            reports: OnceLock::new(),
            ends_by_panic: AtomicBool::new(false),
            has_panicked: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            roots: Mutex::default(),
            unfinished: Mutex::default(),
        });

        // Another thread may have been first.
        let mut runtimes = RUNTIMES.write().unwrap_or_else(PoisonError::into_inner);
        let runtimes = runtimes.get_or_insert_default();
        if let Some(first) = runtimes.get(&handle.id()).and_then(Weak::upgrade) {
            return first;
        }

        // Those that have gone are forgotten here.
        runtimes.retain(|_, watched| watched.strong_count() > 0);
        runtimes.insert(handle.id(), Arc::downgrade(&new));
        new
    }

    pub(super) fn configure(&self, reports: Reports, ends_by_panic: bool) {
        // A runtime is built once.
        let _ = self.reports.set(reports);

        // A task of a hook may panic before this. SeqCst pairs with `panics`: one of the two sees
        // what the other one has stored.
        self.ends_by_panic.store(ends_by_panic, Ordering::SeqCst);
        if self.has_panicked.load(Ordering::SeqCst) {
            self.end_if_a_panic_does();
        }
    }

    /// The runtime becomes one of the core's, which goes on after a panic.
    pub(super) fn forget_policy(&self) {
        self.ends_by_panic.store(false, Ordering::Relaxed);
    }

    /// Whether every `block_on` of the runtime has to panic. Relaxed is enough: the end of the
    /// runtime wakes their futures after this has become true, and a wake-up happens before the
    /// poll that it causes.
    pub(super) fn fails_block_on(&self) -> bool {
        self.ends_by_panic.load(Ordering::Relaxed) && self.has_ended.load(Ordering::Relaxed)
    }

    /// A task or a job of the runtime panics on this thread. Its handle does not tell yet.
    fn panics(&self) {
        self.has_panicked.store(true, Ordering::SeqCst);
        self.end_if_a_panic_does();
    }

    fn end_if_a_panic_does(&self) {
        // SeqCst pairs with `configure`.
        if self.ends_by_panic.load(Ordering::SeqCst) {
            self.has_ended.store(true, Ordering::Relaxed);
            self.handle.shutdown_background();
        }
    }

    pub(super) fn worker(&self, worker: usize) -> &Worker {
        &self.workers[worker]
    }

    /// Describes each task that has not ended. This is no snapshot: the tasks go on meanwhile.
    pub(super) fn tasks(&self) -> Vec<TaskInfo> {
        let mut tasks = Vec::new();
        self.handle.each_task(|id, note| tasks.push(TaskInfo::new(id, note)));

        // Each worker knows which task it polls.
        for (worker, this) in self.workers.iter().enumerate() {
            let polled = self.handle.polled(worker).0;
            let running = tasks.iter_mut().find(|task| Some(task.id) == polled);
            if let Some(task) = running {
                task.state = TaskState::Running { worker, time: this.sighting.time() };
            }
        }
        tasks
    }

    /// Nobody will ask what a shutdown has ended.
    pub(super) fn needs_no_list(&self) {
        *lock(&self.unfinished) = Some(Vec::new());
    }

    /// The runtime is closed: lists what has not finished, unless nobody reads it.
    fn closes(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        let is_listed = lock(&self.unfinished).is_some();
        if !is_listed {
            let tasks = self.tasks();
            lock(&self.unfinished).get_or_insert(tasks);
        }
    }

    /// What had not finished when a shutdown returned: the tasks that it has dropped, and the polls
    /// and the jobs that go on.
    pub(super) fn unfinished(&self) -> Vec<TaskInfo> {
        // If some worker has not left, nothing was dropped yet: the tasks are as they are now. Jobs
        // that were given up have left the list of the core already.
        let is_job = |task: &TaskInfo| task.state == TaskState::Blocking;
        let (jobs, tasks): (Vec<_>, Vec<_>) = self.tasks().into_iter().partition(is_job);
        let mut unfinished = lock(&self.unfinished).take().unwrap_or(tasks);
        unfinished.retain(|task| !is_job(task));
        unfinished.extend(jobs);
        unfinished
    }

    /// One tick of the monitor, so long after the last one. Returns whether a future in `block_on`
    /// is in a poll that may still have to be reported.
    fn tick(&self, since: Duration) -> bool {
        let reports = self.reports.get();
        for (index, worker) in self.workers.iter().enumerate() {
            let (polled, turn) = self.handle.polled(index);
            let has_moved = worker.sighting.has_moved(turn);
            let Some(task) = polled.filter(|_| !has_moved) else { continue };

            worker.sighting.stays(task, since);
            if let Some(reports) = reports {
                report_if_due(reports, &worker.sighting, turn, || self.stuck_task(index, turn));
            }
        }
        reports.is_some_and(|reports| reports.are_wanted() && self.tick_of_roots(reports, since))
    }

    /// The futures in `block_on` are watched in the same way.
    fn tick_of_roots(&self, reports: &Reports, since: Duration) -> bool {
        let mut seen = Vec::new();
        let mut is_watched = false;
        let mut before = lock(&self.roots);
        self.handle.each_block_on(|id, note| {
            let place = before.iter().position(|(root, _)| *root == id.0);
            let sighting = place.map(|place| before.swap_remove(place).1).unwrap_or_default();
            let steps = note.steps();
            let may_be_due = || steps % 2 == 1 && !sighting.is_reported(steps);
            if !sighting.has_moved(steps) && may_be_due() {
                sighting.stays(id, since);
                report_if_due(reports, &sighting, steps, || Some(root(id, note, &sighting)));
            }
            is_watched |= may_be_due();
            seen.push((id.0, sighting));
        });
        *before = seen;
        is_watched
    }

    /// Describes the task that a stuck worker polls. `None` if it has gone on meanwhile.
    fn stuck_task(&self, worker: usize, turn: u64) -> Option<TaskInfo> {
        let tasks = self.tasks();
        let is_stuck = |task: &TaskInfo| match task.state {
            TaskState::Running { worker: other, .. } => other == worker,
            _ => false,
        };
        let task = tasks.into_iter().find(is_stuck)?;
        if self.handle.polled(worker) == (Some(task.id), turn) { Some(task) } else { None }
    }
}

impl Worker {
    pub(super) fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    pub(super) fn steals(&self) -> u64 {
        self.steals.load(Ordering::Relaxed)
    }

    pub(super) fn parks(&self) -> u64 {
        self.parks.load(Ordering::Relaxed)
    }
}

impl Sighting {
    /// For how long the thread has been in the same turn. Zero means that it moves.
    fn time(&self) -> Duration {
        Duration::from_nanos(self.time.load(Ordering::Relaxed))
    }

    fn is_reported(&self, turn: u64) -> bool {
        self.reported.load(Ordering::Relaxed) == turn
    }

    fn set_reported(&self, turn: u64) {
        self.reported.store(turn, Ordering::Relaxed);
    }

    /// A tick has found the thread in this turn. Returns whether it was in another one at the last
    /// tick.
    fn has_moved(&self, turn: u64) -> bool {
        let has_moved = self.turn.swap(turn, Ordering::Relaxed) != turn;
        if has_moved {
            // Nothing is known of the new turn yet.
            self.time.store(0, Ordering::Relaxed);
            self.printed.store(0, Ordering::Relaxed);
        }
        has_moved
    }

    /// The thread has stayed in its turn, the poll of this task, since the last tick, so long ago.
    fn stays(&self, task: Id, since: Duration) {
        let time = u64::try_from((self.time() + since).as_nanos()).unwrap_or(u64::MAX);
        self.time.store(time, Ordering::Relaxed);
        if is_panic_printed(task) {
            self.printed.store(time, Ordering::Relaxed);
        }
    }

    /// For how long the poll has gone on by itself, since a panic was printed in it.
    fn own_time(&self) -> Duration {
        self.time() - Duration::from_nanos(self.printed.load(Ordering::Relaxed))
    }
}

/// Reports the poll that `describe` finds, when that has lasted for as long as the limit says.
fn report_if_due(
    reports: &Reports,
    sighting: &Sighting,
    turn: u64,
    describe: impl FnOnce() -> Option<TaskInfo>,
) {
    if sighting.own_time() < reports.limit || sighting.is_reported(turn) {
        return;
    }

    // If the hook is busy, the next tick tries again.
    if reports.report(describe) {
        sighting.set_reported(turn);
    }
}

/// Describes a future in `block_on` while it is being polled.
fn root(id: arc::task::Id, note: &Note, sighting: &Sighting) -> TaskInfo {
    debug_assert_eq!(note.kind(), Kind::BlockOn);
    let state = TaskState::InBlockOn { time: sighting.time() };
    TaskInfo { state, ..TaskInfo::new(id, note) }
}
