//! Every unfinished task of a runtime, so that it can be listed, aborted by its
//! handle, and dropped when the runtime ends, wherever its wakers are.
//!
//! Split into one shard per worker: tasks that are spawned and finish on one
//! worker never contend with another's.
//!
//! # Places
//!
//! What a task and others change without the lock is in the task's place: whether it was
//! aborted, and its steps. A task enters a queue, is polled, enters a queue, is polled: the
//! two take turns, so one number that counts both tells how often it was polled and, by
//! whether it is odd, whether it waits in a queue. Each step is ordered after the one
//! before it, by the queue or by the task's own state, so that a load and a store count it.
//! Places are never freed but used again, so that a task can refer to its own.

use crate::idle::WORKERS_MAX;
use crate::inspect::{Id, Origin, TaskInfo, TaskState};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use slab::Slab;
use std::panic::Location;
use std::{collections::BTreeMap, mem::take, sync::Arc, task::Waker};

/// Tells a runtime from all others of the process, also from those that ended. Tasks
/// and timers know their runtime by it: references would have to be counted, in a
/// place that all workers write to.
pub(crate) type Number = u64;

/// Names a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) runtime: Number,
    pub(crate) id: Id,
    pub(crate) place: &'static Place,
}

/// Of a task in the registry. Relaxed, wherever its fields are used: see the module's
/// documentation, and `Registry::abort`.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// Its index in its shard, and below it, in `SHARD_BITS`, the number of the shard.
    position: AtomicUsize,
    steps: AtomicU64,
    pub(crate) aborted: AtomicBool,
    /// It is a job of `spawn_blocking`.
    blocking: AtomicBool,
}

const SHARD_BITS: u32 = WORKERS_MAX.ilog2();

/// Places are allocated together, and never freed.
type Block = [Place; 32];

/// The blocks that no runtime uses.
static SPARE: Mutex<Vec<&'static Block>> = Mutex::new(Vec::new());

impl Place {
    /// The task enters a queue, or is polled.
    #[inline]
    pub(crate) fn step(&self) {
        self.steps.store(self.steps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

pub(crate) struct Registry {
    runtime: Number,
    shards: Box<[Shard]>,
}

#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<Entries>);

#[derive(Default)]
pub(crate) struct Entries {
    /// The id that was given to a task of this shard last.
    last: u64,
    slab: Slab<Entry>,
    /// Nothing can be entered.
    closed: bool,
    /// The places of the entries of the slab.
    blocks: Vec<&'static Block>,
    /// Of the few that have one.
    names: BTreeMap<Id, Arc<str>>,
}

/// Small, for there may be many.
struct Entry {
    id: Id,
    location: &'static Location<'static>,
    waker: Waker,
}

impl Registry {
    pub(crate) fn new(runtime: Number, shards: usize) -> Self {
        let shard = |_| Shard::default();
        Self { runtime, shards: (0..shards).map(shard).collect() }
    }

    /// Enters the task that `make` makes for its key, unless the runtime has ended.
    pub(crate) fn enter<T>(
        &self,
        shard: usize,
        origin: Origin,
        make: impl FnOnce(Key) -> (T, Waker),
    ) -> T {
        let shard = shard % self.shards.len();
        let mut entries = lock(&self.shards[shard].0);
        let id = Id::after(entries.last);
        entries.last = id.0;
        let index = entries.slab.vacant_key();
        if index / 32 == entries.blocks.len() {
            let spare = lock(&SPARE).pop();
            entries.blocks.push(spare.unwrap_or_else(|| Box::leak(Box::default())));
        }
        let place = &entries.blocks[index / 32][index % 32];
        place.position.store(shard | index << SHARD_BITS, Ordering::Relaxed);
        place.steps.store(0, Ordering::Relaxed);
        place.aborted.store(false, Ordering::Relaxed);
        place.blocking.store(origin.blocking, Ordering::Relaxed);
        let (task, waker) = make(Key { runtime: self.runtime, id, place });
        if !entries.closed {
            entries.slab.insert(Entry { id, location: origin.location, waker });
            entries.names.extend(origin.name.map(|name| (id, name)));
        }
        task
    }

    /// What is known of each task that `is_wanted`, but which of them are polled.
    pub(crate) fn tasks(&self, is_wanted: impl Fn(Id) -> bool) -> Vec<TaskInfo> {
        let mut tasks = Vec::new();
        for shard in &self.shards {
            let Entries { slab, blocks, names, .. } = &*lock(&shard.0);
            for (index, &Entry { id, location, .. }) in slab.iter().filter(|it| is_wanted(it.1.id))
            {
                let place = &blocks[index / 32][index % 32];
                let (steps, name) = (place.steps.load(Ordering::Relaxed), names.get(&id).cloned());
                let state = match steps % 2 {
                    _ if place.blocking.load(Ordering::Relaxed) => TaskState::Blocking,
                    0 => TaskState::Idle,
                    _ => TaskState::Queued,
                };
                tasks.push(TaskInfo { id, name, location, state, polls: steps / 2 });
            }
        }
        tasks
    }

    /// Does something to the entries, and to the task's index there, if it has not ended.
    pub(crate) fn with<R>(
        &self,
        key: &Key,
        act: impl FnOnce(&mut Entries, usize) -> R,
    ) -> Option<R> {
        let position = key.place.position.load(Ordering::Relaxed);
        let index = position >> SHARD_BITS;
        let mut entries = lock(&self.shards[position % WORKERS_MAX].0);
        let alive = entries.slab.get(index).is_some_and(|entry| entry.id == key.id);
        alive.then(|| act(&mut entries, index))
    }

    /// Forgets a task that has ended. Its waker is handed out, to be dropped
    /// outside the lock.
    pub(crate) fn remove(&self, key: &Key) -> Option<Waker> {
        self.with(key, |entries, index| {
            entries.names.remove(&key.id);
            entries.slab.remove(index).waker
        })
    }

    /// Marks a task as aborted. The waker must be woken: the task ends when it
    /// is polled next. None: it has ended already.
    ///
    /// Relaxed: whoever is polled because of the wake-up that follows sees it, as
    /// a wake-up synchronizes with the poll that it causes. The waker is the
    /// task's own: cloning it counts a reference, no more.
    #[must_use]
    pub(crate) fn abort(&self, key: &Key) -> Option<Waker> {
        self.with(key, |entries, index| {
            key.place.aborted.store(true, Ordering::Relaxed);
            entries.slab[index].waker.clone()
        })
    }

    /// Closes the registry: nothing can be entered from now on. Every task is
    /// removed, and its waker handed out.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for shard in &self.shards {
            let mut entries = lock(&shard.0);
            entries.closed = true;
            wakers.extend(entries.slab.drain().map(|entry| entry.waker));
        }
        wakers
    }
}

/// Its tasks are gone: whoever names one of them finds no runtime of that number.
impl Drop for Registry {
    fn drop(&mut self) {
        let blocks = |shard: &Shard| take(&mut lock(&shard.0).blocks);
        lock(&SPARE).extend(self.shards.iter().flat_map(blocks));
    }
}
