//! tokio's locks and arc's budget: what docs/TOKIO.md says of loops over locks.

use crate::common::{poll_once, soon};
use arc_util::sync::{Mutex, RwLock};
use arc_util::task::cooperative;
use arc_util::time::{Duration, timeout};
use std::pin::pin;
use std::sync::Arc;
use std::task::Waker;

/// More than any budget.
const TURNS: usize = 10_000;

/// Ends, although the loop awaits nothing that makes it wait: the other task and the timer get
/// their turns.
macro_rules! ends {
    ($wait:expr) => {
        let endless = async {
            loop {
                drop(cooperative($wait).await);
            }
        };
        assert!(soon(timeout(Duration::from_millis(1), endless)).await.is_err());
    };
}

#[arc::test]
async fn a_loop_over_a_lock_that_takes_from_the_budget_can_be_ended() {
    let (mutex, rwlock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
    ends!(mutex.lock());
    ends!(mutex.clone().lock_owned());
    ends!(rwlock.read());
    ends!(rwlock.write());
    ends!(rwlock.clone().read_owned());
    ends!(rwlock.clone().write_owned());
}

/// Whether the loop yields in a task.
macro_rules! yields {
    ($wait:expr) => {{
        let turns = async {
            for _ in 0..TURNS {
                drop($wait.await);
            }
        };
        poll_once(pin!(turns), Waker::noop()).is_pending()
    }};
}

/// Once this fails, the page can do without a warning.
#[arc::test]
async fn a_loop_over_a_lock_alone_does_not_yield() {
    let (mutex, rwlock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
    assert!(!yields!(mutex.lock()));
    assert!(!yields!(mutex.clone().lock_owned()));
    assert!(!yields!(rwlock.read()));
    assert!(!yields!(rwlock.write()));
    assert!(!yields!(rwlock.clone().read_owned()));
    assert!(!yields!(rwlock.clone().write_owned()));
    assert!(yields!(cooperative(mutex.lock())));
}

/// What a type around tokio's could not have all at once.
#[cfg(not(feature = "trace"))]
#[arc::test]
async fn locks_are_constants_and_dynamic_and_have_guards_that_own_them() {
    use arc_util::sync::OwnedMutexGuard;
    use std::fmt::Display;

    static COUNT: Mutex<u32> = Mutex::const_new(1);
    *COUNT.lock().await += 1;
    assert_eq!(*COUNT.lock().await, 2);

    let dynamic: Arc<Mutex<dyn Display + Send>> = Arc::new(Mutex::new("a text"));
    let guard: OwnedMutexGuard<dyn Display + Send> = dynamic.clone().lock_owned().await;
    assert!(dynamic.try_lock().is_err());
    assert_eq!(guard.to_string(), "a text");
    // It is tokio's type, which other crates take.
    let _: Arc<tokio::sync::Mutex<dyn Display + Send>> = dynamic;
}
