//! Every unfinished task of a runtime, so that it can be listed, aborted by its
//! handle, and dropped when the runtime ends, wherever its wakers are.
//!
//! Split into one shard per worker: tasks that are spawned and finish on one
//! worker never contend with another's.
//!
//! # Steps
//!
//! A task enters a queue, is polled, enters a queue, is polled: the two take turns,
//! so one number that counts both tells how often it was polled and, by whether it
//! is odd, whether it waits in a queue. Each step is ordered after the one before it,
//! by the queue or by the task's own state, so that a load and a store count it. The
//! numbers stand outside the lock, where they never move.

use crate::inspect::{IDS_PER_BLOCK, Id, TaskInfo, TaskState};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, OnceLock, Ordering, lock};
use slab::Slab;
use std::task::Waker;

/// Tells a runtime from all others of the process, also from those that ended. Tasks
/// and timers know their runtime by it: references would have to be counted, in a
/// place that all workers write to.
pub(crate) type Number = u64;

/// Where a task stands in the registry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) runtime: Number,
    pub(crate) id: Id,
    /// The shard, and the index in it.
    place: (u32, u32),
}

pub(crate) struct Registry {
    runtime: Number,
    shards: Box<[Shard]>,
    /// How many aborts were ever asked for. A task that polls compares it with
    /// what it saw last, and looks into its entry only when it has changed.
    aborts: AtomicUsize,
}

#[repr(align(128))]
struct Shard {
    entries: Mutex<Entries>,
    /// Of the entries: 64, 128, 256 ... in a block.
    steps: [OnceLock<Box<[AtomicU64]>>; 27],
}

impl Shard {
    fn steps(&self, index: u32) -> &AtomicU64 {
        let place = u64::from(index) + 64;
        let block = place.ilog2() - 6;
        let new = || (0..64 << block).map(|_| AtomicU64::new(0)).collect();
        let steps = self.steps[block as usize].get_or_init(new);
        &steps[(place - (64 << block)) as usize]
    }
}

struct Entries {
    /// The id that was given to a task of this shard last.
    last: Id,
    /// None: closed.
    slab: Option<Slab<Entry>>,
}

pub(crate) struct Entry {
    /// As it was when the task was spawned.
    task: TaskInfo,
    waker: Waker,
    aborted: bool,
}

impl Registry {
    pub(crate) fn new(runtime: Number, shards: usize) -> Self {
        let shard = |_| {
            let (last, slab) = (Id(IDS_PER_BLOCK - 1), Some(Slab::new()));
            let (entries, steps) = (Mutex::new(Entries { last, slab }), Default::default());
            Shard { entries, steps }
        };
        Self { runtime, shards: (0..shards).map(shard).collect(), aborts: AtomicUsize::new(0) }
    }

    /// Enters the task that `make` makes for its key and the number of aborts so far,
    /// unless the runtime has ended.
    pub(crate) fn enter<T>(
        &self,
        shard: usize,
        mut task: TaskInfo,
        make: impl FnOnce(Key, usize) -> (T, Waker),
    ) -> T {
        let number = shard % self.shards.len();
        let shard = &self.shards[number];
        let mut entries = lock(&shard.entries);
        let id = Id::after(entries.last);
        (entries.last, task.id) = (id, id);
        let index = entries.slab.as_ref().map_or(0, Slab::vacant_key) as u32;
        shard.steps(index).store(0, Ordering::Relaxed);
        let key = Key { runtime: self.runtime, id, place: (number as u32, index) };
        let (made, waker) = make(key, self.aborts.load(Ordering::Relaxed));
        if let Some(slab) = &mut entries.slab {
            slab.insert(Entry { task, waker, aborted: false });
        }
        made
    }

    /// The task enters a queue, or is polled.
    pub(crate) fn step(&self, key: &Key) {
        let steps = self.shards[key.place.0 as usize].steps(key.place.1);
        steps.store(steps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// What is known of each task that `is_wanted`, but which of them are polled.
    pub(crate) fn tasks(&self, is_wanted: impl Fn(Id) -> bool) -> Vec<TaskInfo> {
        let mut tasks = Vec::new();
        for shard in &self.shards {
            let entries = lock(&shard.entries);
            let wanted = |&(_, entry): &(usize, &Entry)| is_wanted(entry.task.id);
            for (index, entry) in entries.slab.iter().flatten().filter(wanted) {
                let steps = shard.steps(index as u32).load(Ordering::Relaxed);
                let queued = steps % 2 == 1 && entry.task.state == TaskState::Idle;
                let state = if queued { TaskState::Queued } else { entry.task.state };
                tasks.push(TaskInfo { state, polls: steps / 2, ..entry.task.clone() });
            }
        }
        tasks
    }

    /// Does something to the slab and to a task's entry, if it has not ended.
    pub(crate) fn with<R>(&self, key: Key, act: impl FnOnce(&mut Slab<Entry>) -> R) -> Option<R> {
        let mut entries = lock(&self.shards[key.place.0 as usize].entries);
        let slab = entries.slab.as_mut()?;
        let entry = slab.get(key.place.1 as usize);
        let alive = entry.is_some_and(|entry| entry.task.id == key.id);
        alive.then(|| act(slab))
    }

    /// Forgets a task that has ended. Its waker is handed out, to be dropped
    /// outside the lock.
    pub(crate) fn remove(&self, key: Key) -> Option<Waker> {
        self.with(key, |entries| entries.remove(key.place.1 as usize).waker)
    }

    /// Marks a task as aborted. The waker must be woken: the task ends when it
    /// is polled next. None: it has ended already.
    ///
    /// Relaxed: whoever is polled because of the wake-up that follows sees it, as
    /// a wake-up synchronizes with the poll that it causes. The waker is the
    /// task's own: cloning it counts a reference, no more.
    #[must_use]
    pub(crate) fn abort(&self, key: Key) -> Option<Waker> {
        self.with(key, |entries| {
            let entry = &mut entries[key.place.1 as usize];
            entry.aborted = true;
            self.aborts.fetch_add(1, Ordering::Relaxed);
            entry.waker.clone()
        })
    }

    /// Whether a task that polls was aborted since it last looked.
    pub(crate) fn is_aborted(&self, key: Key, seen: &mut usize) -> bool {
        let aborts = self.aborts.load(Ordering::Relaxed);
        let changed = std::mem::replace(seen, aborts) != aborts;
        changed && self.with(key, |entries| entries[key.place.1 as usize].aborted) == Some(true)
    }

    /// Closes the registry: nothing can be entered from now on. Every task is
    /// removed, and its waker handed out.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let shards = self.shards.iter();
        let entries = shards.flat_map(|shard| lock(&shard.entries).slab.take()).flatten();
        entries.map(|(_, entry)| entry.waker).collect()
    }
}
