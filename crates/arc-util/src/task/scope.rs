//! Tasks that borrow from the function that waits for them.

mod owner;

use super::tracker::TaskTracker;
use crate::tokio_rt;
use crate::wake::discard;
use arc::runtime::Handle;
use arc::task::with_budget;
use futures_util::FutureExt;
use owner::Owner;
use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

/// Runs tasks that borrow from the caller, and returns when all of them have ended.
///
/// The tasks run on as many threads as the current runtime has workers, but on two at least (on
/// fewer if the system starts no more threads). The caller's own thread is one of them: it runs
/// tasks once `spawning` has returned.
///
/// Inside these tasks, sockets, timers and `arc::spawn` work. `scope` blocks the calling
/// thread: inside a task of arc, call it in [`spawn_blocking`](arc::task::spawn_blocking). (The
/// crates rayon and may have scopes of this kind. Tasks of arc itself may outlive the function
/// that spawned them, so they cannot borrow.)
///
/// The function is sound without `unsafe`: the tasks are owned by a value that lives in the
/// stack frame of `scope`, cannot be moved out of it, and is dropped before `scope` returns. A
/// future could not promise this: it can be leaked while its tasks run elsewhere.
///
/// A task cannot spawn into the scope that it is in, and gives no output: it writes to what it
/// borrows.
///
/// # Panics
///
/// Panics outside a runtime, and inside a task or `block_on`.
///
/// Panics when `spawning` or one of the tasks panics, after all tasks have ended. The payload
/// is that of `spawning` if it panicked, and that of the first task that panicked otherwise.
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
    assert!(
        arc::runtime::may_block(),
        "`scope` was called inside a task or block_on, whose thread it would block. Call it on a \
         thread that is in neither, such as that of `main` before `block_on`, under the guard of \
         `Handle::enter`; or on a thread of `spawn_blocking`, if what the tasks borrow is there"
    );

    let scope = Scope { owner: Owner::new(), tasks: TaskTracker::new(), panic: Arc::default() };
    let work = |thread| {
        // The core's handle knows nothing of tokio's context.
        let _tokio = tokio_rt::Context::enter();
        handle.block_on(scope.owner.run(thread, scope.tasks.wait()))
    };

    let result = std::thread::scope(|threads| {
        // Two at least, as `spawning` may block this thread until a task has done something.
        for thread in 1..handle.workers().max(2) as u64 {
            // If the system starts no more threads, this thread alone is enough. A panic
            // would never come out: `thread::scope` would wait for the other threads, which
            // wait until `tasks` is closed.
            let _ = Builder::new().spawn_scoped(threads, move || work(thread));
        }

        let result = catch_unwind(AssertUnwindSafe(|| spawning(&scope)));
        scope.tasks.close();
        work(0);
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

/// Spawns the tasks of a [`scope`](scope()).
pub struct Scope<'env> {
    owner: Owner<'env>,
    tasks: TaskTracker,
    /// The panic payload of the first task that panicked.
    panic: Arc<Mutex<Option<Box<dyn Any + Send>>>>,
}

impl<'env> Scope<'env> {
    /// Spawns a task, which begins as soon as a thread is free. The task can borrow whatever
    /// outlives the scope.
    pub fn spawn<F: Future<Output = ()> + Send + 'env>(&self, future: F) {
        boxed_if_large!(future, self.add(future));
    }

    fn add(&self, future: impl Future<Output = ()> + Send + 'env) {
        let panic = self.panic.clone();
        // The outer block drops `future` during its last poll, where a panic of that drop is
        // caught, too.
        let mut future = Box::pin(async move {
            future.await;
        });
        let budgeted = poll_fn(move |context| with_budget(|| future.as_mut().poll(context)));
        let contained = AssertUnwindSafe(budgeted).catch_unwind().map(move |result| {
            let Err(payload) = result else {
                return;
            };
            let mut first = panic.lock().unwrap_or_else(PoisonError::into_inner);
            if first.is_none() {
                *first = Some(payload);
                return;
            }

            // Its drop is foreign code, which may panic.
            drop(first);
            discard(payload);
        });

        self.owner.spawn(self.tasks.track_future(contained));
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Scope({} tasks)", self.tasks.len())
    }
}
