//! Locks within arc's budget, and the way from them to tokio's types.

use crate::common::{Woken, poll_once, soon};
use arc_util::sync::{Mutex, MutexGuard, Notify, RwLock, Semaphore, oneshot};
use arc_util::task::cooperative;
use arc_util::time::{Duration, timeout};
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
    let lock = Arc::new(Mutex::new(0)).into_tokio();
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

    async fn push(lock: Arc<tokio::sync::RwLock<Vec<u32>>>, value: u32) {
        lock.write().await.push(value);
    }

    let mutex = Arc::new(Mutex::new(1));
    add(&mutex).await;
    soon(add(&mutex.clone().into_tokio())).await;
    assert_eq!(*mutex.lock().await, 3);

    let rwlock = Arc::new(RwLock::new(vec![1]));
    push(rwlock.clone().into_tokio(), 2).await;
    let theirs = rwlock.clone().into_tokio();
    let guard = rwlock.read().await;
    assert!(theirs.try_write().is_err());
    assert_eq!(*guard, [1, 2]);
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

#[cfg(feature = "trace")]
#[test]
#[should_panic(expected = "no guard has it")]
fn with_trace_a_value_that_tokios_type_has_as_well_is_not_given_out() {
    let mutex = Arc::new(Mutex::new(0));
    let _theirs = mutex.clone().into_tokio();
    Arc::into_inner(mutex).expect("tokio's is another Arc").into_inner();
}

/// With the feature, a value has a known size, and a lock is shared when it is first used.
#[cfg(not(feature = "trace"))]
mod without_trace {
    use super::*;
    use arc_util::sync::{OwnedMutexGuard, OwnedRwLockReadGuard, RwLockWriteGuard};
    use std::fmt::Display;

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
        let theirs: Arc<tokio::sync::Mutex<dyn Display + Send>> = dynamic.into_tokio();
        assert_eq!(theirs.lock().await.to_string(), "a text");
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
    async fn a_lock_that_became_tokios_is_the_same_in_memory_and_dropped_once() {
        assert_eq!(size_of::<Mutex<Drops>>(), size_of::<tokio::sync::Mutex<Drops>>());
        assert_eq!(align_of::<RwLock<Drops>>(), align_of::<tokio::sync::RwLock<Drops>>());

        let alive = Arc::new(());
        let mutex: Arc<Mutex<dyn Bytes>> = Arc::new(Mutex::new(Drops::new(&alive, b"one")));
        let (weak, address) = (Arc::downgrade(&mutex), Arc::as_ptr(&mutex).cast::<u8>());
        let guard = mutex.lock_owned().await;
        assert_eq!(guard.bytes(), b"one");
        assert_eq!(Arc::as_ptr(OwnedMutexGuard::mutex(&guard)).cast::<u8>(), address);
        let again = weak.upgrade().expect("the guard keeps it alive");
        assert!(again.clone().try_lock_owned().is_err());
        drop(guard);
        // The one of the type here is the last one, and gives the memory back.
        assert_eq!((Arc::strong_count(&again), Arc::strong_count(&alive)), (1, 2));
        drop(again);
        assert_eq!((weak.strong_count(), Arc::strong_count(&alive)), (0, 1));

        let values = [b"one", b"two", b"six"].map(|bytes| Drops::new(&alive, bytes));
        let rwlock: Arc<RwLock<[Drops]>> = Arc::new(RwLock::new(values));
        let last = OwnedRwLockReadGuard::map(rwlock.read_owned().await, |all| &all[2]);
        // Now tokio's is the last one.
        assert_eq!((last.bytes(), Arc::strong_count(&alive)), (&b"six"[..], 4));
        drop(last);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
