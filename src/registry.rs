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

use crate::inspect::{Id, Origin, TaskInfo, TaskState};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use slab::Slab;
use std::{mem::take, task::Waker};

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
    /// The number of its shard, and that of shards times its index there.
    position: AtomicUsize,
    steps: AtomicU64,
    pub(crate) aborted: AtomicBool,
}

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

#[repr(align(128))]
struct Shard(Mutex<Entries>);

struct Entries {
    /// The id that was given to a task of this shard last.
    last: Id,
    /// None: closed.
    slab: Option<Slab<Entry>>,
    /// For the entries of the slab.
    blocks: Vec<&'static Block>,
}

pub(crate) struct Entry {
    key: Key,
    origin: Origin,
    waker: Waker,
}

impl Registry {
    pub(crate) fn new(runtime: Number, shards: usize) -> Self {
        let entries = || Entries { last: Id(0), slab: Some(Slab::new()), blocks: Vec::new() };
        let shard = |_| Shard(Mutex::new(entries()));
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
        entries.last = id;
        let index = entries.slab.as_ref().map_or(0, Slab::vacant_key);
        if index / 32 == entries.blocks.len() {
            let spare = lock(&SPARE).pop();
            entries.blocks.push(spare.unwrap_or_else(|| Box::leak(Box::default())));
        }
        let place = &entries.blocks[index / 32][index % 32];
        place.position.store(shard + self.shards.len() * index, Ordering::Relaxed);
        place.steps.store(0, Ordering::Relaxed);
        place.aborted.store(false, Ordering::Relaxed);
        let key = Key { runtime: self.runtime, id, place };
        let (task, waker) = make(key);
        if let Some(slab) = &mut entries.slab {
            slab.insert(Entry { key, origin, waker });
        }
        task
    }

    /// What is known of each task that `is_wanted`, but which of them are polled.
    pub(crate) fn tasks(&self, is_wanted: impl Fn(Id) -> bool) -> Vec<TaskInfo> {
        let mut tasks = Vec::new();
        for shard in &self.shards {
            let entries = lock(&shard.0);
            let wanted = |&(_, entry): &(usize, &Entry)| is_wanted(entry.key.id);
            for (_, Entry { key, origin, .. }) in entries.slab.iter().flatten().filter(wanted) {
                let steps = key.place.steps.load(Ordering::Relaxed);
                let state = if steps % 2 == 1 { TaskState::Queued } else { TaskState::Idle };
                tasks.push(origin.clone().describe(key.id, state, steps / 2));
            }
        }
        tasks
    }

    /// Does something to the slab, and to the task's index in it, if it has not ended.
    pub(crate) fn with<R>(
        &self,
        key: &Key,
        act: impl FnOnce(&mut Slab<Entry>, usize) -> R,
    ) -> Option<R> {
        let position = key.place.position.load(Ordering::Relaxed);
        let index = position / self.shards.len();
        let mut entries = lock(&self.shards[position % self.shards.len()].0);
        let slab = entries.slab.as_mut()?;
        let alive = slab.get(index).is_some_and(|entry| entry.key.id == key.id);
        alive.then(|| act(slab, index))
    }

    /// Forgets a task that has ended. Its waker is handed out, to be dropped
    /// outside the lock.
    pub(crate) fn remove(&self, key: &Key) -> Option<Waker> {
        self.with(key, |entries, index| entries.remove(index).waker)
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
            entries[index].waker.clone()
        })
    }

    /// Closes the registry: nothing can be entered from now on. Every task is
    /// removed, and its waker handed out.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for shard in &self.shards {
            let slab = lock(&shard.0).slab.take();
            wakers.extend(slab.into_iter().flatten().map(|(_, entry)| entry.waker));
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
