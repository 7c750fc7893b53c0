//! Which task each thread polls now, and what that poll asks for and gives up.

use crate::switch::is_recording;
use crate::waiting::{AskedFor, On};
use crate::waits::{self, Asked};
use std::cell::{Cell, RefCell};

thread_local! {
    static NOW: Now = const {
        Now {
            task: Cell::new(0),
            outer: Cell::new(0),
            step: Cell::new(0),
            told: Cell::new(0),
            choices: RefCell::new(Vec::new()),
            has_moved: Cell::new(false),
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
    /// How many waits the thread has told of.
    told: Cell<u64>,
    /// How many it had when each of the choices began that are under way.
    choices: RefCell<Vec<u64>>,
    /// The poll has spawned or sent something, which may have taken a guard along.
    has_moved: Cell<bool>,
}

/// A thread that is being torn down polls nothing.
fn with<R: Default>(act: impl FnOnce(&Now) -> R) -> R {
    NOW.try_with(act).unwrap_or_default()
}

/// The task that this thread polls. Zero: it polls none.
pub(crate) fn task() -> u64 {
    with(|now| now.task.get())
}

/// The number of the step by which that poll began.
pub(crate) fn step() -> u64 {
    with(|now| now.step.get())
}

/// A poll of a task begins on this thread.
pub(crate) fn begins(task: u64, number: u64) {
    with(|now| {
        now.task.set(task);
        now.step.set(number);
        now.has_moved.set(false);
        // A poll that panicked has not ended its choices.
        now.choices.borrow_mut().clear();
    });

    // A recording says of a task that it waits for nothing that arc knows of.
    if is_recording() {
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
    let moved = with(|now| {
        let moved = now.has_moved.take().then(|| (now.task.get(), now.step.get()));
        // The job goes on in whose `block_on` this was, if it was in one.
        now.task.set(now.outer.take());
        moved
    });

    // A task that has ended in this poll is none any more: nothing more of it is kept.
    if let Some((task, step)) = moved.filter(|(task, _)| *task > 0) {
        waits::moves(task, step);
    }
}

/// The poll spawns or sends something.
pub(crate) fn moves() {
    with(|now| now.has_moved.set(true));
}

/// The task that is polled waits for this. The waiter is the place in memory of the future that
/// does, or 0.
pub(crate) fn waits_for(waiter: u64, on: AskedFor<'_>) {
    let asked = NOW.try_with(|now| {
        now.told.set(now.told.get() + 1);
        let (task, step, told) = (now.task.get(), now.step.get(), now.told.get());
        Asked { task, step, told, waiter, has_moved: now.has_moved.get() }
    });

    // Nobody is woken on a thread that polls nothing.
    if let Some(asked) = asked.ok().filter(|asked| asked.task > 0) {
        waits::keep(&asked, on);
    }
}

/// The future at a place in memory waits no more.
pub(crate) fn no_longer_waits(waiter: u64) {
    let task = task();
    if task > 0 {
        waits::end(task, |wait| wait.waiter == waiter);
    }
}

/// What the task that is polled has waited for by a `poll_` function has come.
pub(crate) fn has(is_it: impl Fn(&On) -> bool) {
    let task = task();
    if task > 0 {
        waits::end(task, |wait| wait.waiter == 0 && is_it(&wait.on));
    }
}

/// A choice is polled.
pub(crate) fn begins_choice() {
    with(|now| now.choices.borrow_mut().push(now.told.get()));
}

/// The poll of a choice has ended. If it is ready, what it has polled and what is pending is given
/// up. Returns how many waits that are.
pub(crate) fn ends_choice(is_ready: bool) -> u64 {
    let (task, step, before, told) = with(|now| {
        let told = now.told.get();
        // If the choice was begun while nothing was recorded, it has asked for nothing.
        let before = now.choices.borrow_mut().pop().unwrap_or(told);
        (now.task.get(), now.step.get(), before, told)
    });

    // While it is pending, it polls all of its branches again. What it has asked for stays.
    if !is_ready || told == before || task == 0 {
        return 0;
    }
    waits::give_up(task, |wait| wait.asked == step && wait.told > before);
    told - before
}

/// The handles that the task has polled are given up.
pub(crate) fn gives_up_handles() {
    let task = task();
    if task > 0 {
        waits::give_up(task, |wait| matches!(wait.on, On::Task { .. }));
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
