//! The queues against a model, and with thieves: nothing is lost, nothing comes
//! twice, and the order is the one that is promised.

use std::collections::VecDeque;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{iter, thread};

use proptest::prelude::*;

use crate::scheduler::queue::*;
use concurrent_queue::ConcurrentQueue;

#[derive(Clone, Copy, Debug)]
enum Step {
    Push,
    /// So many at once, more than are moved in one go.
    PushMany(usize),
    Inject(usize),
    Pop,
    Refill(usize),
    /// By the other worker, from this one.
    Steal,
    /// From now on the other worker does all this.
    ChangePlaces,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        14 => Just(Step::Push),
        1 => (200_usize..900).prop_map(Step::PushMany),
        2 => (1_usize..300).prop_map(Step::Inject),
        8 => Just(Step::Pop),
        3 => (1_usize..9).prop_map(Step::Refill),
        3 => Just(Step::Steal),
        2 => Just(Step::ChangePlaces),
    ]
}

#[derive(Default)]
struct Model {
    real: [Local<u32>; 2],
    injector: Option<ConcurrentQueue<u32>>,
    /// What the workers' queues ought to hold.
    expected: [VecDeque<u32>; 2],
    expected_injector: VecDeque<u32>,
    /// Which worker takes the steps.
    mine: usize,
    next: u32,
}

impl Model {
    fn item(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn take(&mut self, step: Step) {
        let injector = self.injector.take().unwrap_or_else(ConcurrentQueue::unbounded);
        let (mine, other) = (self.mine, 1 - self.mine);
        match step {
            Step::Push => self.push(1),
            Step::PushMany(count) => self.push(count),
            Step::Inject(count) => {
                for _ in 0..count {
                    let item = self.item();
                    push(&injector, item);
                    self.expected_injector.push_back(item);
                }
            }
            Step::Pop => assert_eq!(self.real[mine].pop(), self.expected[mine].pop_front()),
            Step::Refill(workers) => {
                let share = self.expected_injector.len().div_ceil(workers).min(BATCH_MAX);
                let first =
                    self.real[mine].take(|| injector.pop().ok(), injector.len().div_ceil(workers));
                assert_eq!(first, self.expected_injector.pop_front());
                let more = self.expected_injector.drain(..share.saturating_sub(1));
                self.expected[mine].extend(more);
            }
            Step::Steal => {
                let half = self.expected[mine].len().div_ceil(2).min(BATCH_MAX);
                let first = self.real[other].steal_from(&self.real[mine]);
                assert_eq!(first, self.expected[mine].pop_front());
                let more: Vec<u32> = self.expected[mine].drain(..half.saturating_sub(1)).collect();
                self.expected[other].extend(more);
            }
            Step::ChangePlaces => self.mine = other,
        }
        self.injector = Some(injector);
    }

    fn push(&mut self, count: usize) {
        for _ in 0..count {
            let item = self.item();
            self.real[self.mine].push(item);
            self.expected[self.mine].push_back(item);
        }
    }

    fn check(&self) {
        for worker in 0..2 {
            assert_eq!(self.real[worker].len(), self.expected[worker].len());
        }
        let injected = self.injector.as_ref().map_or(0, ConcurrentQueue::len);
        assert_eq!(injected, self.expected_injector.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn queues_do_what_their_model_does(steps in prop::collection::vec(step(), 1..150)) {
        let mut model = Model::default();
        for &step in &steps {
            model.take(step);
            model.check();
        }
        // And what is left is what ought to be left, in this order.
        for (real, expected) in model.real.iter().zip(model.expected) {
            let left: Vec<u32> = iter::from_fn(|| real.pop()).collect();
            prop_assert_eq!(left, Vec::from(expected));
        }
        let left: Vec<u32> = model.injector.iter().flat_map(ConcurrentQueue::try_iter).collect();
        prop_assert_eq!(left, Vec::from(model.expected_injector));
    }
}

#[test]
fn first_come_is_first_served() {
    let local = Local::default();
    for item in 0..10_000 {
        local.push(item);
    }
    for item in 0..10_000 {
        assert_eq!(local.pop(), Some(item));
    }
    assert_eq!(local.pop(), None);
}

#[test]
fn thief_takes_half_but_not_too_many() {
    let (owner, thief) = (Local::default(), Local::default());
    assert_eq!(thief.steal_from(&owner), None);
    (1..=7).for_each(|item| owner.push(item));
    assert_eq!(thief.steal_from(&owner), Some(1));
    let mine: Vec<i32> = iter::from_fn(|| thief.pop()).collect();
    let left: Vec<i32> = iter::from_fn(|| owner.pop()).collect();
    assert_eq!((mine, left), (vec![2, 3, 4], vec![5, 6, 7]));
    (0..100_000).for_each(|item| owner.push(item));
    assert_eq!(thief.steal_from(&owner), Some(0));
    assert_eq!(thief.len(), BATCH_MAX - 1);
}

#[test]
fn nothing_is_lost_or_doubled_among_an_owner_and_thieves() {
    const ITEMS: usize = 8_000;
    const THREADS: usize = 4;
    for round in 0..3 {
        let locals: [Local<usize>; THREADS] = Default::default();
        let injector = ConcurrentQueue::unbounded();
        let seen: Vec<AtomicUsize> = (0..ITEMS).map(|_| AtomicUsize::new(0)).collect();
        let (made, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let barrier = Barrier::new(THREADS);
        thread::scope(|scope| {
            for me in 0..THREADS {
                let (locals, injector, seen) = (&locals, &injector, &seen);
                let (made, taken, barrier) = (&made, &taken, &barrier);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed((round * THREADS + me) as u64);
                    let mine = &locals[me];
                    let take = |item: Option<usize>| {
                        let Some(item) = item else { return };
                        let before = seen[item].fetch_add(1, Ordering::Relaxed);
                        assert_eq!(before, 0, "{item} came twice");
                        taken.fetch_add(1, Ordering::Relaxed);
                    };
                    barrier.wait();
                    while taken.load(Ordering::Relaxed) < ITEMS {
                        // Every thread is a worker; the first two also make work.
                        let makes = me < 2 && random.bool();
                        let item = if makes { made.fetch_add(1, Ordering::Relaxed) } else { ITEMS };
                        let other = &locals[random.usize(..THREADS)];
                        match random.u32(..8) {
                            _ if item < ITEMS => mine.push(item),
                            0..=3 => take(mine.pop()),
                            4 => take(
                                mine.take(|| injector.pop().ok(), injector.len().div_ceil(THREADS)),
                            ),
                            5 if !std::ptr::eq(other, mine) => {
                                take(mine.steal_from(other));
                            }
                            _ => thread::yield_now(),
                        }
                    }
                });
            }
        });
        assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        let left = locals.iter().map(|local| local.len());
        assert_eq!(left.sum::<usize>() + injector.len(), 0);
    }
}
