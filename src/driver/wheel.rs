//! A hashed wheel of timers: what is due when, as a pure data structure.
//!
//! The wheel knows no clock and no thread. Times are nanoseconds since an epoch of the caller's
//! choice. Values go in with a deadline, and come out when the caller passes a time that is not
//! before it.
//!
//! Some bits of a deadline name one of 64 slots, as the minute hand of a clock names one of 60
//! places, whatever the hour. A slot keeps its values in the order of their deadlines, those of
//! this turn of the wheel before those of later ones. So nothing has to be moved while time
//! passes, and only the first value of a slot is ever looked at.
//!
//! ```text
//!   bit 63                        23 22      17 16              0
//!     ┌─────────────────────────────┬──────────┬────────────────┐
//!     │ which turn: order in a slot │   slot   │ order in a slot │
//!     └─────────────────────────────┴──────────┴────────────────┘
//!                                    131 us each, 8 ms a turn
//! ```
//!
//! The idea is scheme 5 of Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (1987): a
//! hash table of ordered lists. The lists are trees here. What an operation costs grows with the
//! logarithm of a 64th of the timers.

use std::collections::BTreeMap;

/// One word shows which slots are occupied.
const SLOTS: usize = 64;

/// A slot is 2^17 ns wide, about 131 us: so are the spans in which timers share a wake-up
/// (`SLACK` in `timers.rs`).
const SLOT_WIDTH_BITS: u32 = 17;

/// Values, each with the time at which it expires.
pub(crate) struct Wheel<T> {
    slots: Box<[BTreeMap<Key, T>]>,
    /// One bit for each slot that is not empty.
    occupied: u64,
    /// How many values have been inserted so far.
    inserted: u64,
}

/// A value in a wheel. Keys are in the order in which their values expire: of those with one
/// deadline, the one that was inserted first comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    deadline: u64,
    number: u64,
}

impl Key {
    fn slot(self) -> usize {
        (self.deadline >> SLOT_WIDTH_BITS) as usize % SLOTS
    }
}

impl<T> Wheel<T> {
    pub(crate) fn new() -> Self {
        let slots = (0..SLOTS).map(|_| BTreeMap::new()).collect();
        Self { slots, occupied: 0, inserted: 0 }
    }

    /// Inserts a value. No two values of a wheel have the same key, also one after the other.
    pub(crate) fn insert(&mut self, deadline: u64, value: T) -> Key {
        // The number makes it another key than that of each value before it.
        let key = Key { deadline, number: self.inserted };
        self.inserted += 1;

        self.slots[key.slot()].insert(key, value);
        self.occupied |= 1 << key.slot();
        key
    }

    /// `None` if the value has expired or was removed.
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.slots[key.slot()].get_mut(&key)
    }

    /// Takes a value out. `None` if it has expired or was removed.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let slot = &mut self.slots[key.slot()];
        let value = slot.remove(&key)?;
        // Those who look for the next deadline pass over an empty slot.
        if slot.is_empty() {
            self.occupied &= !(1 << key.slot());
        }
        Some(value)
    }

    /// The deadline of the value that expires next.
    pub(crate) fn next_expiry(&self) -> Option<u64> {
        // A slot may begin with a deadline of a later turn, so each of them is asked.
        let first = |slot: usize| self.slots[slot].first_key_value();
        let all = occupied_slots(self.occupied).filter_map(first);
        all.map(|(key, _)| key.deadline).min()
    }

    /// Takes out the values whose deadline is not after `now`, and adds them to `expired` in the
    /// order of their keys.
    pub(crate) fn expire(&mut self, now: u64, expired: &mut Vec<T>) {
        let mut due = Vec::new();
        // All slots: after a long sleep, each of them may hold something that is due.
        for index in occupied_slots(self.occupied) {
            let slot = &mut self.slots[index];
            // What is later in this slot is later than its first, too.
            while let Some(first) = slot.first_entry()
                && first.key().deadline <= now
            {
                due.push(first.remove_entry());
            }

            if slot.is_empty() {
                self.occupied &= !(1 << index);
            }
        }

        // Each slot was in order, and now all of them are.
        due.sort_unstable_by_key(|(key, _)| *key);
        expired.extend(due.into_iter().map(|(_, value)| value));
    }
}

/// The numbers of the bits that are set.
fn occupied_slots(bits: u64) -> impl Iterator<Item = usize> {
    (0..SLOTS).filter(move |slot| bits & (1 << slot) != 0)
}

#[cfg(all(test, not(arc_model)))]
#[path = "../../tests/unit/wheel.rs"]
mod tests;
