//! The monitor: a thread that runs no tasks and watches over the threads that do.
//!
//! A worker in a long poll cannot help itself. What waits in its queue must go to another worker,
//! and so must the wait for the kernel, if nobody has the seat.
//!
//! The monitor looks once a millisecond while some workers move and others do not. While all of
//! them move it looks once in 4 ms, and while none moves ever more rarely, down to once in 16 ms.
//! When nothing is polled for a while it sleeps, so that an idle runtime makes no system calls. The
//! idea is that of Go's sysmon.
//!
//! It calls no user's hook: one that blocks would leave the workers without help.

use crate::hooks::observed;
use crate::panic::wake;
use crate::scheduler::shared::{Shared, WorkerShared};
use crate::scheduler::sleep::LOOKER;
use crate::sync::{Arc, Duration, Instant, Ordering, thread};
use std::mem::replace;

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
    let mut turns = vec![0; shared.workers.len()];
    let mut tick = TICK;

    // The end waits for a poll that goes on. What other threads in `block_on` wait for is still
    // watched then.
    while !shared.is_ending() || shared.crew.is_in_loop() {
        let before = Instant::now();
        thread::park_timeout(tick);

        // If the tick is far too late, this thread had no core, and no poll is to blame for that.
        // The clock of a model stands still: there a tick takes a nanosecond.
        let since = before.elapsed().clamp(Duration::from_nanos(1), 2 * tick);
        let (moved, any_stuck) = check_workers(shared, &mut turns);
        let is_watched = is_watched(shared, since);

        // A runtime that needs no help is looked at rarely.
        tick = if moved == shared.workers.len() {
            BUSY_TICK
        } else if moved > 0 {
            TICK
        } else if any_stuck || is_watched || tick < TICK_MAX {
            TICK_MAX.min(2 * tick)
        } else {
            sleep(shared);
            TICK
        };
    }
}

/// One tick: notes which workers are stuck, and sees to it that somebody helps them. Returns how
/// many workers have begun a turn since the last tick, and whether any is awake and has not.
fn check_workers(shared: &Shared, turns: &mut [u64]) -> (usize, bool) {
    // A worker that sleeps, and one that no thread runs, is neither.
    let mut moved = 0;
    for (index, worker) in shared.workers.iter().enumerate() {
        // It counts its turns. One that has begun none may sleep.
        let turn = worker.turn.load(Ordering::Relaxed);
        let has_moved = replace(&mut turns[index], turn) != turn;
        let is_stuck = !has_moved && shared.sleepers.is_awake(index);
        worker.is_stuck.store(is_stuck, Ordering::Relaxed);

        if has_moved {
            moved += 1;
        }
    }
    let any_stuck = shared.workers.iter().any(|worker| worker.is_stuck.load(Ordering::Relaxed));

    // What waits behind a stuck worker goes to another one.
    relieve_stuck_workers(shared, any_stuck);

    // A worker that moves looks at the kernel itself, after some polls. If it has begun a long one
    // since, the next tick finds it.
    if moved == 0 {
        watch_kernel(shared);
    }
    (moved, any_stuck)
}

/// Tells the observers of a tick. Returns whether any of them wants to hear of the next one.
fn is_watched(shared: &Shared, since: Duration) -> bool {
    observed!(arc_observe::tick(shared.id.0, since), {
        let _ = (shared, since);
        false
    })
}

/// What is in a queue of a stuck worker, or in the injector at a tick, may wait for a long time.
/// The second holds even if no worker is known to be stuck: that takes two ticks.
fn relieve_stuck_workers(shared: &Shared, any_stuck: bool) {
    shared.any_stuck.store(any_stuck, Ordering::Relaxed);
    let is_stuck = |worker: &WorkerShared| worker.is_stuck.load(Ordering::Relaxed);
    let strands = |worker: &WorkerShared| is_stuck(worker) && worker.queue.len() > 0;
    if shared.workers.iter().any(strands) || !shared.injector.is_empty() {
        shared.call_helper();
    }
}

/// Makes sure that some thread looks at the kernel, as no worker moves.
pub(crate) fn watch_kernel(shared: &Shared) {
    let sleepers = &shared.sleepers;
    if !shared.driver.is_needed() || sleepers.is_seat_taken() {
        return;
    }

    // A worker that wakes up for nothing takes the seat when it falls asleep again.
    if sleepers.any_asleep() {
        return shared.call_helper();
    }

    // All workers are stuck. A task that is woken here waits for a worker all the same, but a
    // future in `block_on` does not. If a worker takes the seat first, it looks.
    let mut wakers = Vec::new();
    if sleepers.take_seat(LOOKER) {
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

    // The question begins with a fence, which pairs with the one in `Doorbell::ring`.
    let any_runs = !shared.sleepers.all_asleep();
    let any_is_watched = is_watched(shared, Duration::ZERO);

    // Whoever rings clears the flag. An unpark alone may be left over.
    let is_busy = any_runs || any_is_watched;
    while !is_busy && asleep.load(Ordering::Relaxed) && !shared.is_ending() {
        thread::park();
    }

    // Perhaps nobody has rung: it was awake all the time, or the runtime ends.
    asleep.store(false, Ordering::Relaxed);
}
