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
//! | a task waits for long in a queue     | that queue's worker, see `share_load` |
//! | another worker is stuck in one poll  | the monitor                           |
//! | the future of `block_on` was woken   | its waker, for the worker it runs     |
//! | the runtime ends                     | `Shared::shut_down`                   |

use crate::context::{self, Role};
use crate::scheduler::{Runnable, Shared, Wait, Worker};
use crate::sync::{Arc, Duration, Instant, Ordering, thread, wake};
use crate::{coop, driver::Seat};
use std::rc::Rc;

/// For how long a runnable may wait in a worker's queue before another worker is
/// woken to share it. Waking costs some microseconds on both sides, and moves data
/// to another core's caches.
const WAIT_MAX: Duration = Duration::from_millis(1);
/// For how long some may always wait, however briefly each: a worker that is never
/// done has more work than one core can do.
const STANDING_MAX: Duration = Duration::from_millis(10);
/// Polls between two choices of the runnable whose wait is measured: short polls must
/// not pay for a clock reading each.
const CHOICE_INTERVAL: u32 = 16;

impl Worker {
    /// Polls one task, or sleeps until there is one or `stop` says so. Release pairs with
    /// the Acquire of the monitor: it sees `stepped`, too.
    pub(crate) fn step(&self, stop: &impl Fn() -> bool) {
        let remote = self.remote();
        remote.stepped.store(true, Ordering::Relaxed);
        remote.stuck.store(0, Ordering::Relaxed);
        self.until_look.set(self.until_look.get() - 1);
        let is_time = self.until_look.get() == 0;
        let first = if is_time { self.look() } else { None };
        if let Some(runnable) = first.or_else(|| self.next()) {
            self.share_load();
            let key = runnable.metadata();
            key.step();
            remote.polled.store(key.id.0, Ordering::Release);
            coop::with_budget(|| runnable.run());
            remote.polled.store(0, Ordering::Relaxed);
        } else {
            self.sleep(stop);
        }
    }

    /// Looks at the kernel and the clock, without waiting, and at the injector:
    /// a queue that is never empty must not keep a worker from any of them.
    fn look(&self) -> Option<Runnable> {
        let Shared { config, driver, .. } = &*self.shared;
        self.until_look.set(config.event_interval);
        if let Some(seat) = driver.take_seat().filter(|_| driver.is_needed()) {
            self.sit(seat, None);
        }
        self.refill()
    }

    fn refill(&self) -> Option<Runnable> {
        self.remote().local.refill(&self.shared.injector, self.shared.remotes.len())
    }

    /// Its own, its share of what was injected, or half of another one's.
    fn next(&self) -> Option<Runnable> {
        let local = &self.remote().local;
        let mine = local.pop().or_else(|| {
            self.wait.update(|wait| Wait { mean_poll: wait.mean_poll, ..Wait::default() });
            self.refill()
        });
        mine.or_else(|| {
            let remotes = &self.shared.remotes;
            let (before, after) = remotes.split_at(fastrand::usize(..remotes.len()));
            let mut victims = after.iter().chain(before);
            victims.find_map(|victim| local.steal_from(&victim.local))
        })
    }

    /// Wakes another worker when tasks wait for too long in this one's queue, or are
    /// going to. One of them is followed through it at a time; the clock is read when
    /// it is chosen, before the 1st, 2nd, 4th, 8th ... poll after that, and when its turn
    /// has come: often enough to notice a long poll as soon as it ends.
    fn share_load(&self) {
        let mut wait = self.wait.get();
        let was_followed = wait.ahead > 0;
        wait.ahead = wait.ahead.saturating_sub(1);
        wait.polls = wait.polls.saturating_add(1);
        let is_time = was_followed && (wait.ahead == 0 || wait.polls.is_power_of_two());
        let for_long = |since: Instant| since.elapsed() > WAIT_MAX;
        if is_time && self.remote().local.len() > 0 && wait.since.is_some_and(for_long) {
            self.shared.wake_another();
        }
        let may_choose = wait.since.is_none() || wait.polls >= CHOICE_INTERVAL;
        if wait.ahead == 0 && may_choose && self.shared.idle.any_asleep() {
            self.choose(&mut wait);
        }
        self.wait.set(wait);
    }

    /// Chooses the last that waits, to be followed.
    fn choose(&self, wait: &mut Wait) {
        let ahead = self.remote().local.len() + self.shared.injector.len();
        let now = (ahead > 0).then(Instant::now);
        let lasts = |since: Option<Instant>| now.zip(since).map(|(now, since)| now - since);
        if let Some(taken) = lasts(wait.since) {
            wait.mean_poll = (7 * wait.mean_poll + taken / wait.polls) / 8;
        }
        let estimate = wait.mean_poll.as_nanos() * ahead as u128;
        if estimate > WAIT_MAX.as_nanos() || lasts(wait.standing) > Some(STANDING_MAX) {
            self.shared.wake_another();
            wait.standing = None;
        }
        wait.standing = now.and(wait.standing.or(now));
        (wait.since, wait.ahead, wait.polls) = (now, ahead, 0);
    }

    /// Steps S1 to S3 of the sleep protocol (`idle.rs`), and the sleep.
    fn sleep(&self, stop: &impl Fn() -> bool) {
        let shared = &self.shared;
        shared.idle.fall_asleep(self.index);
        let awake = if stop() || !shared.injector.is_empty() {
            self.wake_up()
        } else {
            self.active.set(self.is_guest);
            let seat = shared.driver.take_seat();
            seat.is_some_and(|seat| self.sit(seat, Some(self.index)))
        };
        if !awake {
            self.park();
        }
        shared.monitor.ring();
    }

    /// Sleeps in the seat, or only looks, and wakes those whose events came. False:
    /// a guest runs this worker now.
    ///
    /// If it went to sleep while this thread was still in the seat, then it found
    /// the seat taken, and whoever woke the worker since has notified the seat
    /// instead of it.
    fn sit(&self, seat: Seat<'_>, sleeper: Option<usize>) -> bool {
        let (shared, mut wakers) = (&self.shared, self.wakers.borrow_mut());
        seat.wait(sleeper, &shared.idle, &mut wakers);
        let mine = sleeper.is_none() || self.wake_up();
        wakers.drain(..).for_each(wake);
        if !mine {
            shared.unpark_thread(self.index);
            shared.watch();
        }
        mine
    }

    /// Clears this worker's bit. False: a guest runs the worker now, and the
    /// bit is the guest's; or one tries to, and unparks this thread if it fails.
    fn wake_up(&self) -> bool {
        let mine = self.unless_lent(|| self.shared.idle.wake(self.index)).is_some();
        self.active.set(mine);
        mine
    }

    /// Sleeps until somebody wakes this worker, and no guest runs it.
    fn park(&self) {
        let awake = || !self.shared.idle.is_asleep(self.index);
        while !(awake() && self.unless_lent(awake) == Some(true) || self.shared.is_shutdown()) {
            thread::park();
        }
        self.active.set(true);
    }

    /// Keeps guests away for a look at this worker's bit; none if one is there or comes.
    /// One that came and went between a look at the bit and one at `lent` would otherwise
    /// leave the impression of a worker that was woken, though it sleeps, and the
    /// next guest may have it. SeqCst: see `lend` in `guest.rs`.
    fn unless_lent<R>(&self, look: impl FnOnce() -> R) -> Option<R> {
        let is_free = self.is_guest || !self.remote().lent.swap(true, Ordering::SeqCst);
        is_free.then(look).inspect(|_| self.remote().lent.store(self.is_guest, Ordering::SeqCst))
    }
}

/// The main function of a worker's own thread; it begins asleep. At the end a
/// guest may still run the worker: it leaves when its poll ends. SeqCst: see `lend` in
/// `guest.rs`.
pub(crate) fn main(shared: Arc<Shared>, index: usize) {
    let worker = Rc::new(Worker::new(shared.clone(), index, false));
    let _context = context::enter_as(Role::Polls, shared.clone(), Some(worker.clone()));
    worker.park();
    shared.monitor.ring();
    while !shared.is_shutdown() {
        worker.step(&|| shared.is_shutdown());
    }
    while worker.remote().lent.load(Ordering::SeqCst) {
        thread::park();
    }
}
