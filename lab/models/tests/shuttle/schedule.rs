//! The timeline of a schedule: what each thread did at each step, as the runtime tells it.
//!
//! shuttle runs all threads of a model on one thread of the system, in turns. So one recorder hears
//! them all, and the scheduler tells it whose turn it is. Its clock counts the steps: one is 1 us.

use arc_trace::{ThreadRecorder, Timeline};
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What a step takes on the recorder's clock.
const STEP_NANOS: u64 = 1_000;

std::thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
    /// Records the schedule that is being tried.
    static RECORDER: RefCell<Option<ThreadRecorder>> = const { RefCell::new(None) };
}

fn clock() -> u64 {
    STEPS.get() * STEP_NANOS
}

/// A scheduler whose choices are recorded.
pub(crate) struct Recorded<S>(pub(crate) S);

impl<S: Scheduler> Scheduler for Recorded<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        // The runtime tells it from now on, if it does not yet.
        arc_trace::attach();
        STEPS.set(0);
        // One after the other: a thread has one recorder at a time.
        RECORDER.take();
        RECORDER.set(Some(ThreadRecorder::begin(clock)));
        self.0.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let chosen = self.0.next_task(runnable, current, is_yielding)?;
        STEPS.set(STEPS.get() + 1);
        arc_trace::tell!(scheduled(chosen.into()));
        Some(chosen)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Writes the timeline of the schedule that has just failed, and says where it is.
pub(crate) fn write(model: &str) -> String {
    let Some(recorder) = RECORDER.take() else { return "no schedule was tried".to_owned() };
    let path = path(model);
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
        let timeline = Timeline::new(&recorder.recording().by_schedule());
        timeline.write(&path)
    });
    match written {
        Ok(()) => format!("its timeline is {}", path.display()),
        Err(error) => format!("no timeline is in {}: {error}", path.display()),
    }
}

/// What `ARC_TRACE` says or, without it, a file beside the program.
fn path(model: &str) -> PathBuf {
    if let Some(path) = env::var_os("ARC_TRACE").filter(|path| !path.is_empty()) {
        return path.into();
    }
    let program = env::current_exe().unwrap_or_default();
    let folder = program.parent().unwrap_or(Path::new(".")).join("models");
    folder.join(model.replace("::", "-")).with_extension("html")
}
