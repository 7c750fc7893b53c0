//! Report polls that last for too long.

use super::Registry;
use super::info::{Id, TaskInfo, TaskState};
use std::collections::BTreeMap;
use std::mem::{forget, replace};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
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
    path: Option<Arc<str>>,
    before: Duration,
}

impl CoreWait {
    /// Of the calling thread.
    pub fn of_this_thread() -> Self {
        thread_local! {
            static PATH: Option<Arc<str>> = fs::read_link("/proc/thread-self")
                .ok()
                .map(|thread| format!("/proc/{}/schedstat", thread.display()).into());
        }
        Self { path: PATH.with(Clone::clone), before: Duration::ZERO }
    }

    /// How long the thread has waited since this was asked last, or since the thread began.
    pub fn take(&mut self) -> Duration {
        let text = self.path.as_ref().and_then(|path| fs::read_to_string(&**path).ok());
        let waited = text.as_ref().and_then(|text| text.split(' ').nth(1)?.parse().ok());
        let now = Duration::from_nanos(waited.unwrap_or_default());
        now.saturating_sub(replace(&mut self.before, now))
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
