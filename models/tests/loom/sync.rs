//! Stands for src/sync.rs, over loom.

pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use loom::thread;
pub(crate) use std::sync::{Arc, Mutex, OnceLock, PoisonError};
pub(crate) use std::time::{Duration, Instant};

use std::cell::{Cell, RefCell};
use std::sync::{LockResult, MutexGuard, TryLockError};

std::thread_local! {
    /// Set in the models of what only locks guard.
    pub(crate) static LOCKS_COUNT: Cell<bool> = const { Cell::new(false) };
}

loom::lazy_static! {
    static ref LOCKS: AtomicUsize = AtomicUsize::new(0);
}

std::thread_local! {
    /// The threads that wait for a lock, whichever it is.
    static WAITING: RefCell<Vec<thread::Thread>> = const { RefCell::new(Vec::new()) };
}

/// Knows its mutex, so that a condition variable can lock it again. None only while it is dropped.
pub(crate) struct Guard<'a, T: ?Sized>(Option<MutexGuard<'a, T>>, &'a Mutex<T>);

/// All threads of a model run on one thread of the system, which must not block. loom knows
/// nothing of std's locks. So each lock can be made a place where loom may switch, and that is
/// ordered after everything that was done under any lock before.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> Guard<'_, T> {
    if LOCKS_COUNT.get() {
        LOCKS.load(Ordering::Relaxed);
    }
    let guard = loop {
        match mutex.try_lock() {
            Ok(guard) => break guard,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                WAITING.with_borrow_mut(|waiting| waiting.push(thread::current()));
                thread::park();
            }
        }
    };
    if LOCKS_COUNT.get() {
        LOCKS.fetch_add(1, Ordering::Acquire);
    }
    Guard(Some(guard), mutex)
}

impl<T: ?Sized> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if LOCKS_COUNT.get() {
            LOCKS.fetch_add(1, Ordering::Release);
        }
        self.0 = None;
        WAITING.take().iter().for_each(thread::Thread::unpark);
    }
}

impl<T: ?Sized> std::ops::Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is not being dropped")
    }
}

impl<T: ?Sized> std::ops::DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("it is not being dropped")
    }
}

/// The threads that wait are parked, and a notification unparks them.
#[derive(Default)]
pub(crate) struct Condvar(Mutex<Vec<thread::Thread>>);

impl Condvar {
    /// Waits for ever: the models have no limits.
    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        mut guard: Guard<'a, T>,
        _: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(Guard<'a, T>, ())> {
        while condition(&mut guard) {
            let mutex = guard.1;
            self.0.lock().expect("nobody panics here").push(thread::current());
            drop(guard);
            thread::park();
            guard = lock(mutex);
        }
        Ok((guard, ()))
    }

    pub(crate) fn notify_all(&self) {
        thread::yield_now();
        let waiting = std::mem::take(&mut *self.0.lock().expect("nobody panics here"));
        waiting.iter().for_each(thread::Thread::unpark);
    }
}
