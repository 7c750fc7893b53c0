//! Numbers that tell how busy a runtime is.

use super::handle::Handle;
use crate::task::{TaskInfo, TaskState};

/// Counts what a runtime does; made by [`Handle::metrics`].
///
/// The numbers of tasks are no counters: such a call goes through the list of unfinished tasks, and
/// takes time in proportion to their number. The list is no snapshot, as [`Handle::tasks`] says.
///
/// The numbers of a worker are counted by the worker itself, as [`Handle::worker_counts`] says.
/// Workers are numbered from 0. The methods that take such a number panic if there is no such
/// worker.
///
/// # Examples
///
/// ```
/// use arc_util::runtime::Handle;
/// # #[arc::main]
/// # async fn main() {
/// let task = arc::spawn(std::future::pending::<()>());
/// let metrics = Handle::current().metrics();
/// assert_eq!(metrics.num_alive_tasks(), 1);
/// # task.abort();
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RuntimeMetrics {
    handle: Handle,
}

impl Handle {
    /// Returns a view of the runtime's numbers.
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics { handle: self.clone() }
    }
}

impl RuntimeMetrics {
    /// Returns the number of workers.
    pub fn num_workers(&self) -> usize {
        self.handle.workers()
    }

    /// Returns the number of tasks that have not ended. Jobs of `spawn_blocking` and tasks of a
    /// `LocalSet` are not counted.
    pub fn num_alive_tasks(&self) -> usize {
        self.count(|state| state != TaskState::Blocking)
    }

    /// Returns the number of tasks that wait in a queue to be polled, in whichever queue. It has no
    /// counterpart in tokio, which tells its queues apart.
    pub fn num_queued_tasks(&self) -> usize {
        self.count(|state| state == TaskState::Queued)
    }

    /// Returns the number of tasks that are being polled, which is the number of workers that are
    /// busy with one.
    pub fn num_running_tasks(&self) -> usize {
        self.count(|state| matches!(state, TaskState::Running { .. }))
    }

    /// Returns the number of jobs of `spawn_blocking` that have not ended: each of them has a
    /// thread, or waits for one.
    pub fn num_blocking_tasks(&self) -> usize {
        self.count(|state| state == TaskState::Blocking)
    }

    /// Returns how often the unfinished tasks have been polled, all together. The polls of a task
    /// are no longer in the sum when it has ended.
    pub fn polls_of_alive_tasks(&self) -> u64 {
        let is_polled = |task: &TaskInfo| task.state != TaskState::Blocking;
        let tasks = self.handle.tasks();
        tasks.iter().filter(|task| is_polled(task)).map(|task| task.polls).sum()
    }

    /// Returns the number of tasks that wait in the queue that belongs to all workers: those that
    /// were spawned or woken outside of the workers and, while polls are long, all tasks.
    pub fn global_queue_depth(&self) -> usize {
        self.handle.global_queue_depth()
    }

    /// Returns the number of tasks that wait in the worker's own queue. While polls are long, tasks
    /// wait in the queue that belongs to all workers.
    pub fn worker_local_queue_depth(&self, worker: usize) -> usize {
        self.handle.worker_counts(worker).queued
    }

    /// Returns how often the worker has polled a task.
    pub fn worker_poll_count(&self, worker: usize) -> u64 {
        self.handle.worker_counts(worker).polls
    }

    /// Returns how many tasks the worker has taken from the queues of other workers.
    pub fn worker_steal_count(&self, worker: usize) -> u64 {
        self.handle.worker_counts(worker).steals
    }

    /// Returns how often the worker has gone to sleep, because it had nothing to do.
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.handle.worker_counts(worker).parks
    }

    fn count(&self, counts: impl Fn(TaskState) -> bool) -> usize {
        self.handle.tasks().iter().filter(|task| counts(task.state)).count()
    }
}
