//! Find the current runtime, and the current worker, from a thread.

use crate::scheduler::{Shared, Worker};
use crate::sync::Arc;
use std::cell::RefCell;
use std::rc::Rc;

/// What a thread is for the runtimes.
#[derive(Clone)]
struct Current {
    /// Where `spawn` spawns to, and what sockets and timers register with.
    runtime: Option<Arc<Shared>>,
    /// The worker that this thread runs.
    worker: Option<Rc<Worker>>,
    /// Inside a poll: to block here would block a worker.
    asynchronous: bool,
}

impl Current {
    const fn new(runtime: Option<Arc<Shared>>, worker: Option<Rc<Worker>>, poll: bool) -> Self {
        Self {
            runtime,
            worker,
            asynchronous: poll,
        }
    }
}

thread_local! {
    static CURRENT: RefCell<Current> = const { RefCell::new(Current::new(None, None, false)) };
}

/// The thread's own storage may be gone already, when this is called by the
/// destructor of another thread-local: then there is nothing current.
fn with<R>(function: impl FnOnce(&Current) -> R) -> R {
    let mut function = Some(function);
    let mut call = |current: &Current| function.take().map(|function| function(current));
    let result = CURRENT.try_with(|current| call(&current.borrow()));
    let result = result.unwrap_or_else(|_| call(&Current::new(None, None, false)));
    result.unwrap_or_else(|| unreachable!("`call` is called once"))
}

pub(crate) fn with_runtime<R>(function: impl FnOnce(Option<&Arc<Shared>>) -> R) -> R {
    with(|current| function(current.runtime.as_ref()))
}

pub(crate) fn with_worker<R>(function: impl FnOnce(Option<&Worker>) -> R) -> R {
    with(|current| function(current.worker.as_deref()))
}

/// The worker that this thread runs, if it is one of this runtime's.
pub(crate) fn worker_of(runtime: &Arc<Shared>) -> Option<usize> {
    let serves = |worker: &&Worker| worker.serves(runtime);
    with_worker(|worker| worker.filter(serves).map(|worker| worker.index))
}

pub(crate) fn is_asynchronous() -> bool {
    with(|current| current.asynchronous)
}

/// The current runtime; `what` is what was called.
#[track_caller]
pub(crate) fn runtime(what: &str) -> Arc<Shared> {
    let runtime = with_runtime(|runtime| runtime.cloned());
    runtime.unwrap_or_else(|| {
        panic!(
            "{what} was called outside an arc runtime: call it from a task, inside \
             `Runtime::block_on` or `#[arc::main]`, or hold the guard of `Handle::enter`"
        )
    })
}

/// Restores what the thread was before.
pub(crate) struct Guard(Option<Current>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(previous) = self.0.take() {
            // Dropped outside the borrow: the last handle of a runtime may go.
            drop(CURRENT.try_with(|current| current.replace(previous)));
        }
    }
}

fn change(current: Current) -> Guard {
    Guard(Some(CURRENT.replace(current)))
}

/// Makes `runtime` the current one of a thread that is no worker. (Whoever does
/// so inside a task is still inside a task.)
pub(crate) fn enter(runtime: Arc<Shared>) -> Guard {
    let previous = with(Current::clone);
    change(Current::new(
        Some(runtime),
        previous.worker,
        previous.asynchronous,
    ))
}

/// This thread runs `worker`, or, with none, only a `block_on`.
pub(crate) fn enter_worker(runtime: Arc<Shared>, worker: Option<Rc<Worker>>) -> Guard {
    change(Current::new(Some(runtime), worker, true))
}

/// This thread runs a blocking job.
pub(crate) fn enter_blocking(runtime: Arc<Shared>) -> Guard {
    change(Current::new(Some(runtime), None, false))
}
