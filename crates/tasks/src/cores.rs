//! What the system tells of the time for which threads have had a core.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// For how long the calling thread has had a core, and for how long it was ready to run and waited
/// for one. None: the system does not tell. Linux does, but the first time may be that of some
/// milliseconds ago.
pub fn core_times() -> Option<(Duration, Duration)> {
    core_times_in("/proc/thread-self")
}

/// The same, of the thread that this folder is about.
fn core_times_in(folder: &str) -> Option<(Duration, Duration)> {
    let text = fs::read_to_string(format!("{folder}/schedstat")).ok()?;
    let mut times = text.split(' ').map_while(|time| time.parse().ok().map(Duration::from_nanos));
    Some((times.next()?, times.next()?))
}

/// Tells whether a thread that wants to run has had a core. Where the system does not say, which is
/// everywhere but on Linux, it counts as one that has.
#[derive(Default)]
pub struct CoreUse {
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
    pub fn of_this_thread() -> Self {
        thread_local! {
            static FOLDER: Option<Arc<str>> = fs::read_link("/proc/thread-self")
                .ok()
                .map(|thread| format!("/proc/{}", thread.display()).into());
        }
        // This may be called in the destructor of another thread-local, after that of this one.
        let folder = FOLDER.try_with(Clone::clone).ok().flatten();
        Self { folder, mark: None }
    }

    /// The time counts from now on.
    pub fn set_mark(&mut self) {
        self.mark = self.folder.as_deref().and_then(core_time);
    }

    /// Whether the thread wants to run, now and when the mark was set, but has had a core for less
    /// than half of the time between.
    pub fn has_been_starved(&self) -> bool {
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
    let (used, _) = core_times_in(folder)?;

    // The state stands behind the name in parentheses, and R is "running, or ready to run".
    let wants_to_run = stat.rsplit(')').next()?.starts_with(" R");

    // A kernel that was built without these times says 0.
    (wants_to_run && !used.is_zero()).then(|| (Instant::now(), used))
}
