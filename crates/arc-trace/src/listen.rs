//! Somebody who hears of tasks, and of what they wait for, at once: a tool that shows a program
//! while it runs.

use crate::resource::Resource;
use std::panic::Location;
use std::sync::OnceLock;

/// Hears what happens to tasks, and to what they wait for, on the threads where it happens.
///
/// The future of a `block_on`, and a job of `spawn_blocking`, count as tasks. The runtime may hold
/// a lock of its own meanwhile: a listener must not call it, nor wake a task of it.
pub trait Listener: Send + Sync {
    /// A task was spawned, by this line. The kind is "task", "blocking" or "block_on".
    fn spawned(&self, task: u64, kind: &str, name: &str, location: &'static Location<'static>);

    /// A task that had been polled was woken.
    fn woken(&self, task: u64);

    /// A poll of the task begins.
    fn begins(&self, task: u64);

    /// A poll of the task has ended. It is not told of the last poll: see `ended`.
    fn ends(&self, task: u64);

    /// The task has ended: in a poll of its own, or elsewhere.
    fn ended(&self, task: u64);

    /// The task that is polled asks for a thing, perhaps by a line of its own, and does not get it.
    /// It is told again by each poll that asks again. A poll that does not ask has given it up. The
    /// task is 0 on a thread that polls none.
    fn waits(&self, _task: u64, _resource: &Resource, _line: Option<&'static Location<'static>>) {}

    /// The task that is polled has got what it asked for, perhaps without having waited.
    fn got(&self, _task: u64, _resource: &Resource, _line: Option<&'static Location<'static>>) {}

    /// So many more tasks have a lock, or so many more values are in a channel. Negative: fewer.
    fn changes(&self, _resource: &Resource, _by: i64) {}

    /// The lock or the channel was dropped: no more is told of it.
    fn dropped(&self, _resource: &Resource) {}
}

static LISTENER: OnceLock<&'static dyn Listener> = OnceLock::new();

/// Has a listener told of all that happens from now on, if this crate has its feature `waits`.
/// (Without it, the listener hears only what is recorded as well.) A process has one listener: the
/// first.
pub fn listen(listener: &'static dyn Listener) {
    LISTENER.get_or_init(|| listener);
}

pub(crate) fn tell(event: impl FnOnce(&dyn Listener)) {
    if let Some(listener) = LISTENER.get() {
        event(*listener);
    }
}
