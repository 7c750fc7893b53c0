//! How this crate hears of what a runtime does: by the seam that arc's core has for everybody.

use crate::environment::is_on;
use crate::{recorder, tell, threads};
use arc_observe::{Kind, Note, Observer};
use std::cell::Cell;
use std::sync::Once;
use std::time::Duration;

/// Has the runtimes of this process tell their timeline from now on.
///
/// `arc-async` and `arc-util` call this when they build a runtime, with their feature `trace`. With
/// `arc-runtime` alone, and its feature `observe`, call it before the runtime is built. A second
/// call does nothing.
///
/// # Examples
///
/// ```
/// arc_trace::attach();
/// arc_trace::start(arc_trace::Options::default());
/// // Build a runtime of arc here, and run the program.
/// # arc_trace::stop();
/// ```
pub fn attach() {
    static ATTACHED: Once = Once::new();
    ATTACHED.call_once(|| arc_observe::attach(Recorder));
}

/// Tells of an event, if anybody wants to know.
macro_rules! tell_if_on {
    ($event:ident($($fact:expr),*)) => {
        if is_on() {
            tell::$event($($fact),*);
        }
    };
}

thread_local! {
    /// The step with which the poll of the future in `block_on` has begun.
    static ROOT_STEP: Cell<u64> = const { Cell::new(0) };
    /// The job that this thread runs. Its only poll ends with itself.
    static JOB: Cell<u64> = const { Cell::new(0) };
}

struct Recorder;

impl Observer for Recorder {
    fn spawned(&self, task: u64, runtime: u64, note: &Note) {
        // As `tell::spawned` numbers them.
        let kind = match note.kind() {
            Kind::Task => 0,
            Kind::Job => 1,
            Kind::BlockOn => 2,
        };
        // The name is cloned only if somebody is told of it.
        tell_if_on!(spawned(task, runtime, &note.name().cloned(), note.location(), kind));

        // Also while nothing is recorded: see `tell::blocks_on`.
        if note.kind() == Kind::BlockOn {
            tell::blocks_on(task);
            threads::begins();
        }
    }

    fn queued(&self, task: u64, note: &Note) {
        tell_if_on!(queued(task, note.steps()));
    }

    fn begins(&self, task: u64, note: &Note) {
        match note.kind() {
            // The core tells of the end of its poll by its id.
            Kind::Task => {}
            Kind::Job => {
                threads::is_ours();
                JOB.set(task);
            }
            Kind::BlockOn => {
                ROOT_STEP.set(note.steps());
                return tell::step(task, note.steps());
            }
        }
        tell_if_on!(begins(task, note.steps()));
    }

    fn ends(&self, task: u64) {
        if !is_on() {
            return;
        }
        if recorder::main() == Some(task) {
            // Such a poll has two steps: it ends by the one after that by which it began.
            tell::step(task, ROOT_STEP.get() + 1);
        } else if JOB.get() == task {
            // Its end is told next.
            JOB.set(0);
        } else {
            tell::polled(task);
        }
    }

    fn drops(&self, task: u64) {
        tell_if_on!(drops(task));
    }

    fn panicked(&self, task: u64) {
        tell_if_on!(panicked(task));
    }

    fn ended(&self, task: u64) {
        tell_if_on!(ended(task));
        if recorder::main() == Some(task) {
            threads::ends();
        }
    }

    fn made_progress(&self) {
        tell_if_on!(made_progress());
    }

    fn out_of_budget(&self) {
        tell_if_on!(out_of_budget());
    }

    fn waits_for_task(&self, task: u64) {
        tell_if_on!(waits_for_task(task));
    }

    fn no_longer_waits_for_task(&self, task: u64) {
        tell_if_on!(no_longer_waits_for_task(task));
    }

    fn waits_for_time(&self, timer: usize, left: Duration) {
        tell_if_on!(waits_for_time(timer, left));
    }

    fn waits_for_io(&self, waiter: usize, source: i64, direction: usize) {
        tell_if_on!(waits_for_io(waiter, source, direction));
    }

    fn no_longer_waits(&self, waiter: usize) {
        tell_if_on!(no_longer_waits(waiter));
    }

    fn runs_worker(&self, runtime: u64, worker: usize) {
        tell::runs_worker(runtime, worker);
        threads::begins();
    }

    fn leaves_worker(&self, _runtime: u64, _worker: usize) {
        threads::ends();
    }

    fn tick(&self, _runtime: u64, _since: Duration) -> bool {
        threads::is_ours();
        false
    }

    fn sleeps(&self) {
        tell_if_on!(sleeps());
    }

    fn awake(&self) {
        tell_if_on!(awake());
    }

    fn wakes(&self, runtime: u64, worker: usize) {
        tell_if_on!(wakes(runtime, worker));
    }

    fn asks_kernel(&self, waits: bool) {
        tell_if_on!(asks_kernel(waits));
    }

    /// The page says which descriptor woke a task.
    fn kernel_told(&self, ready: &[(i64, [bool; 2])]) {
        tell_if_on!(kernel_told(ready));
    }

    fn closes(&self, runtime: u64) {
        tell_if_on!(runtime_closes(runtime));
    }

    fn runtime_ended(&self, _runtime: u64) {
        tell_if_on!(runtime_ended());
    }
}
