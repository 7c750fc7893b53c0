//! The end of a runtime, step by step.
//!
//! 1. [`begin`] says that the runtime ends, and wakes every thread so that it looks.
//! 2. Each worker finishes the poll that it is in, and leaves its loop: [`leave`]. In a
//!    current-thread runtime the thread with the lease gives it up instead: [`end_lease`].
//! 3. The last one that leaves calls [`close`]. No thread runs a task any more, so that it can
//!    take everything apart, in this order:
//!    1. It lists what has not finished, for the report.
//!    2. It closes the registry, the reactor and the timers. From now on no task can be spawned,
//!       and every socket and timer fails. It wakes all tasks. Each of them enters a queue, if it
//!       is not on its way there already.
//!    3. It takes the runtime out of the table [`RUNTIMES`]. The table is the gate of the injector:
//!       nothing comes into a queue after this.
//!    4. It drops what is in the queues. That is every task that was left.
//! 4. The threads sign off: the workers, the monitor, and the threads of the blocking pool, after
//!    the jobs that they are in.
//! 5. [`wait`] joins the threads, and reports what had not finished.
//!
//! The thread that calls `Runtime::shutdown` does steps 1 and 5, and waits in between. A
//! task can begin the end as well, by a panic.

use crate::panic::{ignore_panic, wake};
use crate::registry::info::{TaskInfo, TaskState};
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::{RUNTIMES, Shared};
use crate::sync::{Arc, Duration, Ordering, PoisonError, lock, thread};
use std::mem::take;

/// Step 1. May be called more than once, by any thread, also inside a task.
pub(crate) fn begin(shared: &Arc<Shared>) {
    // SeqCst pairs with `Shared::is_ending`: a worker that falls asleep sees this, or the loop
    // below sees its bit.
    shared.ending.store(true, Ordering::SeqCst);

    shared.pool.close();
    for worker in 0..shared.workers.len() {
        shared.wake_worker(worker);
    }
    shared.callers.unpark_all();
    shared.monitor.unpark();

    // Step E2 of `callers.rs`. If a thread has the lease, this falls to it.
    if shared.config.is_current_thread() && shared.callers.take_lease() {
        close(shared);
    }
}

/// Before step 1: a worker is about to enter its loop.
pub(crate) fn enter(shared: &Arc<Shared>) {
    // Relaxed: the caller itself counts, so the number is not 0 meanwhile.
    shared.workers_left.fetch_add(1, Ordering::Relaxed);
}

/// Step 2 of a multi-thread runtime: a worker has left its loop.
pub(crate) fn leave(shared: &Arc<Shared>) {
    // AcqRel: what the others did before they left happens before the last one closes.
    let left_before = shared.workers_left.fetch_sub(1, Ordering::AcqRel);
    if left_before == 1 {
        close(shared);
    }
}

/// Step 2 of a current-thread runtime: R1 and R2 of `callers.rs`. Also called when the runtime
/// does not end; then another thread may take the lease.
pub(crate) fn end_lease(shared: &Arc<Shared>) {
    *lock(&shared.workers[0].thread) = None;
    shared.callers.end_lease();
    if shared.is_ending() && shared.callers.take_lease() {
        close(shared);
    }
}

/// Step 3, by exactly one thread.
fn close(shared: &Arc<Shared>) {
    let _context = context::enter_as(Role::Ending, shared.clone(), None);

    // 3.1
    *lock(&shared.unfinished) = Some(shared.tasks());

    // 3.2
    let mut wakers = shared.registry.close();
    shared.driver.close(&mut wakers);
    for waker in wakers {
        wake(waker);
    }

    // 3.3. The reference that the table had goes outside of its lock.
    let mut runtimes = RUNTIMES.write().unwrap_or_else(PoisonError::into_inner);
    let removed = runtimes.remove(&shared.id);
    drop(runtimes);
    drop(removed);

    // 3.4. A future contains the panics of its own drop.
    for worker in &shared.workers {
        worker.queue.spill(&shared.injector);
    }
    for runnable in shared.injector.try_iter() {
        drop(runnable);
    }
    drop(shared.pool.take_jobs());
}

/// Step 5: waits until all threads have signed off, for `limit` at most, and joins them. Returns
/// what had not finished. Threads that go on after the limit are left to themselves.
pub(crate) fn wait(
    shared: &Arc<Shared>,
    threads: Vec<thread::JoinHandle<()>>,
    limit: Duration,
) -> Vec<TaskInfo> {
    let role = context::role();
    // A thread does not wait for itself: one of the runtime's own that drops the runtime.
    let myself = usize::from(role == Role::OwnThread(shared.id));
    // What is dropped now may be what a job of this runtime waits for.
    let limit = if role == Role::Ending { Duration::ZERO } else { limit };

    let running = lock(&shared.threads);
    let is_over = |running: &mut usize| *running > myself;
    let waited = shared.thread_ended.wait_timeout_while(running, limit, is_over);
    let running = *waited.unwrap_or_else(PoisonError::into_inner).0;
    if running == 0 {
        for thread in threads {
            // A panic of the thread was printed when it happened.
            ignore_panic(|| drop(thread.join()));
        }
    }
    report(shared)
}

/// The tasks that were dropped where they waited, and the polls and jobs that still go on.
fn report(shared: &Shared) -> Vec<TaskInfo> {
    let is_job = |task: &TaskInfo| task.state == TaskState::Blocking;
    let now = shared.tasks();
    let (jobs, tasks): (Vec<_>, Vec<_>) = now.into_iter().partition(is_job);

    // If the last worker has not left, nothing was dropped yet: the tasks are as they are now.
    let mut report = lock(&shared.unfinished).as_mut().map_or(tasks, take);
    report.retain(|task| !is_job(task));

    // A job that was never polled has not begun. It was given up with the queue.
    report.extend(jobs.into_iter().filter(|job| job.polls > 0));
    report
}
