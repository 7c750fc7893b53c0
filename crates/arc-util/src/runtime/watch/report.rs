//! Reports of polls that last for too long.

use crate::task::TaskInfo;
use arc::task::{Id, try_id};
use std::cell::Cell;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;
use std::{env, mem, thread};

/// A hook that is told of a long poll.
type Hook = Arc<dyn Fn(&TaskInfo) + Send + Sync>;

/// Which polls are reported, and to whom.
#[derive(Clone)]
pub(in crate::runtime) struct Reports {
    pub(in crate::runtime) limit: Duration,
    /// If there is none, nothing is reported.
    pub(in crate::runtime) hook: Option<Hook>,
    /// The thread that made the last report.
    last: Arc<Mutex<Option<thread::JoinHandle<()>>>>,
}

impl Reports {
    /// Reports go to standard error, or nowhere.
    pub(in crate::runtime) fn new(limit: Duration, print: bool) -> Self {
        let hook: Option<Hook> = if print { Some(Arc::new(print_line)) } else { None };
        Self { limit, hook, last: Arc::default() }
    }

    /// What a runtime has unless its builder is told otherwise.
    pub(in crate::runtime) fn by_default() -> Self {
        Self::new(Duration::from_millis(100), print_by_default())
    }

    pub(in crate::runtime) fn are_wanted(&self) -> bool {
        self.hook.is_some() && self.limit < Duration::MAX
    }

    /// Calls the hook on a thread of its own, unless `describe` finds nothing. If the hook blocks,
    /// even for ever, it delays nothing else: standard error may be a pipe that nobody reads.
    ///
    /// Returns false if the hook was not called, because an earlier call has not returned or
    /// because the system starts no thread. Try again later.
    pub(super) fn report(&self, describe: impl FnOnce() -> Option<TaskInfo>) -> bool {
        let Some(hook) = self.hook.clone() else { return true };
        let mut last = lock(&self.last);
        if last.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return false;
        }

        // Only now: to describe a task is to go through the list of all.
        let Some(task) = describe() else { return true };

        // A thread for each report: there are few, and none that waits for the next.
        let call = move || {
            let Err(panic) = catch_unwind(AssertUnwindSafe(|| hook(&task))) else { return };
            // The drop of what the panic carries may panic, too. What that one carries is leaked.
            if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                mem::forget(another);
            }
        };
        *last = thread::Builder::new().name("arc-report".to_owned()).spawn(call).ok();
        last.is_some()
    }
}

/// If the line cannot be written, there is none, and no panic.
fn print_line(task: &TaskInfo) {
    let _ = writeln!(io::stderr(), "arc: {task:#}");
}

/// The environment comes before the kind of build.
fn print_by_default() -> bool {
    let value = env::var_os("ARC_LONG_POLLS");
    match value.as_deref().and_then(OsStr::to_str) {
        Some("report") => return true,
        Some("off") => return false,
        _ => {}
    }

    // No program fails because of another value, but it is a mistake.
    static TOLD: Once = Once::new();
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        TOLD.call_once(|| {
            let text = "arc: ARC_LONG_POLLS must be report or off, not";
            let _ = writeln!(io::stderr(), "{text} {value:?}");
        });
    }
    cfg!(debug_assertions)
}

thread_local! {
    /// The future in `block_on` that this thread has polled last.
    pub(super) static ROOT: Cell<Option<Id>> = const { Cell::new(None) };
}

/// The tasks whose panics are being printed.
static PRINTED: Mutex<Vec<Id>> = Mutex::new(Vec::new());

/// Whether the panic hook is at work in a poll of this task.
pub(super) fn is_panic_printed(task: Id) -> bool {
    lock(&PRINTED).contains(&task)
}

/// From the first call on, [`is_panic_printed`] knows. To print a panic with its backtrace may take
/// a debug build longer than a poll should, and the task can do nothing about that.
///
/// The panic hook of the process still prints. If another hook is set later, and does not call the
/// one before it, this knows no more.
pub(in crate::runtime) fn know_printed_panics() {
    static IS_SET: Once = Once::new();

    // While it panics, a thread may not change the hook. The next call will.
    if thread::panicking() {
        return;
    }
    IS_SET.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            // No lock is held while it prints: nobody may be reading.
            let task = try_id().or_else(|| ROOT.try_with(Cell::get).ok().flatten());
            lock(&PRINTED).extend(task);
            print(panic);
            lock(&PRINTED).retain(|printed| Some(*printed) != task);
        }));
    });
}

/// A panic under one of these locks breaks nothing that it guards.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
