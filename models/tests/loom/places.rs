//! The places of the tasks: an abort against the next tenant, and the end of a runtime.
//!
//! A place is never freed, and loom's atomics must not outlive an execution: so each
//! registry is left behind, or its places would be used by the next one.

use crate::inspect::Origin;
use crate::race;
use crate::registry::{Key, Registry};
use crate::sync::LOCKS_COUNT;
use loom::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::Waker;

fn registry() -> Arc<Registry> {
    LOCKS_COUNT.set(true);
    let registry = Arc::new(Registry::new(0, 1));
    std::mem::forget(registry.clone());
    registry
}

fn enter(registry: &Registry) -> Key {
    registry.enter(0, Origin::new(None, false), |key| (key, Waker::noop().clone()))
}

fn entered() -> (Arc<Registry>, Key) {
    let registry = registry();
    let key = enter(&registry);
    (registry, key)
}

/// (g) registry.rs: a handle of a task that ends aborts it, and another task has its place.
// ~ src/registry.rs
// - tenant.as_ref().filter(|tenant| tenant.id == self.id)?
// + tenant.as_ref()?
#[test]
fn abort_never_hits_the_next_tenant() {
    race(
        entered,
        |(_, last)| drop(last.waker(true)),
        |(registry, last)| {
            assert!(registry.remove(last).is_some());
            let next = enter(registry);
            assert!(!next.is_aborted());
            next
        },
        |_, (), next| assert!(!next.is_aborted() && next.waker(false).is_some()),
    );
}

/// (g) `AbortHandle::abort` against the poll that its wake-up causes: that one sees that
/// the task was aborted. What async-task does is a flag here.
// ~ src/registry.rs
// - self.place.aborted.fetch_or(mark, Ordering::Relaxed);
// ~ models/tests/loom/places.rs
// - let waker = key.waker(true);
// - woken.store(true, Ordering::Release);
// + woken.store(true, Ordering::Release);
// + let waker = key.waker(true);
// ~ models/tests/loom/places.rs
// - woken.store(true, Ordering::Release);
// + woken.store(true, Ordering::Relaxed);
#[test]
fn poll_that_an_abort_causes_sees_it() {
    race(
        || (entered(), AtomicBool::new(false)),
        |((_, key), woken)| {
            let waker = key.waker(true);
            woken.store(true, Ordering::Release);
            drop(waker);
        },
        |((_, key), woken)| {
            let is_polled = woken.load(Ordering::Acquire);
            assert!(!is_polled || key.is_aborted());
        },
        |_, (), ()| (),
    );
}

/// (g) `Registry::close` against `enter`: a task that comes too late is not entered.
// ~ src/registry.rs
// - places.closed = true;
// ~ src/registry.rs
// - places.free.push(place);
// - return task;
#[test]
fn nothing_is_entered_after_the_end() {
    race(
        registry,
        |registry| enter(registry),
        |registry| drop(registry.close()),
        |_, late, ()| assert!(late.waker(false).is_none()),
    );
}

/// (g) `Registry::close` against `remove`: the task's waker is handed out once.
// ~ src/registry.rs
// - lock(&place.tenant).take());
// + lock(&place.tenant).take().filter(|_| false));
#[test]
fn waker_is_handed_out_once_at_the_end() {
    race(
        entered,
        |(registry, key)| registry.remove(key).is_some(),
        |(registry, _)| registry.close().len(),
        |(_, key), removed, closed| {
            assert_eq!(closed + usize::from(removed), 1);
            assert!(key.waker(false).is_none());
        },
    );
}
