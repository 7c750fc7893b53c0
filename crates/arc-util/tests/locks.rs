//! Locks within arc's budget, and the way from them to tokio's types.

use crate::common::{Woken, poll_once, soon};
use arc_util::sync::{
    Mutex, MutexGuard, Notify, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
    RwLock, RwLockWriteGuard, Semaphore, oneshot,
};
use arc_util::task::cooperative;
use arc_util::time::{Duration, timeout};
use std::fmt::Display;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Waker;

/// More than any budget.
const TURNS: usize = 10_000;

/// Whether a loop yields in a task that never has to wait.
macro_rules! yields {
    ($wait:expr) => {{
        // With a new budget.
        arc::task::yield_now().await;
        let turns = async {
            for _ in 0..TURNS {
                let _ = $wait.await;
            }
        };
        poll_once(pin!(turns), Waker::noop()).is_pending()
    }};
}

#[arc::test]
async fn a_loop_over_a_lock_that_nobody_else_has_yields() {
    let (mutex, rwlock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
    assert!(yields!(mutex.lock()));
    assert!(yields!(mutex.clone().lock_owned()));
    assert!(yields!(rwlock.read()));
    assert!(yields!(rwlock.write()));
    assert!(yields!(rwlock.clone().read_owned()));
    assert!(yields!(rwlock.clone().write_owned()));
}

/// Once this fails, docs/TOKIO.md can say less.
#[arc::test]
async fn a_loop_over_what_takes_no_budget_does_not_yield() {
    let lock = tokio::sync::Mutex::new(0);
    assert!(!yields!(lock.lock()));
    assert!(yields!(cooperative(lock.lock())));
    let (mut sender, receiver) = oneshot::channel::<u32>();
    drop(receiver);
    assert!(!yields!(sender.closed()));
    let notify = Notify::new();
    assert!(!yields!({
        notify.notify_one();
        notify.notified()
    }));
}

/// Ends, although the loop awaits nothing that makes it wait: the timer gets its turn.
macro_rules! ends {
    ($wait:expr) => {
        let endless = async {
            for _ in 0..100 * TURNS {
                let _ = $wait.await;
            }
        };
        let ended = soon(timeout(Duration::from_millis(1), endless)).await;
        assert!(ended.is_err(), "nobody else was let run");
    };
}

#[arc::test]
async fn a_time_limit_ends_a_loop_over_a_lock() {
    let (mutex, rwlock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
    ends!(mutex.lock());
    ends!(mutex.clone().lock_owned());
    ends!(rwlock.read());
    ends!(rwlock.write());
    ends!(rwlock.clone().read_owned());
    ends!(rwlock.clone().write_owned());
}

/// Uses up what this poll may do.
async fn exhaust() {
    while arc::task::has_budget_remaining() {
        arc::task::consume_budget().await;
    }
}

#[arc::test]
async fn without_budget_a_lock_is_held_until_the_next_turn_and_given_back_by_a_drop() {
    let mutex = Mutex::new(0);
    let (woken, waker) = Woken::new();
    {
        let mut lock = pin!(mutex.lock());
        exhaust().await;
        assert!(poll_once(lock.as_mut(), &waker).is_pending());
        assert_eq!(woken.count(), 1);
        assert!(mutex.try_lock().is_err());
    }
    assert!(mutex.try_lock().is_ok());

    let mut lock = pin!(mutex.lock());
    assert!(poll_once(lock.as_mut(), &waker).is_pending());
    arc::task::yield_now().await;
    assert!(poll_once(lock.as_mut(), &waker).is_ready());
}

#[arc::test]
async fn who_has_no_budget_is_not_overtaken() {
    let (mutex, semaphore) = (Mutex::new(0), Semaphore::new(1));
    let locks = [pin!(mutex.lock()), pin!(mutex.lock())];
    first_come_first_served(mutex.try_lock().unwrap(), locks).await;
    let permits = [pin!(semaphore.acquire()), pin!(semaphore.acquire())];
    first_come_first_served(semaphore.try_acquire().unwrap(), permits).await;
}

async fn first_come_first_served<F: Future>(
    held: impl Sized,
    [mut first, mut second]: [Pin<&mut F>; 2],
) {
    let ((first_woken, first_waker), (second_woken, second_waker)) = (Woken::new(), Woken::new());
    exhaust().await;
    assert!(poll_once(first.as_mut(), &first_waker).is_pending());

    arc::task::yield_now().await;
    assert!(poll_once(second.as_mut(), &second_waker).is_pending());
    drop(held);
    assert_eq!((first_woken.count(), second_woken.count()), (1, 0));
    assert!(poll_once(first.as_mut(), &first_waker).is_ready());
    assert_eq!(second_woken.count(), 1);
}

#[arc::test]
async fn a_crate_that_asks_for_tokios_types_gets_them() {
    async fn add(lock: &tokio::sync::Mutex<u32>) {
        *lock.lock().await += 1;
    }

    async fn push(lock: &tokio::sync::RwLock<Vec<u32>>, value: u32) {
        lock.write().await.push(value);
    }

    let mutex = Mutex::new(1);
    add(&mutex).await;
    assert_eq!(*mutex.lock().await, 2);
    let rwlock = RwLock::new(vec![1]);
    push(&rwlock, 2).await;
    assert_eq!(*rwlock.read().await, [1, 2]);
}

/// As programs write one: it unlocks, waits, and locks again.
#[derive(Default)]
struct Condvar(Notify);

impl Condvar {
    async fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let mutex = MutexGuard::mutex(&guard);
        let mut notified = pin!(self.0.notified());
        notified.as_mut().enable();
        drop(guard);
        notified.await;
        mutex.lock().await
    }
}

#[arc::test]
async fn a_condition_is_waited_for() {
    let (mutex, condvar) = (Mutex::new(false), Condvar::default());
    let mut waits = pin!(async {
        let mut is_done = mutex.lock().await;
        while !*is_done {
            is_done = condvar.wait(is_done).await;
        }
    });
    assert!(poll_once(waits.as_mut(), Waker::noop()).is_pending());
    *mutex.try_lock().expect("who waits has unlocked it") = true;
    condvar.0.notify_waiters();
    soon(waits).await;
}

#[arc::test]
async fn locks_are_constants_and_dynamic_and_have_guards_that_own_them() {
    static COUNT: Mutex<u32> = Mutex::const_new(1);
    static PAIR: RwLock<(u32, u32)> = RwLock::const_with_max_readers((1, 2), 1);
    *COUNT.lock().await += 1;
    assert_eq!(*COUNT.lock().await, 2);
    let first = RwLockWriteGuard::map(PAIR.write().await, |pair| &mut pair.0);
    assert!(PAIR.try_read().is_err());
    drop(first);
    let _one = PAIR.read().await;
    assert!(PAIR.try_read().is_err());

    let dynamic: Arc<Mutex<dyn Display + Send>> = Arc::new(Mutex::new("a text"));
    let guard: OwnedMutexGuard<dyn Display + Send> = dynamic.clone().lock_owned().await;
    assert!(dynamic.try_lock().is_err());
    assert_eq!(guard.to_string(), "a text");
    drop(guard);
    let rwlock: Arc<RwLock<dyn Display + Send + Sync>> = Arc::new(RwLock::new(3));
    let mut guard = rwlock.clone().write_owned().await;
    assert!(rwlock.try_read().is_err());
    assert!(Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&guard), &rwlock));
    assert_eq!((*guard).to_string(), "3");
    let _ = &mut *guard;
    assert_eq!(guard.downgrade().to_string(), "3");
}

/// It is alive as long as it has its share, and stands at a round address.
#[repr(align(64))]
struct Drops {
    _alive: Arc<()>,
    bytes: [u8; 3],
}

impl Drops {
    fn new(alive: &Arc<()>, bytes: &[u8; 3]) -> Self {
        Self { _alive: alive.clone(), bytes: *bytes }
    }
}

trait Bytes: Send + Sync {
    fn bytes(&self) -> &[u8];
}

impl Bytes for Drops {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// What the only `unsafe` of the crate relies on.
#[arc::test]
async fn a_guard_that_owns_its_lock_keeps_it_where_it_is_and_drops_it_once() {
    let alive = Arc::new(());
    let mutex: Arc<Mutex<dyn Bytes>> = Arc::new(Mutex::new(Drops::new(&alive, b"one")));
    let (weak, address) = (Arc::downgrade(&mutex), Arc::as_ptr(&mutex).cast::<u8>());
    let guard = mutex.lock_owned().await;
    assert_eq!(guard.bytes(), b"one");
    assert_eq!(Arc::as_ptr(OwnedMutexGuard::mutex(&guard)).cast::<u8>(), address);
    let again = weak.upgrade().expect("the guard keeps it alive");
    assert!(again.clone().try_lock_owned().is_err());
    drop(guard);
    assert_eq!((Arc::strong_count(&again), Arc::strong_count(&alive)), (1, 2));
    drop(again);
    assert_eq!((weak.strong_count(), Arc::strong_count(&alive)), (0, 1));

    let values = [b"one", b"two", b"six"].map(|bytes| Drops::new(&alive, bytes));
    let rwlock: Arc<RwLock<[Drops]>> = Arc::new(RwLock::new(values));
    let last = OwnedRwLockReadGuard::map(rwlock.read_owned().await, |all| &all[2]);
    // Now the guard has the last one.
    assert_eq!((last.bytes(), Arc::strong_count(&alive)), (&b"six"[..], 4));
    drop(last);
    assert_eq!(Arc::strong_count(&alive), 1);
}

/// A future that waits for a lock that it owns, and is dropped meanwhile.
#[arc::test]
async fn a_future_that_owns_its_lock_leaves_the_line_before_the_lock_goes() {
    let alive = Arc::new(());
    let mutex = Arc::new(Mutex::new(Drops::new(&alive, b"one")));
    let guard = mutex.clone().lock_owned().await;
    let mut waits = Box::pin(mutex.clone().lock_owned());
    assert!(poll_once(waits.as_mut(), Waker::noop()).is_pending());
    drop((mutex, guard));
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(waits);
    assert_eq!(Arc::strong_count(&alive), 1);

    let notify = Arc::new(Notify::new());
    let weak = Arc::downgrade(&notify);
    let mut notified = Box::pin(notify.notified_owned());
    assert!(poll_once(notified.as_mut(), Waker::noop()).is_pending());
    drop(notified);
    assert_eq!(weak.strong_count(), 0);
}
