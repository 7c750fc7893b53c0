//! The monitor: a thread that runs no tasks and looks after those that do.
//!
//! A worker in the midst of a long poll cannot help itself: what waits in its
//! queue, and the seat if it has just left it, must go to another. A poll that goes
//! on for too long is reported, once, while it is still stuck. While the
//! runtime is busy the monitor looks at it once a tick; when nothing happens it
//! sleeps, and an idle runtime makes no system calls. (Go's sysmon is the same
//! idea.)

use crate::scheduler::{Remote, Shared, TICK};
use crate::sync::{Arc, Ordering, contain, discard, fence, thread, wake};

/// After so many ticks in which nothing was polled the monitor sleeps.
const QUIET_TICKS_MAX: u32 = 10;

/// The main function of the monitor's thread.
pub(crate) fn main(shared: Arc<Shared>) {
    let driver = &shared.driver;
    let mut quiet_ticks = 0;
    loop {
        if quiet_ticks == QUIET_TICKS_MAX {
            quiet_ticks = 0;
            sleep(&shared);
        }
        thread::park_timeout(TICK);
        if shared.is_shutdown() {
            break;
        }
        let mut stranded = !shared.injector.is_empty();
        quiet_ticks += 1;
        for (worker, remote) in shared.remotes.iter().enumerate() {
            if remote.stepped.swap(false, Ordering::Relaxed) {
                quiet_ticks = 0;
            } else if !shared.idle.is_asleep(worker) {
                stranded |= remote.local.len() > 0;
                report_if_stuck(&shared, remote);
            }
        }
        let looked = driver.looked.swap(false, Ordering::Relaxed);
        let unwatched = !looked && driver.holder().is_none() && driver.is_needed();
        if stranded || unwatched {
            shared.wake_another();
        }
        if unwatched && !shared.idle.any_asleep() {
            // All are busy, or stuck: this serves at least those who are no tasks.
            let (mut wakers, seat) = (Vec::new(), driver.take_seat().into_iter());
            seat.for_each(|seat| seat.wait(None, &shared.idle, &mut wakers));
            wakers.into_iter().for_each(wake);
            // A worker that fell asleep meanwhile found the seat taken.
            shared.watch();
        }
    }
}

/// Counts another tick in the same step; when that makes the limit, the task is reported.
/// Acquire pairs with the Release in `Worker::step`, where `stepped` was set before.
fn report_if_stuck(shared: &Shared, remote: &Remote) {
    let ticks = remote.stuck.fetch_add(1, Ordering::Relaxed) + 1;
    if ticks as u128 != shared.config.long_poll_limit.as_nanos().div_ceil(TICK.as_nanos()) {
        return;
    }
    let polled = remote.polled.load(Ordering::Acquire);
    let tasks = shared.tasks(|id| id.0 == polled);
    let same_step = !remote.stepped.load(Ordering::Relaxed);
    for task in tasks.iter().filter(|_| same_step) {
        contain(|| (shared.config.on_long_poll)(task)).unwrap_or_else(discard);
    }
}

/// Sleeps while all workers do. The fence pairs with that in `Doorbell::ring`.
fn sleep(shared: &Shared) {
    let asleep = &shared.monitor.asleep;
    asleep.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    let idle = shared.idle.all_asleep();
    while idle && asleep.load(Ordering::Relaxed) && !shared.is_shutdown() {
        thread::park();
    }
    asleep.store(false, Ordering::Relaxed);
}
