//! Stands for src/sync.rs, over loom.
//!
//! loom takes a `SeqCst` access for an acquire or a release, but it knows the order of `SeqCst`
//! fences. So here each such access has a fence before it, and nothing after it. That is how
//! compilers translate them for processors with weak memory ("leading fences"): two `SeqCst`
//! accesses of a thread are in order, and a weaker access after one is not. Whatever is right by
//! the language is right here. And where src needs `SeqCst`, or a fence after it, a model notices
//! that it is missing.

pub use crate::clock::Instant;
pub(crate) use loom::sync::atomic::{Ordering, fence};
pub(crate) use loom::thread::{AccessError, LocalKey as RawKey};
pub(crate) use std::sync::{Arc, OnceLock, PoisonError};
pub use std::time::Duration;

use std::cell::RefCell;
use std::sync::{LockResult, TryLockError};

fn lead(order: Ordering) {
    if order == Ordering::SeqCst {
        fence(Ordering::SeqCst);
    }
}

macro_rules! atomics {
    ($($name:ident: $value:ty),*) => {$(
        #[derive(Debug)]
        pub(crate) struct $name(loom::sync::atomic::$name);

        impl Default for $name {
            fn default() -> Self {
                Self::new(<$value>::default())
            }
        }

        impl $name {
            pub(crate) fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            pub(crate) fn load(&self, order: Ordering) -> $value {
                lead(order);
                self.0.load(order)
            }

            pub(crate) fn store(&self, value: $value, order: Ordering) {
                lead(order);
                self.0.store(value, order);
            }

            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                lead(order);
                self.0.swap(value, order)
            }

            pub(crate) fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                lead(order);
                self.0.fetch_or(value, order)
            }

            pub(crate) fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                lead(order);
                self.0.fetch_and(value, order)
            }

            pub(crate) fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                lead(success);
                self.0.compare_exchange(current, new, success, failure)
            }

            pub(crate) fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                lead(success);
                self.0.fetch_update(success, failure, update)
            }
        }
    )*};
}

atomics!(AtomicBool: bool, AtomicU64: u64, AtomicUsize: usize);

macro_rules! arithmetic {
    ($($name:ident: $value:ty),*) => {$(
        impl $name {
            pub(crate) fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                lead(order);
                self.0.fetch_add(value, order)
            }

            pub(crate) fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                lead(order);
                self.0.fetch_sub(value, order)
            }

            pub(crate) fn fetch_min(&self, value: $value, order: Ordering) -> $value {
                lead(order);
                self.0.fetch_min(value, order)
            }
        }
    )*};
}

arithmetic!(AtomicU64: u64, AtomicUsize: usize);

type Order = loom::sync::Mutex<()>;

/// In boxes, so that they stay where they are when there are more of them.
type Orders = Vec<Box<Order>>;

std::thread_local! {
    /// Which execution this is, and loom's side of the mutexes that were locked in it.
    static ORDERS: RefCell<(u64, Orders)> = const { RefCell::new((0, Vec::new())) };
}

/// Begins a new execution.
pub(crate) fn begin() {
    // A static may have been locked in an execution of another thread.
    static EXECUTIONS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let execution = EXECUTIONS.fetch_add(1, Ordering::Relaxed) + 1;
    ORDERS.with_borrow_mut(|orders| *orders = (execution, Vec::new()));
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
            let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
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

pub(crate) type MutexGuard<'a, T> = Guard<'a, T>;

/// Knows its mutex, so that a condition variable can lock it again. The fields are dropped in this
/// order.
pub(crate) struct Guard<'a, T: ?Sized>(
    std::sync::MutexGuard<'a, T>,
    loom::sync::MutexGuard<'static, ()>,
    &'a Mutex<T>,
);

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> Guard<'_, T> {
    let order = mutex.order().lock().unwrap_or_else(PoisonError::into_inner);
    let value = match mutex.value.try_lock() {
        Ok(value) => value,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => unreachable!("loom's mutex is locked"),
    };
    Guard(value, order, mutex)
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

/// A mutex does for it: nobody reads for long.
pub(crate) struct RwLock<T>(Mutex<T>);

impl<T> RwLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn read(&self) -> LockResult<Guard<'_, T>> {
        Ok(lock(&self.0))
    }

    pub(crate) fn write(&self) -> LockResult<Guard<'_, T>> {
        Ok(lock(&self.0))
    }
}

/// What a thread waits for, and what only one thread waits for.
#[derive(Debug)]
pub(crate) struct Token(loom::sync::Mutex<bool>, loom::sync::Condvar);

impl Token {
    fn new() -> Arc<Self> {
        Arc::new(Self(loom::sync::Mutex::new(false), loom::sync::Condvar::new()))
    }

    fn give(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_one();
    }

    fn take(&self) {
        let mut is_given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !std::mem::take(&mut *is_given) {
            is_given = self.1.wait(is_given).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Those that wait.
#[derive(Default)]
pub(crate) struct Condvar(Mutex<Vec<Arc<Token>>>);

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
            let token = Token::new();
            lock(&self.0).push(token.clone());
            drop(guard);
            token.take();
            guard = lock(mutex);
        }
        Ok((guard, ()))
    }

    pub(crate) fn notify_one(&self) {
        let one = lock(&self.0).pop();
        one.iter().for_each(|token| token.give());
    }

    pub(crate) fn notify_all(&self) {
        let waiting = std::mem::take(&mut *lock(&self.0));
        waiting.iter().for_each(|token| token.give());
    }
}

/// loom's threads. It lets an unpark end the wait for a lock, so parking is done by a [`Token`].
pub(crate) mod thread {
    use super::{Arc, Duration, RawKey, Token};
    use std::io::Result;

    pub(crate) use loom::thread::ThreadId;

    #[derive(Clone, Debug)]
    pub(crate) struct Thread {
        id: ThreadId,
        token: Arc<Token>,
    }

    static TOKEN: RawKey<Arc<Token>> = RawKey { init: Token::new, _p: std::marker::PhantomData };

    pub(crate) fn current() -> Thread {
        Thread { id: loom::thread::current().id(), token: TOKEN.with(Arc::clone) }
    }

    impl Thread {
        pub(crate) fn id(&self) -> ThreadId {
            self.id
        }

        pub(crate) fn unpark(&self) {
            self.token.give();
        }
    }

    pub(crate) fn park() {
        TOKEN.with(Arc::clone).take();
    }

    /// The monitor's tick, which lasts until the runtime ends.
    pub(crate) fn park_timeout(_: Duration) {
        park();
    }

    pub(crate) fn panicking() -> bool {
        std::thread::panicking()
    }

    #[derive(Default)]
    pub(crate) struct Builder(());

    pub(crate) type JoinHandle<T> = loom::thread::JoinHandle<T>;

    impl Builder {
        pub(crate) fn new() -> Self {
            Self(())
        }

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
            Ok(spawn(main))
        }
    }

    pub(crate) fn spawn<T: Send + 'static>(
        main: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        loom::thread::spawn(main)
    }
}
