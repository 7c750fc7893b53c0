//! The loop: find a task, poll it, sleep when there is none.
//!
//! A worker is a place to run tasks, with a queue of its own. One thread runs it: its own thread
//! or, in a current-thread runtime, the thread in `block_on` that has the lease
//! (`lease.rs`). A worker that has nothing to do *sits*, which means that it waits for the kernel
//! and the clock (`driver/mod.rs`). If another one sits already, it joins that one while polls are
//! long, and otherwise parks (`idle.rs`). This table shows what wakes it, and who does it:
//!
//! | what happened                                | who wakes the worker                   |
//! |----------------------------------------------|----------------------------------------|
//! | an event or a deadline                       | the kernel wakes one of those who sit  |
//! | a runnable was injected while all slept      | the thread that injected it            |
//! | one was injected while polls are long, and   | the same, if no helper is on its way   |
//! | some worker was awake                        |                                        |
//! | one was queued in a poll while they are long | the worker in that poll, likewise      |
//! | tasks wait in a queue or in the injector     | a worker, as `share.rs` says           |
//! | nobody sits while polls are long, or while   | the same                               |
//! | a worker is pressed                          |                                        |
//! | another worker is stuck in one poll, or      | the monitor (`runtime/monitor.rs`)     |
//! | something is in the injector at its tick     |                                        |
//! | its thread's `block_on` was woken            | the waker of that future               |
//! | the runtime ends                             | `end::begin`, and each that sat        |
//!
//! What the first two rows and the last two say keeps wake-ups from getting lost. The others
//! are a matter of speed.

use crate::scheduler::shared::{Shared, WorkerShared};
use crate::scheduler::{coop, queue::Runnable, share::Sharing};
use crate::sync::{Arc, Instant, Ordering, core_times, lock, tell, thread};
use crate::{driver::kernel, panic::wake};
use std::{cell::RefCell, task::Waker};

/// A worker, as the thread that runs it sees it.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: usize,
    pub(crate) sharing: RefCell<Sharing>,
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
    /// A thread that makes it true must do so with SeqCst, and then claim this worker if it is
    /// parked, and notify those who sit.
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
        mine.polls.add(1);
        coop::with_budget(|| runnable.run());
        tell!(polled(key.id.0));
        mine.polled.store(0, Ordering::Relaxed);
    }

    /// Wakes a helper before a poll, if the policy says so. The helper wakes the next one here, if
    /// there is more to do.
    fn share_load(&self) {
        let (shared, mut sharing) = (&*self.shared, self.sharing.borrow_mut());
        if sharing.before_poll(&shared.mean_poll, || self.waiting(), || shared.idle.any_seated()) {
            self.shared.call_helper();
        }
    }

    /// How many tasks wait for a helper, as far as this worker knows. It is 0 if no worker sleeps,
    /// since none could be called then.
    fn waiting(&self) -> usize {
        let Shared { idle, injector, .. } = &*self.shared;
        if idle.asleep() != 0 { self.mine().queue.len() + injector.len() } else { 0 }
    }

    /// Ends a stretch of the policy. Returns whether this worker needs a helper.
    fn end_stretch(&self) -> bool {
        let Shared { mean_poll: mean, idle, .. } = &*self.shared;
        let is_alone = || idle.asleep() | 1 << self.index == idle.all;
        let (mut sharing, now) = (self.sharing.borrow_mut(), Instant::now());
        sharing.end_stretch(mean, now, self.waiting().saturating_sub(1), is_alone, core_times)
    }

    /// Wakes what the kernel and the clock have ready, without waiting, and takes a share of the
    /// injector. A queue that is never empty must hide none of them, so this is done now and then.
    ///
    /// If each poll is longer than a stretch may be, it is done after each of them. Then the first
    /// injected task must not always be the next one, or a stream of them would keep the queue
    /// waiting for ever. Once in four times, by chance, this looks at another worker instead.
    fn look_outside(&self) -> Option<Runnable> {
        self.look();
        let _ = self.end_stretch().then(|| self.shared.call_helper());
        if fastrand::u8(..4) > 0 { self.refill() } else { self.even_out() }
    }

    /// Wakes what the kernel and the clock have ready, if nobody sits.
    fn look(&self) {
        self.shared.driver.look(&mut self.wakers.borrow_mut(), || self.shared.idle.any_seated());
    }

    /// A fair share of the injected tasks: the first is returned, and the others are queued. While
    /// polls are long it is a single one, as the others would wait behind it.
    fn refill(&self) -> Option<Runnable> {
        let Shared { injector, workers, .. } = &*self.shared;
        let shares = if self.shared.mean_poll.is_long() { usize::MAX } else { workers.len() };
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

    /// Takes from another worker if tasks may wait far longer there than here: it has more than
    /// twice as many, or is stuck. A worker that always has something to do would otherwise never
    /// look there, and tasks of one worker would have turns while those of another one have few or
    /// none.
    ///
    /// Chance says which one. (Where there is no other, nothing is drawn: that would change what
    /// the seeds of simulations mean.)
    fn even_out(&self) -> Option<Runnable> {
        let (mine, workers) = (self.mine(), &self.shared.workers);
        let step = (workers.len() > 1).then(|| fastrand::usize(1..workers.len()))?;
        let other = &workers[(self.index + step) % workers.len()];
        let waits_long = other.queue.len() > 2 * mine.queue.len() || other.stuck.is_stuck();
        if waits_long { self.steal_from(other) } else { None }
    }

    /// Takes from the first worker that has something.
    fn steal(&self) -> Option<Runnable> {
        let workers = &self.shared.workers;
        let first = fastrand::usize(..workers.len()); // so that thieves do not all meet
        workers[first..].iter().chain(&workers[..first]).find_map(|other| self.steal_from(other))
    }

    /// Half of another worker's tasks: the first is returned, and the others are queued.
    fn steal_from(&self, victim: &WorkerShared) -> Option<Runnable> {
        let (mine, before) = (self.mine(), self.mine().queue.len());
        let stolen = mine.queue.steal_from(&victim.queue);
        // But for what others steal from here meanwhile.
        stolen.inspect(|_| mine.steals.add((1 + mine.queue.len()).saturating_sub(before)))
    }

    /// Ends a stretch, as there is nothing to do. Then looks for work some more times, if the
    /// policy says so: what comes soon is found sooner by this worker than by one that must be
    /// woken. The pauses leave the cache lines of the queues to those who push and pop. There is
    /// no pause before the first look: an event may have come while the worker was polling. (No
    /// test notices that, only benchmarks.) It does none of this if `stop` is true, and gives up
    /// when it becomes true.
    fn search(&self, stop: &impl Fn() -> bool) -> Option<Runnable> {
        (!stop()).then(|| self.end_stretch())?;
        let looks = self.sharing.borrow().looks(&self.shared.mean_poll);
        let found = (0..looks).take_while(|_| !stop()).find_map(|look| {
            (0..20 * look.min(1)).for_each(|_| std::hint::spin_loop());
            self.look();
            self.find_work()
        });
        found.inspect(|_| self.sharing.borrow_mut().goes_on(Instant::now()))
    }

    /// Steps S1 to S3 of the sleep protocol (`idle.rs`), and the sleep.
    fn sleep(&self, stop: &impl Fn() -> bool) {
        let Shared { idle, driver, injector, monitor, mean_poll, .. } = &*self.shared;
        let (polls_are_long, mut wakers) = (mean_poll.is_long(), self.wakers.borrow_mut());
        if !polls_are_long && !stop() {
            self.sharing.borrow_mut().before_sleep(crate::sync::yield_now, Instant::now);
        }
        let sits = idle.fall_asleep(self.index, polls_are_long && kernel::is_shared()); // S1, S2
        // S3. If this is to park, but nobody sits any more, this looks for a seat once more.
        if stop() || !injector.is_empty() || !idle.any_seated() {
            idle.wake_up(self.index);
        } else {
            self.mine().parks.add(1);
            tell!(sleeps());
            if sits {
                driver.sleep(&mut wakers);
                idle.wake_up(self.index);
                driver.is_notified.swap(false, Ordering::SeqCst); // pairs with `Driver::notify`
                // What has woken this worker may concern those who still sit as well.
                if self.shared.is_ending() {
                    self.shared.notify_if_seated();
                } else if idle.any_seated() {
                    driver.move_alarm();
                }
            }
            // An unpark may be left over from an earlier sleep. Only a cleared bit counts.
            while idle.is_parked(self.index) {
                thread::park();
            }
            self.mine().stuck.reset(); // the monitor has counted the time of the sleep
            tell!(awake());
        }
        self.sharing.borrow_mut().goes_on(Instant::now());

        // Before the fence in `ring`: this thread sees what called nobody because of the flag.
        // SeqCst pairs with the swap in `call_helper`: a thread that still saw this worker in its
        // seat has set the flag before this line clears it.
        self.shared.helper_is_coming.store(false, Ordering::SeqCst);
        // Before the wakers: one of them may block this thread while nobody sits.
        monitor.ring();
        if stop() {
            self.share_load(); // the future in `block_on` is polled next, and counts as a poll
        }
        wakers.drain(..).for_each(wake);
    }
}
