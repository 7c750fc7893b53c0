//! The monitor: a thread that runs no tasks and watches over the threads that do.
//!
//! A worker in a long poll cannot help itself. What waits in its queue must go to another worker,
//! and so must the seat, if the worker has just left it. A poll that lasts for too long is
//! reported, once, while it still lasts.
//!
//! The monitor looks at a busy runtime once a tick. When nothing happens for a while it
//! sleeps, so that an idle runtime makes no system calls. (Go's sysmon is the same idea.)

use crate::panic::wake;
use crate::registry::{self, TaskState};
use crate::scheduler::shared::{Shared, TICK, WorkerShared};
use crate::sync::{Arc, Ordering, fence, lock, thread};

/// After this many ticks in which nothing was polled the monitor sleeps. A program with pauses of
/// a few milliseconds should not pay for a wake-up of the monitor after each of them.
const QUIET_TICKS_MAX: u32 = 20;

/// The main function of the monitor's thread.
pub(crate) fn main(shared: &Arc<Shared>) {
    shared.monitor.thread.get_or_init(thread::current);
    let mut mains = registry::Watch::default();
    let mut quiet_ticks = 0;
    while !shared.is_ending() {
        if quiet_ticks == QUIET_TICKS_MAX {
            quiet_ticks = 0;
            sleep(shared);
        }
        thread::park_timeout(TICK);

        let limit = limit_in_ticks(shared);
        let mains_poll = mains.look(&shared.mains, limit, TICK, &shared.config.on_long_poll);
        let has_polled = watch_workers(shared) | mains_poll;
        quiet_ticks = if has_polled { 0 } else { quiet_ticks + 1 };
        watch_kernel(shared);
    }
}

/// Helps the workers that have not moved since the last tick. Returns whether some worker has.
fn watch_workers(shared: &Shared) -> bool {
    let mut has_moved = false;
    let mut is_stranded = !shared.injector.is_empty();
    for (index, worker) in shared.workers.iter().enumerate() {
        if worker.moved.swap(false, Ordering::Relaxed) {
            has_moved = true;
        } else if !shared.idle.is_asleep(index) {
            is_stranded |= worker.queue.len() > 0;
            report_if_stuck(shared, worker);
        }
    }

    if is_stranded {
        shared.call_helper();
    }
    has_moved
}

/// Counts a tick without a turn of the worker, and reports the task that it polls when that has
/// lasted for as long as the limit says.
fn report_if_stuck(shared: &Shared, worker: &WorkerShared) {
    let WorkerShared { stuck_ticks, core_wait, .. } = worker;
    let ticks = stuck_ticks.fetch_add(1, Ordering::Relaxed) + 1;
    let limit = limit_in_ticks(shared);
    if ticks == limit.div_ceil(2) {
        lock(core_wait).take();
    }
    if ticks != limit {
        return;
    }
    // No more than that if the worker has moved meanwhile, and counts from 0.
    let count_from = |earlier: usize| {
        let order = Ordering::Relaxed;
        _ = stuck_ticks.compare_exchange(limit, earlier, order, order);
    };

    // If the thread has not had a core meanwhile, the poll is not to blame. Judge again later.
    if lock(core_wait).take() > TICK * limit.div_ceil(4) as u32 {
        return count_from(limit / 2);
    }

    // Acquire pairs with the Release in `Worker::run_one`: if this is the id of a later task, the
    // turn that it began with is seen as well, and nothing is reported.
    let polled = worker.polled.load(Ordering::Acquire);
    let task = shared.tasks().into_iter().find(|task| task.id.0 == polled);
    let task = task.filter(|_| !worker.moved.load(Ordering::Relaxed));
    let is_told = task.is_none_or(|task| shared.config.on_long_poll.report(task));
    if !is_told {
        count_from(limit - 1);
    }
}

fn limit_in_ticks(shared: &Shared) -> usize {
    let ticks = shared.config.long_poll_limit.as_nanos().div_ceil(TICK.as_nanos());
    usize::try_from(ticks).unwrap_or(usize::MAX)
}

/// Sees to it that some thread looks at the kernel.
fn watch_kernel(shared: &Shared) {
    let driver = &shared.driver;
    let has_looked = driver.looked.swap(false, Ordering::Relaxed);
    if has_looked || driver.sleeper().is_some() || !driver.is_needed() {
        return;
    }
    if shared.idle.any_asleep() {
        return shared.call_helper();
    }

    // All workers are busy, or stuck. This at least serves those who wait and are no tasks.
    if let Some(seat) = driver.take_seat() {
        let mut wakers = Vec::new();
        seat.look(&mut wakers);
        wakers.into_iter().for_each(wake);

        // A worker that fell asleep meanwhile found the seat taken. Some worker must sit there.
        shared.wake_if_all_asleep();
    }
}

/// Sleeps while nothing is polled. The fence pairs with the one in `Doorbell::ring`.
fn sleep(shared: &Shared) {
    let asleep = &shared.monitor.asleep;
    asleep.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);

    // Without a thread in `block_on`, no thread runs the worker of a current-thread runtime.
    let no_threads = shared.workers.iter().all(|worker| lock(&worker.thread).is_none());
    let mains_wait = shared.mains.tasks().iter().all(|main| main.state != TaskState::Queued);
    let is_idle = mains_wait && (no_threads || shared.idle.all_asleep());
    while is_idle && asleep.load(Ordering::Relaxed) && !shared.is_ending() {
        thread::park();
    }
    asleep.store(false, Ordering::Relaxed);
}
