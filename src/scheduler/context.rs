//! What a thread is to the runtimes: which one is current, which worker the thread runs, and
//! whether it may block.

use crate::registry::Id;
use crate::scheduler::shared::{Runnable, Shared};
use crate::scheduler::worker::Worker;
use crate::sync::{Arc, Ordering};
use std::cell::RefCell;
use std::mem::{ManuallyDrop, swap};
use std::rc::Rc;

/// What a thread does. This decides whether it may block.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// It is a thread of the program's own.
    Outside,
    /// It is a thread of this runtime and polls nothing: the monitor, or one that calls a hook,
    /// runs the blocking job of the second id, or waits for one.
    OwnThread(Id, Option<Id>),
    /// It polls tasks or the future of `block_on`. To block would keep others from being polled.
    Polling,
    /// It drops what the tasks of a runtime left. To wait for a job that waits for one of these
    /// drops would be a deadlock.
    Ending,
}

/// What a thread is in. It is behind an `Rc`, which counts on this thread alone: to clone the `Arc`
/// of the runtime each time would write to a count that all threads share.
pub(crate) struct Current {
    /// Where `spawn` spawns to, and what sockets and timers register with.
    pub(crate) runtime: Arc<Shared>,
    /// The worker that this thread runs.
    worker: Option<Rc<Worker>>,
    role: Role,
}

thread_local! {
    /// This has no destructor, so it is still there while the destructors of other thread-locals
    /// run. The guards leave nothing in it that would have to be dropped.
    static CURRENT: RefCell<ManuallyDrop<Option<Rc<Current>>>> = const {
        RefCell::new(ManuallyDrop::new(None))
    };
}

/// The id of the task that is being polled, or of the blocking job that this thread runs. `None`
/// outside of tasks.
///
/// # Examples
///
/// ```
/// # #[arc::main]
/// # async fn main() {
/// let task = arc::spawn(async { arc::task::try_id() });
/// let id = task.id();
/// assert_eq!(task.await.unwrap(), Some(id));
/// # }
/// ```
pub fn try_id() -> Option<Id> {
    // A thread of the pool knows its job, and no other thread of a runtime has one.
    if let Role::OwnThread(_, job) = role() {
        return job;
    }

    // A worker that polls nothing runs a hook, or code that a waker calls.
    match worker()?.mine().polled.load(Ordering::Relaxed) {
        0 => None,
        polled => Some(Id(polled)),
    }
}

/// The worker that this thread runs, whichever runtime that belongs to.
pub(crate) fn worker() -> Option<Rc<Worker>> {
    CURRENT.with_borrow(|current| current.as_ref()?.worker.clone())
}

/// The worker that this thread runs, if it is one of the runtime.
pub(crate) fn worker_of(runtime: Id) -> Option<Rc<Worker>> {
    worker().filter(|worker| worker.shared.id == runtime)
}

/// Queues a task that was spawned or woken. If its runtime is closed, the task comes back, to be
/// dropped.
pub(crate) fn schedule(runnable: Runnable) -> Result<(), Runnable> {
    let record = runnable.metadata();
    record.enter_queue();

    // For a worker's own task the runtime is not cloned: that would write to a count that all
    // threads share.
    if let Some(worker) = worker_of(record.runtime.id) {
        worker.push(runnable);
        return Ok(());
    }

    // The task may be dropped in there, and with it the last reference to its runtime.
    let runtime = record.runtime.clone();
    runtime.inject(runnable)
}

/// Whether the calling thread may block. For libraries, to refuse a call that would block.
///
/// False inside a task or `block_on`, where blocking would keep other tasks from running, and in
/// the drop of what a runtime's end drops.
///
/// # Examples
///
/// ```
/// use arc::runtime::may_block;
/// # #[arc::main]
/// # async fn main() {
/// assert!(!may_block());
/// assert!(arc::task::spawn_blocking(may_block).await.unwrap());
/// # }
/// ```
pub fn may_block() -> bool {
    !matches!(role(), Role::Polling | Role::Ending)
}

pub(crate) fn role() -> Role {
    try_current().map_or(Role::Outside, |current| current.role)
}

/// What this thread is in, if it is in a runtime.
pub(crate) fn try_current() -> Option<Rc<Current>> {
    CURRENT.with_borrow(|current| Option::clone(current))
}

/// The current runtime. `what` says which function of arc needs one.
///
/// # Panics
///
/// When there is none.
#[track_caller]
pub(crate) fn current(what: &str) -> Rc<Current> {
    // The panic comes outside of the borrow: what it drops may come here again.
    let Some(current) = try_current() else {
        panic!(
            "{what} outside an arc runtime: do so in a task, in \
             `Runtime::block_on(async {{ .. }})` or `#[arc::main]`, or while you hold the guard of \
             `Handle::enter`"
        );
    };
    current
}

/// Restores what the thread was in before.
pub(crate) struct Guard(Option<Rc<Current>>);

impl Drop for Guard {
    /// What was current goes into the guard and is dropped with it, outside of the borrow: it may
    /// be the last reference to a runtime.
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| swap(&mut **current, &mut self.0));
    }
}

/// Makes `runtime` the current one, and says what the thread does from now on.
pub(crate) fn enter(role: Role, runtime: Arc<Shared>, worker: Option<Rc<Worker>>) -> Guard {
    let current = Some(Rc::new(Current { runtime, worker, role }));
    Guard(ManuallyDrop::into_inner(CURRENT.replace(ManuallyDrop::new(current))))
}
