//! The wheel against a model, a `BTreeMap`, and what that does not meet by example. Nothing here is
//! timed: what an operation costs is counted in entries visited.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The first bit of each level's digit, and 64 for the end of time.
const DIGIT_STARTS: [u32; LEVELS + 1] = [16, 22, 28, 34, 40, 46, 52, 58, 64];
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;
const YEAR: u64 = 365 * 24 * 3600 * SECOND;

impl<T> Wheel<T> {
    fn len(&self) -> usize {
        self.entries.len()
    }
}

fn expire<T>(wheel: &mut Wheel<T>, now: u64) -> Vec<T> {
    let mut expired = Vec::new();
    wheel.expire(now, &mut expired);
    check_invariants(wheel);
    expired
}

/// What the module's documentation promises of the structure between two calls.
fn check_invariants<T>(wheel: &Wheel<T>) {
    let mut listed = 0;
    for (position, slot) in wheel.slots.iter().enumerate() {
        let (level, hand) = (position / SLOTS_PER_LEVEL, position % SLOTS_PER_LEVEL);
        let occupied = wheel.occupied[level] & (1 << hand) != 0;
        assert_eq!(occupied, !slot.list.is_empty(), "level {level}, slot {hand}");
        for (place, &index) in slot.list.iter().enumerate() {
            let entry = &wheel.entries[index as usize];
            let time = entry.deadline.max(wheel.elapsed);
            assert_eq!(entry.place, (position as u32, place as u32));
            assert_eq!(hand, digit(time, level));
            assert_eq!(level, highest_differing_level(time, wheel.elapsed));
            assert!(slot.least <= entry.deadline);
            assert!(level == 0 || hand > digit(wheel.elapsed, level));
            listed += 1;
        }
    }
    assert_eq!(listed, wheel.len());
}

/// A point in time, to be made sense of where the test has got to by then.
#[derive(Clone, Copy, Debug)]
enum When {
    Now,
    /// So many nanoseconds ago.
    Ago(u64),
    /// So many nanoseconds from now.
    In(u64),
    /// Where the digit of a level turns next, and some nanoseconds on or back.
    Turn(usize, i64),
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
        3 => (0..=LEVELS, nearby()).prop_map(|(level, offset)| When::Turn(level, offset)),
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
        3 => (0..LEVELS, nearby()).prop_map(|(level, offset)| When::Turn(level, offset)),
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

/// Anywhere, and where many digits are about to turn.
fn start() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        any::<u64>(),
        (0..64_u32, 0..300_000_u64).prop_map(|(bit, back)| (1_u64 << bit).saturating_sub(back)),
        (0..64_u32).prop_map(|bit| u64::MAX - (1 << bit)),
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
    removed_any: bool,
}

impl Model {
    fn starting_at(now: u64) -> Self {
        let mut wheel = Wheel::new();
        assert_eq!(expire(&mut wheel, now), [0_u64; 0]);
        Model { wheel, now, timers: BTreeMap::new(), keys: Vec::new(), removed_any: false }
    }

    fn resolve(&self, when: When) -> u64 {
        match when {
            When::Now => self.now,
            When::Ago(span) => self.now.saturating_sub(span),
            When::In(span) => self.now.saturating_add(span),
            When::Turn(level, offset) => {
                let next = match DIGIT_STARTS[level] {
                    64 => u64::MAX,
                    bit => ((self.now >> bit) + 1).checked_shl(bit).unwrap_or(u64::MAX),
                };
                next.saturating_add_signed(offset)
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
                let expected = self.timers.remove(&(deadline, number));
                self.removed_any |= expected.is_some();
                assert_eq!(self.wheel.remove(key), expected);
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
                let end = (self.now, usize::MAX);
                let mut expected = Vec::new();
                while let Some(first) = self.timers.first_entry().filter(|it| *it.key() <= end) {
                    expected.push(first.remove());
                }
                assert_eq!(expire(&mut self.wheel, now), expected);
                assert!(self.wheel.next_expiry().is_none_or(|next| next > self.now));
            }
        }
    }

    fn check(&self) {
        check_invariants(&self.wheel);
        assert_eq!(self.wheel.len(), self.timers.len());
        let earliest = self.timers.keys().next().map(|&(deadline, _)| deadline);
        let next = self.wheel.next_expiry();
        assert_eq!(next.is_some(), earliest.is_some());
        assert!(next <= earliest, "{next:?} is too late for {earliest:?}");
        if !self.removed_any {
            assert_eq!(next, earliest);
        }
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
        start in start(),
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

#[test]
fn levels_cover_all_64_bits() {
    for (level, bits) in DIGIT_STARTS.windows(2).enumerate() {
        assert_eq!(highest_differing_level(0, 1 << bits[0]), level);
        assert_eq!(highest_differing_level(0, u64::MAX >> (64 - bits[1])), level);
        assert_eq!(digit(u64::MAX, level), SLOTS_PER_LEVEL - 1);
    }
    assert_eq!(highest_differing_level(7, 7), 0);
}

#[test]
fn survives_the_turn_of_every_digit() {
    for bit in &DIGIT_STARTS[..LEVELS] {
        for turns in [1, 2, 63] {
            let turn = turns << bit;
            let mut wheel = Wheel::new();
            assert!(expire(&mut wheel, turn - 3).is_empty());
            for deadline in [turn + 2, turn - 1, turn, turn - 2, turn + 1] {
                wheel.insert(deadline, deadline);
            }
            for now in turn - 2..=turn + 2 {
                assert_eq!(wheel.next_expiry(), Some(now));
                assert_eq!(expire(&mut wheel, now), [now]);
            }
        }
    }
}

#[test]
fn end_of_time_is_a_deadline_like_any_other() {
    let mut wheel = Wheel::new();
    wheel.insert(u64::MAX, "end");
    wheel.insert(u64::MAX - 1, "just before");
    assert!(expire(&mut wheel, 580 * YEAR).is_empty());
    assert_eq!(expire(&mut wheel, u64::MAX - 1), ["just before"]);
    assert_eq!(expire(&mut wheel, u64::MAX), ["end"]);
    wheel.insert(u64::MAX, "after the end");
    assert_eq!(expire(&mut wheel, u64::MAX), ["after the end"]);
    assert_eq!(wheel.next_expiry(), None);
}

#[test]
fn many_timers_with_one_deadline_expire_together_in_the_order_of_insertion() {
    let mut wheel = Wheel::new();
    for number in 0..100_000 {
        wheel.insert(YEAR, number);
    }
    assert!(expire(&mut wheel, YEAR - 1).is_empty());
    let expired = expire(&mut wheel, YEAR);
    assert!(expired.into_iter().eq(0..100_000));
    assert_eq!(wheel.len(), 0);
}

#[test]
fn expired_values_are_added_to_those_already_there() {
    let mut wheel = Wheel::new();
    wheel.insert(2, "second");
    wheel.insert(1, "first");
    let mut expired = vec!["kept"];
    wheel.expire(2, &mut expired);
    assert_eq!(expired, ["kept", "first", "second"]);
}

#[test]
fn removal_leaves_at_most_one_early_wake_up_behind() {
    let mut wheel = Wheel::new();
    let early = wheel.insert(YEAR, "early");
    wheel.insert(YEAR + 2, "late");
    assert_eq!(wheel.remove(early), Some("early"));
    assert_eq!(wheel.next_expiry(), Some(YEAR));
    assert!(expire(&mut wheel, YEAR).is_empty());
    assert_eq!(wheel.next_expiry(), Some(YEAR + 2));
}

#[test]
fn inserted_and_cancelled_timers_leave_nothing_behind() {
    let mut wheel = Wheel::new();
    let mut capacity = 0;
    for round in 0..5 {
        let keys: Vec<Key> = (0..100_000_u64)
            .map(|number| wheel.insert(SECOND + number * number * 7_919, number))
            .collect();
        // Alternately from the front and from the back of the lists.
        let (front, back) = keys.split_at(keys.len() / 2);
        for (left, right) in front.iter().zip(back.iter().rev()) {
            assert!(wheel.remove(*left).is_some() && wheel.remove(*right).is_some());
        }
        check_invariants(&wheel);
        assert_eq!((wheel.len(), wheel.next_expiry()), (0, None));
        assert_eq!(wheel.occupied, [0; LEVELS]);
        if round > 0 {
            assert_eq!(wheel.entries.capacity(), capacity);
        }
        capacity = wheel.entries.capacity();
    }
    assert!(expire(&mut wheel, u64::MAX).is_empty());
    assert_eq!(wheel.visited, 0);
}

#[test]
fn armed_and_dropped_one_by_one_needs_room_for_one() {
    let mut wheel = Wheel::new();
    for number in 0..100_000 {
        let key = wheel.insert(number * MILLISECOND + 30 * SECOND, number);
        assert_eq!(wheel.remove(key), Some(number));
        wheel.expire(number * MILLISECOND, &mut Vec::new());
    }
    assert!(wheel.entries.capacity() <= 8);
    assert_eq!(wheel.visited, 0);
}

#[test]
fn far_timers_are_not_looked_at_while_time_passes() {
    let mut wheel = Wheel::new();
    for number in 0..1_000_000 {
        wheel.insert(YEAR + number * MILLISECOND, number);
    }
    let mut expired = Vec::new();
    // A minute, in steps of less than a slot of level 0.
    for now in (0..60 * SECOND).step_by(50_000) {
        wheel.expire(now, &mut expired);
    }
    assert_eq!((expired.len(), wheel.visited), (0, 0));
}

#[test]
fn timer_is_looked_at_at_most_once_per_level() {
    let mut wheel = Wheel::new();
    for number in 1..=20_000_u64 {
        wheel.insert(number.pow(4), number);
    }
    let mut expired = Vec::new();
    for deadline in (1..=20_000_u64).map(|number| number.pow(4)) {
        // Ever a nanosecond early first, so that everything cascades as far as it can.
        wheel.expire(deadline - 1, &mut expired);
        wheel.expire(deadline, &mut expired);
    }
    assert_eq!(expired.len(), 20_000);
    assert!(wheel.visited <= 20_000 * LEVELS, "{} visits", wheel.visited);
}

#[test]
fn crowd_in_one_slot_is_not_looked_at_before_its_first_deadline() {
    let mut wheel = Wheel::new();
    for deadline in 60_000..61_000 {
        wheel.insert(deadline, deadline);
    }
    for now in 0..60_000 {
        wheel.expire(now, &mut Vec::new());
    }
    assert_eq!(wheel.visited, 0);
    assert_eq!(expire(&mut wheel, 60_000), [60_000]);
    assert_eq!(wheel.visited, 1_000);
}

#[test]
fn jump_over_years_costs_what_is_due_and_no_more() {
    let mut wheel = Wheel::new();
    for year in 1..=500 {
        wheel.insert(year * YEAR, year);
    }
    let expired = expire(&mut wheel, 300 * YEAR);
    assert!(expired.into_iter().eq(1..=300));
    // The due, and those within nine years of now, a slot of the highest level.
    assert!(wheel.visited <= 300 + 10, "{} visits", wheel.visited);
}
