//! Which task each thread polls now.

use crate::recorder;
use crate::waiting::On;
use crate::waits;
use std::cell::Cell;

thread_local! {
    static NOW: Now =
        const { Now { task: Cell::new(0), outer: Cell::new(0), step: Cell::new(0) } };
}

struct Now {
    /// The task that is polled. Zero: none is, or it has ended.
    task: Cell<u64>,
    /// The job of `spawn_blocking` in whose `block_on` that is.
    outer: Cell<u64>,
    /// The number of the step by which the poll began.
    step: Cell<u64>,
}

/// A thread that is being torn down polls nothing.
fn with<R: Default>(act: impl FnOnce(&Now) -> R) -> R {
    NOW.try_with(act).unwrap_or_default()
}

/// The task that this thread polls. Zero: it polls none.
pub(crate) fn task() -> u64 {
    with(|now| now.task.get())
}

/// A poll of a task begins on this thread.
pub(crate) fn begins(task: u64, number: u64) {
    with(|now| {
        now.task.set(task);
        now.step.set(number);
    });
    // A recording says of a task that it waits for nothing that arc knows of.
    if recorder::is_recording() {
        waits::polls(task, number);
    }
}

/// The poll of the future of a `block_on` begins, perhaps inside of a job.
pub(crate) fn begins_main(task: u64, number: u64) {
    with(|now| now.outer.set(now.task.get()));
    waits::unsettle(task);
    begins(task, number);
}

/// The poll of the future of a `block_on` has ended.
pub(crate) fn ends_main(task: u64) {
    waits::settle(task);
    ends();
}

/// The poll of this thread has ended.
pub(crate) fn ends() {
    with(|now| now.task.set(now.outer.take()));
}

/// The task that is polled waits for this.
pub(crate) fn waits_for(on: On) {
    let (task, step) = with(|now| (now.task.get(), now.step.get()));
    if task > 0 {
        waits::keep(task, step, on);
    }
}

/// The task has ended, in this poll or elsewhere: nothing more of it is kept.
pub(crate) fn ended(task: u64) {
    with(|now| {
        if now.task.get() == task {
            now.task.set(0);
        }
    });
}
