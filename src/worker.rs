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
use crate::driver::Turn;
use crate::scheduler::{Remote, Runnable, Shared};
use crate::sync::{Ordering, wake};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// For how long a worker's queue may stand, never once empty, before another
/// worker is woken to share it. Waking costs some microseconds on both sides,
/// and moves data to another core's caches.
const STANDING_QUEUE_MAX: Duration = Duration::from_micros(200);

pub(crate) struct Worker {
    shared: Arc<Shared>,
    index: usize,
    /// Runs on a thread in `block_on`, not on the worker's own.
    is_guest: bool,
    /// This thread owns the worker now. Otherwise what it schedules goes to the
    /// injector, as from any other thread.
    active: Cell<bool>,
    /// What is woken now was woken by the kernel or the clock: first come,
    /// first served.
    dispatching: Cell<bool>,
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
    pub(crate) fn new(shared: Arc<Shared>, index: usize, is_guest: bool) -> Self {
        Self {
            until_look: Cell::new(shared.config.event_interval),
            shared,
            index,
            is_guest,
            active: Cell::new(is_guest),
            dispatching: Cell::new(false),
            slot_streak: Cell::new(0),
            standing_since: Cell::new(None),
            polls_standing: Cell::new(0),
            turn: RefCell::new(Turn::new()),
        }
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    fn remote(&self) -> &Remote {
        &self.shared.remotes[self.index]
    }

    /// Whether what is scheduled on this thread for `runtime` may enter this
    /// worker's queue.
    pub(crate) fn serves(&self, runtime: &Arc<Shared>) -> bool {
        self.active.get() && Arc::ptr_eq(&self.shared, runtime)
    }

    pub(crate) fn push(&self, runnable: Runnable, yielded: bool) {
        let local = &self.remote().local;
        if yielded || self.dispatching.get() {
            local.push_back(runnable, &self.shared.injector);
        } else {
            local.push_slot(runnable, &self.shared.injector);
        }
    }

    /// The life of a worker's own thread; it begins asleep.
    pub(crate) fn run_resident(&self) {
        self.park();
        while !self.shared.is_shutdown() {
            self.step(&|| self.shared.is_shutdown());
        }
        // A guest may still run this worker; it leaves when its poll ends.
        while self.remote().lent.load(Ordering::SeqCst) {
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
        if self.shared.driver.is_needed() {
            if let Some(seat) = self.shared.driver.take_seat() {
                seat.look(&mut self.turn.borrow_mut());
                self.dispatch();
            }
        }
        self.shared.injector.pop().ok()
    }

    fn next(&self) -> Option<Runnable> {
        let local = &self.remote().local;
        if let Some(runnable) = local.pop(&self.slot_streak) {
            return Some(runnable);
        }
        self.standing_since.set(None);
        self.polls_standing.set(0);
        let shared = &self.shared;
        local
            .refill(&shared.injector, shared.config.workers)
            .or_else(|| self.steal())
    }

    fn steal(&self) -> Option<Runnable> {
        let workers = self.shared.remotes.len();
        let first = fastrand::usize(..workers);
        let others = (first..workers)
            .chain(0..first)
            .filter(|&index| index != self.index);
        others.into_iter().find_map(|other| {
            let victim = &self.shared.remotes[other].local;
            self.remote()
                .local
                .steal_from(victim, &self.shared.injector)
        })
    }

    fn poll(&self, runnable: Runnable) {
        self.share_load();
        self.count_poll();
        coop::budget(|| runnable.run());
    }

    /// Tells the monitor that this worker is not stuck.
    pub(crate) fn count_poll(&self) {
        let polls = &self.remote().polls;
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
        if !self.shared.idle.any_asleep() || !self.remote().local.has_waiting() {
            return;
        }
        let now = Instant::now();
        match self.standing_since.get() {
            None => self.standing_since.set(Some(now)),
            Some(since) if now - since >= STANDING_QUEUE_MAX => {
                self.standing_since.set(Some(now));
                self.shared.wake_another();
            }
            Some(_) => {}
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
            return;
        }
        shared.invite_guest();
        self.active.set(self.is_guest);
        match shared.driver.take_seat() {
            None => self.park(),
            Some(seat) => {
                let woken = || !shared.idle.is_asleep(self.index);
                seat.sleep(self.index, woken, &mut self.turn.borrow_mut());
                let mine = self.wake_up();
                self.dispatch();
                if !mine {
                    self.park();
                }
            }
        }
        shared.monitor.ring();
    }

    /// Clears this worker's bit. False: a guest has done so before and runs the
    /// worker now.
    fn wake_up(&self) -> bool {
        let unclaimed = self.shared.idle.wake(self.index);
        let mine = unclaimed || self.is_guest || !self.remote().lent.load(Ordering::SeqCst);
        self.active.set(mine);
        mine
    }

    /// Sleeps until somebody wakes this worker, and no guest runs it.
    fn park(&self) {
        loop {
            let asleep = self.shared.idle.is_asleep(self.index);
            let lent = !self.is_guest && self.remote().lent.load(Ordering::SeqCst);
            if !asleep && !lent || self.shared.is_shutdown() {
                break;
            }
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
    let worker = std::rc::Rc::new(Worker::new(shared.clone(), index, false));
    let _context = context::enter_worker(shared, Some(worker.clone()));
    worker.run_resident();
}
