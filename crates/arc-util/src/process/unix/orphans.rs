//! Children that nobody waits for any more.
//!
//! When a process has ended, the system keeps its number and its status until its parent asks for
//! them. Until then it is a *zombie*. If all that dropped a [`Child`](crate::process::Child) left
//! one, a program would run out of numbers. So somebody must ask, and must hear of the end before.
//!
//! A reactor wakes whatever waker was left there. It need not be a task's: the waker of an
//! [`Orphan`] asks for the status itself, on the thread that wakes it. So an orphan is no task, and
//! has no thread. It is kept alive by its own waker, until the process or the runtime has ended.
//!
//! ```text
//!   Orphan ──► Watch ──► source in the reactor ──► waker ──► Orphan
//! ```
//!
//! An orphan whose runtime ends is [left](leave) to the next process that is started, in whatever
//! runtime.

use super::watch::Watch;
use arc::task::with_budget;
use std::mem::take;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Those whose runtime has ended before them.
static LEFT: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// A process, and how to hear of its end. None when that is no longer of interest.
struct Orphan(Mutex<Option<(Child, Watch)>>);

impl Wake for Orphan {
    fn wake(self: Arc<Self>) {
        self.look();
    }
}

impl Orphan {
    /// Asks whether the process has ended. If it has not, this is done again at the next event.
    fn look(self: Arc<Self>) {
        let waker = Waker::from(self.clone());
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((child, watch)) = &mut *parts else { return };

        // This may be in a task that has no budget left, which is nothing to an orphan.
        let context = &mut Context::from_waker(&waker);
        if let Poll::Ready(end) = with_budget(|| watch.poll_end(child, context)) {
            let ended = parts.take();
            drop(parts);
            if let Some((child, watch)) = ended {
                drop(watch);
                // The runtime has ended, and not the process.
                if end.is_err() {
                    leave(child);
                }
            }
        }
    }
}

/// Whether it runs. If it has ended, it is no zombie after this. If asking fails, it is no child of
/// this process: it was one of the parent's at a fork, or has been asked for by other code.
fn is_running(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(None))
}

/// Asks for the status when the process ends.
pub(super) fn adopt(mut child: Child, watch: Watch) {
    if is_running(&mut child) {
        Arc::new(Orphan(Mutex::new(Some((child, watch))))).look();
    }
}

/// Leaves a process to the next one that is started.
pub(super) fn leave(mut child: Child) {
    if is_running(&mut child) {
        LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(child);
    }
}

/// The current runtime takes over all that were left.
///
/// If somebody else holds the lock, it is he who takes them over. Or nobody does, because a fork
/// has copied a lock that was held just then, and to wait for it would take for ever.
pub(in crate::process) fn take_over() {
    let Ok(mut left) = LEFT.try_lock() else { return };
    let children = take(&mut *left);
    drop(left);

    for mut child in children {
        if !is_running(&mut child) {
            continue;
        }
        match Watch::new(&child) {
            Ok(watch) => adopt(child, watch),
            // For lack of descriptors. The next process that is started tries it again.
            Err(_) => leave(child),
        }
    }
}
