//! Find the current runtime, and the current worker, from a thread.

use crate::scheduler::Shared;
use crate::worker::Worker;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// What a thread is for the runtimes.
#[derive(Clone, Default)]
struct Current {
    /// Where `spawn` spawns to, and what sockets and timers register with.
    runtime: Option<Arc<Shared>>,
    /// The worker that this thread runs.
    worker: Option<Rc<Worker>>,
    /// Inside a poll: to block here would block a worker.
    asynchronous: bool,
}

thread_local! {
    static CURRENT: RefCell<Current> = const {
        RefCell::new(Current { runtime: None, worker: None, asynchronous: false })
    };
}

fn with<R>(function: impl FnOnce(Option<&Current>) -> R) -> R {
    let mut function = Some(function);
    let mut call = |current: Option<&Current>| function.take().map(|function| function(current));
    // The thread's own storage may be gone already, when this is called by the
    // destructor of another thread-local.
    let result = CURRENT.try_with(|current| call(Some(&current.borrow())));
    let result = result.unwrap_or_else(|_| call(None));
    result.unwrap_or_else(|| unreachable!("`call` is called once"))
}

pub(crate) fn with_runtime<R>(function: impl FnOnce(Option<&Arc<Shared>>) -> R) -> R {
    with(|current| function(current.and_then(|current| current.runtime.as_ref())))
}

pub(crate) fn with_worker<R>(function: impl FnOnce(Option<&Worker>) -> R) -> R {
    with(|current| function(current.and_then(|current| current.worker.as_deref())))
}

/// The worker that this thread runs, if it is one of this runtime's.
pub(crate) fn worker_of(runtime: &Arc<Shared>) -> Option<usize> {
    with_worker(|worker| {
        worker
            .filter(|worker| worker.serves(runtime))
            .map(Worker::index)
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

pub(crate) fn is_asynchronous() -> bool {
    with(|current| current.is_some_and(|current| current.asynchronous))
}

/// Restores what the thread was before.
pub(crate) struct Guard {
    previous: Option<Current>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let previous = self.previous.take();
        // Dropped outside the borrow: the last handle of a runtime may go.
        let current = CURRENT.try_with(|current| {
            std::mem::replace(&mut *current.borrow_mut(), previous.unwrap_or_default())
        });
        drop(current);
    }
}

/// Makes `runtime` the current one, as it is for a thread that is no worker.
pub(crate) fn enter(runtime: Arc<Shared>) -> Guard {
    change(|current| {
        // Whoever enters another runtime inside a task is still inside a task.
        current.runtime = Some(runtime);
    })
}

/// This thread runs `worker`, or, with none, only a `block_on`.
pub(crate) fn enter_worker(runtime: Arc<Shared>, worker: Option<Rc<Worker>>) -> Guard {
    change(|current| {
        *current = Current {
            runtime: Some(runtime),
            worker,
            asynchronous: true,
        }
    })
}

/// This thread runs blocking jobs.
pub(crate) fn enter_blocking(runtime: Arc<Shared>) -> Guard {
    change(|current| {
        *current = Current {
            runtime: Some(runtime),
            worker: None,
            asynchronous: false,
        };
    })
}

fn change(change: impl FnOnce(&mut Current)) -> Guard {
    CURRENT.with(|current| {
        let mut current = current.borrow_mut();
        let previous = Some(current.clone());
        change(&mut current);
        Guard { previous }
    })
}
