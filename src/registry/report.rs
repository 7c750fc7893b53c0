//! Report polls that last for too long.

use crate::panic::ignore_panic;
use crate::registry::list::TaskInfo;
use crate::sync::Arc;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, thread};

/// A hook of the user's.
type Hook = dyn Fn(&TaskInfo) + Send + Sync;

/// Calls a hook for each report.
#[derive(Clone)]
pub(crate) struct Reporter {
    /// None: nothing is reported.
    hook: Option<Arc<Hook>>,
    /// A call of the hook has not returned yet.
    is_busy: Arc<AtomicBool>,
}

impl Default for Reporter {
    /// See [`Builder::report_long_polls`](crate::runtime::Builder::report_long_polls).
    fn default() -> Self {
        let told = env::var("ARC_LONG_POLLS").ok();

        // Any other value is as none: a program should not fail by it.
        let reports = match told.as_deref() {
            // What the environment says comes before what the build says.
            Some("report") => true,
            Some("off") => false,
            _ => cfg!(debug_assertions),
        };
        if reports { Self::to_stderr() } else { Self::off() }
    }
}

impl Reporter {
    pub(crate) fn off() -> Self {
        Self { hook: None, is_busy: Arc::default() }
    }

    /// Prints a line for each report. If that cannot be written, there is no line, and no panic.
    pub(crate) fn to_stderr() -> Self {
        Self::new(|task| {
            let _ = writeln!(io::stderr(), "arc: a poll holds its worker up: {task}");
        })
    }

    pub(crate) fn new(hook: impl Fn(&TaskInfo) + Send + Sync + 'static) -> Self {
        Self { hook: Some(Arc::new(hook)), is_busy: Arc::default() }
    }

    /// Calls the hook on a thread of its own. Where it blocks, even for ever (standard error may be
    /// a pipe that nobody reads), it holds up nothing else.
    ///
    /// False: the hook was not called, because an earlier call has not returned or because the
    /// system starts no thread. Try again later.
    pub(crate) fn report(&self, task: TaskInfo) -> bool {
        let Some(hook) = self.hook.clone() else { return true };

        // Acquire and Release: what one call has done is seen by the next.
        if self.is_busy.swap(true, Ordering::Acquire) {
            return false;
        }
        let is_busy = self.is_busy.clone();
        let call = move || {
            ignore_panic(|| hook(&task));
            is_busy.store(false, Ordering::Release);
        };

        // A thread for each report: there are few, and none that waits for the next.
        let started = thread::Builder::new().name("arc-report".to_owned()).spawn(call);
        if started.is_err() {
            self.is_busy.store(false, Ordering::Release);
        }
        started.is_ok()
    }
}
