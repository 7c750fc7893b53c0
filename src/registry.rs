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
//! numbers are never freed but used again, so that a task can refer to its own.

use crate::inspect::{IDS_PER_BLOCK, Id, Origin, TaskInfo, TaskState};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering, lock};
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
    steps: &'static AtomicU64,
}

impl Key {
    /// The task enters a queue, or is polled.
    #[inline]
    pub(crate) fn step(&self) {
        self.steps.store(self.steps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// The steps of so many tasks are allocated at once.
type Steps = [AtomicU64; 64];

/// Those that no runtime uses.
static SPARE: Mutex<Vec<&'static Steps>> = Mutex::new(Vec::new());

pub(crate) struct Registry {
    runtime: Number,
    shards: Box<[Shard]>,
    /// How many aborts were ever asked for. A task that polls compares it with
    /// what it saw last, and looks into its entry only when it has changed.
    aborts: AtomicUsize,
}

#[repr(align(128))]
struct Shard(Mutex<Entries>);

struct Entries {
    /// The id that was given to a task of this shard last.
    last: Id,
    /// None: closed.
    slab: Option<Slab<Entry>>,
    /// For the entries of the slab.
    steps: Vec<&'static Steps>,
}

pub(crate) struct Entry {
    id: Id,
    origin: Origin,
    steps: &'static AtomicU64,
    waker: Waker,
    aborted: bool,
}

impl Registry {
    pub(crate) fn new(runtime: Number, shards: usize) -> Self {
        let shard = |_| {
            let (last, slab) = (Id(IDS_PER_BLOCK - 1), Some(Slab::new()));
            Shard(Mutex::new(Entries { last, slab, steps: Vec::new() }))
        };
        Self { runtime, shards: (0..shards).map(shard).collect(), aborts: AtomicUsize::new(0) }
    }

    /// Enters the task that `make` makes for its key and the number of aborts so far,
    /// unless the runtime has ended.
    pub(crate) fn enter<T>(
        &self,
        shard: usize,
        origin: Origin,
        make: impl FnOnce(Key, usize) -> (T, Waker),
    ) -> T {
        let shard = shard % self.shards.len();
        let mut entries = lock(&self.shards[shard].0);
        let id = Id::after(entries.last);
        entries.last = id;
        let index = entries.slab.as_ref().map_or(0, Slab::vacant_key);
        if index / 64 == entries.steps.len() {
            let new = || &*Box::leak(Box::new([const { AtomicU64::new(0) }; 64]));
            entries.steps.push(lock(&SPARE).pop().unwrap_or_else(new));
        }
        let steps = &entries.steps[index / 64][index % 64];
        steps.store(0, Ordering::Relaxed);
        let key = Key { runtime: self.runtime, id, place: (shard as u32, index as u32), steps };
        let (task, waker) = make(key, self.aborts.load(Ordering::Relaxed));
        if let Some(slab) = &mut entries.slab {
            slab.insert(Entry { id, origin, steps, waker, aborted: false });
        }
        task
    }

    /// What is known of each task that `is_wanted`, but which of them are polled.
    pub(crate) fn tasks(&self, is_wanted: impl Fn(Id) -> bool) -> Vec<TaskInfo> {
        let mut tasks = Vec::new();
        for shard in &self.shards {
            let entries = lock(&shard.0);
            let wanted = |&(_, entry): &(usize, &Entry)| is_wanted(entry.id);
            for (_, entry) in entries.slab.iter().flatten().filter(wanted) {
                let steps = entry.steps.load(Ordering::Relaxed);
                let state = if steps % 2 == 1 { TaskState::Queued } else { TaskState::Idle };
                tasks.push(entry.origin.clone().describe(entry.id, state, steps / 2));
            }
        }
        tasks
    }

    /// Does something to the slab and to a task's entry, if it has not ended.
    pub(crate) fn with<R>(&self, key: &Key, act: impl FnOnce(&mut Slab<Entry>) -> R) -> Option<R> {
        let mut entries = lock(&self.shards[key.place.0 as usize].0);
        let slab = entries.slab.as_mut()?;
        let entry = slab.get(key.place.1 as usize);
        let alive = entry.is_some_and(|entry| entry.id == key.id);
        alive.then(|| act(slab))
    }

    /// Forgets a task that has ended. Its waker is handed out, to be dropped
    /// outside the lock.
    pub(crate) fn remove(&self, key: &Key) -> Option<Waker> {
        self.with(key, |entries| entries.remove(key.place.1 as usize).waker)
    }

    /// Marks a task as aborted. The waker must be woken: the task ends when it
    /// is polled next. None: it has ended already.
    ///
    /// Relaxed: whoever is polled because of the wake-up that follows sees it, as
    /// a wake-up synchronizes with the poll that it causes. The waker is the
    /// task's own: cloning it counts a reference, no more.
    #[must_use]
    pub(crate) fn abort(&self, key: &Key) -> Option<Waker> {
        self.with(key, |entries| {
            let entry = &mut entries[key.place.1 as usize];
            entry.aborted = true;
            self.aborts.fetch_add(1, Ordering::Relaxed);
            entry.waker.clone()
        })
    }

    /// Whether a task that polls was aborted since it last looked.
    pub(crate) fn is_aborted(&self, key: &Key, seen: &mut usize) -> bool {
        let aborts = self.aborts.load(Ordering::Relaxed);
        let changed = std::mem::replace(seen, aborts) != aborts;
        changed && self.with(key, |entries| entries[key.place.1 as usize].aborted) == Some(true)
    }

    /// Closes the registry: nothing can be entered from now on. Every task is
    /// removed, and its waker handed out.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for shard in &self.shards {
            let mut entries = lock(&shard.0);
            lock(&SPARE).append(&mut entries.steps);
            wakers.extend(entries.slab.take().into_iter().flatten().map(|(_, entry)| entry.waker));
        }
        wakers
    }
}
