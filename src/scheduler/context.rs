//! What a thread is to the runtimes: which one is current, which worker the thread runs, and
//! whether it may block.

use crate::scheduler::{shared::RUNTIMES, shared::Shared, worker::Worker};
use crate::{registry::Id, registry::RuntimeId, sync::Arc, sync::Ordering, sync::PoisonError};
use std::{cell::RefCell, mem::ManuallyDrop, mem::swap, rc::Rc};

/// What a thread does. This decides whether it may block.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// It is a thread of the program's own.
    Outside,
    /// It is a thread of this runtime and calls a hook, or runs the blocking job of this id.
    OwnThread(RuntimeId, Option<Id>),
    /// It polls tasks or the future of `block_on`. To block would keep others from being polled.
    Polling,
    /// It drops what the tasks of a runtime left. To wait for a job that waits for one of these
    /// drops would be a deadlock.
    Ending,
}

struct Current {
    /// Where `spawn` spawns to, and what sockets and timers register with.
    runtime: Option<Arc<Shared>>,
    /// The worker that this thread runs.
    worker: Option<Rc<Worker>>,
    role: Role,
}

thread_local! {
    /// This has no destructor, so it is still there while the destructors of other thread-locals
    /// run. The guards leave nothing in it that would have to be dropped.
    static CURRENT: RefCell<ManuallyDrop<Current>> = const {
        let nothing = Current { runtime: None, worker: None, role: Role::Outside };
        RefCell::new(ManuallyDrop::new(nothing))
    };
}

/// The id of the task that is being polled, or of the blocking job that this thread runs. None
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
    CURRENT.with_borrow(|current| {
        if let Role::OwnThread(_, job) = current.role {
            return job;
        }
        let polled = current.worker.as_ref()?.mine().polled.load(Ordering::Relaxed);
        (polled != 0).then_some(Id(polled)) // 0 is the id of no task
    })
}

/// The index of the worker that this thread runs, whichever runtime that belongs to.
pub(crate) fn worker_index() -> Option<usize> {
    CURRENT.with_borrow(|current| Some(current.worker.as_ref()?.index))
}

/// Finds a runtime by its id, and passes `value` to `act` with it. If this thread runs a worker of
/// that runtime, `act` gets the worker, too. When the runtime has ended, `value` comes back.
///
/// `act` must not run foreign code: it is called under a lock.
pub(crate) fn hand_to<T, R>(
    id: RuntimeId,
    value: T,
    act: impl FnOnce(T, &Arc<Shared>, Option<&Worker>) -> R,
) -> Result<R, T> {
    CURRENT.with_borrow(|current| {
        // A worker knows its own runtime, without the lock of the table.
        if let Some(worker) = &current.worker
            && worker.shared.id == id
        {
            return Ok(act(value, &worker.shared, Some(worker)));
        }

        let runtimes = RUNTIMES.read().unwrap_or_else(PoisonError::into_inner);
        let Some(runtime) = runtimes.get(&id) else { return Err(value) };
        Ok(act(value, runtime, None))
    })
}

/// Finds a runtime by its id. None: it has ended. `act` must not run foreign code.
pub(crate) fn find_runtime<R>(id: RuntimeId, act: impl FnOnce(&Arc<Shared>) -> R) -> Option<R> {
    hand_to(id, (), |(), runtime, _| act(runtime)).ok()
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
    CURRENT.with_borrow(|current| current.role)
}

/// The current runtime, if there is one.
pub(crate) fn try_current() -> Option<Arc<Shared>> {
    CURRENT.with_borrow(|current| current.runtime.clone())
}

/// Calls `act` with the current runtime. `what` says which function of arc needs one. `act` must
/// not run foreign code.
///
/// # Panics
///
/// When there is no current runtime.
#[track_caller]
pub(crate) fn with_current<R>(what: &str, act: impl FnOnce(&Arc<Shared>) -> R) -> R {
    let is_inside = CURRENT.with_borrow(|current| current.runtime.is_some());

    // Outside of the borrow: a panic drops `act`, and a future in it may come here again.
    assert!(
        is_inside,
        "{what} outside an arc runtime: do so in a task, in `Runtime::block_on(async {{ .. }})` \
         or `#[arc::main]`, or while you hold the guard of `Handle::enter`"
    );
    let inside = CURRENT.with_borrow(|current| current.runtime.as_ref().map(act));
    inside.unwrap_or_else(|| unreachable!("nothing has left the runtime meanwhile"))
}

/// Restores what the thread was before.
pub(crate) struct Guard(Current);

impl Drop for Guard {
    /// What was current goes into the guard and is dropped with it, outside of the borrow: it may
    /// be the last reference to a runtime.
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| swap(&mut **current, &mut self.0));
    }
}

/// Makes `runtime` the current one. A thread that is inside a task is still inside it.
pub(crate) fn enter(runtime: Arc<Shared>) -> Guard {
    let (worker, role) = CURRENT.with_borrow(|current| (current.worker.clone(), current.role));
    enter_as(role, runtime, worker)
}

/// Makes `runtime` the current one, and says what the thread does from now on.
pub(crate) fn enter_as(role: Role, runtime: Arc<Shared>, worker: Option<Rc<Worker>>) -> Guard {
    let current = Current { runtime: Some(runtime), worker, role };
    Guard(ManuallyDrop::into_inner(CURRENT.replace(ManuallyDrop::new(current))))
}
