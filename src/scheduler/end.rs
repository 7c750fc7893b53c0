//! The end of a runtime, step by step.
//!
//! 1. [`begin`] closes the pool, so that no job begins any more, says that the runtime ends, and
//!    wakes the workers. From now on `Shared::is_ending` is true.
//! 2. Each worker finishes the poll that it is in, and leaves its loop: it drops the [`InLoop`].
//!    In a current-thread runtime the thread with the lease gives it up instead: [`end_lease`].
//! 3. The last one that leaves calls [`close`]. No thread runs a task any more, so that it can
//!    take everything apart, in this order:
//!    1. It lists what has not finished, if somebody reads the report.
//!    2. It closes the registry and the reactor. From now on no task can be spawned, and every
//!       socket fails. It wakes all tasks. A task that waits enters a queue by that. It also wakes
//!       the futures in `block_on`. They go on, on their own threads.
//!    3. It takes the runtime out of the table [`RUNTIMES`]. The table is the gate of the injector
//!       and of the timers: no thread can push into the injector after this, or arm a timer. So
//!       now it closes the timers. (The tasks that wait for them were woken before.) The monitor
//!       is woken, too. Until the last poll has ended it has reported those that hold up the end.
//!    4. It drops what is in the queues: every task that was left, and every job of
//!       `spawn_blocking` that has not begun, unless a thread of the pool has dropped it already.
//!       There is one exception. A task that another thread woke just then may come too late for
//!       the queue: `schedule` in `task/spawn.rs` drops it, on a thread of its own.
//! 4. The threads sign off: the workers, the monitor, and the threads of the blocking pool, after
//!    the jobs that they are in.
//! 5. [`join`] waits for that, joins the workers and the monitor, and [`report`] says what had not
//!    finished.
//!
//! The thread that calls `Runtime::shutdown` does steps 1 and 5, in which it waits for the others.
//! On a current-thread runtime without a thread in `block_on`, it does step 3 as well. A task can
//! begin the end, too, by a panic.
//!
//! A task is dropped exactly once because async-task makes one [`Runnable`] for it at a time. Only
//! the holder of the runnable polls the task or drops it. To wake a task that is scheduled,
//! running or dropped makes no second one.
//!
//! [`Runnable`]: crate::scheduler::queue::Runnable

use crate::registry::{TaskInfo, TaskState};
use crate::scheduler::{context, context::Role, shared::RUNTIMES, shared::Shared};
use crate::sync::{Arc, Duration, Ordering, PoisonError, lock, tell, thread::JoinHandle};
use crate::{config::RuntimeFlavor, panic::ignore_panic, panic::wake};
use std::{iter, mem::take};

/// Step 1. May be called more than once, by any thread, even inside a task.
///
/// It says so under the lock under which threads sign on: each that has signed on is waited for.
pub(crate) fn begin(shared: &Arc<Shared>) {
    // First, so that no job begins after `Registry::close` has looked which have.
    shared.pool.close();

    // SeqCst pairs with `Shared::is_ending`: a worker that falls asleep sees this, or what
    // follows sees its bit.
    let signing_on = lock(&shared.threads);
    shared.ending.store(true, Ordering::SeqCst);
    drop(signing_on);

    // One of those who sit is enough: each that leaves its seat wakes the next.
    let sleepers = (0..shared.workers.len()).filter(|&worker| shared.idle.claim(worker));
    sleepers.for_each(|worker| shared.unpark(worker));
    shared.notify_if_seated();

    // E2 of `lease.rs`. If a thread has the lease, step 3 falls to that one.
    if shared.config.flavor == RuntimeFlavor::CurrentThread && shared.lease.take_to_close() {
        close(shared);
    }
}

/// The workers share one of these in an `Arc`, which each of their threads drops when it has left
/// its loop. The last one does step 3. What the others did before happens before it: `Arc` sees to
/// that.
pub(crate) struct InLoop(pub(crate) Arc<Shared>);

impl Drop for InLoop {
    fn drop(&mut self) {
        close(&self.0);
    }
}

/// R1 and R2 of `lease.rs`: the thread that runs the worker of a current-thread runtime gives it
/// up, because its future is ready or because the runtime ends.
pub(crate) fn end_lease(shared: &Arc<Shared>) {
    *lock(&shared.workers[0].thread) = None;
    shared.lease.end();
    if shared.is_ending() && shared.lease.take_to_close() {
        close(shared);
    }
}

/// Step 3, by exactly one thread.
fn close(shared: &Arc<Shared>) {
    let _context = context::enter_as(Role::Ending, shared.clone(), None);

    // 3.1
    lock(&shared.unfinished).get_or_insert_with(|| shared.tasks());

    // 3.2
    let mut wakers = shared.registry.close();
    wakers.extend(shared.mains.close());
    shared.driver.reactor.close(&mut wakers);
    wakers.drain(..).for_each(wake);

    // 3.3. Under the lock, which is harmless: `shared` is another reference to what is dropped.
    drop(RUNTIMES.write().unwrap_or_else(PoisonError::into_inner).remove(&shared.id));
    shared.driver.timers.close(&mut wakers);
    wakers.into_iter().for_each(wake);
    shared.monitor.unpark();

    // 3.4. A task contains the panic of its future's drop.
    shared.workers.iter().for_each(|worker| iter::from_fn(|| worker.queue.pop()).for_each(drop));
    shared.injector.try_iter().chain(shared.pool.given_up()).for_each(drop);
}

/// Step 5: waits until all threads have signed off, for `limit` at most, and joins them. Threads
/// that go on after the limit are left to themselves.
pub(crate) fn join(shared: &Arc<Shared>, threads: Vec<JoinHandle<()>>, limit: Duration) {
    // A thread of the runtime that drops the runtime does not wait for itself.
    let myself = usize::from(matches!(context::role(), Role::OwnThread(id, _) if id == shared.id));
    // A job of this runtime may wait for something that is dropped only after this.
    let limit = if context::role() == Role::Ending { Duration::ZERO } else { limit };

    let others_run = |count: &mut usize| *count > myself;
    let waited = shared.thread_ended.wait_timeout_while(lock(&shared.threads), limit, others_run);
    if *waited.unwrap_or_else(PoisonError::into_inner).0 == 0 {
        threads.into_iter().for_each(|thread| ignore_panic(|| drop(thread.join())));
    }
    tell!(runtime_ended());
}

/// What had not finished when `join` returned.
pub(crate) fn report(shared: &Shared) -> Vec<TaskInfo> {
    // If some worker has not left, nothing was dropped yet: the tasks are as they are now. Jobs
    // that were never polled have not begun, and were given up with the queue.
    let is_job = |task: &TaskInfo| task.state == TaskState::Blocking;
    let (jobs, tasks): (Vec<_>, Vec<_>) = shared.tasks().into_iter().partition(is_job);
    let mut report = lock(&shared.unfinished).as_mut().map_or(tasks, take);
    report.retain(|task| !is_job(task));
    report.extend(jobs.into_iter().filter(|job| job.polls > 0));
    report
}
