//! What the system tells of the time for which a thread has had a core. Linux does; elsewhere every
//! thread counts as one that has had one.

use crate::sync::{Arc, Duration, Instant};
use std::fs;

/// Where the system tells of a thread. None: it does not.
pub(crate) type ThreadFolder = Option<Arc<str>>;

/// The folder of the calling thread.
pub(crate) fn folder_of_this_thread() -> ThreadFolder {
    thread_local! {
        static FOLDER: ThreadFolder = fs::read_link("/proc/thread-self")
            .ok()
            .map(|thread| format!("/proc/{}", thread.display()).into());
    }
    // This may be called in the destructor of another thread-local, after that of this one.
    FOLDER.try_with(Clone::clone).ok().flatten()
}

/// When a thread was looked at, and for how long it had had a core by then.
pub(crate) struct CoreTime {
    at: Instant,
    used: Duration,
}

/// The system counts what a running thread has used at ticks of its own, of 4 ms most often. Less
/// time than this says nothing.
const JUDGED_MIN: Duration = Duration::from_millis(10);

impl CoreTime {
    /// Looks at a thread. `None` if it does not want to run, or if the system does not tell. (A
    /// thread that sleeps in a system call, or because of memory that is not there yet, does not
    /// wait for a core.)
    pub(crate) fn of(folder: &ThreadFolder) -> Option<Self> {
        let folder = folder.as_deref()?;
        let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
        let times = fs::read_to_string(format!("{folder}/schedstat")).ok()?;
        let used = times.split(' ').next()?.parse().ok()?;

        // The state stands behind the name in parentheses, and R is "running, or ready to run". A
        // kernel that was built without these times says 0.
        let wants_to_run = stat.rsplit(')').next()?.starts_with(" R");
        if !wants_to_run || used == 0 {
            return None;
        }
        Some(Self { at: Instant::now(), used: Duration::from_nanos(used) })
    }

    /// Whether the thread has had a core for less than half of the time since an earlier look.
    pub(crate) fn is_starved_since(&self, earlier: &Self) -> bool {
        let time = self.at - earlier.at;
        time >= JUDGED_MIN && self.used.saturating_sub(earlier.used) < time / 2
    }
}
