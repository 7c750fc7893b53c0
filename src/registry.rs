//! Every unfinished task of a runtime, so that it can be aborted by its handle
//! and dropped when the runtime ends, wherever its wakers are.
//!
//! Split into one shard per worker: tasks that are spawned and finish on one
//! worker never contend with another's.

use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use slab::Slab;
use std::fmt;
use std::task::Waker;

/// Tells a runtime from all others of the process, also from those that ended. Tasks
/// and timers know their runtime by it: references would have to be counted, in a
/// place that all workers write to.
pub(crate) type Number = u64;

/// Names a task. Unique among all tasks of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(u64);

/// So many numbers are given to a shard at once: workers would contend for one.
const IDS_PER_BLOCK: u64 = 1024;

impl Id {
    fn after(last: Self) -> Self {
        static BLOCKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let next = last.0 + 1;
        if next.is_multiple_of(IDS_PER_BLOCK) {
            return Self(BLOCKS.fetch_add(1, Ordering::Relaxed) * IDS_PER_BLOCK);
        }
        Self(next)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Where a task stands in the registry.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    pub(crate) runtime: Number,
    pub(crate) id: Id,
    /// The shard, and the index in it.
    place: (usize, usize),
    /// The registry's count of aborts when the task last looked.
    aborts: usize,
}

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
}

struct Entry {
    id: Id,
    waker: Waker,
    aborted: bool,
}

impl Registry {
    pub(crate) fn new(runtime: Number, shards: usize) -> Self {
        let shard = |_| {
            let (last, slab) = (Id(IDS_PER_BLOCK - 1), Some(Slab::new()));
            Shard(Mutex::new(Entries { last, slab }))
        };
        Self { runtime, shards: (0..shards).map(shard).collect(), aborts: AtomicUsize::new(0) }
    }

    /// Enters the task that `make` makes for its key, unless the runtime has ended.
    pub(crate) fn enter<T>(&self, shard: usize, make: impl FnOnce(Key) -> (T, Waker)) -> T {
        let shard = shard % self.shards.len();
        let mut entries = lock(&self.shards[shard].0);
        let id = Id::after(entries.last);
        entries.last = id;
        let place = (shard, entries.slab.as_ref().map_or(0, Slab::vacant_key));
        let (runtime, aborts) = (self.runtime, self.aborts.load(Ordering::Relaxed));
        let (task, waker) = make(Key { runtime, id, place, aborts });
        if let Some(slab) = &mut entries.slab {
            slab.insert(Entry { id, waker, aborted: false });
        }
        task
    }

    /// Does something to the slab and to a task's entry, if it has not ended.
    fn with<R>(&self, key: Key, act: impl FnOnce(&mut Slab<Entry>) -> R) -> Option<R> {
        let mut entries = lock(&self.shards[key.place.0].0);
        let slab = entries.slab.as_mut()?;
        let entry = slab.get(key.place.1);
        let alive = entry.is_some_and(|entry| entry.id == key.id);
        alive.then(|| act(slab))
    }

    /// Forgets a task that has ended. Its waker is handed out, to be dropped
    /// outside the lock.
    pub(crate) fn remove(&self, key: Key) -> Option<Waker> {
        self.with(key, |entries| entries.remove(key.place.1).waker)
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
            let entry = &mut entries[key.place.1];
            entry.aborted = true;
            self.aborts.fetch_add(1, Ordering::Relaxed);
            entry.waker.clone()
        })
    }

    /// Whether a task that polls was aborted since it last looked.
    pub(crate) fn is_aborted(&self, key: &mut Key) -> bool {
        let aborts = self.aborts.load(Ordering::Relaxed);
        let changed = std::mem::replace(&mut key.aborts, aborts) != aborts;
        changed && self.with(*key, |entries| entries[key.place.1].aborted) == Some(true)
    }

    /// Closes the registry: nothing can be entered from now on. Every task is
    /// removed, and its waker handed out.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let shards = self.shards.iter();
        let entries = shards.flat_map(|shard| lock(&shard.0).slab.take()).flatten();
        entries.map(|(_, entry)| entry.waker).collect()
    }

    /// How many tasks there are.
    pub(crate) fn len(&self) -> usize {
        let tasks = |shard: &Shard| lock(&shard.0).slab.as_ref().map_or(0, Slab::len);
        self.shards.iter().map(tasks).sum()
    }
}
