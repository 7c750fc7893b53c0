//! The set of sleepers against a model, with as many workers as there may be, and
//! with threads that claim them at once.

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
    FallAsleep(usize),
    Claim(usize),
    ClaimOne(Option<usize>),
    ClaimIfAllAsleep(Option<usize>),
    AllFallAsleep,
}

fn step() -> impl Strategy<Value = Step> {
    let worker = || any::<usize>();
    prop_oneof![
        6 => worker().prop_map(Step::FallAsleep),
        3 => worker().prop_map(Step::Claim),
        3 => prop::option::of(worker()).prop_map(Step::ClaimOne),
        2 => prop::option::of(worker()).prop_map(Step::ClaimIfAllAsleep),
        1 => Just(Step::AllFallAsleep),
    ]
}

/// Whom `claim_one` ought to choose.
fn first_choice(asleep: &BTreeSet<usize>, last_choice: Option<usize>) -> Option<usize> {
    let others = asleep.iter().copied().find(|&worker| Some(worker) != last_choice);
    others.or_else(|| asleep.first().copied())
}

fn check(idle: &Idle, asleep: &BTreeSet<usize>, workers: usize) {
    assert_eq!(idle.any_asleep(), !asleep.is_empty());
    assert_eq!(idle.all_asleep(), asleep.len() == workers);
    for worker in 0..workers {
        assert_eq!(idle.is_asleep(worker), asleep.contains(&worker));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn sleepers_are_what_a_set_says(
        workers in prop_oneof![Just(1), Just(2), Just(63), Just(WORKERS_MAX), 1..=WORKERS_MAX],
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let idle = Idle::new(workers);
        let mut asleep = BTreeSet::new();
        check(&idle, &asleep, workers);
        for step in steps {
            match step {
                Step::FallAsleep(worker) => {
                    idle.fall_asleep(worker % workers);
                    asleep.insert(worker % workers);
                }
                Step::Claim(worker) => {
                    let slept = asleep.remove(&(worker % workers));
                    prop_assert_eq!(idle.claim(worker % workers), slept);
                }
                Step::ClaimOne(last_choice) => {
                    let last_choice = last_choice.map(|worker| worker % workers);
                    let expected = first_choice(&asleep, last_choice);
                    prop_assert_eq!(idle.claim_one(last_choice), expected);
                    expected.map(|worker| asleep.remove(&worker));
                }
                Step::ClaimIfAllAsleep(last_choice) => {
                    let last_choice = last_choice.map(|worker| worker % workers);
                    let all = asleep.len() == workers;
                    let expected = first_choice(&asleep, last_choice).filter(|_| all);
                    prop_assert_eq!(idle.claim_if_all_asleep(last_choice), expected);
                    expected.map(|worker| asleep.remove(&worker));
                }
                Step::AllFallAsleep => {
                    (0..workers).for_each(|worker| idle.fall_asleep(worker));
                    asleep.extend(0..workers);
                }
            }
            check(&idle, &asleep, workers);
        }
    }
}

#[test]
fn every_sleeper_is_claimed_by_exactly_one() {
    const THREADS: usize = 4;
    for workers in [1, 2, 63, WORKERS_MAX] {
        for _ in 0..200 {
            let idle = Idle::new(workers);
            (0..workers).for_each(|worker| idle.fall_asleep(worker));
            let claims: Vec<AtomicUsize> = (0..workers).map(|_| AtomicUsize::new(0)).collect();
            let barrier = Barrier::new(THREADS);
            thread::scope(|scope| {
                for me in 0..THREADS {
                    let (idle, claims, barrier) = (&idle, &claims, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        let last_choice = Some(me % workers);
                        while let Some(worker) = idle.claim_one(last_choice) {
                            claims[worker].fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            });
            assert!(claims.iter().all(|claims| claims.load(Ordering::Relaxed) == 1));
            assert!(!idle.any_asleep());
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
