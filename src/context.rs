//! Find the current runtime, the current worker, and the task that it polls, from a
//! thread.

use crate::inspect::Id;
use crate::registry::Number;
use crate::scheduler::{RUNTIMES, Shared, Worker};
use crate::sync::{Arc, Ordering, PoisonError};
use std::mem::{ManuallyDrop, swap};
use std::{cell::RefCell, rc::Rc};

/// What a thread may do: whoever polls must not block, nor who drops what is left.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    Outside,
    Polls,
    /// Of that runtime.
    RunsJob(Number),
    /// Of that runtime: its jobs may wait for what is still to be dropped.
    Drains(Number),
}

/// What a thread is for the runtimes.
struct Current(
    /// Where `spawn` spawns to, and what sockets and timers register with.
    Option<Arc<Shared>>,
    /// The worker that this thread runs.
    Option<Rc<Worker>>,
    /// Inside a poll: to block here would block a worker.
    Role,
);

thread_local! {
    /// Without a destructor, so that it is there for those of other thread-locals.
    /// The guards leave nothing in it.
    static CURRENT: RefCell<ManuallyDrop<Current>> =
        const { RefCell::new(ManuallyDrop::new(Current(None, None, Role::Outside))) };
}

pub(crate) fn with_runtime<R>(function: impl FnOnce(Option<&Arc<Shared>>) -> R) -> R {
    CURRENT.with_borrow(|current| function(current.0.as_ref()))
}

pub(crate) fn with_worker<R>(function: impl FnOnce(Option<&Worker>) -> R) -> R {
    CURRENT.with_borrow(|current| function(current.1.as_deref()))
}

/// The id of the task that is polled. None: none is.
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
    let polled = |worker: &Worker| worker.remote().polled.load(Ordering::Relaxed);
    with_worker(|worker| worker.map(polled)).filter(|&id| id != 0).map(Id)
}

/// The worker that this thread runs, if it is one of this runtime's.
pub(crate) fn worker_of(runtime: &Shared) -> Option<usize> {
    let serves = |worker: &&Worker| worker.serves(runtime.number);
    with_worker(|worker| worker.filter(serves).map(|worker| worker.index))
}

/// The runtime of that number, unless it has ended. `act` must not run foreign code.
pub(crate) fn with_number<R>(number: Number, act: impl FnOnce(&Shared) -> R) -> Option<R> {
    CURRENT.with_borrow(|current| match &current.1 {
        Some(worker) if worker.serves(number) => Some(act(&worker.shared)),
        _ => {
            let runtimes = RUNTIMES.read().unwrap_or_else(PoisonError::into_inner);
            runtimes.get(&number).map(|runtime| act(runtime))
        }
    })
}

pub(crate) fn role() -> Role {
    CURRENT.with_borrow(|current| current.2)
}

/// Whether this thread may block: false inside a task or `block_on`, where it would block
/// a worker, and in what is dropped when a runtime ends. For libraries, to refuse what would.
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
    !matches!(role(), Role::Polls | Role::Drains(_))
}

/// The current runtime; `what` is what was called. `act` must not run foreign code; what it
/// holds is dropped outside the borrow.
#[track_caller]
pub(crate) fn with_current<R>(what: &str, act: impl FnOnce(&Arc<Shared>) -> R) -> R {
    let mut act = Some(act);
    match with_runtime(|runtime| runtime.and_then(|it| act.take().map(|act| act(it)))) {
        Some(result) => result,
        None => panic!(
            "{what} was called outside an arc runtime: call it from a task, inside \
             `Runtime::block_on` or `#[arc::main]`, or hold the guard of `Handle::enter`"
        ),
    }
}

/// As `with_current`, to be kept.
#[track_caller]
pub(crate) fn runtime(what: &str) -> Arc<Shared> {
    with_current(what, Arc::clone)
}

/// Restores what the thread was before.
pub(crate) struct Guard(Current);

impl Drop for Guard {
    /// What was current is dropped with the guard, outside the borrow: the last
    /// handle of a runtime may go.
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| swap(&mut **current, &mut self.0));
    }
}

/// Makes `runtime` the current one of a thread that is no worker. (Whoever does
/// so inside a task is still inside a task.)
pub(crate) fn enter(runtime: Arc<Shared>) -> Guard {
    let (worker, role) = CURRENT.with_borrow(|current| (current.1.clone(), current.2));
    enter_as(role, runtime, worker)
}

/// This thread runs `worker`, or, with none, a `block_on`, a job, or the end.
pub(crate) fn enter_as(role: Role, runtime: Arc<Shared>, worker: Option<Rc<Worker>>) -> Guard {
    let current = ManuallyDrop::new(Current(Some(runtime), worker, role));
    Guard(ManuallyDrop::into_inner(CURRENT.replace(current)))
}
