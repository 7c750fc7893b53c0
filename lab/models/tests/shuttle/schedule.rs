//! The timeline of a schedule: what each thread did at each step, as the runtime tells it.
//!
//! shuttle runs all threads of a model on one thread of the system, in turns. So one recorder hears
//! them all, and the scheduler tells it whose turn it is. Its clock counts the steps: one is 1 us.

use crate::common::{eager_runtime, model};
use crate::sync::{Arc, AtomicBool, Ordering, thread};
use crate::task::spawn_named;
use arc_trace::{ThreadRecorder, Timeline};
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

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

/// The name of the variable that makes the broken model run.
const CHILD: &str = "ARC_MODEL_CHILD";

/// A model of a lost wake-up: the thread that waits may look before the flag is set, and park after
/// the other one has looked for a thread to unpark.
fn loses_a_wake_up() {
    model(|| {
        let runtime = eager_runtime(1);
        runtime.block_on(async { spawn_named("before", async {}).await.unwrap() });
        let (is_set, is_parked) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let (sees, parks, waits) = (is_set.clone(), is_parked.clone(), thread::current());
        let setter = shuttle::thread::spawn(move || {
            is_set.store(true, Ordering::SeqCst);
            if is_parked.load(Ordering::SeqCst) {
                waits.unpark();
            }
        });
        if !sees.load(Ordering::SeqCst) {
            parks.store(true, Ordering::SeqCst);
            thread::park();
        }
        setter.join().unwrap();
    });
}

#[test]
fn model_that_fails_writes_its_schedule() {
    const NAME: &str = "schedule::model_that_fails_writes_its_schedule";
    if env::var_os(CHILD).is_some() {
        return loses_a_wake_up();
    }
    let fails = |path: &Path| -> io::Result<(String, String)> {
        let mut command = Command::new(env::current_exe()?);
        command.args([NAME, "--exact"]).env(CHILD, "1").env("ARC_TRACE", path);
        let output = command.env_remove("ARC_SEED").env_remove("ARC_SCHEDULES").output()?;
        assert!(!output.status.success());
        let file = fs::read_to_string(path)?;
        fs::remove_file(path)?;
        Ok((String::from_utf8_lossy(&output.stderr).into_owned(), file))
    };
    let folder = env::temp_dir();
    let path = folder.join(format!("arc-model-{}.txt", std::process::id()));
    let (told, text) = fails(&path).unwrap();
    assert!(told.contains(&format!("its timeline is {}", path.display())), "{told}");
    assert!(told.contains("deadlock"), "{told}");

    // The worker runs the task, in some step, and at the end nobody can go on.
    assert!(text.contains("steps of the schedule"), "{text}");
    let has_line =
        |parts: &[&str]| text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has_line(&["worker 0 (thread ", "falls asleep"]), "{text}");
    assert!(has_line(&["thread 0", "has polled block_on"]), "{text}");
    assert!(text.contains("\"before\" (lab/models/tests/shuttle/schedule.rs:"), "{text}");

    let (_, page) = fails(&path.with_extension("html")).unwrap();
    assert!(page.contains("schedule:[["), "{page}");
}
