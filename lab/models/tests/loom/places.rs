//! The places of the tasks: an abort against the next tenant, and the end of a runtime.
//!
//! A place is never freed, and loom's atomics must not outlive an execution: so each
//! registry is left behind, or its places would be used by the next one.

use crate::race;
use crate::registry::{Key, Kind, Origin, Registry, RuntimeId};
use loom::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::Waker;

fn registry() -> Arc<Registry> {
    let registry = Arc::new(Registry::new(RuntimeId::next(), 1));
    std::mem::forget(registry.clone());
    registry
}

fn enter(registry: &Registry) -> Key {
    registry.enter(0, Origin::new(Kind::Async), |key| (key, Waker::noop().clone()))
}

fn entered() -> (Arc<Registry>, Key) {
    let registry = registry();
    let key = enter(&registry);
    (registry, key)
}

/// (g) The list of tasks: a handle of a task that ends aborts it, and another task has its place.
// ~ crates/tasks/src/lib.rs
// - let tenant = tenant.as_ref().filter(|tenant| tenant.id == self.id)?;
// + let tenant = tenant.as_ref()?;
#[test]
fn abort_never_hits_the_next_tenant() {
    race(
        entered,
        |(_, last)| drop(last.abort()),
        |(registry, last)| {
            assert!(registry.remove(last).is_some());
            let next = enter(registry);
            assert!(!next.is_aborted());
            next
        },
        |_, (), next| assert!(!next.is_aborted() && !next.has_ended()),
    );
}

/// (g) `AbortHandle::abort` against the poll that its wake-up causes: that poll sees
/// that the task was aborted. A flag stands for what async-task does.
// ~ crates/tasks/src/lib.rs
// - self.place.aborted.store(true, Ordering::Relaxed);
// ~ lab/models/tests/loom/places.rs
// - let waker = key.abort();
// - woken.store(true, Ordering::Release);
// + woken.store(true, Ordering::Release);
// + let waker = key.abort();
// ~ lab/models/tests/loom/places.rs
// - woken.store(true, Ordering::Release);
// + woken.store(true, Ordering::Relaxed);
#[test]
fn poll_that_an_abort_causes_sees_it() {
    race(
        || (entered(), AtomicBool::new(false)),
        |((_, key), woken)| {
            let waker = key.abort();
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
// ~ crates/tasks/src/lib.rs
// - places.closed = true;
// ~ crates/tasks/src/lib.rs
// - places.free.push(place);
// - return task;
#[test]
fn nothing_is_entered_after_the_end() {
    race(
        registry,
        |registry| enter(registry),
        |registry| drop(registry.close()),
        |_, late, ()| assert!(late.has_ended()),
    );
}

/// (g) `Registry::close` against `remove`: the task's waker is returned once.
// ~ crates/tasks/src/lib.rs
// - wakers.extend(tenant.map(|tenant| tenant.waker));
// ~ crates/tasks/src/lib.rs
// - let tenant = lock(&place.tenant).take_if(|tenant| !place.is_begun_job(tenant));
// - wakers.extend(tenant.map(|tenant| tenant.waker));
// + let tenant = lock(&place.tenant);
// + wakers.extend(tenant.as_ref().map(|tenant| tenant.waker.clone()));
#[test]
fn waker_is_returned_once_at_the_end() {
    race(
        entered,
        |(registry, key)| registry.remove(key).is_some(),
        |(registry, _)| registry.close().len(),
        |(_, key), removed, closed| {
            assert_eq!(closed + usize::from(removed), 1);
            assert!(key.has_ended());
        },
    );
}
