//! The monitor: a thread that runs no tasks and looks after those that do.
//!
//! A worker in the midst of a long poll cannot help itself: what waits in its
//! queue, and the seat if it has just left it, must go to another. While the
//! runtime is busy the monitor looks at it once a tick; when nothing happens it
//! sleeps, and an idle runtime makes no system calls. (Go's sysmon is the same
//! idea.)

use crate::driver::Turn;
use crate::scheduler::Shared;
use crate::sync::{Ordering, fence, wake};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// How long a worker may be in one poll before what waits behind it is given
/// to others. A look takes some microseconds.
const TICK: Duration = Duration::from_millis(1);

/// After so many ticks in which nothing was polled the monitor sleeps.
const QUIET_TICKS_MAX: u32 = 10;

/// The main function of the monitor's thread.
pub(crate) fn main(shared: Arc<Shared>) {
    let polls = vec![0; shared.remotes.len()];
    let mut monitor = Monitor {
        shared,
        polls,
        turn: Turn::new(),
        turns: 0,
        quiet: 0,
    };
    while !monitor.shared.is_shutdown() {
        if monitor.quiet < QUIET_TICKS_MAX || !monitor.sleep() {
            thread::park_timeout(TICK);
        }
        monitor.tick();
    }
}

struct Monitor {
    shared: Arc<Shared>,
    /// What each worker's count of polls was a tick ago.
    polls: Vec<usize>,
    turn: Turn,
    /// What the driver's count of turns was a tick ago.
    turns: usize,
    quiet: u32,
}

impl Monitor {
    /// Sleeps until a worker wakes up. False: one is awake.
    fn sleep(&mut self) -> bool {
        let shared = &self.shared;
        shared.monitor.asleep.store(true, Ordering::Relaxed);
        // Pairs with the fence in `Doorbell::ring`: either that worker sees the
        // monitor asleep, or this sees the worker awake.
        fence(Ordering::SeqCst);
        let idle = shared.idle.all_asleep() && !shared.blocking.is_stranded();
        while idle && shared.monitor.asleep.load(Ordering::Relaxed) && !shared.is_shutdown() {
            thread::park();
        }
        shared.monitor.asleep.store(false, Ordering::Relaxed);
        self.quiet = 0;
        idle
    }

    fn tick(&mut self) {
        let shared = self.shared.clone();
        let asleep: Vec<usize> = shared.idle.sleeping().collect();
        let mut polled = false;
        let mut stranded = false;
        for (index, remote) in shared.remotes.iter().enumerate() {
            let polls = remote.polls.load(Ordering::Relaxed);
            let stuck = polls == std::mem::replace(&mut self.polls[index], polls);
            polled |= !stuck;
            if stuck && !asleep.contains(&index) {
                remote.local.spill_slot(&shared.injector);
                stranded |= !remote.local.is_empty();
            }
        }
        self.quiet = if polled { 0 } else { self.quiet + 1 };
        let turns = shared.driver.turns();
        let unwatched = turns == std::mem::replace(&mut self.turns, turns)
            && shared.driver.holder().is_none()
            && shared.driver.is_needed();
        if asleep.is_empty() {
            // All are busy, or stuck: wake at least those who are not tasks.
            if unwatched {
                self.look();
            }
        } else if stranded || unwatched || !shared.injector.is_empty() {
            shared.wake_another();
        }
        shared.blocking.grow(&shared);
    }

    fn look(&mut self) {
        if let Some(seat) = self.shared.driver.take_seat() {
            seat.look(&mut self.turn);
        }
        self.turn.wakers.drain(..).for_each(wake);
        // A worker that fell asleep meanwhile found the seat taken.
        self.shared.watch();
    }
}
