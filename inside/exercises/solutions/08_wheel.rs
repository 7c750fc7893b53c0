//! Exercise 08, size S, after stage 06: a wheel of timers, checked against a tree.
//!
//! A tree takes log(n) steps to add a timer. A wheel takes a few, if deadlines are whole ticks. A
//! *span* is 8 ticks and begins at a multiple of 8. The inner level has a slot for each tick of the
//! present span, the outer level one for each span. When the clock comes to the first tick of a
//! span, the timers of that span move to the inner level. Write the function that moves them,
//! `cascade`. (All deadlines here are less than 64 ticks away.)

use inside::exercises::{expect, set_alarm, solved};
use std::collections::BTreeMap;

const SLOTS: u64 = 8;

#[derive(Default)]
struct Wheel {
    now: u64,
    /// The timers that are due in this span, by their tick: deadline and number.
    inner: [Vec<(u64, u32)>; SLOTS as usize],
    /// The timers of later spans, by their span.
    outer: [Vec<(u64, u32)>; SLOTS as usize],
}

impl Wheel {
    fn insert(&mut self, deadline: u64, number: u32) {
        if deadline / SLOTS == self.now / SLOTS {
            self.inner[(deadline % SLOTS) as usize].push((deadline, number));
        } else {
            self.outer[(deadline / SLOTS % SLOTS) as usize].push((deadline, number));
        }
    }

    /// Moves the clock on by a tick. Returns the numbers of the timers that are due then.
    fn tick(&mut self) -> Vec<u32> {
        self.now += 1;
        if self.now.is_multiple_of(SLOTS) {
            self.cascade();
        }
        let due = std::mem::take(&mut self.inner[(self.now % SLOTS) as usize]);
        due.into_iter().map(|(_, number)| number).collect()
    }

    /// How many timers are in it.
    fn len(&self) -> usize {
        self.inner.iter().chain(&self.outer).map(Vec::len).sum()
    }

    /// A span begins: its timers move to the inner level.
    fn cascade(&mut self) {
        // SOLUTION
        let span = (self.now / SLOTS % SLOTS) as usize;
        for (deadline, number) in std::mem::take(&mut self.outer[span]) {
            self.insert(deadline, number);
        }
        // INSTEAD
        // END
    }
}

fn main() {
    // If it panics or does not come to its end, the exercise says so.
    set_alarm();
    let mut wheel = Wheel::default();
    let mut tree: BTreeMap<(u64, u32), ()> = BTreeMap::new();
    let mut random = 20_u64;
    for number in 0..5000 {
        // Numbers that look random, and are the same in each run.
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let deadline = wheel.now + 1 + (random >> 33) % 55;
        wheel.insert(deadline, number);
        tree.insert((deadline, number), ());

        if number % 3 == 0 {
            let mut due = wheel.tick();
            due.sort_unstable();
            let later = tree.split_off(&(wheel.now + 1, 0));
            let expected: Vec<u32> = tree.keys().map(|(_, number)| *number).collect();
            tree = later;
            for number in &expected {
                let now = wheel.now;
                expect(
                    due.contains(number),
                    &format!("timer {number} was due at {now}, and is late"),
                );
            }
            let early = due.iter().filter(|number| !expected.contains(number)).count();
            expect(early == 0, "a timer has expired that was not due");
            expect(due.len() == expected.len(), "a timer has expired twice at the same tick");
            let message = "a timer is in the wheel twice, or it was lost before it was due";
            expect(wheel.len() == tree.len(), message);
        }
    }
    solved();
}

// Hint 1: what is in the outer level never comes out of it, so far.
// Hint 2: which slot of the outer level holds the span that begins at `self.now`?
// Hint 3: take all timers out of that slot, and insert them again: `insert` knows what to do.

// WRONG
//
// ```text
// slot-of-the-tick: each level counts in its own unit
//     - let span = (self.now / SLOTS % SLOTS) as usize;
//     + let span = (self.now % SLOTS) as usize;
//     you see: not yet: timer 5 was due at 8, and is late
//
// next-span: one span too early, so it goes back to where it was
//     - let span = (self.now / SLOTS % SLOTS) as usize;
//     + let span = ((self.now / SLOTS + 1) % SLOTS) as usize;
//     you see: not yet: timer 5 was due at 8, and is late
//
// copied: the timers stay in the outer level as well
//     - for (deadline, number) in std::mem::take(&mut self.outer[span]) {
//     + for (deadline, number) in self.outer[span].clone() {
//     you see: not yet: a timer is in the wheel twice, or it was lost before it was due
//
// all-at-once: the whole span is due at its first tick
//     - self.insert(deadline, number);
//     - }
//     - }
//     + self.inner[0].push((deadline, number));
//     + }
//     + }
//     you see: not yet: a timer has expired that was not due
//
// only-what-is-due: the other timers of the span are lost
//     - self.insert(deadline, number);
//     - }
//     - }
//     + if deadline == self.now {
//     + self.insert(deadline, number);
//     + }
//     + }
//     + }
//     you see: not yet: a timer is in the wheel twice, or it was lost before it was due
//
// only-one: the other timers of the span stay where they are
//     - for (deadline, number) in std::mem::take(&mut self.outer[span]) {
//     + if let Some((deadline, number)) = self.outer[span].pop() {
//     you see: not yet: timer
//
// span-before: what has just ended moves, and it is empty
//     - let span = (self.now / SLOTS % SLOTS) as usize;
//     + let span = ((self.now - 1) / SLOTS % SLOTS) as usize;
//     you see: not yet: timer 5 was due at 8, and is late
//
// slot-of-the-span: all of them are put where the number of the span says
//     - self.insert(deadline, number);
//     - }
//     - }
//     + self.inner[(deadline / SLOTS % SLOTS) as usize].push((deadline, number));
//     + }
//     + }
//     you see: not yet: timer
//
// no-modulo: after eight spans there is no such slot
//     - let span = (self.now / SLOTS % SLOTS) as usize;
//     + let span = (self.now / SLOTS) as usize;
//     you see: not yet: it panics
//
// first-half: of a span, only the first four ticks
//     - self.insert(deadline, number);
//     - }
//     - }
//     + if deadline < self.now + SLOTS / 2 {
//     + self.insert(deadline, number);
//     + } else {
//     + self.outer[span].push((deadline, number));
//     + }
//     + }
//     + }
//     you see: not yet: timer
//
// one-tick-late: the slot of this tick is emptied before it is filled
//     - self.insert(deadline, number);
//     - }
//     - }
//     + self.insert(deadline.max(self.now + 1), number);
//     + }
//     + }
//     you see: not yet: timer 5 was due at 8, and is late
//
// moved-twice: each timer is there two times
//     - self.insert(deadline, number);
//     - }
//     - }
//     + self.insert(deadline, number);
//     + self.insert(deadline, number);
//     + }
//     + }
//     you see: not yet: a timer has expired twice
// ```

// RIGHT
//
// ```text
// straight-in: the timers of this span belong to the inner level
//     - self.insert(deadline, number);
//     - }
//     - }
//     + self.inner[(deadline % SLOTS) as usize].push((deadline, number));
//     + }
//     + }
//     you see: solved
//
// one-by-one: as long as there is one
//     - for (deadline, number) in std::mem::take(&mut self.outer[span]) {
//     + while let Some((deadline, number)) = self.outer[span].pop() {
//     you see: solved
//
// every-span: slower, and right: those of later spans go back to their places
//     - for (deadline, number) in std::mem::take(&mut self.outer[span]) {
//     + let _ = span;
//     + let all = std::mem::take(&mut self.outer);
//     + for (deadline, number) in all.into_iter().flatten() {
//     you see: solved
// ```
