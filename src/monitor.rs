//! The monitor: a thread that runs no tasks and looks after those that do.
//!
//! A worker in the midst of a long poll cannot help itself: what waits in its
//! queue, and the seat if it has just left it, must go to another. While the
//! runtime is busy the monitor looks at it once a tick; when nothing happens it
//! sleeps, and an idle runtime makes no system calls. (Go's sysmon is the same
//! idea.)

use crate::driver::Turn;
use crate::scheduler::Shared;
use crate::sync::{Arc, Ordering, fence, wake};
use std::thread;
use std::time::Duration;

/// How long a worker may be in one poll before what waits behind it is given
/// to others. A look takes some microseconds.
const TICK: Duration = Duration::from_millis(1);

/// After so many ticks in which nothing was polled the monitor sleeps.
const QUIET_TICKS_MAX: u32 = 10;

/// So often the `blocking` crate is asked to try and start a thread again, if
/// jobs wait. It does so by itself only when a job comes.
const TICKS_PER_RETRY: usize = 128;

/// The main function of the monitor's thread.
pub(crate) fn main(shared: Arc<Shared>) {
    // What the counts of polls and of the driver's turns were a tick ago.
    let mut polls_before = vec![0; shared.remotes.len()];
    let mut turns_before = 0;
    let mut quiet_ticks = 0;
    for tick in 0_usize.. {
        if quiet_ticks == QUIET_TICKS_MAX {
            quiet_ticks = 0;
            sleep(&shared);
        }
        thread::park_timeout(TICK);
        if shared.is_shutdown() {
            break;
        }
        let (mut polled, mut stranded) = (false, !shared.injector.is_empty());
        for (worker, before) in polls_before.iter_mut().enumerate() {
            let remote = &shared.remotes[worker];
            let polls = remote.polls.load(Ordering::Relaxed);
            let stuck = polls == std::mem::replace(before, polls);
            polled |= !stuck;
            if stuck && !shared.idle.is_asleep(worker) {
                stranded |= remote.local.spill_slot(&shared.injector) || remote.local.has_waiting();
            }
        }
        quiet_ticks = if polled { 0 } else { quiet_ticks + 1 };
        let driver = &shared.driver;
        let turned = driver.turns() != std::mem::replace(&mut turns_before, driver.turns());
        let unwatched = !turned && driver.holder().is_none() && driver.is_needed();
        if stranded || unwatched {
            shared.wake_another();
        }
        if unwatched && !shared.idle.any_asleep() {
            look(&shared);
        }
        if shared.jobs.are_waiting() && tick.is_multiple_of(TICKS_PER_RETRY) {
            blocking::unblock(|| ()).detach();
        }
    }
}

/// Sleeps while all workers do and no jobs wait for a thread.
fn sleep(shared: &Shared) {
    let asleep = &shared.monitor.asleep;
    asleep.store(true, Ordering::Relaxed);
    // Pairs with the fence in `Doorbell::ring`.
    fence(Ordering::SeqCst);
    let idle = shared.idle.all_asleep() && !shared.jobs.are_waiting();
    while idle && asleep.load(Ordering::Relaxed) && !shared.is_shutdown() {
        thread::park();
    }
    asleep.store(false, Ordering::Relaxed);
}

/// All workers are busy, or stuck: serves at least those who are no tasks.
fn look(shared: &Shared) {
    let mut turn = Turn::new();
    if let Some(seat) = shared.driver.take_seat() {
        seat.look(&mut turn);
    }
    turn.wakers.into_iter().for_each(wake);
    // A worker that fell asleep meanwhile found the seat taken.
    shared.watch();
}
