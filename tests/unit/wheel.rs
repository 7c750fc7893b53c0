//! The wheel against a model, a `BTreeMap`, and what that does not meet by example.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const MILLISECOND: u64 = 1_000_000;
const YEAR: u64 = 365 * 24 * 3600 * 1_000 * MILLISECOND;

/// How long the hand of the wheel takes to come round.
const TURN: u64 = (SLOTS as u64) << SLOT_WIDTH_BITS;

impl<T> Wheel<T> {
    fn len(&self) -> usize {
        self.slots.iter().map(BTreeMap::len).sum()
    }

    fn next_expiry(&self) -> Option<u64> {
        let keys = self.slots.iter().flat_map(BTreeMap::keys);
        keys.map(|key| key.deadline).min()
    }
}

fn expire<T>(wheel: &mut Wheel<T>, now: u64) -> Vec<T> {
    let mut expired = Vec::new();
    let next = wheel.expire(now, &mut expired);
    assert_eq!(next, wheel.next_expiry());
    check_invariants(wheel);
    expired
}

/// What the module's documentation promises of the structure between two calls.
fn check_invariants<T>(wheel: &Wheel<T>) {
    for (index, slot) in wheel.slots.iter().enumerate() {
        assert!(slot.keys().all(|key| key.slot() == index), "slot {index}");
    }
}

/// A point in time, to be made sense of where the test has got to by then.
#[derive(Clone, Copy, Debug)]
enum When {
    Now,
    /// So many nanoseconds ago.
    Ago(u64),
    /// So many nanoseconds from now.
    In(u64),
    /// So many turns of the wheel from now, and some nanoseconds on or back.
    Turns(u64, i64),
    /// The end of all 64 bits, and so many nanoseconds back.
    End(u64),
    /// The deadline of some timer that was inserted before.
    Again(usize),
    /// What the wheel says, and some nanoseconds on or back.
    NextExpiry(i64),
}

#[derive(Clone, Debug)]
enum Step {
    Insert(When),
    Remove(usize),
    Get(usize),
    Expire(When),
}

fn nearby() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(-1), Just(1), -200_000..200_000_i64]
}

/// Nanoseconds, of every order of magnitude alike.
fn span() -> impl Strategy<Value = u64> {
    (0..64_u32, any::<u64>()).prop_map(|(bits, random)| (1 << bits) | (random & ((1 << bits) - 1)))
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        1 => Just(When::Now),
        1 => span().prop_map(When::Ago),
        4 => span().prop_map(When::In),
        4 => (0..300_000_u64).prop_map(When::In),
        3 => (0..4_u64, nearby()).prop_map(|(turns, offset)| When::Turns(turns, offset)),
        1 => (0..3_u64).prop_map(When::End),
        2 => any::<usize>().prop_map(When::Again),
    ]
}

/// As `when`, but seldom so far away that nothing is left to be tested after it.
fn moment() -> impl Strategy<Value = When> {
    prop_oneof![
        6 => nearby().prop_map(When::NextExpiry),
        4 => (0..300_000_u64).prop_map(When::In),
        2 => (0..YEAR).prop_map(When::In),
        3 => (0..4_u64, nearby()).prop_map(|(turns, offset)| When::Turns(turns, offset)),
        1 => when(),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => when().prop_map(Step::Insert),
        2 => any::<usize>().prop_map(Step::Remove),
        1 => any::<usize>().prop_map(Step::Get),
        4 => moment().prop_map(Step::Expire),
    ]
}

/// The wheel, and beside it what it ought to hold.
struct Model {
    wheel: Wheel<u64>,
    now: u64,
    /// By deadline, then by order of insertion; the value is the timer's number.
    timers: BTreeMap<(u64, usize), u64>,
    /// Every key ever handed out, with its deadline.
    keys: Vec<(Key, u64)>,
}

impl Model {
    fn starting_at(now: u64) -> Self {
        Model { wheel: Wheel::new(), now, timers: BTreeMap::new(), keys: Vec::new() }
    }

    fn resolve(&self, when: When) -> u64 {
        match when {
            When::Now => self.now,
            When::Ago(span) => self.now.saturating_sub(span),
            When::In(span) => self.now.saturating_add(span),
            When::Turns(turns, offset) => {
                self.now.saturating_add(turns * TURN).saturating_add_signed(offset)
            }
            When::End(back) => u64::MAX - back,
            When::Again(random) if self.keys.is_empty() => random as u64,
            When::Again(random) => self.keys[random % self.keys.len()].1,
            When::NextExpiry(offset) => {
                self.wheel.next_expiry().unwrap_or(self.now).saturating_add_signed(offset)
            }
        }
    }

    fn pick(&self, random: usize) -> Option<(usize, Key, u64)> {
        let number = random.checked_rem(self.keys.len())?;
        let (key, deadline) = self.keys[number];
        Some((number, key, deadline))
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Insert(when) => {
                let (deadline, number) = (self.resolve(when), self.keys.len());
                self.keys.push((self.wheel.insert(deadline, number as u64), deadline));
                self.timers.insert((deadline, number), number as u64);
            }
            Step::Remove(random) => {
                let Some((number, key, deadline)) = self.pick(random) else {
                    return;
                };
                assert_eq!(self.wheel.remove(key), self.timers.remove(&(deadline, number)));
            }
            Step::Get(random) => {
                let Some((number, key, deadline)) = self.pick(random) else {
                    return;
                };
                let mut expected = self.timers.get_mut(&(deadline, number));
                assert_eq!(self.wheel.get_mut(key), expected.as_deref_mut());
                if let (Some(value), Some(expected)) = (self.wheel.get_mut(key), expected) {
                    (*value, *expected) = (*value + 1_000_000, *expected + 1_000_000);
                }
            }
            Step::Expire(when) => {
                let now = self.resolve(when);
                self.now = self.now.max(now);
                let end = (now, usize::MAX);
                let mut expected = Vec::new();
                while let Some(first) = self.timers.first_entry().filter(|it| *it.key() <= end) {
                    expected.push(first.remove());
                }
                assert_eq!(expire(&mut self.wheel, now), expected);
                assert!(self.wheel.next_expiry().is_none_or(|next| next > now));
            }
        }
    }

    fn check(&self) {
        check_invariants(&self.wheel);
        assert_eq!(self.wheel.len(), self.timers.len());
        let earliest = self.timers.keys().next().map(|&(deadline, _)| deadline);
        assert_eq!(self.wheel.next_expiry(), earliest);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        // What it finds becomes a test with a name, below, and not a file of seeds.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn wheel_does_what_a_sorted_map_does(
        start in any::<u64>(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut model = Model::starting_at(start);
        for step in &steps {
            model.take(step);
            model.check();
        }
        // Whatever is left comes out when the wheel says so, and never spins.
        while let Some(next) = model.wheel.next_expiry() {
            model.take(&Step::Expire(When::NextExpiry(0)));
            model.check();
            prop_assert!(model.wheel.next_expiry().is_none_or(|later| later > next));
        }
        prop_assert!(model.timers.is_empty());
    }
}

/// The wheel turns past a timer of a later turn again and again, and leaves it where it is.
#[test]
fn timer_of_a_later_turn_waits_for_its_time() {
    let mut wheel = Wheel::new();
    let deadline = 1_000 * TURN + 7;
    wheel.insert(deadline, "late");
    for turn in 0..1_000 {
        assert_eq!(expire(&mut wheel, turn * TURN + 7), [""; 0]);
    }
    assert_eq!(wheel.next_expiry(), Some(deadline));
    assert_eq!(expire(&mut wheel, deadline - 1), [""; 0]);
    assert_eq!(expire(&mut wheel, deadline), ["late"]);
}

/// In one slot the timer of an earlier turn comes first, although it was inserted later.
#[test]
fn timers_of_several_turns_expire_in_order() {
    let mut wheel = Wheel::new();
    for turn in [3, 1, 2, 0] {
        wheel.insert(turn * TURN, turn);
    }
    assert_eq!(wheel.next_expiry(), Some(0));
    assert_eq!(expire(&mut wheel, 2 * TURN), [0, 1, 2]);
    assert_eq!(wheel.next_expiry(), Some(3 * TURN));
}

#[test]
fn end_of_time_is_a_deadline_like_any_other() {
    let mut wheel = Wheel::new();
    wheel.insert(u64::MAX, "end");
    wheel.insert(u64::MAX - 1, "before");
    assert_eq!(expire(&mut wheel, u64::MAX - 1), ["before"]);
    assert_eq!(expire(&mut wheel, u64::MAX), ["end"]);
    wheel.insert(u64::MAX, "again");
    assert_eq!(expire(&mut wheel, u64::MAX), ["again"]);
}

#[test]
fn timers_with_one_deadline_expire_in_the_order_of_insertion() {
    let mut wheel = Wheel::new();
    for number in 0..10_000 {
        wheel.insert(MILLISECOND, number);
    }
    assert_eq!(expire(&mut wheel, MILLISECOND - 1), [0; 0]);
    assert_eq!(expire(&mut wheel, MILLISECOND), Vec::from_iter(0..10_000));
}

#[test]
fn expired_values_are_added_to_those_already_there() {
    let mut wheel = Wheel::new();
    let mut expired = vec!["before"];
    wheel.insert(5, "now");
    wheel.expire(5, &mut expired);
    assert_eq!(expired, ["before", "now"]);
}

/// A key is never handed out again, so that an old one finds nothing.
#[test]
fn key_of_a_timer_that_is_gone_finds_no_other_one() {
    let mut wheel = Wheel::new();
    let old = wheel.insert(5, "old");
    assert_eq!(wheel.remove(old), Some("old"));
    let new = wheel.insert(5, "new");
    assert_eq!(wheel.get_mut(old), None);
    assert_eq!(wheel.remove(old), None);
    assert_eq!(wheel.remove(new), Some("new"));
    check_invariants(&wheel);
}

#[test]
fn inserted_and_cancelled_timers_leave_nothing_behind() {
    let mut wheel = Wheel::new();
    for _ in 0..3 {
        let keys: Vec<Key> =
            (0..100_000).map(|number| wheel.insert(number * MILLISECOND, number)).collect();
        assert_eq!(wheel.len(), 100_000);
        for (number, key) in keys.into_iter().enumerate() {
            assert_eq!(wheel.remove(key), Some(number as u64));
        }
        assert_eq!((wheel.len(), wheel.next_expiry()), (0, None));
    }
}
