//! A hashed wheel of timers: what is due when, as a pure data structure.
//!
//! The wheel knows no clock and no thread. Times are nanoseconds since an epoch of the caller's
//! choice. Values go in with a deadline, and come out when the caller passes a time that is not
//! before it.
//!
//! Some bits of a deadline name one of 64 slots, as the minute hand of a clock names one of 60
//! places, whatever the hour. A slot keeps its values in the order of their deadlines, those of
//! this turn of the wheel before those of later ones. So nothing has to be moved while time
//! passes, and a look for what is due ends, in each slot, at the first value that is not.
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
//! hash table of ordered lists. The lists are trees here. To insert or to remove a value costs the
//! more the more values its slot has, but only by the logarithm of their number. A look for what is
//! due asks each of the 64 slots, and takes out what it finds.

use std::collections::BTreeMap;

/// How many slots there are. All are asked when something may be due.
const SLOTS: usize = 64;

/// A slot is 2^17 ns wide, about 131 us: so are the spans in which timers share a wake-up
/// (`SLACK` in `timers.rs`).
const SLOT_WIDTH_BITS: u32 = 17;

/// Values, each with the time at which it expires.
pub(crate) struct Wheel<T> {
    slots: Box<[BTreeMap<Key, T>]>,
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
        Self { slots: (0..SLOTS).map(|_| BTreeMap::new()).collect(), inserted: 0 }
    }

    /// Inserts a value. No key is used twice, even after its value is gone.
    pub(crate) fn insert(&mut self, deadline: u64, value: T) -> Key {
        // The number makes it another key than that of each value before it.
        let key = Key { deadline, number: self.inserted };
        self.inserted += 1;

        self.slots[key.slot()].insert(key, value);
        key
    }

    /// `None` if the value has expired or was removed.
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.slots[key.slot()].get_mut(&key)
    }

    /// Takes a value out. `None` if it has expired or was removed.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        self.slots[key.slot()].remove(&key)
    }

    /// Takes out the values whose deadline is not after `now`, and adds them to `expired` in the
    /// order of their keys. Returns the deadline of the value that expires next, if there is any.
    pub(crate) fn expire(&mut self, now: u64, expired: &mut Vec<T>) -> Option<u64> {
        let mut due = Vec::new();
        let mut next = None;

        // After a long sleep each slot may hold something that is due, and any may begin with a
        // deadline of a later turn: so all of them are looked at. An empty one says so without
        // its nodes, which may be in no cache.
        for slot in self.slots.iter_mut().filter(|slot| !slot.is_empty()) {
            // If the first is not due, none behind it is.
            while let Some(first) = slot.first_entry() {
                let deadline = first.key().deadline;
                if deadline > now {
                    next = Some(deadline.min(next.unwrap_or(deadline)));
                    break;
                }
                due.push(first.remove_entry());
            }
        }

        // Each slot was in order, and now all of them are.
        due.sort_unstable_by_key(|(key, _)| *key);
        expired.extend(due.into_iter().map(|(_, value)| value));
        next
    }
}

#[cfg(all(test, not(arc_model)))]
#[path = "../../tests/unit/wheel.rs"]
mod tests;
