//! Every unfinished task of a runtime, so that it can be listed, aborted by its
//! handle, and dropped when the runtime ends, wherever its wakers are.
//!
//! Split into one shard per worker: tasks that are spawned and finish on one
//! worker never contend with another's.
//!
//! # Places
//!
//! Each task has a place, one cache line that is never freed but used again, so that the
//! task can refer to it. Whether it was aborted stands there, and its steps: it enters a
//! queue, is polled, enters a queue, is polled. The two take turns, so one number that
//! counts both tells how often it was polled and, by whether it is odd, whether it waits
//! in a queue. Each step is ordered after the one before it, by the queue or by the task's
//! own state, so that a load and a store count it.

use crate::inspect::{Id, Origin, TaskInfo, TaskState};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use std::panic::Location;
use std::{collections::BTreeMap, mem::take, sync::Arc, task::Waker};

/// Tells a runtime from all others of the process, also from those that ended. Tasks
/// and timers know their runtime by it: references would have to be counted, in a
/// place that all workers write to.
pub(crate) type Number = u64;

/// Names a task, and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    pub(crate) runtime: Number,
    pub(crate) id: Id,
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
    /// It is a job of `spawn_blocking`.
    blocking: bool,
    location: &'static Location<'static>,
    waker: Waker,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.id.fmt(formatter)
    }
}

impl Key {
    /// The task enters a queue, or is polled.
    #[inline]
    pub(crate) fn step(&self) {
        let steps = &self.place.steps;
        steps.store(steps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Whether the task, which polls, was aborted.
    ///
    /// Relaxed: whoever is polled because of the wake-up that follows sees it, as
    /// a wake-up synchronizes with the poll that it causes.
    pub(crate) fn is_aborted(&self) -> bool {
        self.place.aborted.load(Ordering::Relaxed)
    }

    /// Marks the task as aborted, if there is `mark`. The waker must be woken then: the
    /// task ends when it is polled next. None: it has ended already.
    ///
    /// The waker is the task's own: cloning it counts a reference, no more.
    pub(crate) fn waker(&self, mark: bool) -> Option<Waker> {
        let tenant = lock(&self.place.tenant);
        let tenant = tenant.as_ref().filter(|tenant| tenant.id == self.id)?;
        self.place.aborted.fetch_or(mark, Ordering::Relaxed);
        Some(tenant.waker.clone())
    }
}

/// Places are allocated together, and never freed.
type Block = [Place; 32];

/// The blocks that no runtime uses.
static SPARE: Mutex<Vec<&'static Block>> = Mutex::new(Vec::new());

pub(crate) struct Registry {
    runtime: Number,
    shards: Box<[Shard]>,
}

#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<Places>);

#[derive(Clone, Default)]
struct Places {
    /// The id that was given to a task of this shard last.
    last: u64,
    /// Nothing can be entered any more.
    closed: bool,
    all: Vec<&'static Block>,
    free: Vec<&'static Place>,
    /// Of the few tasks that have one.
    names: BTreeMap<Id, Arc<str>>,
}

impl Registry {
    pub(crate) fn new(runtime: Number, shards: usize) -> Self {
        Self { runtime, shards: (0..shards).map(|_| Shard::default()).collect() }
    }

    /// Enters the task that `make` makes for its key, unless the runtime has ended.
    pub(crate) fn enter<T>(
        &self,
        shard: usize,
        origin: Origin,
        make: impl FnOnce(Key) -> (T, Waker),
    ) -> T {
        let shard = shard % self.shards.len();
        let mut places = lock(&self.shards[shard].0);
        let id = Id::after(places.last);
        places.last = id.0;
        if places.free.is_empty() {
            let block = lock(&SPARE).pop().unwrap_or_else(|| Box::leak(Box::default()));
            places.all.push(block);
            places.free.extend(block);
        }
        let place = places.free.pop().unwrap_or_else(|| unreachable!("a block has many"));
        place.steps.store(0, Ordering::Relaxed);
        place.aborted.store(false, Ordering::Relaxed);
        let (task, waker) = make(Key { runtime: self.runtime, id, place });
        if places.closed {
            places.free.push(place);
            return task;
        }
        let Origin { name, location, blocking } = origin;
        let tenant = Tenant { id, shard: shard as u32, blocking, location, waker };
        *lock(&place.tenant) = Some(tenant);
        places.names.extend(name.map(|name| (id, name)));
        task
    }

    /// What is known of each task that `is_wanted`, except which of them are polled. The
    /// shards are not locked meanwhile: to go through many places takes milliseconds.
    pub(crate) fn tasks(&self, is_wanted: impl Fn(Id) -> bool) -> Vec<TaskInfo> {
        let mut tasks = Vec::new();
        for shard in &self.shards {
            let places = lock(&shard.0).clone();
            for place in places.all.iter().copied().flatten() {
                let tenant = lock(&place.tenant);
                let Some(tenant) = tenant.as_ref().filter(|it| is_wanted(it.id)) else { continue };
                let &Tenant { id, blocking, location, .. } = tenant;
                let (name, steps) = (places.names.get(&id), place.steps.load(Ordering::Relaxed));
                let state = [TaskState::Idle, TaskState::Queued][steps as usize % 2];
                let state = if blocking { TaskState::Blocking } else { state };
                tasks.push(TaskInfo { id, name: name.cloned(), location, state, polls: steps / 2 });
            }
        }
        tasks
    }

    /// Forgets a task that has ended. Its waker is handed out, to be dropped
    /// outside the lock.
    pub(crate) fn remove(&self, key: &Key) -> Option<Waker> {
        let tenant = lock(&key.place.tenant).take_if(|tenant| tenant.id == key.id)?;
        let mut places = lock(&self.shards[tenant.shard as usize].0);
        places.names.remove(&tenant.id);
        places.free.push(key.place);
        Some(tenant.waker)
    }

    /// Closes the registry: nothing can be entered from now on. Every task is
    /// removed, and its waker handed out.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for shard in &self.shards {
            let mut places = lock(&shard.0);
            places.closed = true;
            let tenants = places.all.iter().copied().flatten();
            let tenants = tenants.filter_map(|place| lock(&place.tenant).take());
            wakers.extend(tenants.map(|tenant| tenant.waker));
        }
        wakers
    }
}

/// Its tasks are gone: whoever names one of them finds no runtime of that number.
impl Drop for Registry {
    fn drop(&mut self) {
        let blocks = |shard: &Shard| take(&mut lock(&shard.0).all);
        lock(&SPARE).extend(self.shards.iter().flat_map(blocks));
    }
}
