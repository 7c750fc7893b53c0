//! Tasks that borrow from the function that waits for them.

use super::TaskTracker;
use crate::wake::discard;
use arc::runtime::Handle;
use arc::task::with_budget;
use async_executor::Executor;
use futures_util::FutureExt;
use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Runs tasks that borrow from the caller, on as many threads as the current runtime has
/// workers, but two at least (fewer if the system has no more), and returns when all of them
/// have ended. The caller's own thread runs tasks once `spawning` has returned.
///
/// Sockets and timers work in them, and `arc::spawn` too. The calling thread is blocked:
/// inside a task of arc call it in [`spawn_blocking`](arc::task::spawn_blocking). (rayon and
/// may have scopes of this kind. Tasks of arc itself may outlive whoever spawned them, so they
/// cannot borrow.)
///
/// It is sound, without `unsafe`: the tasks are owned by an executor that lives in the frame
/// of this function, cannot be taken out of it, and is gone when it returns. A future could
/// not promise this, for it can be leaked while its tasks run elsewhere.
///
/// # Panics
///
/// Outside a runtime, inside a task or `block_on`, and when `spawning` or one of the tasks
/// panics: with the first panic, after all have ended.
///
/// # Examples
///
/// ```
/// use arc_util::task::scope;
/// use std::time::Duration;
///
/// let runtime = arc::runtime::Runtime::new()?;
/// let _guard = runtime.enter();
/// let words = ["one", "two", "three"];
/// let mut lengths = [0; 3];
/// scope(|scope| {
///     for (word, length) in words.iter().zip(&mut lengths) {
///         scope.spawn(async move {
///             arc::time::sleep(Duration::from_millis(1)).await;
///             *length = word.len();
///         });
///     }
/// });
/// assert_eq!(lengths, [3, 3, 5]);
/// # std::io::Result::Ok(())
/// ```
#[track_caller]
pub fn scope<'env, R>(spawning: impl FnOnce(&Scope<'env>) -> R) -> R {
    let handle = Handle::current();
    // Inside a task it panics, before anything has begun.
    handle.block_on(std::future::ready(()));
    let (executor, tasks, panic) = (Executor::new(), TaskTracker::new(), Arc::default());
    let scope = Scope { executor, tasks, panic };
    let work = || handle.block_on(scope.executor.run(scope.tasks.wait()));
    let result = thread::scope(|threads| {
        // With one worker, too, `spawning` may wait for what a task does.
        for _ in 1..handle.workers().max(2) {
            // Where there are no more threads, fewer do it: this one alone is enough. And
            // a panic here would wait for ever for the threads that there are.
            let _ = thread::Builder::new().spawn_scoped(threads, work);
        }
        let result = catch_unwind(AssertUnwindSafe(|| spawning(&scope)));
        scope.tasks.close();
        work();
        result
    });
    let panic = scope.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (result, panic) {
        (Ok(result), None) => result,
        (Err(payload), others) => {
            discard(others);
            resume_unwind(payload)
        }
        (Ok(result), Some(payload)) => {
            discard(result);
            resume_unwind(payload)
        }
    }
}

/// Where the tasks of a [`scope`] are spawned.
pub struct Scope<'env> {
    executor: Executor<'env>,
    tasks: TaskTracker,
    /// What the first task that panicked panicked with.
    panic: Arc<Mutex<Option<Box<dyn Any + Send>>>>,
}

impl<'env> Scope<'env> {
    /// Spawns a task, which begins as soon as a thread is free. What it borrows must live
    /// longer than the scope.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'env) {
        let panic = self.panic.clone();
        // Inside another one, so that a panic of its drop is caught as well.
        let mut future = Box::pin(async move {
            future.await;
        });
        let budgeted = poll_fn(move |context| with_budget(|| future.as_mut().poll(context)));
        let contained = AssertUnwindSafe(budgeted).catch_unwind().map(move |result| {
            if let Err(payload) = result {
                let mut first = panic.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(payload);
            }
        });
        self.executor.spawn(self.tasks.track_future(contained)).detach();
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Scope({} tasks)", self.tasks.len())
    }
}
