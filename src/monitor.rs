//! The monitor: a thread that runs no tasks and looks after those that do.
//!
//! A worker in the midst of a long poll cannot help itself: what waits in its
//! queue, and the seat if it has just left it, must go to another. While the
//! runtime is busy the monitor looks at it once a tick; when nothing happens it
//! sleeps, and an idle runtime makes no system calls. (Go's sysmon is the same
//! idea.)

use crate::driver::Turn;
use crate::scheduler::Shared;
use crate::sync::{fence, wake};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// How long a worker may be in one poll before what waits behind it is given
/// to others. A look takes some microseconds.
const TICK: Duration = Duration::from_millis(1);

/// After so many ticks in which nothing was polled the monitor sleeps.
const QUIET_TICKS_MAX: u32 = 10;

/// So often the `blocking` crate is asked to try and start a thread again, if
/// jobs wait. It does so by itself only when a job comes.
const TICKS_PER_RETRY: u32 = 128;

/// The main function of the monitor's thread.
pub(crate) fn main(shared: Arc<Shared>) {
    let polls = vec![0; shared.remotes.len()];
    let mut monitor = Monitor {
        shared,
        polls,
        turn: Turn::new(),
        turns: 0,
        quiet: 0,
        ticks: 0,
    };
    while !monitor.shared.is_shutdown() {
        if monitor.quiet >= QUIET_TICKS_MAX {
            monitor.sleep();
        }
        thread::park_timeout(TICK);
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
    /// Ticks in a row in which nothing was polled.
    quiet: u32,
    ticks: u32,
}

impl Monitor {
    /// Sleeps while all workers do and no jobs wait for a thread.
    fn sleep(&mut self) {
        let shared = &self.shared;
        let asleep = &shared.monitor.asleep;
        asleep.store(true, Ordering::Relaxed);
        // Pairs with the fence in `Doorbell::ring`.
        fence(Ordering::SeqCst);
        if shared.idle.all_asleep() && shared.jobs.waiting.load(Ordering::Relaxed) == 0 {
            while asleep.load(Ordering::Relaxed) && !shared.is_shutdown() {
                thread::park();
            }
        }
        asleep.store(false, Ordering::Relaxed);
        self.quiet = 0;
    }

    fn tick(&mut self) {
        let shared = self.shared.clone();
        let (mut polled, mut stranded) = (false, !shared.injector.is_empty());
        for (index, remote) in shared.remotes.iter().enumerate() {
            let polls = remote.polls.load(Ordering::Relaxed);
            let stuck = polls == std::mem::replace(&mut self.polls[index], polls);
            polled |= !stuck;
            if stuck && !shared.idle.is_asleep(index) {
                stranded |= remote.local.spill_slot(&shared.injector) || remote.local.has_waiting();
            }
        }
        self.quiet = if polled { 0 } else { self.quiet + 1 };
        let turns = shared.driver.turns();
        let unwatched = turns == std::mem::replace(&mut self.turns, turns)
            && shared.driver.holder().is_none()
            && shared.driver.is_needed();
        if stranded || unwatched {
            shared.wake_another();
        }
        if unwatched && !shared.idle.any_asleep() {
            self.look();
        }
        self.ticks = self.ticks.wrapping_add(1);
        let jobs_wait = shared.jobs.waiting.load(Ordering::Relaxed) > 0;
        if jobs_wait && self.ticks.is_multiple_of(TICKS_PER_RETRY) {
            blocking::unblock(|| ()).detach();
        }
    }

    /// All workers are busy, or stuck: serves at least those who are no tasks.
    fn look(&mut self) {
        if let Some(seat) = self.shared.driver.take_seat() {
            seat.look(&mut self.turn);
        }
        self.turn.wakers.drain(..).for_each(wake);
        // A worker that fell asleep meanwhile found the seat taken.
        self.shared.watch();
    }
}
