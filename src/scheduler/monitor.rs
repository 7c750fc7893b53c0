//! The monitor: a thread that runs no tasks and watches over the threads that do.
//!
//! A worker in a long poll cannot help itself. What waits in its queue must go to another worker,
//! and so must the wait for the kernel, if nobody has the seat. A poll that lasts for too long is
//! reported, once, while it still lasts.
//!
//! The monitor looks at a busy runtime once a millisecond, and more rarely if nobody needs it. When
//! nothing happens for a while it sleeps, so that an idle runtime makes no system calls. (Go's
//! sysmon is the same idea.)

use crate::builder::Builder;
use crate::panic::wake;
use crate::scheduler::cores::{CoreTime, ThreadFolder};
use crate::scheduler::mains::Main;
use crate::scheduler::shared::{Shared, WorkerShared};
use crate::sync::{Arc, Duration, Instant, Ordering, fence, lock, thread};
use crate::task::{Id, TaskInfo, TaskState};
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
    let mut monitor = Monitor { shared, workers: BTreeMap::new(), mains: BTreeMap::new() };
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

/// What the monitor knows of a thread that polls.
#[derive(Default)]
struct Sighting {
    /// Which turn the thread was in at the last tick.
    turn: u64,
    /// For how long it has been in it, from the first tick that saw that.
    time: Duration,
    /// What the thread has had of its core since the second one.
    mark: Option<CoreTime>,
    is_reported: bool,
}

impl Sighting {
    /// A tick has seen the thread in this turn. True: it was in the same one at the last tick.
    fn is_still_in(&mut self, turn: u64, step: Duration) -> bool {
        if self.turn != turn {
            *self = Self { turn, ..Self::default() };
            return false;
        }
        self.time += step;
        true
    }

    /// Whether the poll may have to be reported soon.
    fn is_watched(&self) -> bool {
        !self.is_reported && self.time < WATCHED_MAX
    }

    /// Whether the poll is to be reported now. If the thread wanted to run but had no core, the
    /// machine is too busy, and the poll is not to blame: then its time counts anew.
    fn is_due(&mut self, limit: Duration, folder: &ThreadFolder) -> bool {
        if self.is_reported {
            return false;
        }
        if self.mark.is_none() {
            self.mark = CoreTime::of(folder);
        }
        if self.time < limit {
            return false;
        }

        let now = CoreTime::of(folder);
        if let (Some(now), Some(mark)) = (&now, &self.mark)
            && now.is_starved_since(mark)
        {
            *self = Self { turn: self.turn, mark: None, ..Self::default() };
            return false;
        }
        true
    }
}

struct Monitor<'a> {
    shared: &'a Shared,
    workers: BTreeMap<usize, Sighting>,
    mains: BTreeMap<Id, Sighting>,
}

impl Monitor<'_> {
    fn any_task_is_polled(&self) -> bool {
        self.shared.workers.iter().any(|worker| worker.polled.load(Ordering::Relaxed) != 0)
    }

    /// One tick, this long after the one before.
    fn look(&mut self, step: Duration) -> Seen {
        // What is in the injector at a tick may have waited for as long.
        let mut is_stranded = !self.shared.injector.is_empty();
        let mut moved = 0;
        let mut stuck = 0;
        let mut is_watched = self.watch_mains(step);
        for (index, worker) in self.shared.workers.iter().enumerate() {
            let sighting = self.workers.entry(index).or_default();
            let turn = worker.turn.load(Ordering::Relaxed);
            let is_still_there = sighting.is_still_in(turn, step);
            if !is_still_there {
                moved += 1;
                worker.stuck.store(0, Ordering::Relaxed);
            } else if self.shared.sleepers.is_running(index) {
                stuck += 1;
                let nanos = u64::try_from(sighting.time.as_nanos()).unwrap_or(u64::MAX);
                worker.stuck.store(nanos, Ordering::Relaxed);
                is_stranded |= worker.queue.len() > 0;
                report_if_due(self.shared, worker, sighting);
                is_watched |= sighting.is_watched();
            }
        }

        self.shared.any_stuck.store(stuck > 0, Ordering::Relaxed);
        if is_stranded {
            self.shared.call_helper();
        }
        if moved == 0 {
            self.watch_kernel();
        }

        match (moved, stuck) {
            _ if is_watched => Seen::SomeNeedHelp,
            (0, 0) => Seen::Quiet,
            (0, _) => Seen::AllReported,
            (moved, _) if moved == self.shared.workers.len() => Seen::AllMove,
            _ => Seen::SomeNeedHelp,
        }
    }

    /// Watches the futures in `block_on`. Returns whether one may have to be reported soon.
    fn watch_mains(&mut self, step: Duration) -> bool {
        let mut before = take(&mut self.mains);
        let mut is_watched = false;
        for main in self.shared.mains.all() {
            let turn = main.turn.load(Ordering::Relaxed);
            let mut sighting = before.remove(&main.id).unwrap_or_default();
            let is_still_there = sighting.is_still_in(turn, step);
            let Builder { long_poll_limit: limit, on_long_poll, .. } = &self.shared.config;
            if is_still_there && main.is_polled() && sighting.is_due(*limit, &main.folder) {
                sighting.is_reported = on_long_poll.report(TaskInfo {
                    id: main.id,
                    name: Some("block_on".into()),
                    location: main.location,
                    state: TaskState::InBlockOn { time: sighting.time },
                    polls: turn / 2 + 1,
                });
            }
            is_watched |= main.is_polled() && sighting.is_watched();
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

        // Pairs with the fence in `Doorbell::ring`.
        fence(Ordering::SeqCst);

        // A poll in `block_on` that was reported already may go on for ever.
        let is_known = |main: &Main| {
            let turn = main.turn.load(Ordering::Relaxed);
            let sighting = self.mains.get(&main.id);
            sighting.is_some_and(|sighting| sighting.turn == turn && !sighting.is_watched())
        };
        let mains = self.shared.mains.all();
        let no_main_runs = mains.iter().all(|main| !main.is_polled() || is_known(main));
        let is_idle = no_main_runs && !self.shared.sleepers.any_runs();
        while is_idle && asleep.load(Ordering::Relaxed) && !self.shared.is_ending() {
            thread::park();
        }
        asleep.store(false, Ordering::Relaxed);
    }
}

/// Reports the task that a stuck worker polls, when that has lasted for as long as the limit says.
fn report_if_due(shared: &Shared, worker: &WorkerShared, sighting: &mut Sighting) {
    let Builder { long_poll_limit: limit, on_long_poll, .. } = &shared.config;
    if !sighting.is_due(*limit, &lock(&worker.folder)) {
        return;
    }

    // Acquire pairs with the Release in `Worker::poll`: if this is the id of a later task, the
    // turn that it began with is seen as well, and nothing is reported.
    let polled = worker.polled.load(Ordering::Acquire);
    let mut tasks = shared.describe_tasks().into_iter();
    let task = tasks.find(|task| task.id.0 == polled);
    sighting.is_reported = match task {
        Some(task) if worker.turn.load(Ordering::Relaxed) == sighting.turn => {
            on_long_poll.report(task)
        }
        _ => true,
    };
}
