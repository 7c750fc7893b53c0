//! Exercise 16, size L, after stage 10: change a timer wheel of several levels.
//!
//! A connection that must not be silent for ten seconds has a timer, and each message sets it back
//! to ten seconds. With a wheel that can only insert and remove, each message removes a timer and
//! inserts another one, and the connection has to remember another key. Give `Wheel` in
//! `inside/src/hierarchical_wheel.rs`, the wheel that arc had for a long time, this method:
//!
//! ```text
//! pub(crate) fn reset(&mut self, key: Key, deadline: u64) -> bool
//! ```
//!
//! It moves the value to another deadline, earlier or later, in constant time. The key stays valid.
//! Values with equal deadlines still come in the order in which they were inserted, however often
//! they were reset. False: the value is gone, and nothing has changed. (The place in the wheel may
//! be somebody else's by then.) Everything that the file promises at its top still holds.
//!
//! This program is the *model* of your change. It compiles that file as you have left it, does
//! thousands of things at random with it, and with a list that is searched from end to end, and
//! compares. Run it after each change.
//!
//! When it says `solved`, break your method on purpose, in a way that you have not thought of
//! before, and see it refused. Then run the tests that the file has had before, which look at the
//! invariants after each step, over your change: `cargo test -p arc-inside --lib wheel`.
//!
//! `git checkout inside/src` takes the change back. So does mending a chapter's Break it, by the
//! same command: commit your change first if you want to keep it.

#![allow(dead_code, reason = "the model uses a part of the file")]

#[path = "../../inside/src/hierarchical_wheel.rs"]
mod wheel;

use inside::exercises::{expect, set_alarm, solved};
use wheel::{Key, Wheel};

// YOURS: from here
// Not here, but in inside/src/hierarchical_wheel.rs.
// to here

/// Stands in for what the `Wheel` does not have yet. As soon as the type has a method of this
/// name itself, that one is called.
trait NotYet {
    fn reset(&mut self, _key: Key, _deadline: u64) -> bool {
        expect(false, "`Wheel` in inside/src/hierarchical_wheel.rs has no method `reset`");
        false
    }
}

impl<T> NotYet for Wheel<T> {}

/// Numbers that look random, and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % limit
    }

    /// A span of time, in nanoseconds: as likely in a slot of the wheel as hours away.
    fn span(&mut self) -> u64 {
        let bits = self.below(44);
        self.below(1 << 30) << bits >> 30
    }
}

/// A timer that is in both: its key, its deadline, and its number, which says when it was inserted.
struct Timer {
    key: Key,
    deadline: u64,
    number: u32,
}

/// The wheel, and the list that says what it should do.
struct Both {
    wheel: Wheel<u32>,
    timers: Vec<Timer>,
    /// Keys of timers that are gone.
    gone: Vec<Key>,
    now: u64,
    numbers: u32,
}

impl Both {
    fn insert(&mut self, deadline: u64) {
        let number = self.numbers;
        self.numbers += 1;
        let key = self.wheel.insert(deadline, number);
        self.timers.push(Timer { key, deadline, number });
    }

    fn reset(&mut self, at: usize, deadline: u64) {
        let timer = &mut self.timers[at];
        let is_there = self.wheel.reset(timer.key, deadline);
        expect(is_there, "a timer is there, and `reset` says it is gone");
        timer.deadline = deadline;
        let value = self.wheel.get_mut(timer.key).copied();
        let message = "after a reset, the key does not find the value any more";
        expect(value == Some(timer.number), message);
    }

    fn remove(&mut self, at: usize) {
        let timer = self.timers.swap_remove(at);
        let value = self.wheel.remove(timer.key);
        let message = "a timer that was reset cannot be removed, or another one is";
        expect(value == Some(timer.number), message);
        self.gone.push(timer.key);
    }

    fn expire(&mut self, now: u64) {
        let mut expired = Vec::new();
        self.wheel.expire(now, &mut expired);
        self.now = self.now.max(now);

        let (mut due, left): (Vec<Timer>, Vec<Timer>) =
            self.timers.drain(..).partition(|timer| timer.deadline <= self.now);
        self.timers = left;
        due.sort_by_key(|timer| (timer.deadline, timer.number));
        for timer in &due {
            let message = format!("timer {} is due, and does not expire: it is late", timer.number);
            expect(expired.contains(&timer.number), &message);
        }
        let message = "a timer has expired that was not due, or for the second time";
        expect(expired.len() == due.len(), message);
        let message = "timers do not expire in the order of their deadlines and insertions";
        expect(due.iter().map(|timer| timer.number).eq(expired), message);
        self.gone.extend(due.iter().map(|timer| timer.key));
    }

    fn check_next_expiry(&self) {
        let next = self.wheel.next_expiry();
        let earliest = self.timers.iter().map(|timer| timer.deadline).min();
        let (next, earliest) = (next.unwrap_or(u64::MAX), earliest.unwrap_or(u64::MAX));
        expect(next <= earliest, "`next_expiry` is later than the earliest deadline");
    }
}

fn main() {
    set_alarm();
    for seed in 0..20 {
        at_random(seed);
    }
    slots_that_were_emptied();

    // Each message of a hundred thousand connections sets a timer back.
    let mut wheel = Wheel::new();
    let keys: Vec<Key> = (0..100_000).map(|number| wheel.insert(10_000_000_000, number)).collect();
    for (message, key) in keys.iter().enumerate() {
        let is_there = wheel.reset(*key, 10_000_000_000 + 1000 * message as u64);
        expect(is_there, "a timer is there, and `reset` says it is gone");
    }
    solved();
}

/// What was in a slot before it was empty has no say in when the next one expires.
fn slots_that_were_emptied() {
    let message = "a slot was emptied, and says when that which was in it would expire: a worker \
                   wakes up for nothing";
    for bits in 0..40 {
        // Two deadlines in the same slot, or almost.
        let early = (5 << bits) + 1;
        let late = early + (1 << bits) / 8 + 1;
        for is_reset in [false, true] {
            let mut wheel = Wheel::new();
            let key = wheel.insert(early, 1);
            if is_reset {
                expect(wheel.reset(key, u64::MAX / 2), "a timer is there, and is said to be gone");
            } else {
                wheel.remove(key);
            }
            wheel.insert(late, 2);
            expect(wheel.next_expiry() == Some(late), message);
        }
    }
}

fn at_random(seed: u64) {
    let mut random = Random(seed);
    let mut both =
        Both { wheel: Wheel::new(), timers: Vec::new(), gone: Vec::new(), now: 0, numbers: 0 };
    for step in 0..1500 {
        // Some deadlines have passed already.
        let base = both.now.saturating_sub(random.below(2) * random.below(1 << 20));
        let deadline = base + random.span();
        match random.below(10) {
            0..=2 => both.insert(deadline),
            3..=6 if !both.timers.is_empty() => {
                let at = random.below(both.timers.len() as u64) as usize;
                // Now and then, two have the same deadline.
                let other = both.timers[random.below(both.timers.len() as u64) as usize].deadline;
                both.reset(at, if step % 4 == 0 { other } else { deadline });
            }
            7 if !both.timers.is_empty() => {
                let at = random.below(both.timers.len() as u64) as usize;
                both.remove(at);
            }
            8 if !both.gone.is_empty() => {
                let at = random.below(both.gone.len() as u64) as usize;
                let is_there = both.wheel.reset(both.gone[at], deadline);
                expect(!is_there, "a timer is gone, and `reset` moves it, or another one");
            }
            9 => {
                let span = random.span() / 16;
                both.expire(both.now + span);
                let next = both.wheel.next_expiry();
                let message = "after `expire`, `next_expiry` is not later than now: a loop of the \
                               two would spin";
                expect(next.is_none_or(|next| next > both.now), message);
            }
            _ => {}
        }
        both.check_next_expiry();
    }
    both.expire(u64::MAX);
    expect(both.wheel.next_expiry().is_none(), "everything has expired, and a timer is left");
}

// Hint 1: what must be changed is where the entry is listed, and what it says of itself. `remove`
// has the code for the first half of that, and `insert` for the second.
// Hint 2: whoever takes an entry out of a list has to look after the one that takes its place, and
// after a list that is empty then. Make a method of it, and let `remove` and `reset` both use it.
// Hint 3: `get_mut` knows whether a key is still valid. An entry has three fields that change with
// its place: which of them does `link` set?
