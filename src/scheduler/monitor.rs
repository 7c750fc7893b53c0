//! The monitor: a thread that runs no tasks and watches over the threads that do.
//!
//! A worker in a long poll cannot help itself. What waits in its queue must go to another worker,
//! and so must the wait for the kernel, if nobody has the seat. A poll that lasts for too long is
//! reported, once, while it still lasts.
//!
//! The monitor looks at a busy runtime once a millisecond, and more rarely if nobody needs it. When
//! nothing happens for a while it sleeps, so that an idle runtime makes no system calls. (Go's
//! sysmon is the same idea.)

use crate::panic::wake;
use crate::registry::info::{Id, TaskInfo, TaskState};
use crate::scheduler::shared::{Shared, WorkerShared};
use crate::sync::{Arc, Duration, Instant, Ordering, fence, thread};
use std::collections::BTreeMap;
use std::mem::take;

/// How often the monitor looks at a runtime that needs it.
const TICK: Duration = Duration::from_millis(1);

/// How often it looks if every worker has moved since the last time: none is stuck, and the first
/// that runs out of work takes that of the others. A look takes 20 to 40 µs of a core on a virtual
/// machine, which would be 2 to 4 % if there were 1,000 a second.
const BUSY_TICK: Duration = Duration::from_millis(4);

/// How rarely it looks, at last, at polls that it has reported. They may go on for ever.
const STUCK_TICK: Duration = Duration::from_millis(16);

/// A poll that has lasted for this long is watched as rarely as one that was reported, also if its
/// limit is a longer one.
const WATCHED_MAX: Duration = Duration::from_secs(1);

/// After this many ticks in which nothing was polled the monitor sleeps. A program with pauses of a
/// few milliseconds should not pay for a wake-up of the monitor after each of them.
const QUIET_TICKS_MAX: u32 = 20;

/// The main function of the monitor's thread.
pub(crate) fn main(shared: &Arc<Shared>) {
    shared.monitor.thread.get_or_init(thread::current);
    let workers = BTreeMap::new();
    let mut monitor = Monitor { shared, workers, mains: BTreeMap::new() };
    let mut quiet_ticks = 0;
    let mut tick = TICK;

    // A poll that goes on holds the end of the runtime up. So it is still watched then.
    while !shared.is_ending() || monitor.any_task_is_polled() {
        let before = Instant::now();
        thread::park_timeout(tick);

        // If the tick is far too late, this thread had no core, and no poll is to blame for that.
        // (In models the clock stands still.)
        let step = before.elapsed().clamp(Duration::from_nanos(1), 2 * tick);
        let seen = monitor.look(step);

        // Who needs no help costs little.
        tick = match seen {
            Seen::Quiet => TICK,
            Seen::AllMove => BUSY_TICK,
            Seen::SomeNeedHelp => TICK,
            Seen::AllReported => STUCK_TICK.min(2 * tick),
        };
        quiet_ticks = if seen == Seen::Quiet { quiet_ticks + 1 } else { 0 };
        if quiet_ticks == QUIET_TICKS_MAX {
            quiet_ticks = 0;
            monitor.sleep();
        }
    }
}

/// What the monitor has seen at a tick.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    /// Each worker has begun a turn since the last tick.
    AllMove,
    /// Some worker has not, or a poll may have to be reported soon.
    SomeNeedHelp,
    /// Some workers are stuck, nothing else moves, and the polls need not be watched closely.
    AllReported,
    /// No worker runs.
    Quiet,
}

/// What the monitor has seen of one worker.
enum Worker {
    /// It has begun a turn since the last tick.
    Moves,
    /// It sleeps, or no thread runs it.
    Sleeps,
    /// It is in the same turn as at the last tick.
    IsStuck {
        /// Its poll may have to be reported soon.
        may_be_reported: bool,
    },
}

/// What the monitor knows of a thread that polls.
#[derive(Default)]
struct Sighting {
    /// Which turn the thread was in at the last tick.
    turn: u64,
    /// For how long it has been in it, from the first tick that saw that.
    time: Duration,
    is_reported: bool,
}

impl Sighting {
    /// A tick has seen the thread in this turn. True: it was in the same one at the last tick.
    fn is_still_in(&mut self, turn: u64, step: Duration) -> bool {
        if self.turn != turn {
            // A new turn has begun, of which nothing is known yet.
            *self = Self { turn, ..Self::default() };
            return false;
        }

        self.time += step;
        true
    }

    /// Reports the poll that `describe` finds, when that has lasted for as long as the limit says.
    fn report_if_due(&mut self, shared: &Shared, describe: impl FnOnce() -> Option<TaskInfo>) {
        if self.is_reported || self.time < shared.config.long_poll_limit {
            return;
        }

        // If the hook is busy, the next tick tries again.
        self.is_reported = match describe() {
            Some(task) => shared.config.on_long_poll.report(task),
            None => true,
        };
    }

    /// Whether the poll may have to be reported soon.
    fn is_watched(&self) -> bool {
        !self.is_reported && self.time < WATCHED_MAX
    }
}

struct Monitor<'a> {
    shared: &'a Shared,
    workers: BTreeMap<usize, Sighting>,
    mains: BTreeMap<Id, Sighting>,
}

impl Monitor<'_> {
    fn any_task_is_polled(&self) -> bool {
        let mut workers = self.shared.workers.iter();
        workers.any(|worker| worker.polled.load(Ordering::Relaxed) != 0)
    }

    /// One tick, this long after the one before.
    fn look(&mut self, step: Duration) -> Seen {
        let mut moved = 0;
        let mut stuck = 0;
        let mut is_watched = self.watch_mains(step);
        for index in 0..self.shared.workers.len() {
            // How each has fared since the last tick.
            match self.watch_worker(index, step) {
                Worker::Moves => moved += 1,
                Worker::Sleeps => {}
                Worker::IsStuck { may_be_reported } => {
                    stuck += 1;
                    is_watched |= may_be_reported;
                }
            }
        }

        // What is in a queue of a stuck worker, or in the injector at a tick, may wait for long.
        self.shared.any_stuck.store(stuck > 0, Ordering::Relaxed);
        let is_stuck = |worker: &&WorkerShared| worker.is_stuck();
        let mut stuck_workers = self.shared.workers.iter().filter(is_stuck);
        let is_stranded = stuck_workers.any(|worker| worker.queue.len() > 0);
        if is_stranded || !self.shared.injector.is_empty() {
            self.shared.call_helper();
        }

        // A worker that moves looks at the kernel itself, after some polls.
        if moved == 0 {
            self.watch_kernel();
        }

        match (moved, stuck) {
            // A poll that may have to be reported is watched closely, whatever else goes on.
            _ if is_watched => Seen::SomeNeedHelp,
            (0, 0) => Seen::Quiet,
            (0, _) => Seen::AllReported,
            (moved, _) if moved == self.shared.workers.len() => Seen::AllMove,
            _ => Seen::SomeNeedHelp,
        }
    }

    /// Looks at one worker, and reports its poll if that has lasted for too long.
    fn watch_worker(&mut self, index: usize, step: Duration) -> Worker {
        let worker = &self.shared.workers[index];
        let sighting = self.workers.entry(index).or_default();
        let turn = worker.turn.load(Ordering::Relaxed);

        // It counts its turns, so it has moved if there was one since the last tick.
        if !sighting.is_still_in(turn, step) {
            worker.stuck.store(0, Ordering::Relaxed);
            return Worker::Moves;
        }
        if !self.shared.sleepers.is_running(index) {
            worker.stuck.store(0, Ordering::Relaxed);
            return Worker::Sleeps;
        }

        // It is awake, and still where it was.
        let nanos = u64::try_from(sighting.time.as_nanos()).unwrap_or(u64::MAX);
        worker.stuck.store(nanos, Ordering::Relaxed);
        sighting.report_if_due(self.shared, || stuck_task(self.shared, worker, turn));
        Worker::IsStuck { may_be_reported: sighting.is_watched() }
    }

    /// Watches the futures in `block_on`. Returns whether one may have to be reported soon.
    fn watch_mains(&mut self, step: Duration) -> bool {
        let mut before = take(&mut self.mains);
        let mut is_watched = false;
        for mut main in self.shared.mains.describe() {
            // Those that are not found again have left `block_on`.
            let mut sighting = before.remove(&main.id).unwrap_or_default();
            let is_still_there = sighting.is_still_in(main.polls, step);

            // See `Record::is_queued`.
            if main.state == TaskState::Queued {
                // It has no name of its own, and a reader has to know what it is.
                main.name = Some("block_on".into());
                main.state = TaskState::InBlockOn { time: sighting.time };
                if is_still_there {
                    sighting.report_if_due(self.shared, || Some(main.clone()));
                }
                is_watched |= sighting.is_watched();
            }
            self.mains.insert(main.id, sighting);
        }
        is_watched
    }

    /// Makes sure that some thread looks at the kernel. A worker that moves does so itself.
    fn watch_kernel(&self) {
        let sleepers = &self.shared.sleepers;
        if !self.shared.driver.is_needed() || sleepers.is_seat_taken() {
            return;
        }
        if sleepers.any_asleep() {
            return self.shared.call_helper();
        }

        // All are stuck. This serves those who are no tasks.
        // A worker may take the seat first. Then it looks.
        let mut wakers = Vec::new();
        if sleepers.take_seat() {
            self.shared.driver.look(&mut wakers);
            sleepers.leave_seat();
        }
        wakers.into_iter().for_each(wake);

        // The last worker may have fallen asleep meanwhile, and found the seat taken.
        if sleepers.all_asleep() {
            self.shared.wake_one();
        }
    }

    /// Sleeps while nothing is polled.
    fn sleep(&self) {
        let asleep = &self.shared.monitor.asleep;
        asleep.store(true, Ordering::Relaxed);

        // This pairs with the fence in `Doorbell::ring`.
        fence(Ordering::SeqCst);

        // A poll in `block_on` that was reported already may go on for ever.
        let is_settled = |main: &TaskInfo| {
            let sighting = self.mains.get(&main.id);
            let is_known = sighting.is_some_and(|it| it.turn == main.polls && !it.is_watched());
            main.state != TaskState::Queued || is_known
        };
        let is_idle =
            self.shared.mains.describe().iter().all(is_settled) && !self.shared.sleepers.any_runs();

        // Whoever rings clears the flag. An unpark alone may be left over.
        while is_idle && asleep.load(Ordering::Relaxed) && !self.shared.is_ending() {
            thread::park();
        }
        asleep.store(false, Ordering::Relaxed);
    }
}

/// Describes the task that a stuck worker polls. `None` if it has gone on meanwhile.
fn stuck_task(shared: &Shared, worker: &WorkerShared, turn: u64) -> Option<TaskInfo> {
    // Acquire pairs with the Release in `Worker::poll`: if this is the id of a later task, the
    // turn that it began with is seen as well.
    let polled = worker.polled.load(Ordering::Acquire);
    let mut tasks = shared.describe_tasks().into_iter();
    let task = tasks.find(|task| task.id.0 == polled)?;

    if worker.turn.load(Ordering::Relaxed) == turn { Some(task) } else { None }
}
