//! The queues against a model, and with thieves: nothing is lost, nothing comes
//! twice, and the order is the one that is promised.

use std::collections::VecDeque;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    PushSlot,
    PushBack,
    /// So many at once, so that the queue runs over.
    PushMany(usize),
    Inject(usize),
    Pop,
    Refill(usize),
    /// By the other worker, from this one.
    Steal,
    SpillSlot,
    Spill,
    /// From now on the other worker does all this.
    ChangePlaces,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => Just(Step::PushSlot),
        6 => Just(Step::PushBack),
        1 => (200_usize..400).prop_map(Step::PushMany),
        2 => (1_usize..300).prop_map(Step::Inject),
        8 => Just(Step::Pop),
        3 => (1_usize..9).prop_map(Step::Refill),
        3 => Just(Step::Steal),
        1 => Just(Step::SpillSlot),
        1 => Just(Step::Spill),
        2 => Just(Step::ChangePlaces),
    ]
}

/// What a worker's queue ought to hold.
#[derive(Default)]
struct Expected {
    slot: Option<u32>,
    queue: VecDeque<u32>,
    streak: u32,
}

impl Expected {
    fn push_back(&mut self, item: u32, injector: &mut VecDeque<u32>) {
        if self.queue.len() < LOCAL_CAPACITY {
            self.queue.push_back(item);
        } else {
            injector.push_back(item);
        }
    }

    fn pop(&mut self) -> Option<u32> {
        if self.streak < SLOT_STREAK_MAX && self.slot.is_some() {
            self.streak += 1;
            return self.slot.take();
        }
        self.streak = 0;
        self.queue.pop_front().or_else(|| self.slot.take())
    }
}

#[derive(Default)]
struct Model {
    real: [Local<u32>; 2],
    streaks: [Cell<u32>; 2],
    injector: Option<ConcurrentQueue<u32>>,
    expected: [Expected; 2],
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
            Step::PushSlot => {
                let item = self.item();
                self.real[mine].push_slot(item, &injector);
                if let Some(displaced) = self.expected[mine].slot.replace(item) {
                    self.expected[mine].push_back(displaced, &mut self.expected_injector);
                }
            }
            Step::PushBack => self.push_back(1, &injector),
            Step::PushMany(count) => self.push_back(count, &injector),
            Step::Inject(count) => {
                for _ in 0..count {
                    let item = self.item();
                    push(&injector, item);
                    self.expected_injector.push_back(item);
                }
            }
            Step::Pop => {
                let popped = self.real[mine].pop(&self.streaks[mine]);
                assert_eq!(popped, self.expected[mine].pop());
                assert_eq!(self.streaks[mine].get(), self.expected[mine].streak);
            }
            Step::Refill(workers) => {
                let first = self.real[mine].refill(&injector, workers);
                assert_eq!(first, self.expected_injector.pop_front());
                let share = self.expected_injector.len() / workers;
                for _ in 0..share.min(LOCAL_CAPACITY / 2) {
                    let item = self.expected_injector.pop_front().unwrap();
                    self.expected[mine].push_back(item, &mut self.expected_injector);
                }
            }
            Step::Steal => {
                let first = self.real[other].steal_from(&self.real[mine], &injector);
                let half = self.expected[mine].queue.len().div_ceil(2);
                assert_eq!(first, self.expected[mine].queue.pop_front());
                for _ in 1..half {
                    let item = self.expected[mine].queue.pop_front().unwrap();
                    self.expected[other].push_back(item, &mut self.expected_injector);
                }
            }
            Step::SpillSlot => {
                let spilled = self.expected[mine].slot.take();
                assert_eq!(self.real[mine].spill_slot(&injector), spilled.is_some());
                self.expected_injector.extend(spilled);
            }
            Step::Spill => {
                self.real[mine].spill(&injector);
                let Expected { slot, queue, .. } = &mut self.expected[mine];
                self.expected_injector.extend(slot.take());
                self.expected_injector.extend(queue.drain(..));
            }
            Step::ChangePlaces => self.mine = other,
        }
        self.injector = Some(injector);
    }

    fn push_back(&mut self, count: usize, injector: &ConcurrentQueue<u32>) {
        for _ in 0..count {
            let item = self.item();
            self.real[self.mine].push_back(item, injector);
            self.expected[self.mine].push_back(item, &mut self.expected_injector);
        }
    }

    fn check(&self) {
        for worker in 0..2 {
            let (real, expected) = (&self.real[worker], &self.expected[worker]);
            assert_eq!(real.slot.len(), usize::from(expected.slot.is_some()));
            assert_eq!(real.queue.len(), expected.queue.len());
            assert_eq!(real.has_waiting(), !expected.queue.is_empty());
        }
        let injected = self.injector.as_ref().map_or(0, ConcurrentQueue::len);
        assert_eq!(injected, self.expected_injector.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
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
        for worker in [0, 1] {
            model.mine = worker;
            model.take(Step::Spill);
        }
        let left: Vec<u32> = model.injector.unwrap().try_iter().collect();
        prop_assert_eq!(left, Vec::from(model.expected_injector));
    }
}

#[test]
fn slot_comes_first_but_only_so_often_in_a_row() {
    let (local, injector) = (Local::default(), ConcurrentQueue::unbounded());
    let streak = Cell::new(0);
    local.push_back("waiting", &injector);
    // Two tasks that wake each other for ever.
    for _ in 0..SLOT_STREAK_MAX {
        local.push_slot("ping", &injector);
        assert_eq!(local.pop(&streak), Some("ping"));
    }
    local.push_slot("ping", &injector);
    assert_eq!(local.pop(&streak), Some("waiting"));
    assert_eq!(local.pop(&streak), Some("ping"));
    assert_eq!(local.pop(&streak), None);
}

#[test]
fn slot_is_run_for_ever_while_nothing_else_waits() {
    let (local, injector) = (Local::default(), ConcurrentQueue::unbounded());
    let streak = Cell::new(0);
    for round in 0..10 * SLOT_STREAK_MAX {
        local.push_slot(round, &injector);
        assert_eq!(local.pop(&streak), Some(round));
    }
    assert!(injector.is_empty());
}

#[test]
fn thief_takes_half_and_leaves_the_slot() {
    let (owner, thief) = (Local::default(), Local::default());
    let injector = ConcurrentQueue::unbounded();
    assert_eq!(thief.steal_from(&owner, &injector), None);
    owner.push_slot(0, &injector);
    assert_eq!(thief.steal_from(&owner, &injector), None);
    for item in 1..=7 {
        owner.push_back(item, &injector);
    }
    assert_eq!(thief.steal_from(&owner, &injector), Some(1));
    let mine: Vec<i32> = thief.queue.try_iter().collect();
    let left: Vec<i32> = owner.queue.try_iter().collect();
    assert_eq!((mine, left), (vec![2, 3, 4], vec![5, 6, 7]));
    assert_eq!(owner.pop(&Cell::new(0)), Some(0));
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
                    let (mine, streak) = (&locals[me], Cell::new(0));
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
                            _ if item < ITEMS && random.bool() => mine.push_slot(item, injector),
                            _ if item < ITEMS => mine.push_back(item, injector),
                            0..=3 => take(mine.pop(&streak)),
                            4 => take(mine.refill(injector, THREADS)),
                            5 if !std::ptr::eq(other, mine) => {
                                take(mine.steal_from(other, injector));
                            }
                            // The monitor does it to anybody.
                            6 => drop(other.spill_slot(injector)),
                            7 if random.u32(..50) == 0 => mine.spill(injector),
                            _ => thread::yield_now(),
                        }
                    }
                });
            }
        });
        assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        let left = locals.iter().map(|local| local.queue.len() + local.slot.len());
        assert_eq!(left.sum::<usize>() + injector.len(), 0);
    }
}
