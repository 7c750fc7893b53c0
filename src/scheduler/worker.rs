//! The loop: find a task, poll it, sleep when there is none.
//!
//! A worker is a place to run tasks, with a queue of its own. One thread runs it: its own thread
//! or, in a current-thread runtime, the thread in `block_on` that has the lease
//! (`lease.rs`). A worker that has nothing to do sleeps in the *seat*, where it waits for the
//! kernel and the clock (`driver/mod.rs`), or is parked if another one sits there. This table shows
//! what wakes it, and who does it:
//!
//! | what happened                                | who wakes the worker                   |
//! |----------------------------------------------|----------------------------------------|
//! | an event or a deadline                       | the kernel, if it sleeps in the seat   |
//! | a timer is armed that is due earlier         | `Driver::arm`, if it is in the seat    |
//! | a runnable was injected while all slept      | the thread that injected it            |
//! | the same while polls are long                | the same, if no helper is on its way   |
//! | a runnable was queued in a long poll         | the worker in that poll, likewise      |
//! | tasks wait in a queue or in the injector     | a worker, as `share.rs` says           |
//! | nobody is in the seat, polls are very long   | the same                               |
//! | another worker is stuck in one poll, or      | the monitor (`runtime/monitor.rs`)     |
//! | something is in the injector at its tick     |                                        |
//! | the monitor sat in the seat for a moment     | the monitor, if all sleep by then      |
//! | its thread's `block_on` was woken            | the waker of that future               |
//! | the runtime ends                             | `end::begin`                           |
//!
//! What the first three rows and the last three say keeps wake-ups from getting lost. The others
//! are a matter of speed.

use crate::panic::wake;
use crate::scheduler::shared::{Shared, WorkerShared, count};
use crate::scheduler::{coop, queue::Runnable, share::Sharing};
use crate::sync::{Arc, Instant, Ordering, core_times, lock, tell, thread};
use std::{cell::RefCell, task::Waker};

/// A worker, as the thread that runs it sees it.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: usize,
    sharing: RefCell<Sharing>,
    /// What a look at the kernel brings. Empty between two turns.
    wakers: RefCell<Vec<Waker>>,
}

impl Worker {
    /// The calling thread runs the worker from now on.
    pub(crate) fn new(shared: Arc<Shared>, index: usize) -> Self {
        *lock(&shared.workers[index].thread) = Some(thread::current());
        shared.workers[index].stuck.watch_this_thread();
        shared.monitor.ring();
        tell!(runs_worker(shared.id.0, index));
        Self { shared, index, sharing: RefCell::default(), wakers: RefCell::default() }
    }

    /// What others see of this worker.
    pub(crate) fn mine(&self) -> &WorkerShared {
        &self.shared.workers[self.index]
    }

    /// One turn: polls one task, or searches and then sleeps until there may be one.
    ///
    /// `stop` says that the thread has something else to do, such as to poll the future in
    /// `block_on`. It is asked when nothing was found, and for the last time just before the sleep.
    /// A thread that makes it true must do so with SeqCst, and then claim this worker.
    pub(crate) fn run_one(&self, stop: &impl Fn() -> bool) {
        // The monitor takes a worker that does not come by here for stuck.
        let mine = self.mine();
        mine.stuck.reset();

        let polls_max = self.shared.config.event_interval;
        let is_time = self.sharing.borrow().is_time_to_look(polls_max, Instant::now);
        let next = if is_time { self.look_outside() } else { None };
        let Some(runnable) = next.or_else(|| self.find_work()).or_else(|| self.search(stop)) else {
            return self.sleep(stop);
        };

        self.share_load();

        let key = *runnable.metadata();
        key.count_step();
        #[cfg(feature = "sim")]
        arc_sim_core::polls(key.id.0);
        // Release pairs with the Acquire of the monitor, which sees the turn as well.
        mine.polled.store(key.id.0, Ordering::Release);
        count(&mine.polls, 1);
        coop::with_budget(|| runnable.run());
        tell!(polled(key.id.0));
        mine.polled.store(0, Ordering::Relaxed);
    }

    /// Wakes a helper before a poll, if the policy says so. The helper wakes the next one here, if
    /// there is more to do.
    fn share_load(&self) {
        let Shared { mean_poll, driver, .. } = &*self.shared;
        let is_watched = || driver.sleeper().is_some();
        if self.sharing.borrow_mut().before_poll(mean_poll, || self.waiting(), is_watched) {
            self.shared.call_helper();
        }
    }

    /// How many tasks wait for a helper, as far as this worker knows. It is 0 if no worker sleeps,
    /// since none could be called then.
    fn waiting(&self) -> usize {
        let Shared { idle, injector, .. } = &*self.shared;
        if idle.any_asleep() { self.mine().queue.len() + injector.len() } else { 0 }
    }

    /// Ends a stretch of the policy. Returns whether this worker needs a helper.
    fn end_stretch(&self) -> bool {
        let Shared { mean_poll: mean, idle, .. } = &*self.shared;
        let is_alone = || idle.all_asleep_but(self.index);
        let (mut sharing, now) = (self.sharing.borrow_mut(), Instant::now());
        sharing.end_stretch(mean, now, self.waiting().saturating_sub(1), is_alone, core_times)
    }

    /// Wakes what the kernel and the clock have ready, without waiting, and takes a share of the
    /// injector. A queue that is never empty must hide none of them, so this is done now and then.
    ///
    /// If polls are long, it is done after each of them. Then the first injected task must not
    /// always be the next one, or a stream of them would keep the queue waiting for ever.
    fn look_outside(&self) -> Option<Runnable> {
        self.shared.driver.look(&mut self.wakers.borrow_mut());
        if self.end_stretch() {
            self.shared.call_helper();
        }
        if fastrand::u8(..4) > 0 { self.refill() } else { None }
    }

    /// A fair share of the injected tasks: the first is returned, and the others are queued. While
    /// polls are long it is a single one, as the others would wait behind it.
    fn refill(&self) -> Option<Runnable> {
        let Shared { injector, workers, .. } = &*self.shared;
        let shares = if self.shared.polls_are_long() { usize::MAX } else { workers.len() };
        self.mine().queue.take(|| injector.pop().ok(), injector.len().div_ceil(shares))
    }

    /// The next of its own tasks, or a share of the injected ones, or half of another worker's.
    fn find_work(&self) -> Option<Runnable> {
        let queue = &self.mine().queue;
        let own = queue.pop();
        #[cfg(feature = "sim")]
        let own = arc_sim_core::choose(own, queue.len(), |task| queue.push(task), || queue.pop());
        own.or_else(|| self.refill()).or_else(|| self.steal())
    }

    /// Half of another worker's tasks: the first is returned, and the others are queued.
    fn steal(&self) -> Option<Runnable> {
        let workers = &self.shared.workers;
        let first = fastrand::usize(..workers.len()); // so that thieves do not all meet
        let mut victims = workers[first..].iter().chain(&workers[..first]);
        let stolen = victims.find_map(|victim| self.mine().queue.steal_from(&victim.queue))?;
        count(&self.mine().steals, 1 + self.mine().queue.len()); // the others are in its queue
        Some(stolen)
    }

    /// Ends a stretch, as there is nothing to do. Then looks for work some more times, if the
    /// policy says so: what comes soon is found sooner by this worker than by one that must be
    /// woken. The pauses leave the cache lines of the queues to those who push and pop. If
    /// `stop` is true, nothing of that is done, or no more of it.
    fn search(&self, stop: &impl Fn() -> bool) -> Option<Runnable> {
        (!stop()).then(|| self.end_stretch())?;
        let looks = self.sharing.borrow().looks(&self.shared.mean_poll);
        let found = (0..looks).take_while(|_| !stop()).find_map(|_| {
            (0..20).for_each(|_| std::hint::spin_loop());
            self.shared.driver.look(&mut self.wakers.borrow_mut());
            self.find_work()
        });
        found.inspect(|_| self.sharing.borrow_mut().goes_on(Instant::now()))
    }

    /// Steps S1 to S3 of the sleep protocol (`idle.rs`), and the sleep.
    fn sleep(&self, stop: &impl Fn() -> bool) {
        let Shared { idle, driver, injector, monitor, .. } = &*self.shared;
        idle.fall_asleep(self.index); // S1, S2
        // S3
        if stop() || !injector.is_empty() {
            let _ = idle.claim(self.index);
            self.shared.helper_is_coming.store(false, Ordering::Relaxed); // it may be this one
            // The future in `block_on`, which is polled next, counts as a poll of the stretch.
            self.share_load();
            return monitor.ring();
        }
        self.sharing.borrow_mut().before_sleep(crate::sync::yield_now, Instant::now);
        count(&self.mine().parks, 1);
        tell!(sleeps());
        let mut wakers = self.wakers.borrow_mut();
        let is_asleep = || idle.is_asleep(self.index);
        if let Some(seat) = driver.take_seat() {
            seat.sleep(self.index, is_asleep, &mut wakers);
            // If a thread that claimed this worker ended the sleep, its unpark is stale: no harm.
            let _ = idle.claim(self.index);
        }
        // An unpark may be left over from an earlier sleep. Only a cleared bit counts.
        while is_asleep() {
            thread::park();
        }
        tell!(awake());

        // Before the fence in `ring`: this thread sees what called nobody because of the flag.
        self.shared.helper_is_coming.store(false, Ordering::Relaxed);
        // Before the wakers: one of them may block this thread while nobody sits in the seat.
        monitor.ring();
        self.sharing.borrow_mut().goes_on(Instant::now());
        wakers.drain(..).for_each(wake);
    }
}
