//! Report polls that last for too long.

use super::Registry;
use super::info::{Id, TaskInfo, TaskState};
use std::collections::BTreeMap;
use std::mem::{forget, replace};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
            // The panic hook has printed it. The drop of what it carries could panic again.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook(&task))) {
                forget(payload);
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

/// Tells how long a thread has waited for a core though it wanted to run. Where the system does not
/// tell, which is everywhere but on Linux, that is zero.
#[derive(Default)]
pub struct CoreWait {
    /// The thread's folder in /proc.
    folder: Option<Arc<str>>,
    before: Option<Sample>,
}

/// What the system tells of a thread.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    /// For how long it has had a core, and for how long it has waited for one. A wait counts only
    /// when it is over.
    used: Duration,
    waited: Duration,
    /// It neither has nor wants a core: it sleeps in a system call.
    is_asleep: bool,
}

impl CoreWait {
    /// Of the calling thread.
    pub fn of_this_thread() -> Self {
        thread_local! {
            static FOLDER: Option<Arc<str>> = fs::read_link("/proc/thread-self")
                .ok()
                .map(|thread| format!("/proc/{}", thread.display()).into());
        }
        Self { folder: FOLDER.with(Clone::clone), before: None }
    }

    /// How long the thread has waited since this was asked last. Zero the first time.
    pub fn take(&mut self) -> Duration {
        let now = self.folder.as_deref().and_then(Sample::of);
        let before = replace(&mut self.before, now);
        let (Some(before), Some(now)) = (before, now) else { return Duration::ZERO };
        if now.is_asleep {
            return now.waited.saturating_sub(before.waited);
        }

        // It may have waited for all the time that it did not have a core, and may still wait.
        (now.at - before.at).saturating_sub(now.used.saturating_sub(before.used))
    }
}

impl Sample {
    fn of(folder: &str) -> Option<Self> {
        let times = fs::read_to_string(format!("{folder}/schedstat")).ok()?;
        let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
        let mut nanos = times.split(' ').map(|number| number.parse().map(Duration::from_nanos));
        let used = nanos.next()?.ok()?;
        // A kernel that was built without these times says 0.
        (!used.is_zero()).then_some(())?;
        Some(Self {
            at: Instant::now(),
            used,
            waited: nanos.next()?.ok()?,
            // The state follows the name, which is in parentheses and may contain some.
            is_asleep: matches!(stat.rsplit_once(") ")?.1.as_bytes(), [b'S' | b'D', ..]),
        })
    }
}

/// Watches the futures in `block_on`: the polls that are going on, and how many looks each has
/// lasted for.
#[derive(Default)]
pub struct Watch(BTreeMap<(Id, u64), usize>);

impl Watch {
    /// Looks at the futures, once every `tick`, and reports each poll that has lasted for `limit`
    /// ticks. Returns whether any future is being polled.
    pub fn look(
        &mut self,
        futures: &Registry,
        limit: usize,
        tick: Duration,
        reporter: &Reporter,
    ) -> bool {
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
