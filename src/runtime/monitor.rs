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
use crate::scheduler::callers::Caller;
use crate::scheduler::progress::{Progress, TICK};
use crate::scheduler::shared::Shared;
use crate::sync::{Arc, Ordering, thread};

/// After this many ticks in which nothing was polled the monitor sleeps. A program with pauses of
/// a few milliseconds should not pay for a wake-up of the monitor after each of them.
const QUIET_TICKS_MAX: u32 = 10;

/// The main function of the monitor's thread.
pub(crate) fn main(shared: &Arc<Shared>) {
    shared.monitor.answer_on(thread::current());
    let mut quiet_ticks = 0;
    while !shared.is_ending() {
        if quiet_ticks == QUIET_TICKS_MAX {
            quiet_ticks = 0;
            sleep(shared);
        }
        thread::park_timeout(TICK);
        if shared.is_ending() {
            break;
        }

        let seen = look_at_workers(shared);
        let has_polled = look_at_callers(shared) || seen.has_polled;
        quiet_ticks = if has_polled { 0 } else { quiet_ticks + 1 };
        relieve(shared, seen.has_stranded || !shared.injector.is_empty());
    }
}

/// What the workers have done since the last tick.
struct Seen {
    /// Some worker has polled a task, or gone to sleep.
    has_polled: bool,
    /// Tasks wait in the queue of a worker that has not come to them.
    has_stranded: bool,
}

fn look_at_workers(shared: &Shared) -> Seen {
    let mut seen = Seen { has_polled: false, has_stranded: false };
    for (index, worker) in shared.workers.iter().enumerate() {
        if worker.progress.take_moved() {
            seen.has_polled = true;
        } else if !shared.idle.is_asleep(index) {
            seen.has_stranded |= worker.queue.len() > 0;
            if let Some(task) = too_long(shared, &worker.progress) {
                report_task(shared, &worker.progress, task);
            }
        }
    }
    seen
}

/// Whether some future of `block_on` was polled since the last tick.
fn look_at_callers(shared: &Shared) -> bool {
    let mut has_polled = false;
    for caller in shared.callers.list() {
        if caller.progress.take_moved() {
            has_polled = true;
        } else if too_long(shared, &caller.progress).is_some() {
            report(shared, &caller.progress, &describe(&caller));
        }
    }
    has_polled
}

/// Wakes another worker if tasks are stranded, or if nobody looks at the kernel.
fn relieve(shared: &Shared, has_stranded: bool) {
    let driver = &shared.driver;
    let has_looked = driver.looked.swap(false, Ordering::Relaxed);
    let is_unwatched = !has_looked && driver.sleeper().is_none() && driver.is_needed();
    if has_stranded || is_unwatched {
        shared.wake_another();
    }

    // All workers are busy, or stuck. This at least serves those who wait and are no tasks.
    if is_unwatched
        && !shared.idle.any_asleep()
        && let Some(seat) = driver.take_seat()
    {
        let mut wakers = Vec::new();
        seat.look(&mut wakers);
        wakers.into_iter().for_each(wake);

        // A worker that fell asleep meanwhile found the seat taken. Some worker must sit there.
        shared.wake_if_all_asleep();
    }
}

/// Counts another tick without a turn. If the poll that goes on has just reached the limit,
/// returns the id of what is polled.
fn too_long(shared: &Shared, progress: &Progress) -> Option<u64> {
    let ticks = progress.count_stuck_tick() as u128;
    let limit = shared.config.long_poll_limit.as_nanos().div_ceil(TICK.as_nanos());
    let polled = progress.polled();
    (ticks == limit && polled != 0).then_some(polled)
}

fn report_task(shared: &Shared, progress: &Progress, id: u64) {
    for task in shared.tasks() {
        if task.id.0 == id {
            report(shared, progress, &task);
        }
    }
}

fn report(shared: &Shared, progress: &Progress, task: &TaskInfo) {
    // If there was a turn meanwhile, the poll is over, and another task may be innocent.
    if !progress.has_moved() {
        ignore_panic(|| (shared.config.on_long_poll)(task));
    }
}

/// The future of a `block_on` is no task, but is reported like one, under an id of its own.
fn describe(caller: &Caller) -> TaskInfo {
    TaskInfo {
        id: Id::after(0),
        name: Some("block_on".into()),
        location: caller.location,
        state: TaskState::InBlockOn { time: caller.progress.stuck_for() },
        polls: caller.polls.load(Ordering::Relaxed),
    }
}

/// Sleeps while nobody polls anything.
fn sleep(shared: &Shared) {
    shared.monitor.fall_asleep();
    if is_idle(shared) {
        while shared.monitor.is_asleep() && !shared.is_ending() {
            thread::park();
        }
    }
    shared.monitor.stay_awake();
}

/// Whether nobody polls. This is exact after the fence in `Doorbell::fall_asleep`.
fn is_idle(shared: &Shared) -> bool {
    let nobody_runs_tasks = shared.config.is_current_thread() && !shared.callers.has_lease();
    let workers_sleep = nobody_runs_tasks || shared.idle.all_asleep();
    let is_polling = |caller: &Arc<Caller>| caller.progress.polled() != 0;
    workers_sleep && !shared.callers.list().iter().any(is_polling)
}
