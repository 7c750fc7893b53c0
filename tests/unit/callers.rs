//! The lease and the list of those in `block_on`, with threads that do the steps of the
//! protocol at once: nobody parks beside a free lease, and exactly one closes.

use std::sync::Barrier;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::*;
use crate::sync::AtomicUsize;

fn caller() -> Arc<Caller> {
    Arc::new(Caller::new(thread::current(), Location::caller()))
}

/// Runs `test` on threads of its own. One that parks for ever fails.
fn within_deadline(test: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let thread = thread::spawn(move || {
        test();
        done.send(()).unwrap();
    });
    let waited = finished.recv_timeout(Duration::from_secs(60));
    assert_ne!(waited, Err(mpsc::RecvTimeoutError::Timeout), "somebody sleeps for ever");
    thread.join().unwrap();
}

#[test]
fn future_is_polled_first_without_being_woken_and_then_once_for_each_wake() {
    within_deadline(|| {
        let caller = caller();
        assert!(caller.is_woken());
        assert!(!caller.wake(), "it was woken already");
        assert!(caller.take_wake());
        assert!(!caller.is_woken() && !caller.take_wake());
        assert!(caller.wake());
        assert!(!caller.wake(), "only the first one wakes the thread");
        assert!(caller.is_woken());
        assert!(caller.take_wake());
        // The unpark is kept: this returns at once.
        thread::park();
    });
}

#[test]
fn list_has_those_who_have_entered_and_not_left() {
    let callers = Callers::default();
    let all: Vec<_> = (0..4).map(|_| caller()).collect();
    let keys: Vec<_> = all.iter().map(|caller| callers.enter(caller.clone())).collect();
    let listed = |caller: &Arc<Caller>| callers.list().iter().any(|it| Arc::ptr_eq(it, caller));
    assert!(all.iter().all(listed));
    callers.leave(keys[1]);
    callers.leave(keys[3]);
    assert_eq!(callers.list().len(), 2);
    assert!(listed(&all[0]) && listed(&all[2]));
    // A place that is used again is the new one's.
    let late = caller();
    let key = callers.enter(late.clone());
    assert!(listed(&late) && !listed(&all[1]));
    callers.leave(key);
    assert!(!listed(&late));
}

#[test]
fn lease_has_one_holder_at_a_time() {
    let callers = Callers::default();
    assert!(!callers.has_lease());
    for _ in 0..3 {
        assert!(callers.take_lease());
        assert!(callers.has_lease() && !callers.take_lease());
        callers.end_lease();
        assert!(!callers.has_lease());
    }
}

#[test]
fn end_of_a_lease_and_of_the_runtime_unpark_everybody_in_the_list() {
    within_deadline(|| {
        let ways: [fn(&Callers); 2] = [Callers::end_lease, Callers::unpark_all];
        for unpark in ways {
            let (callers, entered) = (Callers::default(), Barrier::new(4));
            assert!(callers.take_lease());
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        callers.enter(caller());
                        entered.wait();
                        thread::park();
                    });
                }
                entered.wait();
                unpark(&callers);
            });
        }
    });
}

/// Each has something to do that it can do only with the lease.
#[test]
fn nobody_parks_beside_a_free_lease() {
    const THREADS: usize = 4;
    within_deadline(|| {
        for _ in 0..500 {
            let (callers, begin) = (Callers::default(), Barrier::new(THREADS));
            let holders = AtomicUsize::new(0);
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        begin.wait();
                        let key = callers.enter(caller());
                        while !callers.take_lease() {
                            thread::park();
                        }
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "two have it");
                        std::hint::spin_loop();
                        holders.fetch_sub(1, Ordering::SeqCst);
                        callers.end_lease();
                        callers.leave(key);
                    });
                }
            });
            assert!(callers.list().is_empty() && !callers.has_lease());
        }
    });
}

/// The steps as `end.rs` and `block_on.rs` do them. Two threads say that the runtime ends.
#[test]
fn runtime_that_ends_is_closed_once_whoever_has_the_lease() {
    const LEASERS: usize = 2;
    within_deadline(|| {
        for round in 0..1_000 {
            let (callers, begin) = (Callers::default(), Barrier::new(LEASERS + 2));
            let (ending, closed) = (AtomicBool::new(false), AtomicUsize::new(0));
            let close_if_free = || {
                if callers.take_lease() {
                    closed.fetch_add(1, Ordering::SeqCst);
                }
            };
            let (callers, begin, ending) = (&callers, &begin, &ending);
            thread::scope(|scope| {
                for _ in 0..LEASERS {
                    scope.spawn(move || {
                        begin.wait();
                        let key = callers.enter(caller());
                        while !ending.load(Ordering::SeqCst) {
                            if !callers.take_lease() {
                                thread::park();
                                continue;
                            }
                            callers.end_lease();
                            if ending.load(Ordering::SeqCst) {
                                close_if_free();
                            }
                        }
                        callers.leave(key);
                    });
                }
                for _ in 0..2 {
                    scope.spawn(move || {
                        begin.wait();
                        (0..round % 100).for_each(|_| std::hint::spin_loop());
                        ending.store(true, Ordering::SeqCst);
                        callers.unpark_all();
                        close_if_free();
                    });
                }
            });
            assert_eq!(closed.load(Ordering::SeqCst), 1, "round {round}");
            assert!(callers.has_lease(), "nobody gives it back after closing");
        }
    });
}
