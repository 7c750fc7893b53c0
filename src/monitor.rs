//! The monitor: a thread that runs no tasks and looks after those that do.
//!
//! A worker in the midst of a long poll cannot help itself: what waits in its
//! queue, and the seat if it has just left it, must go to another. While the
//! runtime is busy the monitor looks at it once a tick; when nothing happens it
//! sleeps, and an idle runtime makes no system calls. (Go's sysmon is the same
//! idea.)

use crate::scheduler::Shared;
use crate::sync::{Arc, Ordering, fence, wake};
use std::{thread, time::Duration};

/// How long a worker may be in one step before what waits behind it is given
/// to others. A look takes some microseconds, and takes them from a worker.
const TICK: Duration = Duration::from_millis(5);
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
