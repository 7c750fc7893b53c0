//! Every unfinished task of a runtime.
//!
//! Each task has a [`Record`], which the task, its handles and the list share. The list lets tasks
//! be found when the runtime ends, wherever their wakers are. It is split into one shard per
//! worker, so that workers that spawn and finish tasks do not contend with each other. Jobs have a
//! shard of their own, which the end leaves alone.
//!
//! A record holds its runtime. The type of that is a parameter here, so that this file stays below
//! the ones that make a runtime of it.

use crate::hooks::{Note, observed, tell};
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering, lock};
use slab::Slab;
use std::fmt;
use std::mem::take;
use std::sync::atomic::AtomicU64 as Count;
use std::task::Waker;

/// Identifies a task or a runtime. No two of a process have the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u64);

impl Id {
    /// Returns an id that nothing else has. The first one is 1. Crates that have tasks of their own
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

/// What a task, its handles and the list share. With what observers want to know, and the two
/// counts of its `Arc`, it has 120 bytes: what is larger takes glibc half as long again for a task
/// that ends on another thread than it was spawned on.
pub(crate) struct Record<R> {
    pub(crate) id: Id,
    pub(crate) runtime: Arc<R>,
    pub(crate) note: Note,
    is_aborted: AtomicBool,
    /// The task's own waker. `None` before the task is made, and after it has ended.
    waker: Mutex<Option<Waker>>,
    /// The shard that the task is in, and its place there.
    shard: usize,
    place: AtomicUsize,
}

impl<R> Record<R> {
    /// The task enters a queue. One step comes after the other, by the queue or by the state of the
    /// task itself.
    pub(crate) fn enter_queue(&self) {
        observed!(self.note.step(), {});
        tell!(queued(self.id.0, &self.note));
    }

    /// The task leaves its queue to be polled. Returns its id.
    pub(crate) fn begin_poll(&self) -> Id {
        observed!(self.note.step(), {});
        tell!(begins(self.id.0, &self.note));
        self.id
    }

    /// The task was made, and may be woken from now on. The waker keeps the task alive, and the
    /// task its record. `TaskList::remove` and `TaskList::close` end that.
    pub(crate) fn set_waker(&self, waker: Waker) {
        *lock(&self.waker) = Some(waker);
    }

    /// Whether the task was aborted. Only the task itself asks, when it is polled. Relaxed is
    /// enough: a wake-up follows, and happens before the poll that it causes.
    pub(crate) fn is_aborted(&self) -> bool {
        self.is_aborted.load(Ordering::Relaxed)
    }

    /// Marks the task as aborted, and wakes it: it ends when it is polled next.
    pub(crate) fn abort(&self) {
        // The flag comes first: the poll that the wake-up causes must see it.
        self.is_aborted.store(true, Ordering::Relaxed);

        // This waker is async-task's own: to clone it under the lock runs no user code.
        let waker = lock(&self.waker).clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the task has ended.
    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.waker).is_none()
    }
}

impl<R> fmt::Debug for Record<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(formatter)
    }
}

/// The unfinished tasks of one runtime.
pub(crate) struct TaskList<R> {
    /// One for each worker, and the last one for jobs.
    shards: Box<[Shard<R>]>,
}

#[repr(align(128))]
struct Shard<R>(Mutex<Slab<Arc<Record<R>>>>);

/// A shard with room for more records gives its memory back when it is empty.
const ROOM_MIN: usize = 1024;

impl<R> TaskList<R> {
    pub(crate) fn new(workers: usize) -> Self {
        Self { shards: (0..=workers).map(|_| Shard(Mutex::new(Slab::new()))).collect() }
    }

    /// Enters a task that is about to be made. `shard` is the number of a worker, or that of the
    /// workers for a job.
    pub(crate) fn enter(&self, runtime: &Arc<R>, note: Note, shard: usize) -> Arc<Record<R>> {
        // Made outside of the lock, which the worker that ends a task takes as well.
        let record = Arc::new(Record {
            id: Id::next(),
            runtime: runtime.clone(),
            note,
            is_aborted: AtomicBool::new(false),
            waker: Mutex::new(None),
            shard,
            place: AtomicUsize::new(0),
        });

        // Where it is, so that it can be removed without a search. Nobody else asks yet.
        let place = lock(&self.shards[record.shard].0).insert(record.clone());
        record.place.store(place, Ordering::Relaxed);
        record
    }

    /// Forgets a task that has ended. Returns its waker, to be dropped outside of any lock.
    pub(crate) fn remove(&self, record: &Record<R>) -> Option<Waker> {
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

    /// Shows each task that has not ended. This is no snapshot: the tasks go on meanwhile.
    #[cfg(feature = "observe")]
    pub(crate) fn each(&self, mut look: impl FnMut(Id, &Note)) {
        for Shard(shard) in &self.shards {
            // Shown after the lock: to go through a million tasks takes milliseconds.
            let records = lock(shard).clone();
            records.iter().for_each(|(_, record)| look(record.id, &record.note));
        }
    }

    /// The runtime ends: takes out all tasks but the jobs, and returns their wakers. A job that has
    /// begun runs to its end, and the end of the runtime waits for it.
    pub(crate) fn close(&self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let [tasks @ .., _jobs] = &*self.shards else { return wakers };
        for Shard(shard) in tasks {
            // Its waker brings it into a queue, from which the end drops it. A task without one has
            // just ended, or is being made: then its spawner queues or drops it.
            let records = take(&mut *lock(shard));
            wakers.extend(records.into_iter().filter_map(|(_, record)| lock(&record.waker).take()));
        }
        wakers
    }
}
