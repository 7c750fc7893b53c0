//! Which task each thread polls now, and what that task waits for so far.

use crate::waits::{self, On};
use std::cell::{Cell, RefCell};

thread_local! {
    static NOW: Now = const {
        Now {
            task: Cell::new(0),
            outer: Cell::new(0),
            step: Cell::new(0),
            is_queued: Cell::new(false),
            waits: RefCell::new(Vec::new()),
        }
    };
}

struct Now {
    /// The task that is polled. Zero: none is, or it has ended.
    task: Cell<u64>,
    /// The job of `spawn_blocking` in whose `block_on` that is.
    outer: Cell<u64>,
    /// The number of the step by which the poll began.
    step: Cell<u64>,
    /// The task has been put into a queue on this thread since then.
    is_queued: Cell<bool>,
    /// What the task has asked for in this poll, and did not get.
    waits: RefCell<Vec<On>>,
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
        now.is_queued.set(false);
        now.waits.borrow_mut().clear();
    });
}

/// The poll of the future of a `block_on` begins, perhaps inside of a job.
pub(crate) fn begins_main(task: u64, number: u64) {
    with(|now| now.outer.set(now.task.get()));
    begins(task, number);
    // Nobody else knows whether it is polled now.
    waits::forget(task);
}

/// A task is put into a queue on this thread.
pub(crate) fn queues(task: u64) {
    with(|now| {
        if now.task.get() == task {
            now.is_queued.set(true);
        }
    });
}

/// The poll of this thread has ended.
pub(crate) fn ends() {
    with(|now| {
        // A task that goes on at once waits for nothing.
        if now.task.get() > 0 && !now.is_queued.get() {
            waits::keep(now.task.get(), now.step.get(), &mut now.waits.borrow_mut());
        }
        now.task.set(now.outer.take());
    });
}

/// The task that is polled waits for this.
pub(crate) fn waits_for(on: On) {
    with(|now| {
        let mut waits = now.waits.borrow_mut();
        if now.task.get() > 0 && !waits.iter().any(|other| other.is_same(&on)) {
            waits.push(on);
        }
    });
}

/// The task has ended, in this poll or elsewhere: nothing of it is kept when the poll ends.
pub(crate) fn ended(task: u64) {
    with(|now| {
        if now.task.get() == task {
            now.task.set(0);
        }
    });
}
