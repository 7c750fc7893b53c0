//! What observers are told, and what they may ask of a runtime: by the feature `observe`.
//!
//! The runtime keeps no statistics and writes no reports. It tells of its events, and whoever wants
//! to can make something of them: see [`Observer`].

use crate::registry::Id;
use crate::runtime::Handle;
use crate::sync::{Ordering, lock};

pub use arc_observe::{Event, Kind, Note, Observer, attach};

impl Handle {
    /// How many tasks wait in the queue of a worker. While polls are long, tasks wait in the queue
    /// that belongs to all workers: [`global_queue_depth`](Self::global_queue_depth).
    ///
    /// # Panics
    ///
    /// If there is no such worker. They are numbered from 0.
    #[track_caller]
    pub fn worker_queue_depth(&self, worker: usize) -> usize {
        self.shared.workers[worker].queue.len()
    }

    /// Which task a worker polls, if any, and how many turns of its loop it had begun by then: for
    /// observers.
    ///
    /// # Panics
    ///
    /// If there is no such worker. They are numbered from 0.
    #[track_caller]
    pub fn polled(&self, worker: usize) -> (Option<Id>, u64) {
        let worker = &self.shared.workers[worker];

        // Acquire pairs with the Release in `Worker::poll`: the turn is not older than the poll.
        let polled = worker.polled.load(Ordering::Acquire);
        let id = if polled == 0 { None } else { Some(Id(polled)) };
        (id, worker.turn.load(Ordering::Relaxed))
    }

    /// Shows each task and each job that has not ended, in no particular order: for observers.
    ///
    /// This is no snapshot: the tasks go on meanwhile. A task that is spawned meanwhile may be
    /// missing.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[arc::main]
    /// # async fn main() {
    /// let task = arc::task::spawn_named("waiter", std::future::pending::<()>());
    /// let mut names = Vec::new();
    /// arc::runtime::Handle::current().each_task(|_, note| names.extend(note.name().cloned()));
    /// assert_eq!(*names[0], *"waiter");
    /// # task.abort();
    /// # }
    /// ```
    pub fn each_task(&self, look: impl FnMut(Id, &Note)) {
        self.shared.tasks.each(look);
    }

    /// Shows each future that is in `block_on`, as [`each_task`](Self::each_task) shows tasks.
    pub fn each_block_on(&self, mut look: impl FnMut(Id, &Note)) {
        let roots = lock(&self.shared.roots).clone();
        for root in roots {
            look(root.id, &root.note);
        }
    }
}
