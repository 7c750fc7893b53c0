//! The end of a runtime, step by step.
//!
//! 1. [`begin`] says that the runtime ends, and claims the workers that sleep. From now on
//!    `Shared::is_ending` is true. No task can be spawned any more, and no job begins but those
//!    that a thread is on its way for.
//! 2. Each worker finishes the poll that it is in (one that has just asked for the end may begin
//!    one more), and leaves its loop: [`leave_loop`]. A worker that was claimed counts as having
//!    left at once, unless the caller has a limit: step 3 may take long, and must not run on the
//!    caller's thread then. In a current-thread runtime, with or without a limit, the thread with
//!    the lease gives it up instead: [`end_lease`].
//! 3. Whoever leaves last calls [`close`]. No worker polls a task any more, so that it can take
//!    everything apart: what the tasks wait for, the tasks themselves, and the queues. Jobs that
//!    have begun run on.
//! 4. The threads sign off, some of them before step 3: the workers, the monitor, the threads of
//!    the blocking pool after the jobs that they are in, and the thread that had the lease.
//! 5. [`join`] waits for that, joins the workers and the monitor, and [`report`] says what had not
//!    finished.
//!
//! The thread that calls `Runtime::shutdown` does steps 1 and 5, in which it waits for the others.
//! It does step 3 as well if nobody else has to leave: on a current-thread runtime if no thread
//! has the lease, or if all workers sleep and there is no limit. A task or a job can begin the end,
//! too, by a panic.
//!
//! Four places keep new things out, and each is asked under the lock under which they would come
//! in: `Shared::ending` (threads and tasks), the table [`RUNTIMES`] (the injector and the timers),
//! the reactor (sockets) and the pool (jobs).
//!
//! A task is dropped exactly once because async-task makes one runnable for it at a time. Only the
//! holder of the runnable polls the task or drops it. To wake a task that is scheduled, running or
//! dropped makes no second one.

use crate::builder::RuntimeFlavor;
use crate::driver::timers::NEVER;
use crate::hooks::tell;
use crate::panic::{ignore_panic, wake};
use crate::registry::{TaskInfo, TaskState};
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::{RUNTIMES, Shared};
use crate::sync::thread::JoinHandle;
use crate::sync::{Arc, Duration, Ordering, PoisonError, lock};
use std::iter;
use std::task::Wake;

/// Step 1. May be called more than once, by any thread, even inside a task. The caller does step 3
/// as well if nobody else has to leave: on a multi-thread runtime only without a limit.
pub(crate) fn begin(shared: &Arc<Shared>, limit: Duration) {
    // Before any worker can leave its loop: who leaves last drops the jobs that were given up.
    shared.pool.close();

    // Under the lock under which threads sign on: each that has signed on is waited for. SeqCst
    // pairs with `Shared::is_ending`: a worker that falls asleep sees this, or what follows sees
    // its bit.
    let signing_on = lock(&shared.threads);
    shared.ending.store(true, Ordering::SeqCst);
    drop(signing_on);

    // A claimed worker polls nothing any more, so it counts as having left: the end need not wait
    // until its thread has a core. But whoever counts the last one runs `close`, which must not
    // hold up a caller with a limit. Then each worker leaves by itself, when it is awake.
    let claim = |worker: &usize| shared.sleepers.claim(*worker);
    let claimed: Vec<usize> = (0..shared.workers.len()).filter(claim).collect();
    if shared.config.flavor == RuntimeFlavor::MultiThread && limit == Duration::MAX {
        for &worker in &claimed {
            leave_loop(shared, worker);
        }
    }
    // Roused after that: all that is left to them is to end their threads.
    for worker in claimed {
        shared.rouse(worker);
    }

    // E2 of `lease.rs`. If a thread has the lease, step 3 falls to that one.
    if shared.config.flavor == RuntimeFlavor::CurrentThread && shared.mains.take_lease() {
        close(shared);
    }

    // The monitor may sleep, and has to sign off. Last, as the tasks are not to wait for this.
    shared.monitor.unpark();
}

/// Step 2: a worker leaves its loop, on its own thread or because it was claimed. The last one does
/// step 3. One that was claimed comes here again by itself: its bit is clear then, and nothing
/// happens.
pub(crate) fn leave_loop(shared: &Arc<Shared>, worker: usize) {
    // Acquire and Release: what the workers did before happens before step 3. What a claimed one
    // did before it slept is seen by who claimed it.
    let mine = 1 << worker;
    if shared.in_loop.fetch_and(!mine, Ordering::AcqRel) == mine {
        close(shared);
    }
}

/// R1 and R2 of `lease.rs`: the thread that runs the worker of a current-thread runtime gives it
/// up, because its future is ready or because the runtime ends.
pub(crate) fn end_lease(shared: &Arc<Shared>) {
    shared.sleepers.set_thread(0, None);
    shared.mains.end_lease();
    if shared.is_ending() && shared.mains.take_lease() {
        close(shared);
    }
}

/// Step 3, by exactly one thread.
fn close(shared: &Arc<Shared>) {
    let _context = context::enter_as(Role::Ending, shared.clone(), None);

    // 3.1. List what has not finished, unless nobody reads the report.
    lock(&shared.unfinished).get_or_insert_with(|| shared.describe_tasks());

    tell!(runtime_closes(shared.id.0));

    // 3.2. Every socket fails from now on. Every task is woken, which brings those that wait into a
    // queue, and so is every future in `block_on`: they go on, on their own threads.
    let mut wakers = shared.tasks.close();
    shared.driver.close(&mut wakers);
    wakers.drain(..).for_each(wake);
    shared.mains.all().into_iter().for_each(Wake::wake);

    // 3.3. No thread can push into the injector after this, or arm a timer. So now the timers are
    // closed. The tasks that wait for them were woken before. What is removed is not the last
    // reference, so no code of the user's runs under the lock.
    drop(RUNTIMES.write().unwrap_or_else(PoisonError::into_inner).remove(&shared.id));
    shared.driver.timers.expire(NEVER, &mut wakers);
    wakers.into_iter().for_each(wake);

    // 3.4. Drop every task that was left, and every job that was given up, unless a thread of the
    // pool drops it. A task contains the panic of its future's drop. If another thread has woken a
    // task too late for the queue, `schedule` in `spawn.rs` drops it, and nobody waits for that.
    for worker in &shared.workers {
        iter::from_fn(|| worker.queue.pop()).for_each(drop);
    }
    shared.injector.try_iter().for_each(drop);
    drop_given_up(shared);

    // The monitor may wait for its next tick. Nothing is left to watch.
    shared.monitor.unpark();
}

/// Drops the jobs that were given up, one after the other: the drop of one may wait for that of
/// another one, by another thread.
pub(crate) fn drop_given_up(shared: &Arc<Shared>) {
    while let Some(job) = shared.pool.next_given_up() {
        drop(job);
    }
}

/// Step 5: waits until all threads have signed off, for `limit` at most, and joins them. Threads
/// that go on after the limit are left to themselves.
pub(crate) fn join(shared: &Arc<Shared>, threads: Vec<JoinHandle<()>>, limit: Duration) {
    // A thread of the runtime that drops the runtime does not wait for itself.
    let is_own = matches!(context::role(), Role::OwnThread(id, _) if id == shared.id);
    let myself = if is_own { 1 } else { 0 };

    let others_run = |count: &mut usize| *count > myself;
    let threads_left = lock(&shared.threads);
    let waited = shared.thread_ended.wait_timeout_while(threads_left, limit, others_run);

    // Threads that have not signed off cannot be joined without a limit.
    let running = *waited.unwrap_or_else(PoisonError::into_inner).0;
    if running == 0 {
        for thread in threads {
            ignore_panic(|| drop(thread.join()));
        }
    }
    tell!(runtime_ended());
}

/// What had not finished when `join` returned.
pub(crate) fn report(shared: &Shared) -> Vec<TaskInfo> {
    // If some worker has not left, nothing was dropped yet: the tasks are as they are now.
    let now = shared.describe_tasks();
    let is_job = |task: &TaskInfo| task.state == TaskState::Blocking;
    let (jobs, tasks): (Vec<_>, Vec<_>) = now.into_iter().partition(is_job);

    // Of the jobs, those count that go on or that a thread is on its way for.
    let begun = shared.pool.begun();
    let mut report = lock(&shared.unfinished).take().unwrap_or(tasks);
    report.retain(|task| !is_job(task));
    let goes_on = |job: &TaskInfo| job.polls > 0 || begun.contains(&job.id);
    report.extend(jobs.into_iter().filter(goes_on));
    report
}
