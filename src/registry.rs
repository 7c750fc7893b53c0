//! Every unfinished task of a runtime.
//!
//! Each task has a [`Record`], which the task, its handles and the list share. The list lets tasks
//! be described, and be found when the runtime ends, wherever their wakers are. It is split into
//! one shard per worker, so that workers that spawn and finish tasks do not contend with each
//! other.

use crate::hooks::tell;
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, Duration, Mutex, Ordering, lock};
use slab::Slab;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::AtomicU64 as Count;
use std::task::Waker;

/// Identifies a task. No two tasks of a process have the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u64);

impl Id {
    /// Returns an id that no task has had. The first one is 1. Crates that have tasks of their own
    /// call this, too.
    #[doc(hidden)]
    pub fn next() -> Self {
        static LAST: Count = Count::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Identifies a runtime among all that the process ever had.
///
/// Tasks and timers hold this number and no reference to their runtime. A reference would be
/// counted, in a word that all workers write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuntimeId(pub u64);

impl RuntimeId {
    /// Returns an id that no runtime has had.
    pub(crate) fn next() -> Self {
        static NEXT: Count = Count::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Display for RuntimeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Describes a task: where it was spawned and what it does at the moment. Its `Display` is
/// made for logs.
///
/// `Handle::tasks` gives a list of these.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskInfo {
    /// The task's id, which its handle gives as well.
    pub id: Id,
    /// The task's name, if `spawn_named` spawned it.
    pub name: Option<Arc<str>>,
    /// The line that spawned the task, or that called `block_on`.
    pub location: &'static Location<'static>,
    /// What the task does.
    pub state: TaskState,
    /// How often the task was polled. A poll that still goes on counts.
    pub polls: u64,
}

/// What a task does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// The task waits for something.
    Idle,
    /// The task waits in a queue to be polled.
    Queued,
    /// A worker polls the task.
    Running {
        /// The number of the worker, from 0.
        worker: usize,
        /// For how long the poll has gone on, as far as the monitor knows: it sees the poll some
        /// milliseconds late.
        time: Duration,
    },
    /// The task is a job of `spawn_blocking`: it has a thread, or waits for one.
    Blocking,
    /// This is the future of a `block_on`, and its thread polls it. Only `Builder::on_long_poll`
    /// reports such futures.
    InBlockOn {
        /// For how long the poll has gone on, as far as the monitor knows: it sees the poll some
        /// milliseconds late.
        time: Duration,
    },
}

impl TaskInfo {
    /// Describes a task that the caller is about to spawn. Its state is `Blocking` if it is a job,
    /// and otherwise `Idle`.
    #[track_caller]
    pub(crate) fn new(state: TaskState) -> Self {
        Self { id: Id::next(), name: None, location: Location::caller(), state, polls: 0 }
    }
}

impl fmt::Display for TaskInfo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, so that logs stay readable: who it is, where it comes from, and what it does.
        let Self { id, name, location: at, state, polls } = self;
        let name = name.as_ref().map_or(String::new(), |name| format!(" {name:?}"));
        write!(formatter, "task {id}{name}, spawned at {at}, polled {polls}x: {state:?}")
    }
}

/// What is known of a task. With its counts it has less than 120 bytes: what is larger takes glibc
/// half as long again for a task that ends on another thread than it was spawned on.
pub(crate) struct Record {
    pub(crate) runtime: RuntimeId,
    pub(crate) id: Id,
    name: Option<Arc<str>>,
    location: &'static Location<'static>,
    /// How often the task was polled. Only the thread that polls it changes this.
    polls: AtomicU64,
    /// The task waits in a queue.
    is_queued: AtomicBool,
    is_aborted: AtomicBool,
    is_job: bool,
    /// The task's own waker. `None` before the task is made, and after it has ended.
    waker: Mutex<Option<Waker>>,
    /// The shard that the task is in, and its place there.
    shard: usize,
    place: AtomicUsize,
}

impl Record {
    /// The task was made, and may be woken from now on. The waker keeps the task alive, and the
    /// task its record. `TaskList::remove` and `TaskList::close` end that.
    pub(crate) fn set_waker(&self, waker: Waker) {
        *lock(&self.waker) = Some(waker);
    }

    /// The task enters a queue.
    ///
    /// Relaxed is enough for what is counted here: the queue, or the state of the task itself,
    /// brings one step after the other.
    pub(crate) fn enter_queue(&self) {
        self.is_queued.store(true, Ordering::Relaxed);
        tell!(step(self.id.0, 2 * self.polls.load(Ordering::Relaxed) + 1));
    }

    /// The task leaves its queue to be polled. Returns its id.
    pub(crate) fn begin_poll(&self) -> Id {
        let polls = self.polls.load(Ordering::Relaxed) + 1;
        self.polls.store(polls, Ordering::Relaxed);
        self.is_queued.store(false, Ordering::Relaxed);
        tell!(step(self.id.0, 2 * polls));
        self.id
    }

    /// Whether the task was aborted. Only the task itself asks, when it is polled. Relaxed is
    /// enough: a wake-up follows, and happens before the poll that it causes.
    pub(crate) fn is_aborted(&self) -> bool {
        self.is_aborted.load(Ordering::Relaxed)
    }

    /// Marks the task as aborted, and wakes it: it ends when it is polled next.
    pub(crate) fn abort(&self) {
        self.is_aborted.store(true, Ordering::Relaxed);
        // This waker is async-task's own: to clone it under the lock runs no code of the user's.
        // The flag comes first: the poll that the wake-up causes must see it.
        let waker = lock(&self.waker).clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the task has ended.
    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.waker).is_none()
    }

    fn describe(&self) -> TaskInfo {
        // Whether a task is being polled is known by its worker: `Shared::describe_tasks` adds
        // that.
        let state = if self.is_job {
            TaskState::Blocking
        } else if self.is_queued.load(Ordering::Relaxed) {
            TaskState::Queued
        } else {
            TaskState::Idle
        };

        // The name is shared, and not copied.
        TaskInfo {
            id: self.id,
            name: self.name.clone(),
            location: self.location,
            state,
            polls: self.polls.load(Ordering::Relaxed),
        }
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(formatter)
    }
}

/// The unfinished tasks of one runtime.
pub(crate) struct TaskList {
    shards: Box<[Shard]>,
}

#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<Slab<Arc<Record>>>);

/// A shard with room for more records gives its memory back when it is empty.
const ROOM_MIN: usize = 1024;

impl TaskList {
    pub(crate) fn new(shards: usize) -> Self {
        Self { shards: (0..shards).map(|_| Shard::default()).collect() }
    }

    /// Enters a task that is about to be made. `shard` is any number: the worker's, if a worker
    /// spawns the task.
    pub(crate) fn enter(&self, runtime: RuntimeId, info: TaskInfo, shard: usize) -> Arc<Record> {
        // Told outside of the lock: it may be a library that listens, and spawns.
        let kind = if info.state == TaskState::Blocking { 1 } else { 0 };
        tell!(spawned(info.id.0, runtime.0, &info.name, info.location, kind));

        // Made outside of the lock, which the worker that ends a task takes as well.
        let record = Arc::new(Record {
            runtime,
            id: info.id,
            name: info.name,
            location: info.location,
            polls: AtomicU64::new(0),
            is_queued: AtomicBool::new(false),
            is_aborted: AtomicBool::new(false),
            is_job: info.state == TaskState::Blocking,
            waker: Mutex::new(None),
            shard: shard % self.shards.len(),
            place: AtomicUsize::new(0),
        });

        // Where it is, so that it can be removed without a search. Nobody else asks yet.
        let place = lock(&self.shards[record.shard].0).insert(record.clone());
        record.place.store(place, Ordering::Relaxed);
        record
    }

    /// Forgets a task that has ended. Returns its waker, to be dropped outside of any lock.
    pub(crate) fn remove(&self, record: &Record) -> Option<Waker> {
        let waker = lock(&record.waker).take()?;
        tell!(ended(record.id.0));

        // The record is held by the caller as well. So nothing is dropped under this lock.
        let mut shard = lock(&self.shards[record.shard].0);
        shard.try_remove(record.place.load(Ordering::Relaxed));

        // A burst of tasks has gone.
        if shard.is_empty() && shard.capacity() > ROOM_MIN {
            *shard = Slab::new();
        }
        Some(waker)
    }

    /// Describes each task, but does not know which of them are being polled.
    pub(crate) fn describe(&self) -> Vec<TaskInfo> {
        let mut tasks = Vec::new();
        for Shard(shard) in &self.shards {
            // Described after the lock: to go through a million tasks takes milliseconds.
            let records = lock(shard).clone();
            tasks.extend(records.iter().map(|(_, record)| record.describe()));
        }
        tasks
    }

    /// The runtime ends: takes out all tasks but the jobs, and returns their wakers. A job that has
    /// begun runs to its end, and the end of the runtime waits for it.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for Shard(shard) in &self.shards {
            // A waker that was taken out already belongs to a task that has just ended.
            lock(shard).retain(|_, record| {
                // Its waker brings it into a queue, from which the end drops it.
                if !record.is_job {
                    wakers.extend(lock(&record.waker).take());
                }
                record.is_job
            });
        }
        wakers
    }
}
