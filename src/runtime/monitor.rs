//! The monitor: a thread that runs no tasks and watches over the threads that do.
//!
//! A worker in a long poll cannot help itself. What waits in its queue must go to another worker,
//! and so must the seat, if the worker has just left it. A poll that lasts for too long is
//! reported, once, while it still lasts.
//!
//! The monitor looks at a busy runtime once a tick. When nothing happens for a while it
//! sleeps, so that an idle runtime makes no system calls. (Go's sysmon is the same idea.)

use crate::panic::{ignore_panic, wake};
use crate::registry::{TaskInfo, TaskState};
use crate::scheduler::shared::{Shared, TICK, WorkerShared};
use crate::sync::{Arc, Ordering, fence, lock, thread};

/// After this many ticks in which nothing was polled the monitor sleeps. A program with pauses of
/// a few milliseconds should not pay for a wake-up of the monitor after each of them.
const QUIET_TICKS_MAX: u32 = 10;

/// The main function of the monitor's thread.
pub(crate) fn main(shared: &Arc<Shared>) {
    shared.monitor.thread.get_or_init(thread::current);
    let mut mains = Vec::new();
    let mut quiet_ticks = 0;
    while !shared.is_ending() {
        if quiet_ticks == QUIET_TICKS_MAX {
            quiet_ticks = 0;
            sleep(shared);
        }
        thread::park_timeout(TICK);

        let has_polled = watch_workers(shared) | watch_mains(shared, &mut mains);
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

/// Counts a tick without a turn of the worker, and reports the task that it polls.
fn report_if_stuck(shared: &Shared, worker: &WorkerShared) {
    let ticks = worker.stuck_ticks.fetch_add(1, Ordering::Relaxed) + 1;
    report_at_limit(shared, ticks, || {
        // Acquire pairs with the Release in `Worker::run_one`: if this is the id of a later task,
        // the turn that it began with is seen as well, and nothing is reported.
        let polled = worker.polled.load(Ordering::Acquire);
        let task = shared.tasks().into_iter().find(|task| task.id.0 == polled);
        task.filter(|_| !worker.moved.load(Ordering::Relaxed))
    });
}

/// Reports the futures in `block_on` that are stuck. `before` is what was polled at the last tick,
/// and for how many ticks. Returns whether something is being polled now.
fn watch_mains(shared: &Shared, before: &mut Vec<(TaskInfo, usize)>) -> bool {
    let mut now = Vec::new();
    for main in shared.mains.tasks() {
        if main.state != TaskState::Queued {
            continue; // its number of steps is even: it waits
        }
        let is_same = |it: &&(TaskInfo, usize)| it.0.id == main.id && it.0.polls == main.polls;
        let ticks = before.iter().find(is_same).map_or(0, |(_, ticks)| ticks + 1);
        report_at_limit(shared, ticks, || {
            let mut main = main.clone();
            main.name = Some("block_on".into());
            main.state = TaskState::InBlockOn { time: TICK * ticks as u32 };
            main.polls += 1; // the one that goes on
            Some(main)
        });
        now.push((main, ticks));
    }
    *before = now;
    !before.is_empty()
}

/// Reports a poll when it has lasted for as many ticks as the limit says.
fn report_at_limit(shared: &Shared, ticks: usize, task: impl FnOnce() -> Option<TaskInfo>) {
    let limit = shared.config.long_poll_limit.as_nanos().div_ceil(TICK.as_nanos());
    if ticks as u128 == limit
        && let Some(task) = task()
    {
        ignore_panic(|| (shared.config.on_long_poll)(&task));
    }
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
