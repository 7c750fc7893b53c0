//! The monitor: a thread that runs no tasks and watches over the threads that do.
//!
//! A worker in a long poll cannot help itself. What waits in its queue must go to another worker,
//! and so must the wait for the kernel, if nobody has the seat. A poll that lasts for too long is
//! reported, once, while it still lasts.
//!
//! The monitor looks once a millisecond while some workers move and others do not. While all of
//! them move it looks once in 4 ms, and while none moves ever more rarely, down to once in 16 ms.
//! When nothing is polled for a while it sleeps, so that an idle runtime makes no system calls. The
//! idea is that of Go's sysmon.

use crate::panic::wake;
use crate::registry::TaskInfo;
use crate::scheduler::lease::Sighting;
use crate::scheduler::shared::{Shared, WorkerShared};
use crate::sync::{Arc, Duration, Instant, Ordering, fence, thread};

/// How often the monitor looks at a runtime that needs it.
const TICK: Duration = Duration::from_millis(1);

/// How often it looks if every worker has moved since the last time: none is stuck, and the first
/// that runs out of work takes that of the others. A look takes 20 to 40 µs of a core on a virtual
/// machine, which would be 2 to 4 % if there were 1,000 a second.
const BUSY_TICK: Duration = Duration::from_millis(4);

/// How rarely it looks, at last, if nobody moves. Polls that are stuck may go on for ever. And a
/// program with pauses of a few milliseconds should not pay for a wake-up of the monitor after each
/// of them: so it sleeps only after the ticks have become as long as this.
const TICK_MAX: Duration = Duration::from_millis(16);

/// The main function of the monitor's thread.
pub(crate) fn main(shared: &Arc<Shared>) {
    shared.monitor.thread.get_or_init(thread::current);
    let is_polling = |worker: &WorkerShared| worker.polled.load(Ordering::Relaxed) != 0;
    let mut tick = TICK;

    // A poll that goes on holds the end of the runtime up. So it is still watched then.
    while !shared.is_ending() || shared.workers.iter().any(is_polling) {
        let before = Instant::now();
        thread::park_timeout(tick);

        // If the tick is far too late, this thread had no core, and no poll is to blame for that.
        // The clock of a model stands still: there a tick takes a nanosecond.
        let step = before.elapsed().clamp(Duration::from_nanos(1), 2 * tick);

        // Who needs no help costs little.
        tick = match look(shared, step) {
            Seen::AllMove => BUSY_TICK,
            Seen::SomeMove => TICK,
            Seen::Quiet if tick == TICK_MAX => {
                sleep(shared);
                TICK
            }
            Seen::AllStuck | Seen::Quiet => TICK_MAX.min(2 * tick),
        };
    }
}

/// What the monitor has seen at a tick.
enum Seen {
    /// Each worker has begun a turn since the last tick.
    AllMove,
    /// Some worker has begun a turn. Another one sleeps, or is stuck and may have to be helped.
    SomeMove,
    /// No worker has begun a turn, and some thread is in a poll.
    AllStuck,
    /// Nothing is polled that would have to be watched.
    Quiet,
}

/// One tick, this long after the one before.
fn look(shared: &Shared, step: Duration) -> Seen {
    let mut moved = 0;
    let mut stuck = 0;
    for (index, worker) in shared.workers.iter().enumerate() {
        // It counts its turns. One that has begun none may sleep.
        let turn = worker.turn.load(Ordering::Relaxed);
        if worker.sighting.has_moved(turn) {
            moved += 1;
        } else if shared.sleepers.is_running(index) {
            stuck += 1;
            worker.sighting.stays(step);
            let describe = || stuck_task(shared, worker, turn);
            report_if_due(shared, &worker.sighting, turn, describe);
        }
    }

    // The futures in `block_on` are watched in the same way.
    let mut is_watched = false;
    for main in shared.mains.all() {
        let steps = main.steps();
        if !main.sighting.has_moved(steps) && main.is_watched() {
            main.sighting.stays(step);
            report_if_due(shared, &main.sighting, steps, || Some(main.describe()));
        }
        is_watched |= main.is_watched();
    }
    relieve_stuck_workers(shared, stuck > 0);

    // A worker that moves looks at the kernel itself, after some polls.
    if moved == 0 {
        watch_kernel(shared);
    }
    match moved {
        0 if stuck > 0 || is_watched => Seen::AllStuck,
        0 => Seen::Quiet,
        _ if moved == shared.workers.len() => Seen::AllMove,
        _ => Seen::SomeMove,
    }
}

/// Reports the poll that `describe` finds, when that has lasted for as long as the limit says.
fn report_if_due(
    shared: &Shared,
    sighting: &Sighting,
    turn: u64,
    describe: impl FnOnce() -> Option<TaskInfo>,
) {
    if sighting.time() < shared.config.long_poll_limit || sighting.is_reported(turn) {
        return;
    }

    // If the hook is busy, the next tick tries again.
    if shared.config.on_long_poll.report(describe) {
        sighting.set_reported(turn);
    }
}

/// What is in a queue of a stuck worker, or in the injector at a tick, may wait for long.
fn relieve_stuck_workers(shared: &Shared, any_stuck: bool) {
    shared.any_stuck.store(any_stuck, Ordering::Relaxed);
    let strands = |worker: &WorkerShared| worker.is_stuck() && worker.queue.len() > 0;
    if shared.workers.iter().any(strands) || !shared.injector.is_empty() {
        shared.call_helper();
    }
}

/// Describes the task that a stuck worker polls. `None` if it has gone on meanwhile.
fn stuck_task(shared: &Shared, worker: &WorkerShared, turn: u64) -> Option<TaskInfo> {
    // Acquire pairs with the Release in `Worker::poll`: if this is the id of a later task, the
    // turn that it began with is seen as well.
    let polled = worker.polled.load(Ordering::Acquire);
    let mut tasks = shared.describe_tasks().into_iter();
    let task = tasks.find(|task| task.id.0 == polled)?;

    if worker.turn.load(Ordering::Relaxed) == turn { Some(task) } else { None }
}

/// Makes sure that some thread looks at the kernel, as no worker moves.
pub(crate) fn watch_kernel(shared: &Shared) {
    let sleepers = &shared.sleepers;
    if !shared.driver.is_needed() || sleepers.is_seat_taken() {
        return;
    }
    if sleepers.any_asleep() {
        return shared.call_helper();
    }

    // All are stuck. A task that is woken here waits for a worker all the same, but a future in
    // `block_on` does not. If a worker takes the seat first, it looks.
    let mut wakers = Vec::new();
    if sleepers.take_seat() {
        shared.driver.look(&mut wakers);
        sleepers.leave_seat();
    }

    // The last worker may have fallen asleep meanwhile, and found the seat taken. This comes before
    // the wakers: one of them may block this thread.
    if sleepers.all_asleep() {
        shared.wake_one();
    }
    wakers.into_iter().for_each(wake);
}

/// Sleeps while nothing is polled.
pub(crate) fn sleep(shared: &Shared) {
    let asleep = &shared.monitor.asleep;
    asleep.store(true, Ordering::Relaxed);

    // This pairs with the fence in `Doorbell::ring`.
    fence(Ordering::SeqCst);

    // A poll in `block_on` that was reported already may go on for ever.
    let mut workers = 0..shared.workers.len();
    let any_runs = workers.any(|worker| shared.sleepers.is_running(worker));
    let is_busy = any_runs || shared.mains.all().iter().any(|main| main.is_watched());

    // Whoever rings clears the flag. An unpark alone may be left over.
    while !is_busy && asleep.load(Ordering::Relaxed) && !shared.is_ending() {
        thread::park();
    }
    asleep.store(false, Ordering::Relaxed);
}
