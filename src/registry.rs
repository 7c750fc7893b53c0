//! Every unfinished task of a runtime, so that it can be aborted by its handle
//! and dropped when the runtime ends, wherever its wakers are.
//!
//! Split into one shard per worker: tasks that are spawned and finish on one
//! worker never contend with another's.

use crate::sync::{AtomicUsize, Mutex, Ordering, lock};
use slab::Slab;
use std::task::Waker;

/// Names a task. Unique among all tasks of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(u64);

impl Id {
    fn next() -> Self {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Where a task stands in the registry.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    pub(crate) id: Id,
    shard: usize,
    index: usize,
}

pub(crate) struct Registry {
    shards: Box<[Shard]>,
    /// How many aborts were ever asked for. A task that polls compares it with
    /// what it saw last, and looks into its entry only when it has changed.
    aborts: AtomicUsize,
}

#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<Tasks>);

#[derive(Default)]
struct Tasks {
    entries: Slab<Entry>,
    closed: bool,
}

struct Entry {
    id: Id,
    waker: Waker,
    aborted: bool,
}

impl Registry {
    pub(crate) fn new(shards: usize) -> Self {
        let shards = std::iter::repeat_with(Shard::default).take(shards);
        let (shards, aborts) = (shards.collect(), AtomicUsize::new(0));
        Self { shards, aborts }
    }

    /// Enters the task that `create` makes for its key. False: the runtime has
    /// ended, and the task was not entered.
    pub(crate) fn enter<T>(
        &self,
        shard: usize,
        create: impl FnOnce(Key) -> (T, Waker),
    ) -> (T, bool) {
        let (shard, id) = (shard % self.shards.len(), Id::next());
        let mut tasks = lock(&self.shards[shard].0);
        let index = tasks.entries.vacant_key();
        let (task, waker) = create(Key { id, shard, index });
        let open = !tasks.closed;
        if open {
            let aborted = false;
            tasks.entries.insert(Entry { id, waker, aborted });
        }
        (task, open)
    }

    /// Does something to the slab and to a task's entry, if it has not ended.
    fn with<R>(&self, key: Key, act: impl FnOnce(&mut Slab<Entry>) -> R) -> Option<R> {
        let mut tasks = lock(&self.shards[key.shard].0);
        let entry = tasks.entries.get(key.index);
        let alive = entry.is_some_and(|entry| entry.id == key.id);
        alive.then(|| act(&mut tasks.entries))
    }

    /// Forgets a task that has ended. Its waker is handed out, to be dropped
    /// outside the lock.
    pub(crate) fn remove(&self, key: Key) -> Option<Waker> {
        self.with(key, |entries| entries.remove(key.index).waker)
    }

    /// Marks a task as aborted. The waker must be woken: the task ends when it
    /// is polled next. None: it has ended already.
    #[must_use]
    pub(crate) fn abort(&self, key: Key) -> Option<Waker> {
        self.with(key, |entries| {
            let entry = &mut entries[key.index];
            entry.aborted = true;
            // Relaxed: whoever is polled because of the wake-up that follows
            // sees it, as a wake-up synchronizes with the poll that it causes.
            self.aborts.fetch_add(1, Ordering::Relaxed);
            // A task's own waker: cloning it counts a reference, no more.
            entry.waker.clone()
        })
    }

    pub(crate) fn aborts(&self) -> usize {
        self.aborts.load(Ordering::Relaxed)
    }

    pub(crate) fn is_aborted(&self, key: Key) -> bool {
        self.with(key, |entries| entries[key.index].aborted) == Some(true)
    }

    /// Closes the registry: nothing can be entered from now on. Every task is
    /// removed, and its waker handed out.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for shard in &self.shards {
            let mut tasks = lock(&shard.0);
            tasks.closed = true;
            wakers.extend(tasks.entries.drain().map(|entry| entry.waker));
        }
        wakers
    }

    /// How many tasks there are.
    pub(crate) fn len(&self) -> usize {
        let tasks = |shard: &Shard| lock(&shard.0).entries.len();
        self.shards.iter().map(tasks).sum()
    }
}
