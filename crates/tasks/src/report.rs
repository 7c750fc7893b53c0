//! Report polls that last for too long.

use super::cores::CoreUse;
use super::info::{Id, TaskInfo, TaskState};
use super::sync::{AtomicU64, Mutex, Ordering, lock};
use super::{Registry, ignore_panic};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{thread, time::Duration};

/// Calls a hook of the user's for each report.
pub struct Reporter {
    hook: Arc<dyn Fn(&TaskInfo) + Send + Sync>,
    /// A call of the hook has not returned yet.
    is_busy: Arc<AtomicBool>,
}

impl Default for Reporter {
    /// Prints a line to standard error. If that cannot be written, there is no line, and no panic.
    fn default() -> Self {
        Self::new(|task| drop(writeln!(io::stderr(), "arc: a poll holds its worker up: {task}")))
    }
}

impl Reporter {
    /// `hook` is called for each report.
    pub fn new(hook: impl Fn(&TaskInfo) + Send + Sync + 'static) -> Self {
        Self { hook: Arc::new(hook), is_busy: Arc::default() }
    }

    /// Calls the hook on a thread of its own. Where it blocks, even for ever (standard error may be
    /// a pipe that nobody reads), it holds up nothing else.
    ///
    /// False: the hook was not called, because an earlier call has not returned or because the
    /// system starts no thread. Ask again later.
    pub fn report(&self, task: TaskInfo) -> bool {
        // Acquire and Release: what one call has done is seen by the next.
        if self.is_busy.swap(true, Ordering::Acquire) {
            return false;
        }
        let (hook, is_busy) = (self.hook.clone(), self.is_busy.clone());
        let call = move || {
            ignore_panic(|| hook(&task));
            is_busy.store(false, Ordering::Release);
        };

        let started = thread::Builder::new().name("arc-report".to_owned()).spawn(call);
        if started.is_err() {
            self.is_busy.store(false, Ordering::Release);
        }
        started.is_ok()
    }
}

/// Counts for how long a thread has been in the same turn of its loop.
///
/// The time is the sum of the steps from one tick to the next. Whoever ticks says how long a step
/// was, and may say less than it was: if the one who ticks had no core, the thread may have had
/// none either.
#[derive(Default)]
pub struct Stuck {
    /// 0: the turn began after the last tick. 1: there was one tick in it. Otherwise the time since
    /// that one, in nanoseconds, and two more: it stays stuck if time is taken back.
    ticked: AtomicU64,
    core_use: Mutex<CoreUse>,
}

impl Stuck {
    /// The calling thread is the one to be judged from now on.
    pub fn watch_this_thread(&self) {
        *lock(&self.core_use) = CoreUse::of_this_thread();
    }

    /// A turn begins.
    #[inline]
    pub fn reset(&self) {
        self.ticked.store(0, Ordering::Relaxed);
    }

    /// A tick, this long after the one before. Returns whether a turn has begun between the two.
    pub fn tick(&self, step: Duration) -> bool {
        let next = |ticked: u64| match ticked {
            0 => Some(1),
            _ => Some(ticked.max(2).saturating_add(nanos(step))),
        };
        self.ticked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) == Ok(0)
    }

    /// Whether two ticks, at the least, have found the same turn.
    pub fn is_stuck(&self) -> bool {
        self.ticked.load(Ordering::Relaxed) > 1
    }

    /// For how long the turn has lasted, as far as the ticks tell: some milliseconds less, and less
    /// yet if its thread had no core.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.ticked.load(Ordering::Relaxed).saturating_sub(2))
    }

    /// Whether a new turn began since the last tick.
    pub fn has_moved(&self) -> bool {
        self.ticked.load(Ordering::Relaxed) == 0
    }

    /// Called after each tick. True: the turn has lasted for `limit`, and is to blame, and
    /// `reporter` can be told.
    ///
    /// At two fifths of the limit a mark is set, and at the limit the thread is judged by the time
    /// since the mark. If the thread has had no core, the poll is not to blame. Then a new mark is
    /// set, and the thread is judged again after another three fifths.
    pub fn has_reached(&self, limit: Duration, step: Duration, reporter: &Reporter) -> bool {
        let (time, mark) = (self.time(), limit / 5 * 2);
        if reaches(time, step, mark) {
            lock(&self.core_use).set_mark();
        }
        if !reaches(time, step, limit) {
            return false;
        }

        let mut core_use = lock(&self.core_use);
        if core_use.has_been_starved() {
            core_use.set_mark();
            self.take_back(limit - mark);
            return false;
        }
        if reporter.is_busy.load(Ordering::Relaxed) {
            self.try_again(step);
            return false;
        }
        true
    }

    /// The limit was reached with this step, but that could not be told. It is reached again with
    /// one of the next.
    pub fn try_again(&self, step: Duration) {
        self.take_back(step);
    }

    /// Nothing, if a turn has begun meanwhile.
    fn take_back(&self, time: Duration) {
        let less = |before: u64| before.checked_sub(nanos(time));
        let _ = self.ticked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Whether the last step of the time, and none before it, has reached the mark.
fn reaches(time: Duration, step: Duration, mark: Duration) -> bool {
    time >= mark && time.saturating_sub(step) < mark
}

/// Watches the futures in `block_on`: the polls that are going on, and for how long each has, from
/// the first look that found it.
#[derive(Default)]
pub struct Watch(BTreeMap<(Id, u64), Duration>);

impl Watch {
    /// Looks at the futures, this long after the last time, and reports each poll that has lasted
    /// for `limit`. Returns whether any future is being polled.
    pub fn look(
        &mut self,
        futures: &Registry,
        limit: Duration,
        step: Duration,
        reporter: &Reporter,
    ) -> bool {
        let mut now = BTreeMap::new();
        // A future whose number of steps is odd is being polled. Of a task it would say "queued".
        let is_polled = |future: &TaskInfo| future.state == TaskState::Queued;
        for mut future in futures.tasks().into_iter().filter(is_polled) {
            let poll = (future.id, future.polls);
            let mut time = self.0.get(&poll).map_or(Duration::ZERO, |time| *time + step);
            if reaches(time, step, limit) {
                future.name = Some("block_on".into());
                future.state = TaskState::InBlockOn { time };
                future.polls += 1; // the one that goes on

                // What was not told is told later.
                if !reporter.report(future) {
                    time -= step;
                }
            }
            now.insert(poll, time);
        }
        self.0 = now;
        !self.0.is_empty()
    }
}
