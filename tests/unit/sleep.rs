//! The sleepers: with as many workers as there may be, and with threads that fall asleep and that
//! wake them at once.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;

use crate::builder::WORKERS_MAX;
use crate::scheduler::sleep::*;
use crate::sync::Ordering;

/// Nobody has to be notified.
fn nobody() {
    panic!("notified, though nobody is in the seat");
}

/// Claims a worker and rouses it. Returns `false` if none sleeps.
fn wake_one(sleepers: &Sleepers, notify: impl FnOnce()) -> bool {
    let claimed = sleepers.claim_one();
    if let Some(worker) = claimed {
        sleepers.rouse(worker, notify);
    }
    claimed.is_some()
}

#[test]
fn all_are_awake_when_they_begin_and_none_is_woken() {
    for workers in [1, 2, 63, WORKERS_MAX] {
        let sleepers = Sleepers::new(workers);
        assert!((0..workers).all(|worker| !sleepers.is_awake(worker)), "nobody runs them yet");
        (0..workers).for_each(|worker| sleepers.begin(worker));
        assert!((0..workers).all(|worker| sleepers.is_awake(worker)));
        assert!(!sleepers.any_asleep() && !sleepers.all_asleep() && !sleepers.is_seat_taken());
        assert!(!wake_one(&sleepers, nobody));
        assert!((0..workers).all(|worker| !sleepers.claim(worker) && !sleepers.is_asleep(worker)));
    }
}

/// A worker whose thread has not begun its loop does not count: the one that sleeps is woken.
#[test]
fn a_worker_that_has_not_begun_is_neither_awake_nor_asleep() {
    let sleepers = Sleepers::new(2);
    assert!(sleepers.all_asleep(), "nobody is awake");
    assert!(!wake_one(&sleepers, nobody), "and nobody sleeps");

    let awake = || [0, 1].map(|worker| sleepers.is_awake(worker));
    sleepers.begin(1);
    assert!(!sleepers.all_asleep());
    assert_eq!(awake(), [false, true]);
    let is_alone = || {
        assert!(sleepers.all_asleep(), "worker 0 has not begun");
        assert_eq!(awake(), [false, false], "and the monitor need not watch it");
        true
    };
    sleepers.sleep(1, is_alone, || panic!("it waits"));

    sleepers.begin(0);
    let has_company = || {
        assert!(!sleepers.all_asleep(), "worker 0 is awake");
        assert_eq!(awake(), [true, false]);
        true
    };
    sleepers.sleep(1, has_company, || panic!("it waits"));
    sleepers.end(0);
    sleepers.end(1);
    assert!(sleepers.all_asleep());
}

#[test]
fn a_worker_that_finds_work_at_the_last_moment_does_not_sleep() {
    let sleepers = Sleepers::new(1);
    sleepers.begin(0);
    let asked = AtomicUsize::new(0);
    let finds_work = || {
        asked.fetch_add(1, Ordering::Relaxed);
        assert!(sleepers.all_asleep(), "it has said that it sleeps before it looks");
        true
    };
    sleepers.sleep(0, finds_work, || panic!("it waits"));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert!(!sleepers.any_asleep());
}

#[test]
fn the_first_that_sleeps_has_the_seat_and_leaves_it() {
    let sleepers = Sleepers::new(2);
    let waited = AtomicBool::new(false);
    sleepers.sleep(
        1,
        || false,
        || {
            assert!(sleepers.is_seat_taken() && sleepers.is_asleep(1));
            assert!(!sleepers.take_seat(LOOKER), "there is one seat");
            waited.store(true, Ordering::Relaxed);
        },
    );
    assert!(waited.load(Ordering::Relaxed));
    assert!(!sleepers.is_seat_taken() && !sleepers.any_asleep());
    assert!(sleepers.take_seat(LOOKER));
    sleepers.leave_seat();
}

/// Such an unpark comes from an earlier sleep. A worker that took it for its own would go on while
/// it counts as asleep, and the monitor would not watch it.
#[test]
fn an_unpark_that_is_left_over_ends_no_sleep() {
    let (sleepers, is_claimed) = (&Sleepers::new(1), &AtomicBool::new(false));
    sleepers.begin(0);
    assert!(sleepers.take_seat(LOOKER), "so that the worker parks");
    thread::current().unpark();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !sleepers.is_asleep(0) {
                thread::yield_now();
            }
            // It has every chance to go on too early.
            (0..100).for_each(|_| thread::yield_now());
            is_claimed.store(true, Ordering::Relaxed);
            assert!(wake_one(sleepers, nobody));
        });
        sleepers.sleep(0, || false, || panic!("it waits"));
        assert!(is_claimed.load(Ordering::Relaxed), "it goes on, and nobody has woken it");
    });
}

#[test]
fn the_one_in_the_seat_is_notified_and_the_others_are_unparked() {
    let sleepers = &Sleepers::new(3);
    let notified = &AtomicUsize::new(0);
    let notify = || {
        notified.fetch_add(1, Ordering::Relaxed);
    };
    thread::scope(|scope| {
        let sleep = |worker| {
            move || {
                sleepers.begin(worker);
                // Waits in the seat until it was claimed and notified.
                let wait = || {
                    while notified.load(Ordering::Relaxed) == 0 {
                        thread::yield_now();
                    }
                    assert!(!sleepers.is_asleep(worker), "claimed before it was notified");
                };
                sleepers.sleep(worker, || false, wait);
            }
        };
        let threads: Vec<_> = (0..3).map(|worker| scope.spawn(sleep(worker))).collect();
        let sleep = || (0..3).all(|worker| sleepers.is_asleep(worker));
        while !sleep() || !sleepers.is_seat_taken() {
            thread::yield_now();
        }
        assert!(sleepers.all_asleep());
        assert!(wake_one(sleepers, notify) && wake_one(sleepers, notify));
        assert_eq!(notified.load(Ordering::Relaxed), 0, "those who are parked come first");
        assert!(wake_one(sleepers, notify));
        assert_eq!(notified.load(Ordering::Relaxed), 1);
        assert!(!wake_one(sleepers, notify));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(!sleepers.any_asleep() && !sleepers.is_seat_taken());
}

/// All of them fall asleep at once, again and again, and others wake them. Nobody is woken twice by
/// one claim, and none sleeps on.
#[test]
fn every_claim_wakes_one_worker() {
    const SLEEPS: usize = 200;
    for workers in [1, 2, 5] {
        let sleepers = &Sleepers::new(workers);
        let (woken, notified) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        let barrier = &Barrier::new(workers);
        thread::scope(|scope| {
            for worker in 0..workers {
                scope.spawn(move || {
                    sleepers.begin(worker);
                    barrier.wait();
                    for _ in 0..SLEEPS {
                        let wait = || {
                            while sleepers.is_asleep(worker) {
                                thread::yield_now();
                            }
                        };
                        sleepers.sleep(worker, || false, wait);
                    }
                });
            }
            while woken.load(Ordering::Relaxed) < workers * SLEEPS {
                let notify = || {
                    notified.fetch_add(1, Ordering::Relaxed);
                };
                if wake_one(sleepers, notify) {
                    woken.fetch_add(1, Ordering::Relaxed);
                } else {
                    thread::yield_now();
                }
            }
        });
        assert!(!sleepers.any_asleep());
    }
}

#[test]
fn doorbell_rings_only_a_sleeper_and_only_once() {
    let doorbell = Doorbell::default();
    // Nobody answers yet.
    doorbell.ring();
    doorbell.thread.get_or_init(thread::current);
    doorbell.ring();
    assert!(!doorbell.asleep.load(Ordering::Relaxed));
    doorbell.asleep.store(true, Ordering::Relaxed);
    doorbell.ring();
    assert!(!doorbell.asleep.load(Ordering::Relaxed));
    // The ring is kept: this returns at once, or the test never ends.
    thread::park();
}
