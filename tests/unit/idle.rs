//! The sets of sleepers against a model, with as many workers as there may be, and with threads
//! that fall asleep and that claim them at once.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::thread;

use proptest::prelude::*;

use crate::config::WORKERS_MAX;
use crate::scheduler::idle::*;
use crate::sync::Ordering;

#[derive(Clone, Copy, Debug)]
enum Step {
    FallAsleep(usize, bool),
    WakeUp(usize),
    Claim(usize),
    ClaimOne,
}

fn step() -> impl Strategy<Value = Step> {
    let worker = || any::<usize>();
    prop_oneof![
        6 => (worker(), any::<bool>()).prop_map(|(it, joins)| Step::FallAsleep(it, joins)),
        3 => worker().prop_map(Step::WakeUp),
        3 => worker().prop_map(Step::Claim),
        3 => Just(Step::ClaimOne),
    ]
}

#[derive(Default)]
struct Model {
    parked: BTreeSet<usize>,
    seated: BTreeSet<usize>,
}

impl Model {
    fn check(&self, idle: &Idle, workers: usize) {
        let asleep: BTreeSet<_> = self.parked.union(&self.seated).copied().collect();
        assert_eq!(idle.any_seated(), !self.seated.is_empty());
        assert_eq!((idle.asleep() != 0), !asleep.is_empty());
        assert_eq!(idle.all_asleep(), asleep.len() == workers);
        assert_eq!(idle.all_asleep(), asleep.len() == workers);
        for worker in 0..workers {
            assert_eq!(idle.is_parked(worker), self.parked.contains(&worker));
            assert_eq!(idle.asleep() & 1 << worker != 0, asleep.contains(&worker));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn sleepers_are_what_two_sets_say(
        workers in prop_oneof![Just(1), Just(2), Just(63), Just(WORKERS_MAX), 1..=WORKERS_MAX],
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let (idle, mut model) = (Idle::new(workers), Model::default());
        model.check(&idle, workers);
        for step in steps {
            match step {
                // Who sleeps does not fall asleep once more.
                Step::FallAsleep(worker, _) if idle.asleep() & 1 << (worker % workers) != 0 => {}
                Step::FallAsleep(worker, joins) => {
                    let sits = joins || model.seated.is_empty();
                    prop_assert_eq!(idle.fall_asleep(worker % workers, joins), sits);
                    let sleepers = if sits { &mut model.seated } else { &mut model.parked };
                    sleepers.insert(worker % workers);
                }
                Step::WakeUp(worker) => {
                    idle.wake_up(worker % workers);
                    model.seated.remove(&(worker % workers));
                    model.parked.remove(&(worker % workers));
                }
                Step::Claim(worker) => {
                    let slept = model.parked.remove(&(worker % workers));
                    prop_assert_eq!(idle.claim(worker % workers), slept);
                }
                Step::ClaimOne => prop_assert_eq!(idle.claim_one(), model.parked.pop_first()),
            }
            model.check(&idle, workers);
        }
    }
}

/// All of them fall asleep at once, and somebody always sits.
#[test]
fn one_of_those_who_fall_asleep_at_once_sits_and_those_who_join_as_well() {
    for workers in [1, 2, 8] {
        for joins in [false, true] {
            for _ in 0..200 {
                let (idle, barrier) = (&Idle::new(workers), &Barrier::new(workers));
                let sit = thread::scope(|scope| {
                    let sleeper = |worker| {
                        move || {
                            barrier.wait();
                            usize::from(idle.fall_asleep(worker, joins))
                        }
                    };
                    let sleepers: Vec<_> =
                        (0..workers).map(|worker| scope.spawn(sleeper(worker))).collect();
                    sleepers.into_iter().map(|sleeper| sleeper.join().unwrap()).sum::<usize>()
                });
                assert_eq!(sit, if joins { workers } else { 1 });
                assert!(idle.all_asleep());
            }
        }
    }
}

#[test]
fn every_parked_worker_is_claimed_by_exactly_one() {
    const THREADS: usize = 4;
    for workers in [2, 3, 63, WORKERS_MAX] {
        for _ in 0..200 {
            let idle = Idle::new(workers);
            let sitting = (0..workers).filter(|&worker| idle.fall_asleep(worker, false)).count();
            assert_eq!(sitting, 1);
            let claims: Vec<AtomicUsize> = (0..workers).map(|_| AtomicUsize::new(0)).collect();
            let barrier = Barrier::new(THREADS);
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    let (idle, claims, barrier) = (&idle, &claims, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        while let Some(worker) = idle.claim_one() {
                            claims[worker].fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            });
            // The first one sits.
            assert_eq!(claims[0].load(Ordering::Relaxed), 0);
            assert!(claims[1..].iter().all(|claims| claims.load(Ordering::Relaxed) == 1));
            assert!(idle.any_seated());
        }
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
    assert!(doorbell.asleep.load(Ordering::Relaxed));
    doorbell.ring();
    assert!(!doorbell.asleep.load(Ordering::Relaxed));
    // The ring is kept: this returns at once, or the test never ends.
    thread::park();
}
