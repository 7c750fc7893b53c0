//! The monitor: a thread that runs no tasks and watches over the threads that do.
//!
//! A worker in a long poll cannot help itself. What waits in its queue must go to another worker,
//! and so must the wait for the kernel, if nobody sits. A poll that lasts for too long is
//! reported, once, while it still lasts.
//!
//! The monitor looks at a busy runtime once a millisecond, and more rarely if every worker is on
//! the move. When nothing happens for a while it sleeps, so that an idle runtime makes no system
//! calls. While the runtime ends, and a poll goes on, it looks ever more rarely, at last every 16
//! ms: the poll may go on for ever. (Go's sysmon is the same idea.)

use crate::scheduler::{shared::Shared, shared::TICK, shared::WorkerShared};
use crate::sync::{Arc, Duration, Instant, Ordering, fence, lock, thread};
use crate::{config::Builder, registry, registry::TaskState};

/// After this many ticks in which no poll has begun, the monitor sleeps if all workers do. A
/// program with pauses of a few milliseconds should not pay for a wake-up of the monitor after each
/// of them.
const QUIET_TICKS_MAX: u32 = 20;

/// The next tick comes after this time if nobody needs the monitor. A tick takes 20 to 40 µs of a
/// core on a virtual machine. If there were 1,000 a second, that would be 2 to 4 %.
///
/// * If every worker has moved since the last tick, none is stuck, and none has slept all the
///   while. The first that runs out of work takes that of the others.
/// * If polls are long, a worker calls a helper before each poll if nobody waits for the
///   kernel or if a task waits, and what is queued meanwhile goes into the injector. So a worker
///   that gets stuck holds up little but its own task.
///
/// A poll that gets stuck meanwhile is reported up to 7 ms late.
const BUSY_TICK: Duration = Duration::from_millis(4);

/// Two ticks are at least this far apart, also where the clock stands still, as in models.
const STEP_MIN: Duration = Duration::from_nanos(1);

/// The main function of the monitor's thread.
pub(crate) fn main(shared: &Arc<Shared>) {
    shared.monitor.thread.get_or_init(thread::current);
    let mut mains = registry::Watch::default();
    let (mut quiet_ticks, mut tick, mut last) = (0, TICK, Instant::now());
    // A poll that goes on holds the end of the runtime up. So it is still watched then.
    let polls = || shared.workers.iter().any(|it| it.polled.load(Ordering::Relaxed) != 0);
    while !shared.is_ending() || polls() {
        if quiet_ticks == QUIET_TICKS_MAX {
            quiet_ticks = 0;
            sleep(shared);
        }
        thread::park_timeout(tick);
        // If the tick is far too late, this thread had no core, and no poll is to blame for that.
        let step = std::mem::replace(&mut last, Instant::now()).elapsed().clamp(STEP_MIN, 2 * tick);
        let Builder { long_poll_limit: limit, on_long_poll, .. } = &shared.config;
        let mains_poll = mains.look(&shared.mains, *limit, step, on_long_poll);
        let (moved, stuck) = watch_workers(shared, step);
        quiet_ticks = if moved > 0 || mains_poll { 0 } else { quiet_ticks + 1 };
        let is_needless = moved == shared.workers.len() || shared.mean_poll.is_long();
        // A poll that the end does not wait for any longer may go on for ever.
        let next = (2 * tick * u32::from(shared.is_ending())).clamp(TICK, 16 * TICK);
        tick = if is_needless && stuck == 0 && !mains_poll { BUSY_TICK } else { next };
        if moved == 0 {
            watch_kernel(shared);
        }
    }
}

/// Helps the workers that have not moved since the last tick, and what is in the injector, as that
/// may have waited for as long. Returns how many workers have moved, and how many are stuck.
fn watch_workers(shared: &Shared, step: Duration) -> (usize, usize) {
    let (mut moved, mut stuck) = (0, 0);
    let mut is_stranded = !shared.injector.is_empty();
    for (index, worker) in shared.workers.iter().enumerate() {
        if worker.stuck.tick(step) {
            moved += 1;
        } else if shared.idle.asleep() & 1 << index == 0 {
            stuck += 1;
            is_stranded |= worker.queue.len() > 0;
            report_if_stuck(shared, worker, step);
        }
    }

    if is_stranded {
        shared.call_helper();
    }
    (moved, stuck)
}

/// Reports the task that the worker polls, when that has lasted for as long as the limit says.
fn report_if_stuck(shared: &Shared, worker: &WorkerShared, step: Duration) {
    if !worker.stuck.has_reached(shared.config.long_poll_limit, step, &shared.config.on_long_poll) {
        return;
    }

    // Acquire pairs with the Release in `Worker::run_one`: if this is the id of a later task, the
    // turn that it began with is seen as well, and nothing is reported.
    let polled = worker.polled.load(Ordering::Acquire);
    let mut tasks = shared.tasks().into_iter();
    if let Some(task) = tasks.find(|task| task.id.0 == polled && !worker.stuck.has_moved())
        && !shared.config.on_long_poll.report(task)
    {
        worker.stuck.try_again(step);
    }
}

/// Sees to it that some thread looks at the kernel. A worker that moves does so itself.
fn watch_kernel(shared: &Shared) {
    if shared.idle.asleep() != 0 && !shared.idle.any_seated() && shared.driver.is_needed() {
        return shared.call_helper();
    }

    // Nobody can be called, or need be. If all are stuck, this serves those who are no tasks.
    shared.driver.look(&mut Vec::new(), || shared.idle.any_seated());
}

/// Sleeps while nothing is polled. The fence pairs with the one in `Doorbell::ring`.
///
/// A future in `block_on` is in no queue. It counts a step before each poll and one after it, so
/// that its state reads as "queued" while it is being polled.
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
