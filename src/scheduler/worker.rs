//! The loop: find a task, poll it, sleep when there is none.
//!
//! A worker is a place to run tasks, with a queue of its own. One thread runs it: its own thread
//! or, in a current-thread runtime, a thread in `block_on` (`crew.rs`). What can wake a worker that
//! sleeps, and who does it:
//!
//! | what happened                              | who wakes the worker                     |
//! |--------------------------------------------|------------------------------------------|
//! | an event, a deadline or a notification     | the kernel wakes the one in the seat     |
//! | a runnable was injected while all slept    | the thread that injected it              |
//! | one was injected while polls are long, or  | the same, if no helper is on its way     |
//! | beside a worker that is stuck              |                                          |
//! | tasks wait in a queue or in the injector   | a worker, before its next poll           |
//! | nobody has the seat while polls are long   | the same                                 |
//! | at a tick tasks are stranded in a queue,   | the monitor (`monitor.rs`)               |
//! | or nobody watches the kernel               |                                          |
//! | its thread's `block_on` was woken          | the waker of that future                 |
//! | the runtime ends                           | `end::begin`                             |
//!
//! The first two rows and the last two keep wake-ups from getting lost. The others are a matter of
//! speed, as long as every poll ends: if one does not, the monitor brings help. Two more have no
//! row, and lose no wake-up either. A new timer notifies the worker in the seat if its alarm is too
//! late (`timers.rs`), and claims nobody. And the monitor wakes a worker if the last one fell
//! asleep while the monitor looked (`monitor.rs`).

use crate::hooks::{sim, tell};
use crate::panic::wake;
use crate::scheduler::budget;
use crate::scheduler::policy::{EVEN_OUT_ONE_IN, Stretch};
use crate::scheduler::queue::{self, BATCH_MAX};
use crate::scheduler::shared::{Runnable, Shared, WorkerShared};
use crate::scheduler::sleep::LOOKER;
use crate::sync::{Arc, Instant, Ordering};
use std::cell::RefCell;
use std::task::Waker;

/// A worker, as the thread that runs it sees it.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: usize,
    stretch: RefCell<Stretch>,
    /// What a look at the kernel brings. Empty between two turns.
    wakers: RefCell<Vec<Waker>>,
}

impl Worker {
    /// The calling thread runs the worker from now on.
    pub(crate) fn new(shared: Arc<Shared>, index: usize) -> Self {
        shared.sleepers.begin(index);

        // A monitor that sleeps has to watch this thread from now on.
        shared.monitor.ring();
        tell!(runs_worker(shared.id.0, index));
        Self {
            shared,
            index,
            stretch: RefCell::new(Stretch::new(Instant::now())),
            wakers: RefCell::default(),
        }
    }

    /// What others see of this worker.
    pub(crate) fn mine(&self) -> &WorkerShared {
        &self.shared.workers[self.index]
    }

    /// One turn: polls one task, or sleeps until there may be one. Returns whether it has polled.
    ///
    /// `stop` says that the thread has something else to do, such as to poll the future in
    /// `block_on`. It is asked just before the sleep. A thread that makes it true must do so with
    /// SeqCst, and then claim this worker and rouse it.
    pub(crate) fn run_one(&self, stop: &impl Fn() -> bool) -> bool {
        // The monitor takes a worker that does not come by here for stuck.
        let turn = self.mine().turn.load(Ordering::Relaxed);
        self.mine().turn.store(turn + 1, Ordering::Relaxed);

        // 1. A queue that is never empty must hide neither the kernel nor the injector.
        let mut next = None;
        let interval = self.shared.config.event_interval;
        if self.stretch.borrow().is_over(interval, Instant::now) {
            next = self.look_outside();
        }

        // 2. Find a task, or sleep.
        let Some(runnable) = next.or_else(|| self.find_work()) else {
            if !stop() {
                self.sleep(stop);
            }
            return false;
        };

        // 3. What waits behind this poll need not wait for its end.
        self.share_load();

        // 4. Poll.
        self.poll(runnable);
        true
    }

    /// A task is polled, or the future in `block_on` on this thread was.
    pub(crate) fn count_poll(&self) {
        self.stretch.borrow_mut().count_poll();
    }

    fn poll(&self, runnable: Runnable) {
        let id = runnable.metadata().begin_poll();
        sim!(arc_sim_core::polls(id.0), {});
        self.count_poll();

        // Release pairs with the Acquire in `Handle::polled` (`observe.rs`), which observers ask
        // and which gives the turn as well.
        self.mine().polled.store(id.0, Ordering::Release);
        budget::with_budget(|| runnable.run());
        self.mine().polled.store(0, Ordering::Relaxed);
        tell!(ends(id.0));
    }

    /// Rules 1 and 2 of the policy: wakes a helper before a poll, if somebody is needed.
    pub(crate) fn share_load(&self) {
        // Nobody sleeps, so nobody can be called.
        if !self.shared.sleepers.any_asleep() {
            return;
        }

        // A helper that comes in vain does no harm.
        let is_unwatched = !self.shared.sleepers.is_seat_taken();
        if self.has_tasks() || (is_unwatched && self.shared.mean_poll.is_long()) {
            self.shared.call_helper();
        }
    }

    /// Whether a task waits, in its queue or in the injector. This looks at their lengths, and
    /// locks nothing.
    pub(crate) fn has_tasks(&self) -> bool {
        self.mine().queue.len() > 0 || !self.shared.injector.is_empty()
    }

    /// Queues a task that was spawned or woken on this thread. This worker is awake and comes to
    /// it, unless polls are long: then whoever is free first does.
    pub(crate) fn push(&self, runnable: Runnable) {
        if !self.shared.mean_poll.is_long() {
            return self.mine().queue.push(runnable);
        }

        // Rule 2. In the poll of another task, which may take long, somebody else may have to come.
        // A task that was woken in its own poll comes here at its end, while `polled` still has
        // its id.
        let polled = self.mine().polled.load(Ordering::Relaxed);
        if polled == 0 || polled == runnable.metadata().id.0 {
            queue::push(&self.shared.injector, runnable);
        } else {
            // The injector is not closed while a worker runs, so nothing comes back.
            drop(self.shared.inject(runnable));
        }
    }

    /// Rule 3: wakes what the kernel and the clock have ready, without waiting, and returns a task
    /// from outside of its own queue.
    ///
    /// If each poll is longer than a stretch may be, this is done after each of them. Then the
    /// first injected task must not always be the next one, or a stream of them would keep the
    /// queue waiting for ever. Rule 4: some of the times, at random, this looks at another worker
    /// instead.
    fn look_outside(&self) -> Option<Runnable> {
        self.stretch.borrow_mut().end(&self.shared.mean_poll, Instant::now());
        if self.shared.sleepers.take_seat(LOOKER) {
            self.shared.driver.look(&mut self.wakers.borrow_mut());
            self.shared.sleepers.leave_seat();
            self.wake_collected();
        }

        // At random, so that no pattern of tasks is late every time.
        if fastrand::u32(..EVEN_OUT_ONE_IN) > 0 { self.refill() } else { self.even_out() }
    }

    /// The next of its own tasks, or a part of the injected ones, or half of another worker's.
    fn find_work(&self) -> Option<Runnable> {
        // Its own tasks come first, as their data may be in this core's cache.
        let own = self.mine().queue.next();
        own.or_else(|| self.refill()).or_else(|| self.steal())
    }

    /// A fair part of the injected tasks: the first is returned, and the others are queued. While
    /// polls are long it is a single one, as the others would wait behind it.
    fn refill(&self) -> Option<Runnable> {
        let injector = &self.shared.injector;
        let fair = injector.len().div_ceil(self.shared.workers.len());
        let part = if self.shared.mean_poll.is_long() { fair.min(1) } else { fair };
        self.mine().queue.take(|| injector.pop().ok(), part)
    }

    /// Takes from the first worker that has something.
    fn steal(&self) -> Option<Runnable> {
        // At random, so that thieves do not all meet.
        let workers = &self.shared.workers;
        let first = fastrand::usize(..workers.len());
        workers[first..].iter().chain(&workers[..first]).find_map(|other| self.steal_from(other))
    }

    /// Rule 4: takes from a worker where tasks may wait far longer than here: it has more than
    /// twice as many, or is stuck. A worker that always has something to do would otherwise never
    /// look there.
    fn even_out(&self) -> Option<Runnable> {
        // At random, so that no worker is asked more often than the rest.
        let index = fastrand::usize(..self.shared.workers.len());
        let other = &self.shared.workers[index];

        // Not from itself: the monitor may still take this worker for stuck.
        let has_far_more = other.queue.len() > 2 * self.mine().queue.len();
        let is_stuck = other.is_stuck.load(Ordering::Relaxed);
        let needs_help = index != self.index && (has_far_more || is_stuck);
        if needs_help { self.steal_from(other) } else { None }
    }

    /// Half of another worker's tasks: the first is returned, and the others are queued.
    fn steal_from(&self, victim: &WorkerShared) -> Option<Runnable> {
        // For observers. Only this thread pushes here, so the queue has grown by what was taken.
        let before = self.mine().queue.len();
        let stolen = self.mine().queue.steal_from(&victim.queue)?;

        // What others steal from here meanwhile is not counted.
        let taken = (1 + self.mine().queue.len()).saturating_sub(before);
        tell!(stole(taken));
        Some(stolen)
    }

    /// The sleep. Its steps S1 to S3 are in `sleep.rs`.
    fn sleep(&self, stop: &impl Fn() -> bool) {
        self.stretch.borrow_mut().end(&self.shared.mean_poll, Instant::now());
        tell!(sleeps());
        let shared = &*self.shared;
        let has_work = || stop() || !shared.injector.is_empty();

        // Only the one that gets the seat waits for the kernel. The others park.
        let wait = || {
            let is_called = || !shared.sleepers.is_asleep(self.index);
            shared.driver.wait(&mut self.wakers.borrow_mut(), is_called);
        };
        shared.sleepers.sleep(self.index, has_work, wait);
        tell!(awake());
        *self.stretch.borrow_mut() = Stretch::new(Instant::now());

        // Cleared before the fence in `ring`. A thread may have injected a task, and called nobody
        // because the flag was set: this worker finds that task. SeqCst pairs with the swap in
        // `call_helper`.
        shared.helper_is_coming.store(false, Ordering::SeqCst);

        // Before the wakers: one of them may block this thread.
        shared.monitor.ring();
        self.wake_collected();
    }

    /// Wakes what a look at the kernel has brought. The memory of a great batch goes with it.
    pub(crate) fn wake_collected(&self) {
        let mut wakers = self.wakers.borrow_mut();
        wakers.drain(..).for_each(wake);
        wakers.shrink_to(BATCH_MAX);
    }
}
