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
use crate::driver::{Seat, Turn};
use crate::scheduler::{Here, Runnable, Shared};
use crate::sync::{Ordering, wake};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// For how long a worker's queue may stand, never once empty, before another
/// worker is woken to share it. Waking costs some microseconds on both sides,
/// and moves data to another core's caches.
const STANDING_QUEUE_MAX: Duration = Duration::from_micros(200);

pub(crate) struct Worker {
    here: Rc<Here>,
    /// Runs on a thread in `block_on`, not on the worker's own.
    is_guest: bool,
    /// Polls until the next look at the kernel, the clock and the injector.
    until_look: Cell<u32>,
    slot_streak: Cell<u32>,
    /// Since when the queue has not been empty, as far as somebody cares.
    standing_since: Cell<Option<Instant>>,
    /// Polls since the queue was last empty.
    polls_standing: Cell<u32>,
    turn: RefCell<Turn>,
}

impl Worker {
    pub(crate) fn new(here: Rc<Here>, is_guest: bool) -> Self {
        Self {
            is_guest,
            until_look: Cell::new(here.shared.config.event_interval),
            here,
            slot_streak: Cell::new(0),
            standing_since: Cell::new(None),
            polls_standing: Cell::new(0),
            turn: RefCell::new(Turn::new()),
        }
    }

    /// The life of a worker's own thread; it begins asleep.
    pub(crate) fn run_resident(&self) {
        self.park();
        self.here.shared.monitor.ring();
        while !self.here.shared.is_shutdown() {
            self.step(&|| self.here.shared.is_shutdown());
        }
        // A guest may still run this worker; it leaves when its poll ends.
        while self.here.remote().lent.load(Ordering::SeqCst) {
            thread::park();
        }
        self.here.active.set(false);
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
        self.until_look.set(self.here.shared.config.event_interval);
        if self.here.shared.driver.is_needed() {
            if let Some(seat) = self.here.shared.driver.take_seat() {
                seat.look(&mut self.turn.borrow_mut());
                self.dispatch();
            }
        }
        self.here.shared.injector.pop().ok()
    }

    fn next(&self) -> Option<Runnable> {
        let local = &self.here.remote().local;
        if let Some(runnable) = local.pop(&self.slot_streak) {
            return Some(runnable);
        }
        self.standing_since.set(None);
        self.polls_standing.set(0);
        let shared = &self.here.shared;
        local
            .refill(&shared.injector, shared.config.workers)
            .or_else(|| self.steal())
    }

    fn steal(&self) -> Option<Runnable> {
        let workers = self.here.shared.remotes.len();
        let first = fastrand::usize(..workers);
        let others = (first..workers)
            .chain(0..first)
            .filter(|&index| index != self.here.index);
        others.into_iter().find_map(|other| {
            let victim = &self.here.shared.remotes[other].local;
            self.here
                .remote()
                .local
                .steal_from(victim, &self.here.shared.injector)
        })
    }

    fn poll(&self, runnable: Runnable) {
        self.share_load();
        self.count_poll();
        coop::budget(|| runnable.run());
    }

    /// Tells the monitor that this worker is not stuck.
    pub(crate) fn count_poll(&self) {
        let polls = &self.here.remote().polls;
        // This thread is the only one that writes it.
        polls.store(
            polls.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
    }

    /// Wakes another worker when this one's queue has been standing for too
    /// long. The clock is read before the 1st, 2nd, 3rd, 5th, 9th ... poll, and
    /// before every 64th, so that it costs little when polls are short and is
    /// read at once when they are long.
    pub(crate) fn share_load(&self) {
        let polls = self.polls_standing.get();
        self.polls_standing.set(polls.wrapping_add(1));
        if !(polls & (polls.wrapping_sub(1)) == 0 || polls % 64 == 0) {
            return;
        }
        if !self.here.shared.idle.any_asleep() || !self.here.remote().local.has_waiting() {
            return;
        }
        let now = Instant::now();
        match self.standing_since.get() {
            None => self.standing_since.set(Some(now)),
            Some(since) if now - since >= STANDING_QUEUE_MAX => {
                self.standing_since.set(Some(now));
                self.here.shared.wake_another();
            }
            Some(_) => {}
        }
    }

    /// Steps S1 to S3 of the sleep protocol (`idle.rs`), and the sleep.
    fn sleep(&self, stop: &impl Fn() -> bool) {
        let shared = &self.here.shared;
        shared.idle.fall_asleep(self.here.index);
        if stop() || !shared.injector.is_empty() {
            if !self.wake_up() {
                self.park();
            }
        } else {
            self.here.active.set(self.is_guest);
            match shared.driver.take_seat() {
                None => self.park(),
                Some(seat) => self.wait(seat),
            }
        }
        shared.monitor.ring();
    }

    /// Sleeps in the seat.
    fn wait(&self, seat: Seat<'_>) {
        let (shared, index) = (&self.here.shared, self.here.index);
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
        // SeqCst: see `Shared::lend`.
        let is_lent = || !self.is_guest && self.here.remote().lent.load(Ordering::SeqCst);
        let mut lent = is_lent();
        if !lent && self.here.shared.idle.wake(self.here.index) {
            lent = is_lent();
            if lent {
                // Between the two a guest came and fell asleep: it was its bit.
                self.here.shared.unpark(self.here.index);
            }
        }
        self.here.active.set(!lent);
        !lent
    }

    /// Sleeps until somebody wakes this worker, and no guest runs it.
    fn park(&self) {
        loop {
            let asleep = self.here.shared.idle.is_asleep(self.here.index);
            let lent = !self.is_guest && self.here.remote().lent.load(Ordering::SeqCst);
            if !asleep && !lent || self.here.shared.is_shutdown() {
                break;
            }
            thread::park();
        }
        self.here.active.set(true);
    }

    fn dispatch(&self) {
        self.here.dispatching.set(true);
        self.turn.borrow_mut().wakers.drain(..).for_each(wake);
        self.here.dispatching.set(false);
    }
}

/// The main function of a worker's own thread.
pub(crate) fn main(shared: Arc<Shared>, index: usize) {
    let here = Rc::new(Here::new(shared.clone(), index));
    let _context = context::enter_worker(shared, Some(here.clone()));
    Worker::new(here, false).run_resident();
}
