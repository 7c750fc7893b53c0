//! Every unfinished task of an arc runtime.
//!
//! This is a part of the runtime `arc`, and of no use without it. A [`Registry`] lets tasks be
//! listed, be aborted by their handles, and be found when the runtime ends, wherever their wakers
//! are. It knows nothing of how tasks are run.
//!
//! The registry is split into one shard per worker, so that workers that spawn and finish tasks do
//! not contend with each other.
//!
//! # Places
//!
//! Each unfinished task has a *place*: one cache line that is never freed, but used again by
//! later tasks. So the task and its handles can refer to the place by a plain reference.
//!
//! A place holds the flag that aborts the task, and a count of the task's steps. A task
//! enters a queue, is polled, enters a queue, is polled, and so on: the two kinds of step
//! take turns. So one number says how often the task was polled (half of it), and whether the
//! task waits in a queue (the number is odd). A step is counted by a load and a store.
//! That is enough, because each step happens after the one before: the queue, or the
//! state of the task itself, orders them.

mod cores;
mod count;
mod error;
mod info;
mod report;
#[cfg(not(arc_model))]
mod sync;

#[cfg(arc_model)]
use crate::{pool::panic::ignore_panic, sync};
#[cfg(not(arc_model))]
use arc_pool::panic::ignore_panic;
pub use cores::core_times;
pub use count::Count;
pub use error::JoinError;
pub use info::{Id, Kind, Origin, TaskInfo, TaskState};
pub use report::{Reporter, Stuck, Watch};
#[cfg(not(arc_model))]
pub use sync::lock;
#[cfg(arc_model)]
use sync::lock;

use std::panic::Location;
use std::{collections::BTreeMap, fmt, task::Waker};
use sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering};

/// Identifies a runtime among all that the process ever had.
///
/// Tasks and timers hold this number and no reference to their runtime. A reference would be
/// counted, in a word that all workers write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuntimeId(pub u64);

impl RuntimeId {
    /// An id that no runtime has had.
    pub fn next() -> Self {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Display for RuntimeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Identifies a task and tells where its place is. A key may outlive its task; the id then
/// shows that another task has the place.
#[derive(Clone, Copy)]
pub struct Key {
    /// The runtime that the task belongs to.
    pub runtime: RuntimeId,
    /// The task's id.
    pub id: Id,
    place: &'static Place,
}

#[derive(Default)]
#[repr(align(64))]
struct Place {
    steps: AtomicU64,
    aborted: AtomicBool,
    tenant: Mutex<Option<Tenant>>,
}

/// The task that has a place.
struct Tenant {
    id: Id,
    shard: u32,
    kind: Kind,
    location: &'static Location<'static>,
    waker: Waker,
}

impl Place {
    /// Whether a thread of the blocking pool runs the tenant: its first step took it into
    /// the pool's queue, the second one out of it.
    fn is_begun_job(&self, tenant: &Tenant) -> bool {
        tenant.kind == Kind::Blocking && self.steps.load(Ordering::Relaxed) >= 2
    }

    /// Describes the task in this place, but for its name.
    fn describe(&self) -> Option<TaskInfo> {
        let tenant = lock(&self.tenant);
        let &Tenant { id, kind, location, .. } = tenant.as_ref()?;
        let steps = self.steps.load(Ordering::Relaxed);
        let state = match kind {
            Kind::Blocking => TaskState::Blocking,
            Kind::Async if steps % 2 == 1 => TaskState::Queued,
            Kind::Async => TaskState::Idle,
        };
        Some(TaskInfo { id, name: None, location, state, polls: steps / 2 })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(formatter)
    }
}

impl Key {
    /// Counts a step: the task enters a queue, or leaves it to be polled.
    #[inline]
    pub fn count_step(&self) {
        let steps = self.place.steps.load(Ordering::Relaxed);
        self.place.steps.store(steps + 1, Ordering::Relaxed);
        #[cfg(feature = "trace")]
        arc_trace::tell::step(self.id.0, steps + 1);
    }

    /// Whether the task was aborted. Only the task itself asks, when it is polled.
    ///
    /// Relaxed is enough: whoever sets the flag wakes the task afterwards, and a wake-up
    /// happens before the poll that it causes.
    #[inline]
    pub fn is_aborted(&self) -> bool {
        self.place.aborted.load(Ordering::Relaxed)
    }

    /// Marks the task as aborted. The caller must wake the waker that is returned: the task
    /// ends when it is polled next. None: the task has ended already.
    pub fn abort(&self) -> Option<Waker> {
        let tenant = lock(&self.place.tenant);
        let tenant = tenant.as_ref().filter(|tenant| tenant.id == self.id)?;
        self.place.aborted.store(true, Ordering::Relaxed);
        // This waker is async-task's own: to clone it under the lock runs no foreign code.
        Some(tenant.waker.clone())
    }

    /// Whether the task has ended.
    #[inline]
    pub fn has_ended(&self) -> bool {
        lock(&self.place.tenant).as_ref().is_none_or(|tenant| tenant.id != self.id)
    }
}

/// Places are allocated together, and never freed.
type Block = [Place; 32];

/// The blocks that no runtime uses at the moment.
static SPARE: Mutex<Vec<&'static Block>> = Mutex::new(Vec::new());

/// The unfinished tasks of one runtime.
pub struct Registry {
    runtime: RuntimeId,
    shards: Box<[Shard]>,
}

#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<Places>);

#[derive(Default)]
struct Places {
    /// The id that was given to a task of this shard last.
    last_id: u64,
    /// The runtime has ended. No task can be entered any more.
    closed: bool,
    all: Vec<&'static Block>,
    free: Vec<&'static Place>,
    /// The names of those tasks that have one. Few do, and a place has no room for a name.
    names: BTreeMap<Id, Arc<str>>,
}

impl Registry {
    /// A registry without tasks.
    pub fn new(runtime: RuntimeId, shards: usize) -> Self {
        Self { runtime, shards: (0..shards).map(|_| Shard::default()).collect() }
    }

    /// Makes a task and enters it. `make` gets the task's key, and returns the task with its
    /// waker. After the registry was closed the task is made, but not entered.
    pub fn enter<T>(
        &self,
        shard: usize,
        origin: Origin,
        make: impl FnOnce(Key) -> (T, Waker),
    ) -> T {
        let shard = shard % self.shards.len();
        let mut places = lock(&self.shards[shard].0);
        let id = Id::after(places.last_id);
        places.last_id = id.0;

        if places.free.is_empty() {
            let block = lock(&SPARE).pop().unwrap_or_else(|| Box::leak(Box::default()));
            places.all.push(block);
            places.free.extend(block);
        }
        let place = places.free.pop().unwrap_or_else(|| unreachable!("a block has 32 places"));
        place.steps.store(0, Ordering::Relaxed);
        place.aborted.store(false, Ordering::Relaxed);
        let (task, waker) = make(Key { runtime: self.runtime, id, place });

        if places.closed {
            places.free.push(place);
            return task;
        }
        let Origin { name, location, kind } = origin;
        #[cfg(feature = "trace")]
        arc_trace::tell::spawned(id.0, self.runtime.0, &name, location, kind as u8);
        *lock(&place.tenant) = Some(Tenant { id, shard: shard as u32, kind, location, waker });
        places.names.extend(name.map(|name| (id, name)));
        task
    }

    /// Enters something that is no task, until the entry is dropped.
    pub fn enter_scoped(&self, origin: Origin, waker: Waker) -> Entry<'_> {
        self.enter(0, origin, |key| (Entry { key, registry: self }, waker))
    }

    /// Forgets a task that has ended, and gives its place to the next one. The task's waker is
    /// returned, to be dropped outside of any lock.
    pub fn remove(&self, key: &Key) -> Option<Waker> {
        let tenant = lock(&key.place.tenant).take_if(|tenant| tenant.id == key.id)?;
        #[cfg(feature = "trace")]
        arc_trace::tell::ended(key.id.0);
        let mut places = lock(&self.shards[tenant.shard as usize].0);
        places.names.remove(&tenant.id);
        places.free.push(key.place);
        Some(tenant.waker)
    }

    /// Describes each task, except that it does not know which of them are being polled.
    ///
    /// To go through a million places takes milliseconds. So a shard is locked anew for each block
    /// and each name, and each place by itself: this is no snapshot, and holds up nobody.
    pub fn tasks(&self) -> Vec<TaskInfo> {
        let mut tasks = Vec::new();
        for Shard(shard) in &self.shards {
            for index in 0.. {
                let Some(&block) = lock(shard).all.get(index) else { break };
                for mut task in block.iter().filter_map(Place::describe) {
                    task.name = lock(shard).names.get(&task.id).cloned();
                    tasks.push(task);
                }
            }
        }
        tasks
    }

    /// Closes the registry: no task can be entered from now on, and all tasks but the jobs that
    /// have begun are taken out of it. (Such a job runs to its end, and the end of the runtime
    /// waits for it.) Returns the wakers of those that were taken out.
    pub fn close(&self) -> Vec<Waker> {
        #[cfg(feature = "trace")]
        arc_trace::tell::runtime_closes(self.runtime.0);
        let mut wakers = Vec::new();
        for Shard(shard) in &self.shards {
            let mut places = lock(shard);
            places.closed = true;
            for place in places.all.iter().copied().flatten() {
                let tenant = lock(&place.tenant).take_if(|tenant| !place.is_begun_job(tenant));
                wakers.extend(tenant.map(|tenant| tenant.waker));
            }
        }
        wakers
    }
}

/// Something is in a registry as long as this lives.
pub struct Entry<'a> {
    /// Its key there.
    pub key: Key,
    registry: &'a Registry,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        drop(self.registry.remove(&self.key));
    }
}

/// The tasks are gone: whoever still has the key of one finds no runtime of that id. So the
/// places can go to the next runtime.
impl Drop for Registry {
    fn drop(&mut self) {
        for Shard(shard) in &self.shards {
            let blocks = std::mem::take(&mut lock(shard).all);
            lock(&SPARE).extend(blocks);
        }
    }
}
