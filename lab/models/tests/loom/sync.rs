//! Stands for src/sync.rs, over loom.

pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use loom::thread;
pub(crate) use std::sync::{Arc, OnceLock, PoisonError};
pub(crate) use std::time::{Duration, Instant};

use std::cell::RefCell;
use std::sync::{LockResult, MutexGuard};

/// Nobody is told of anything.
macro_rules! tell {
    ($event:ident($($fact:expr),*)) => { let _ = || ($($fact,)*); };
}
pub(crate) use tell;

type Order = loom::sync::Mutex<()>;

/// In boxes, so that they stay where they are when there are more of them.
type Orders = Vec<Box<Order>>;

std::thread_local! {
    /// Which execution this is, and loom's side of the mutexes that were locked in it.
    static ORDERS: RefCell<(u64, Orders)> = const { RefCell::new((0, Vec::new())) };
}

/// Begins a new execution.
pub(crate) fn begin() {
    ORDERS.with_borrow_mut(|(execution, orders)| {
        *execution += 1;
        orders.clear();
    });
}

/// A mutex that may be a static, as loom's own may not. In each execution that locks it there is a
/// mutex of loom's at its side, which orders the threads.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T: ?Sized> {
    /// The execution in which it was locked last, and the index in `ORDERS`.
    order: std::sync::Mutex<(u64, usize)>,
    value: std::sync::Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { order: std::sync::Mutex::new((0, 0)), value: std::sync::Mutex::new(value) }
    }
}

impl<T: ?Sized> Mutex<T> {
    fn order(&self) -> &'static Order {
        ORDERS.with_borrow_mut(|(execution, orders)| {
            let mut order = self.order.lock().expect("nobody panics here");
            if order.0 != *execution {
                *order = (*execution, orders.len());
                orders.push(Box::new(Order::new(())));
            }
            let order: *const Order = &raw const *orders[order.1];
            // SAFETY: the box lives until the next execution, and no guard does so long.
            unsafe { &*order }
        })
    }
}

/// Knows its mutex, so that a condition variable can lock it again. The fields are dropped in this
/// order.
pub(crate) struct Guard<'a, T: ?Sized>(
    MutexGuard<'a, T>,
    loom::sync::MutexGuard<'static, ()>,
    &'a Mutex<T>,
);

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> Guard<'_, T> {
    let order = mutex.order().lock().expect("nobody panics here");
    let value = mutex.value.try_lock();
    Guard(value.unwrap_or_else(|_| unreachable!("loom's mutex is locked")), order, mutex)
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

/// The threads that wait are parked, and a notification unparks them.
#[derive(Default)]
pub(crate) struct Condvar(std::sync::Mutex<Vec<thread::Thread>>);

impl Condvar {
    /// Waits for ever: the models have no limits.
    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        mut guard: Guard<'a, T>,
        _: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(Guard<'a, T>, ())> {
        while condition(&mut guard) {
            let mutex = guard.2;
            self.0.lock().expect("nobody panics here").push(thread::current());
            drop(guard);
            thread::park();
            guard = lock(mutex);
        }
        Ok((guard, ()))
    }

    pub(crate) fn notify_one(&self) {
        thread::yield_now();
        let one = self.0.lock().expect("nobody panics here").pop();
        one.iter().for_each(thread::Thread::unpark);
    }

    pub(crate) fn notify_all(&self) {
        thread::yield_now();
        let waiting = std::mem::take(&mut *self.0.lock().expect("nobody panics here"));
        waiting.iter().for_each(thread::Thread::unpark);
    }
}
