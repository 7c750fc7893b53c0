//! Find the current runtime, and the current worker, from a thread.

use crate::scheduler::{Here, Shared};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// What a thread is for the runtimes.
#[derive(Clone)]
struct Current {
    /// Where `spawn` spawns to, and what sockets and timers register with.
    runtime: Option<Arc<Shared>>,
    /// The worker that this thread runs.
    worker: Option<Rc<Here>>,
    /// Inside a poll: to block here would block a worker.
    asynchronous: bool,
}

const NOTHING: Current = Current {
    runtime: None,
    worker: None,
    asynchronous: false,
};

thread_local!(static CURRENT: RefCell<Current> = const { RefCell::new(NOTHING) });

/// The thread's own storage may be gone already, when this is called by the
/// destructor of another thread-local: then there is nothing current.
fn with<R>(function: impl FnOnce(&Current) -> R) -> R {
    let mut function = Some(function);
    let mut call = |current: &Current| function.take().map(|function| function(current));
    let result = CURRENT.try_with(|current| call(&current.borrow()));
    let result = result.unwrap_or_else(|_| call(&NOTHING));
    result.unwrap_or_else(|| unreachable!("`call` is called once"))
}

pub(crate) fn with_runtime<R>(function: impl FnOnce(Option<&Arc<Shared>>) -> R) -> R {
    with(|current| function(current.runtime.as_ref()))
}

pub(crate) fn with_worker<R>(function: impl FnOnce(Option<&Here>) -> R) -> R {
    with(|current| function(current.worker.as_deref()))
}

pub(crate) fn is_asynchronous() -> bool {
    with(|current| current.asynchronous)
}

/// The worker that this thread runs, if it is one of this runtime's.
pub(crate) fn worker_of(runtime: &Arc<Shared>) -> Option<usize> {
    with_worker(|worker| {
        worker
            .filter(|worker| worker.serves(runtime))
            .map(|worker| worker.index)
    })
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
        let previous = self.0.take().unwrap_or(NOTHING);
        // Dropped outside the borrow: the last handle of a runtime may go.
        drop(CURRENT.try_with(|current| current.replace(previous)));
    }
}

/// Makes `runtime` the current one of a thread that is no worker. (Whoever does
/// so inside a task is still inside a task.)
pub(crate) fn enter(runtime: Arc<Shared>) -> Guard {
    let previous = with(Current::clone);
    change(Current {
        runtime: Some(runtime),
        ..previous
    })
}

/// This thread runs `worker`, or, with none, only a `block_on`.
pub(crate) fn enter_worker(runtime: Arc<Shared>, worker: Option<Rc<Here>>) -> Guard {
    change(Current {
        runtime: Some(runtime),
        worker,
        asynchronous: true,
    })
}

/// This thread runs a blocking job.
pub(crate) fn enter_blocking(runtime: Arc<Shared>) -> Guard {
    change(Current {
        runtime: Some(runtime),
        ..NOTHING
    })
}

fn change(current: Current) -> Guard {
    Guard(Some(CURRENT.replace(current)))
}
