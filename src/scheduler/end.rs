//! The end of a runtime, step by step.
//!
//! 1. [`begin`] closes the blocking pool: no job begins but those that a thread is on its way to.
//!    Then it says that the runtime ends, and wakes the workers that sleep. From now on
//!    `Shared::is_ending` is true, and no thread begins to run a worker.
//! 2. Each worker finishes the poll that it is in (one that has just asked for the end may begin
//!    one more), and leaves its loop.
//! 3. Whoever leaves last calls [`close`], or the thread that has begun the end if nobody was in a
//!    loop (`crew.rs`). No worker polls a task any more, so that it can take everything apart: what
//!    the tasks wait for, the tasks themselves, and the queues. Jobs that have begun run on.
//! 4. The threads sign off, some of them before step 3: the workers, the monitor, the threads of
//!    the blocking pool after the jobs that they are in, and the thread that ran the worker of a
//!    current-thread runtime.
//! 5. [`join`] waits for that, and joins the workers and the monitor.
//!
//! The thread that calls `Runtime::shutdown` does steps 1 and 5, in which it waits for the others.
//! A task or a job can begin the end, too, by `Handle::shutdown_background`.
//!
//! Each thing that may still come in is kept out by the lock or the queue through which it would
//! come: threads by the lock of the crew, runnables by the injector, which is closed, timers by the
//! lock of their wheel, sockets by that of the reactor, and jobs by that of the pool.
//!
//! A task is dropped exactly once because async-task makes one runnable for it at a time. Only the
//! holder of the runnable polls the task or drops it. To wake a task that is scheduled, running or
//! dropped makes no second one.

use crate::hooks::tell;
use crate::panic::{ignore_panic, wake};
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::Shared;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Duration, lock};
use std::iter;

/// Step 1. May be called more than once, by any thread, even inside a task. The caller does step 3
/// as well if no thread runs a worker.
pub(crate) fn begin(shared: &Arc<Shared>) {
    // Before any worker can leave its loop: whoever leaves last drops the jobs that were given up.
    // They count as ended from now on, so that 3.1 does not list them.
    for record in shared.pool.close() {
        drop(shared.tasks.remove(&record));
    }
    if shared.crew.begin_end() {
        close(shared);
        shared.crew.sign_off();
    }

    // A worker that falls asleep now sees that the runtime ends.
    for worker in 0..shared.workers.len() {
        shared.wake_worker(worker);
    }

    // The monitor may sleep, and has to sign off. Last, as the tasks are not to wait for this.
    shared.monitor.unpark();
}

/// Step 3, by exactly one thread.
pub(crate) fn close(shared: &Arc<Shared>) {
    let _context = context::enter(Role::Ending, shared.clone(), None);

    // 3.1. Whoever wants to know what has not finished can list it now.
    tell!(closes(shared.id.0));

    // 3.2. Every socket fails from now on, and no timer can be armed. All who wait are woken: every
    // task, which brings those that wait into the injector, as there is no worker in this context;
    // whoever waits for a socket or a timer of this runtime outside of it; and every future in
    // `block_on`, which goes on, on its own thread.
    let mut wakers = shared.tasks.close();
    shared.driver.close(&mut wakers);
    shared.driver.timers.close(&mut wakers);
    wakers.into_iter().for_each(wake);
    let roots = lock(&shared.roots).clone();
    for root in roots {
        root.wake_thread();
    }

    // 3.3. No thread can push into the injector after this.
    shared.injector.close();

    // 3.4. Drop every task that was left, and every job that was given up, unless a thread of the
    // pool drops it. A task contains the panic of its future's drop. If another thread has woken a
    // task too late for the queue, `wake_up` in `spawn.rs` drops it, and nobody waits for that.
    for worker in &shared.workers {
        iter::from_fn(|| worker.queue.pop()).for_each(drop);
    }
    shared.injector.try_iter().for_each(drop);
    iter::from_fn(|| shared.pool.next_given_up()).for_each(drop);

    // The monitor may wait for its next tick. Nothing is left to watch.
    shared.monitor.unpark();
}

/// Step 5: waits until all threads have signed off, for `limit` at most, and joins them. Threads
/// that go on after the limit are left to themselves.
pub(crate) fn join(shared: &Arc<Shared>, threads: Vec<JoinHandle<()>>, limit: Duration) {
    // A thread of the runtime that drops the runtime does not wait for itself.
    let is_own = matches!(context::role(), Role::OwnThread(id, _) if id == shared.id);
    let myself = if is_own { 1 } else { 0 };

    // Threads that have not signed off cannot be joined without a limit.
    if shared.crew.wait_for_all(myself, limit) {
        // A thread-local of one of them may have had the runtime, so that it is this thread.
        let others = |thread: &JoinHandle<()>| thread.thread().id() != thread::current().id();
        for thread in threads.into_iter().filter(others) {
            ignore_panic(|| drop(thread.join()));
        }
    }
    tell!(runtime_ended(shared.id.0));
}
