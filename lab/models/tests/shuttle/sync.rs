//! Stands for src/sync.rs, over shuttle.
//!
//! Atomics are shuttle's: each access is a place where another thread may go on. Locks are
//! std's, tried again until they are free. Nothing times out and no thread wakes spuriously, since
//! that would hide a lost wake-up. The clock is the test's.

pub use crate::clock::Instant;
pub(crate) use crate::clock::set_clock;
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use shuttle::thread::{AccessError, LocalKey as RawKey};
pub(crate) use std::sync::{Arc, OnceLock, PoisonError};
pub use std::time::Duration;
pub(crate) use thread::yield_now;

use std::sync::{LockResult, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult};

/// Tries until the lock is free.
fn insist<G>(attempt: impl Fn() -> TryLockResult<G>) -> G {
    loop {
        match attempt() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => shuttle::thread::yield_now(),
        }
    }
}

pub(crate) type MutexGuard<'a, T> = Guard<'a, T>;

/// Knows its mutex, so that a condition variable can lock it again.
pub(crate) struct Guard<'a, T: ?Sized>(std::sync::MutexGuard<'a, T>, &'a Mutex<T>);

#[derive(Debug, Default)]
pub(crate) struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }
}

impl<T: ?Sized> std::ops::Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> std::ops::DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> Guard<'_, T> {
    point();
    Guard(insist(|| mutex.0.try_lock()), mutex)
}

/// Another thread may go on here.
fn point() {
    shuttle::thread::sleep(Duration::ZERO);
}

pub(crate) struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        point();
        Ok(insist(|| self.0.try_read()))
    }

    pub(crate) fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        point();
        Ok(insist(|| self.0.try_write()))
    }
}

/// The threads that wait are parked, and a notification unparks them.
#[derive(Default)]
pub(crate) struct Condvar(std::sync::Mutex<Vec<thread::Thread>>);

impl Condvar {
    /// A limit other than "for ever" may be over at any time.
    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        mut guard: Guard<'a, T>,
        limit: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(Guard<'a, T>, ())> {
        while condition(&mut guard) {
            let mutex = guard.1;
            self.0.lock().expect("nobody panics here").push(thread::current());
            drop(guard);
            if limit == Duration::MAX {
                thread::park();
            } else {
                point();
            }
            guard = lock(mutex);
            let me = thread::current().id();
            self.0.lock().expect("nobody panics here").retain(|waiting| waiting.id() != me);
            if limit != Duration::MAX && shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng())
            {
                break;
            }
        }
        Ok((guard, ()))
    }

    /// Any of those who wait may be the one.
    pub(crate) fn notify_one(&self) {
        point();
        let waiting = || self.0.lock().expect("nobody panics here");
        let count = waiting().len();
        if count > 0 {
            let random = &mut shuttle::rand::thread_rng();
            let which = shuttle::rand::Rng::gen_range(random, 0..count);
            let one = waiting().swap_remove(which);
            one.unpark();
        }
    }

    pub(crate) fn notify_all(&self) {
        point();
        let waiting = std::mem::take(&mut *self.0.lock().expect("nobody panics here"));
        waiting.iter().for_each(thread::Thread::unpark);
    }
}

/// shuttle's threads, except that only an unpark wakes a parked thread.
pub(crate) mod thread {
    use super::{Arc, Duration};
    use std::cell::{Cell, OnceCell};
    use std::io::Result;
    use std::sync::atomic::{AtomicBool, Ordering};

    pub(crate) use shuttle::thread::{ThreadId, panicking, yield_now};

    #[derive(Clone, Debug)]
    pub(crate) struct Thread {
        id: ThreadId,
        thread: shuttle::thread::Thread,
        unparked: Arc<AtomicBool>,
    }

    shuttle::thread_local!(static UNPARKED: OnceCell<Arc<AtomicBool>> = OnceCell::new());

    fn unparked() -> Arc<AtomicBool> {
        UNPARKED.with(|it| it.get_or_init(Arc::default).clone())
    }

    pub(crate) fn current() -> Thread {
        let thread = shuttle::thread::current();
        Thread { id: thread.id(), thread, unparked: unparked() }
    }

    impl Thread {
        pub(crate) fn id(&self) -> ThreadId {
            self.id
        }

        pub(crate) fn unpark(&self) {
            super::point();
            self.unparked.store(true, Ordering::SeqCst);
            self.thread.unpark();
        }
    }

    pub(crate) fn park() {
        let unparked = unparked();
        while !unparked.swap(false, Ordering::SeqCst) {
            shuttle::thread::park();
        }
    }

    std::thread_local! {
        /// Whether the monitor ticks in this model.
        pub(crate) static MONITOR_TICKS: Cell<bool> = const { Cell::new(false) };
    }

    /// The monitor's tick. It may be over at any time, or else lasts until the runtime ends.
    pub(crate) fn park_timeout(_: Duration) {
        if MONITOR_TICKS.get() {
            shuttle::thread::yield_now();
        } else {
            park();
        }
    }

    #[derive(Default)]
    pub(crate) struct Builder(());

    #[derive(Debug)]
    pub(crate) struct JoinHandle<T>(shuttle::thread::JoinHandle<T>, Thread);

    impl Builder {
        pub(crate) fn new() -> Self {
            Self(())
        }

        /// The stack of shuttle's threads is configured for all of them.
        pub(crate) fn stack_size(self, _: usize) -> Self {
            self
        }

        pub(crate) fn name(self, _: String) -> Self {
            self
        }

        pub(crate) fn spawn<T: Send + 'static>(
            self,
            main: impl FnOnce() -> T + Send + 'static,
        ) -> Result<JoinHandle<T>> {
            let unparked = Arc::<AtomicBool>::default();
            let own = unparked.clone();
            let spawned = shuttle::thread::spawn(move || {
                UNPARKED.with(|it| drop(it.set(own)));
                main()
            });
            let thread = spawned.thread().clone();
            Ok(JoinHandle(spawned, Thread { id: thread.id(), thread, unparked }))
        }
    }

    impl<T> JoinHandle<T> {
        pub(crate) fn thread(&self) -> &Thread {
            &self.1
        }

        pub(crate) fn join(self) -> std::thread::Result<T> {
            self.0.join()
        }
    }
}
