//! The monitor: a thread that runs no tasks and watches over the threads that do.
//!
//! A worker in a long poll cannot help itself. What waits in its queue must go to another worker,
//! and so must the seat, if the worker has just left it. A poll that lasts for too long is
//! reported, once, while it still lasts.
//!
//! The monitor looks at a busy runtime once a tick. When nothing happens for a while it
//! sleeps, so that an idle runtime makes no system calls. (Go's sysmon is the same idea.)

use crate::panic::{ignore_panic, wake};
use crate::registry::info::{Id, TaskInfo, TaskState};
use crate::scheduler::progress::{Progress, TICK};
use crate::scheduler::shared::Shared;
use crate::sync::{Arc, Ordering, fence, thread};

/// After this many ticks in which nothing was polled the monitor sleeps. A program with pauses of
/// a few milliseconds should not pay for a wake-up of the monitor after each of them.
const QUIET_TICKS_MAX: u32 = 10;

/// The main function of the monitor's thread.
pub(crate) fn main(shared: &Arc<Shared>) {
    shared.monitor.thread.get_or_init(thread::current);
    let mut quiet_ticks = 0;
    loop {
        if quiet_ticks == QUIET_TICKS_MAX {
            quiet_ticks = 0;
            sleep(shared);
        }
        thread::park_timeout(TICK);
        if shared.is_ending() {
            break;
        }

        quiet_ticks += 1;
        if look_at_workers(shared) | look_at_callers(shared) {
            quiet_ticks = 0;
        }
        watch_kernel(shared);
    }
}

/// Helps the workers that have not moved since the last tick. Returns whether some worker has.
fn look_at_workers(shared: &Shared) -> bool {
    let mut has_moved = false;
    let mut is_stranded = !shared.injector.is_empty();
    for (index, worker) in shared.workers.iter().enumerate() {
        if worker.progress.moved.swap(false, Ordering::Relaxed) {
            has_moved = true;
        } else if !shared.idle.is_asleep(index) {
            is_stranded |= worker.queue.len() > 0;
            report_if_stuck(shared, &worker.progress, |polled| {
                shared.tasks().into_iter().find(|task| task.id.0 == polled)
            });
        }
    }

    if is_stranded {
        shared.wake_another();
    }
    has_moved
}

/// Returns whether a future of some `block_on` was polled since the last tick.
fn look_at_callers(shared: &Shared) -> bool {
    let mut has_moved = false;
    for caller in shared.callers.list() {
        let progress = &caller.progress;
        if progress.moved.swap(false, Ordering::Relaxed) {
            has_moved = true;
        } else {
            // It is no task, but is reported like one, under an id of its own.
            report_if_stuck(shared, progress, |_| {
                let state = TaskState::InBlockOn { time: progress.time() };
                let (id, location) = (Id::after(0), caller.location);
                Some(TaskInfo { id, name: Some("block_on".into()), location, state, polls: 1 })
            });
        }
    }
    has_moved
}

/// Counts another tick without a turn. If the poll that goes on has just reached the limit, it is
/// reported as `describe` says.
fn report_if_stuck(
    shared: &Shared,
    progress: &Progress,
    describe: impl FnOnce(u64) -> Option<TaskInfo>,
) {
    let ticks = progress.stuck_ticks.fetch_add(1, Ordering::Relaxed) as u128 + 1;
    let limit = shared.config.long_poll_limit.as_nanos().div_ceil(TICK.as_nanos());
    let polled = progress.polled();
    if ticks != limit || polled == 0 {
        return;
    }

    // If there was a turn meanwhile, the poll is over, and the task is innocent.
    let task = describe(polled);
    if let Some(task) = task.filter(|_| !progress.moved.load(Ordering::Relaxed)) {
        ignore_panic(|| (shared.config.on_long_poll)(&task));
    }
}

/// Sees to it that somebody looks at the kernel.
fn watch_kernel(shared: &Shared) {
    let driver = &shared.driver;
    let has_looked = driver.looked.swap(false, Ordering::Relaxed);
    if has_looked || driver.sleeper().is_some() || !driver.is_needed() {
        return;
    }
    if shared.idle.any_asleep() {
        return shared.wake_another();
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

/// Sleeps while nobody polls anything. The fence pairs with the one in `Doorbell::ring`.
fn sleep(shared: &Shared) {
    let asleep = &shared.monitor.asleep;
    asleep.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);

    let is_idle = is_idle(shared);
    while is_idle && asleep.load(Ordering::Relaxed) && !shared.is_ending() {
        thread::park();
    }
    asleep.store(false, Ordering::Relaxed);
}

fn is_idle(shared: &Shared) -> bool {
    let nobody_runs_tasks = shared.config.is_current_thread() && !shared.callers.has_lease();
    let callers = shared.callers.list();
    let nobody_polls = callers.iter().all(|caller| caller.progress.polled() == 0);
    nobody_polls && (nobody_runs_tasks || shared.idle.all_asleep())
}
