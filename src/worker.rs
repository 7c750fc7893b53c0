//! The loop: find work, poll it, sleep.
//!
//! A worker is a place to run tasks, with a queue of its own. It is run by its
//! own thread or, while that sleeps, by a thread that is in `block_on` (see
//! `guest.rs`). What wakes a sleeping worker, and who does it:
//!
//! | what happened                        | who wakes it                          |
//! |--------------------------------------|---------------------------------------|
//! | an event or a deadline               | the kernel, if it sleeps in the seat  |
//! | a runnable came, and all slept       | whoever pushed it into the injector   |
//! | another worker's queue stands        | that worker, see `share_load`         |
//! | another worker is stuck in one poll  | the monitor                           |
//! | the future of `block_on` was woken   | its waker, for the worker it runs     |
//! | the runtime ends                     | `Shared::shut_down`                   |

use crate::context;
use crate::coop;
use crate::driver::Seat;
use crate::scheduler::{Runnable, Shared, Worker};
use crate::sync::{Arc, Ordering, wake};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

/// For how long a worker's queue may stand, never once empty, before another
/// worker is woken to share it. Waking costs some microseconds on both sides,
/// and moves data to another core's caches.
const STANDING_QUEUE_MAX: Duration = Duration::from_micros(200);

impl Worker {
    /// The life of a worker's own thread; it begins asleep.
    pub(crate) fn run_resident(&self) {
        self.park();
        self.shared.monitor.ring();
        while !self.shared.is_shutdown() {
            self.step(&|| self.shared.is_shutdown());
        }
        // A guest may still run this worker; it leaves when its poll ends.
        while self.is_lent() {
            thread::park();
        }
        self.active.set(false);
    }

    /// Polls one task, or sleeps until there is one or `stop` says so.
    pub(crate) fn step(&self, stop: &impl Fn() -> bool) {
        let left = self.until_look.get() - 1;
        self.until_look.set(left);
        let first = if left == 0 { self.look() } else { None };
        match first.or_else(|| self.next()) {
            Some(runnable) => self.poll(runnable),
            None => self.sleep(stop),
        }
    }

    /// Looks at the kernel and the clock, without waiting, and at the injector:
    /// a queue that is never empty must not keep a worker from any of them.
    fn look(&self) -> Option<Runnable> {
        self.until_look.set(self.shared.config.event_interval);
        let driver = &self.shared.driver;
        if let Some(seat) = driver.take_seat().filter(|_| driver.is_needed()) {
            seat.look(&mut self.turn.borrow_mut());
            self.dispatch();
        }
        self.shared.injector.pop().ok()
    }

    fn next(&self) -> Option<Runnable> {
        let (shared, local) = (&*self.shared, &self.remote().local);
        let workers = shared.remotes.len();
        let popped = local.pop(&self.slot_streak);
        if popped.is_some() {
            return popped;
        }
        self.standing_since.set(None);
        self.polls_standing.set(0);
        let refilled = local.refill(&shared.injector, workers);
        refilled.or_else(|| {
            let first = fastrand::usize(..workers);
            let victims = (0..workers).map(|offset| (first + offset) % workers);
            let mut others = victims.filter(|&victim| victim != self.index);
            others.find_map(|victim| {
                local.steal_from(&shared.remotes[victim].local, &shared.injector)
            })
        })
    }

    fn poll(&self, runnable: Runnable) {
        self.share_load();
        self.count_poll();
        coop::budget(|| runnable.run());
    }

    /// Tells the monitor that this worker is not stuck. (No other thread writes
    /// the count.)
    pub(crate) fn count_poll(&self) {
        let polls = &self.remote().polls;
        let count = polls.load(Ordering::Relaxed).wrapping_add(1);
        polls.store(count, Ordering::Relaxed);
    }

    /// Wakes another worker when this one's queue has been standing for too
    /// long. The clock is read before the 1st, 2nd, 3rd, 5th, 9th ... poll, and
    /// before every 64th, so that it costs little when polls are short and is
    /// read at once when they are long.
    fn share_load(&self) {
        let polls = self.polls_standing.get();
        self.polls_standing.set(polls.wrapping_add(1));
        let due = polls & polls.wrapping_sub(1) == 0 || polls.is_multiple_of(64);
        if due && self.shared.idle.any_asleep() && self.remote().local.has_waiting() {
            let now = Instant::now();
            let since = self.standing_since.get().unwrap_or(now);
            let stands = now - since >= STANDING_QUEUE_MAX;
            if stands {
                self.shared.wake_another();
            }
            self.standing_since
                .set(Some(if stands { now } else { since }));
        }
    }

    /// Steps S1 to S3 of the sleep protocol (`idle.rs`), and the sleep.
    fn sleep(&self, stop: &impl Fn() -> bool) {
        let shared = &self.shared;
        shared.idle.fall_asleep(self.index);
        if stop() || !shared.injector.is_empty() {
            if !self.wake_up() {
                self.park();
            }
        } else {
            self.active.set(self.is_guest);
            match shared.driver.take_seat() {
                None => self.park(),
                Some(seat) => self.wait(seat),
            }
        }
        shared.monitor.ring();
    }

    /// Sleeps in the seat.
    fn wait(&self, seat: Seat<'_>) {
        let (shared, index) = (&self.shared, self.index);
        let woken = || !shared.idle.is_asleep(index);
        seat.sleep(index, woken, &mut self.turn.borrow_mut());
        let mine = self.wake_up();
        self.dispatch();
        if !mine {
            // A guest runs this worker. If it went to sleep while this thread
            // was still in the seat, then it found the seat taken, and whoever
            // woke the worker since has notified the seat instead of it.
            shared.unpark_thread(index);
            shared.watch();
            self.park();
        }
    }

    /// Clears this worker's bit. False: a guest runs the worker now, and the
    /// bit is the guest's.
    fn wake_up(&self) -> bool {
        // Not the bit of a guest that sleeps, nor one that it has just left set.
        let free = !self.is_lent();
        let woke = free && self.shared.idle.wake(self.index);
        let mine = free && !self.is_lent();
        if woke && !mine {
            // Between the two a guest came and fell asleep: it was its bit.
            self.shared.unpark(self.index);
        }
        self.active.set(mine);
        mine
    }

    /// Whether a guest runs this worker, instead of this thread.
    fn is_lent(&self) -> bool {
        // SeqCst: see `Shared::lend`.
        !self.is_guest && self.remote().lent.load(Ordering::SeqCst)
    }

    /// Sleeps until somebody wakes this worker, and no guest runs it.
    fn park(&self) {
        let sleeps = || self.shared.idle.is_asleep(self.index) || self.is_lent();
        while sleeps() && !self.shared.is_shutdown() {
            thread::park();
        }
        self.active.set(true);
    }

    fn dispatch(&self) {
        self.dispatching.set(true);
        self.turn.borrow_mut().wakers.drain(..).for_each(wake);
        self.dispatching.set(false);
    }
}

/// The main function of a worker's own thread.
pub(crate) fn main(shared: Arc<Shared>, index: usize) {
    let worker = Rc::new(Worker::new(shared.clone(), index, false));
    let _context = context::enter_worker(shared, Some(worker.clone()));
    worker.run_resident();
}
