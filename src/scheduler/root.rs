//! The futures in `block_on`: the roots, from which a program's tasks come.
//!
//! Each of them is polled by the thread that called `block_on`. The list of a runtime's roots is
//! for others: the end wakes all of them, and a thread that gives up the worker of a current-thread
//! runtime unparks them, so that another one takes it.

use crate::hooks::{Note, tell};
use crate::registry::Id;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, lock, thread};

/// A future in `block_on`, as others see it. It is its own waker (`block_on.rs`).
pub(crate) struct Root<R> {
    pub(crate) id: Id,
    pub(crate) note: Note,
    pub(crate) runtime: Arc<R>,
    pub(crate) thread: thread::Thread,
    /// The future was woken, and no poll of it has begun since. True at the start.
    is_woken: AtomicBool,
}

impl<R> Root<R> {
    /// The calling thread is about to poll the future. The first poll comes without a wake-up.
    pub(crate) fn new(runtime: Arc<R>, note: Note) -> Self {
        let is_woken = AtomicBool::new(true);
        Self { id: Id::next(), note, runtime, thread: thread::current(), is_woken }
    }

    /// Wakes the future on its thread. Returns false if `is_woken` was set already.
    ///
    /// SeqCst pairs with the load in `is_woken`. A worker that is about to sleep sets its bit among
    /// the sleepers, and then asks `is_woken`. A thread that wakes the future sets `is_woken`, and
    /// then claims the worker.
    pub(crate) fn wake_thread(&self) -> bool {
        let is_first = !self.is_woken.swap(true, Ordering::SeqCst);
        if is_first {
            self.thread.unpark();
        }
        is_first
    }

    /// SeqCst pairs with `wake_thread`.
    pub(crate) fn is_woken(&self) -> bool {
        self.is_woken.load(Ordering::SeqCst)
    }

    /// Whether the future has to be polled. The flag is cleared before the poll, so that a wake-up
    /// that comes during the poll asks for another one. Acquire pairs with `wake_thread`: what
    /// was done before the wake-up is seen.
    pub(crate) fn take_wake_up(&self) -> bool {
        self.is_woken.swap(false, Ordering::Acquire)
    }
}

/// The roots of one runtime.
pub(crate) type Roots<R> = Mutex<Vec<Arc<Root<R>>>>;

/// The future is in the list of its runtime as long as this lives.
pub(crate) struct Entered<'a, R> {
    roots: &'a Roots<R>,
    root: &'a Arc<Root<R>>,
}

impl<'a, R> Entered<'a, R> {
    pub(crate) fn new(roots: &'a Roots<R>, root: &'a Arc<Root<R>>) -> Self {
        lock(roots).push(root.clone());
        Self { roots, root }
    }
}

impl<R> Drop for Entered<'_, R> {
    fn drop(&mut self) {
        lock(self.roots).retain(|other| !Arc::ptr_eq(other, self.root));
        tell!(ended(self.root.id.0));
    }
}
