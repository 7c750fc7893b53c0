//! Report polls that last for too long.

use super::Registry;
use super::info::{Id, TaskInfo, TaskState};
use super::sync::{AtomicUsize, Mutex, Ordering, lock};
use std::collections::BTreeMap;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Calls a hook of the user's for each report.
pub struct Reporter {
    hook: Arc<dyn Fn(&TaskInfo) + Send + Sync>,
    /// A call of the hook has not returned yet.
    is_busy: Arc<AtomicBool>,
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
            // The panic hook has printed it. The drop of what it carries may panic in turn.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook(&task))) {
                catch_unwind(AssertUnwindSafe(|| drop(payload))).unwrap_or_else(forget);
            }
            is_busy.store(false, Ordering::Release);
        };

        let started = thread::Builder::new().name("arc-report".to_owned()).spawn(call);
        if started.is_err() {
            self.is_busy.store(false, Ordering::Release);
        }
        started.is_ok()
    }
}

/// Tells whether a thread that wants to run has had a core. Where the system does not say, which is
/// everywhere but on Linux, it counts as one that has.
#[derive(Default)]
struct CoreUse {
    /// Where the system tells of the thread.
    folder: Option<Arc<str>>,
    /// When the mark was set, and for how long the thread had had a core by then.
    mark: Option<(Instant, Duration)>,
}

/// The system counts what a running thread has used at ticks of its own, of 4 ms most often. Less
/// time than this says nothing.
const JUDGED_MIN: Duration = Duration::from_millis(10);

impl CoreUse {
    /// Of the calling thread.
    fn of_this_thread() -> Self {
        thread_local! {
            static FOLDER: Option<Arc<str>> = fs::read_link("/proc/thread-self")
                .ok()
                .map(|thread| format!("/proc/{}", thread.display()).into());
        }
        // This may be called in the destructor of another thread-local, after that of this one.
        let folder = FOLDER.try_with(Clone::clone).ok().flatten();
        Self { folder, mark: None }
    }

    fn set_mark(&mut self) {
        self.mark = self.folder.as_deref().and_then(core_time);
    }

    /// Whether the thread wants to run, now and when the mark was set, but has had a core for less
    /// than half of the time between.
    fn has_been_starved(&self) -> bool {
        let now = self.folder.as_deref().and_then(core_time);
        now.zip(self.mark).is_some_and(|((now, used), (then, used_then))| {
            let time = now - then;
            time >= JUDGED_MIN && used.saturating_sub(used_then) < time / 2
        })
    }
}

/// For how long a thread that wants to run has had a core, and when that was so. None: it sleeps
/// in the kernel (in a system call, or because of memory that is not there yet), or the system does
/// not tell.
fn core_time(folder: &str) -> Option<(Instant, Duration)> {
    let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
    let times = fs::read_to_string(format!("{folder}/schedstat")).ok()?;

    // The state stands behind the name in parentheses, and R is "running, or ready to run".
    let wants_to_run = stat.rsplit(')').next()?.starts_with(" R");
    let used = Duration::from_nanos(times.split(' ').next()?.parse().ok()?);

    // A kernel that was built without these times says 0.
    (wants_to_run && !used.is_zero()).then(|| (Instant::now(), used))
}

/// Counts for how many ticks a thread has been in the same turn of its loop.
#[derive(Default)]
pub struct Stuck {
    /// 0: the turn began after the last tick.
    ticks: AtomicUsize,
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
        self.ticks.store(0, Ordering::Relaxed);
    }

    /// Counts a tick. Returns whether a turn has begun since the one before.
    pub fn tick(&self) -> bool {
        self.ticks.fetch_add(1, Ordering::Relaxed) == 0
    }

    /// For how many ticks the turn has lasted.
    pub fn ticks(&self) -> usize {
        self.ticks.load(Ordering::Relaxed).saturating_sub(1)
    }

    /// Whether a new turn began since the last tick.
    pub fn has_moved(&self) -> bool {
        self.ticks.load(Ordering::Relaxed) == 0
    }

    /// Called after each tick. True: the turn has lasted for `limit`, and is to blame, and
    /// `reporter` can be told.
    pub fn has_reached(&self, limit: Duration, tick: Duration, reporter: &Reporter) -> bool {
        let (ticks, limit) = (self.ticks(), in_ticks(limit, tick));
        let half = limit.div_ceil(2);
        if ticks == half {
            lock(&self.core_use).set_mark();
        }
        if ticks != limit {
            return false;
        }

        // If the thread has not had a core, the poll is not to blame. It is judged again later.
        if lock(&self.core_use).has_been_starved() {
            self.take_back(half);
            return false;
        }
        if reporter.is_busy.load(Ordering::Relaxed) {
            self.try_again();
            return false;
        }
        true
    }

    /// The limit was reached, but that could not be told. It is reached again at the next tick.
    pub fn try_again(&self) {
        self.take_back(1);
    }

    /// Nothing, if a turn has begun meanwhile.
    fn take_back(&self, ticks: usize) {
        let less = |before: usize| before.checked_sub(ticks);
        let _ = self.ticks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// Watches the futures in `block_on`: the polls that are going on, and how many looks each has
/// lasted for.
#[derive(Default)]
pub struct Watch(BTreeMap<(Id, u64), usize>);

impl Watch {
    /// Looks at the futures, once every `tick`, and reports each poll that has lasted for
    /// `limit`. Returns whether any future is being polled.
    pub fn look(
        &mut self,
        futures: &Registry,
        limit: Duration,
        tick: Duration,
        reporter: &Reporter,
    ) -> bool {
        let limit = in_ticks(limit, tick);
        let mut now = BTreeMap::new();
        // A future whose number of steps is odd is being polled. Of a task it would say "queued".
        let is_polled = |future: &TaskInfo| future.state == TaskState::Queued;
        for mut future in futures.tasks().into_iter().filter(is_polled) {
            let poll = (future.id, future.polls);
            let mut ticks = self.0.get(&poll).map_or(0, |ticks| ticks + 1);
            if ticks == limit {
                future.name = Some("block_on".into());
                future.state = TaskState::InBlockOn { time: tick * ticks as u32 };
                future.polls += 1; // the one that goes on

                // What was not told is told later.
                ticks -= usize::from(!reporter.report(future));
            }
            now.insert(poll, ticks);
        }
        self.0 = now;
        !self.0.is_empty()
    }
}

fn in_ticks(limit: Duration, tick: Duration) -> usize {
    let ticks = limit.as_nanos().div_ceil(tick.as_nanos());
    usize::try_from(ticks).unwrap_or(usize::MAX)
}
