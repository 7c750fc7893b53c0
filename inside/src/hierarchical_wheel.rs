//! A hashed hierarchical timer wheel: what is due when, as a pure data structure.
//!
//! arc had this wheel before the one in `src/driver/wheel.rs`, which is half as long. To arm a
//! timer and to disarm it takes the same number of steps here however many timers there are.
//! Exercise 16 changes it.
//!
//! The wheel knows no clock and no thread. Times are nanoseconds since an epoch of the caller's
//! choice. Values go in with a deadline, and come out when the caller passes a time that is not
//! before it. The idea is from Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (1987).
//!
//! A time is read as a number of nine digits. The lowest digit has 16 bits and plays no part
//! in finding a slot. Each of the others has 6 bits and is the hand of one level. The
//! picture shows how wide a slot of each level is, and an example of occupied slots:
//!
//! ```text
//!  bit 63                                                          16 15      0
//!    ┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┬────────┐
//!    │level 7│level 6│level 5│level 4│level 3│level 2│level 1│level 0│ inside │
//!    │9 years│52 days│  20 h │ 18 min│  17 s │ 268 ms│  4 ms │  65 us│ a slot │
//!    └───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┴────────┘
//!
//!             slot 0                                                   slot 63
//!    level 0  .....................@..##.......#................#.............
//!    level 1  ......................................|#.......#................
//!    level 2  ..|#.....##...................#.................................
//!             | where elapsed is   # occupied   @ both, on level 0 only
//! ```
//!
//! `elapsed` is the last time that the caller passed. A value lives on the level of the
//! highest digit in which its deadline differs from `elapsed`, in the slot that this digit
//! names. When time reaches the slot, the digit no longer differs. The values in the slot that
//! are not due yet then cascade to lower levels, at most once per level in a value's life.
//! Eight levels cover all 64 bits, so no hand ever wraps around and nothing overflows.
//!
//! Invariants, between any two calls:
//! - On the levels above 0, only slots after the digit of `elapsed` are occupied. On level 0
//!   the slot of `elapsed` itself may be occupied, too. It holds the deadlines in the rest of
//!   that slot's time, and those that had passed before they were inserted.
//! - So all values on a level expire before those on the levels above it, and the first
//!   occupied slot of the lowest occupied level holds the value that expires next.
//! - A slot's bit in `occupied` is set exactly if the slot's list is not empty.
//! - A slot's `least` is no later than any deadline in the slot. It is exact until the value
//!   with that deadline is removed, and again after the slot was swept.
//! - After `expire(now)` every deadline and every `least` is later than `now`.

/// A slot of level 0 is 2^16 ns wide, about 65 us. The width bounds how many values share a
/// list when their deadline is near. It has no effect on when they expire.
const SLOT_WIDTH_BITS: u32 = 16;
/// A level has 64 slots, so that one word shows which of them are occupied.
const LEVEL_BITS: u32 = 6;
const SLOTS_PER_LEVEL: usize = 1 << LEVEL_BITS;
const LEVELS: usize = ((u64::BITS - SLOT_WIDTH_BITS) / LEVEL_BITS) as usize;

/// A wheel that is empty keeps room for so many values at most.
const ROOM_MIN: usize = 1024;

/// Values, each with the time at which it expires.
pub(crate) struct Wheel<T> {
    /// Nanoseconds: the greatest `now` that was passed to `expire`.
    elapsed: u64,
    /// For each level, one bit for each slot that is not empty.
    occupied: [u64; LEVELS],
    /// Level after level.
    slots: Box<[Slot]>,
    entries: slab::Slab<Entry<T>>,
    /// The sequence number of the next entry.
    sequence: u64,
    /// How many entries `expire` has looked at. Tests of its cost read this.
    visited: usize,
}

/// Identifies a value in a [`Wheel`]. The key of a value that is gone stays invalid: the index
/// is used again, the sequence number never is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    index: u32,
    sequence: u64,
}

struct Slot {
    /// Indices into `Wheel::entries`, in no order.
    list: Vec<u32>,
    /// Nanoseconds: a lower bound of the deadlines.
    least: u64,
}

const EMPTY: Slot = Slot { list: Vec::new(), least: u64::MAX };

struct Entry<T> {
    deadline: u64,
    sequence: u64,
    /// Indices into `Wheel::slots`, and into the list of that slot.
    place: (u32, u32),
    value: T,
}

impl<T> Wheel<T> {
    pub(crate) fn new() -> Self {
        Wheel {
            elapsed: 0,
            occupied: [0; LEVELS],
            // A slot is 32 bytes, so all of them are 16 KiB. The lists have no memory yet.
            slots: Box::new([EMPTY; LEVELS * SLOTS_PER_LEVEL]),
            entries: slab::Slab::new(),
            sequence: 0,
            visited: 0,
        }
    }

    /// Adds a value that expires at `deadline` nanoseconds, in constant time. If that time has
    /// passed already, the value expires at the next call of [`expire`](Self::expire).
    ///
    /// # Panics
    ///
    /// With 2^32 values in the wheel.
    pub(crate) fn insert(&mut self, deadline: u64, value: T) -> Key {
        let index = u32::try_from(self.entries.vacant_key()).expect("too many timers");
        let sequence = self.sequence;
        self.sequence += 1;

        // The place is noted in the entry, so that it can be taken out without a search.
        let place = self.link(index, deadline);
        self.entries.insert(Entry { deadline, sequence, place, value });
        Key { index, sequence }
    }

    /// The value, unless it has expired or was removed.
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let entry = self.entries.get_mut(key.index as usize)?;
        (entry.sequence == key.sequence).then_some(&mut entry.value)
    }

    /// Takes the value out in constant time, unless it has expired or was removed.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        self.get_mut(key)?;
        let Entry { place, value, .. } = self.entries.remove(key.index as usize);
        let slot = place.0 as usize;
        let position = place.1 as usize;
        let Slot { list, least } = &mut self.slots[slot];

        // The last of the list takes the place of the one that goes.
        list.swap_remove(position);
        if let Some(&moved) = list.get(position) {
            self.entries[moved as usize].place = place;
        }

        if list.is_empty() {
            *least = u64::MAX;
            // Timers that are reset again and again pass through every slot of a level. Their
            // memory must not stay in each of them.
            list.shrink_to(SLOTS_PER_LEVEL);
            self.occupied[slot / SLOTS_PER_LEVEL] &= !(1 << (slot % SLOTS_PER_LEVEL));
        }
        self.give_back();
        Some(value)
    }

    /// A burst of timers has gone: its memory goes, too.
    fn give_back(&mut self) {
        if self.entries.is_empty() && self.entries.capacity() > ROOM_MIN {
            self.entries = slab::Slab::new();
        }
    }

    /// When to call [`expire`](Self::expire) next, in nanoseconds. `None` if the wheel is empty.
    ///
    /// This is never later than the earliest deadline. It may be earlier if a value that shared
    /// a slot with the earliest one was removed: then it may be the removed one's deadline.
    /// After `expire(now)` it is later than `now`, so a loop of the two never spins.
    pub(crate) fn next_expiry(&self) -> Option<u64> {
        let (_, slot) = self.first_slot()?;
        Some(self.slots[slot].least)
    }

    /// The first occupied slot of the lowest occupied level: that level, and the index in `slots`.
    fn first_slot(&self) -> Option<(usize, usize)> {
        let level = (0..LEVELS).find(|&level| self.occupied[level] != 0)?;
        let slot = self.occupied[level].trailing_zeros() as usize;
        Some((level, level * SLOTS_PER_LEVEL + slot))
    }

    /// Moves every value whose deadline is at or before `now` nanoseconds to the end of
    /// `expired`, in the order of their deadlines. Values with equal deadlines come in the order
    /// in which they were inserted.
    ///
    /// Time does not go back: a `now` before that of an earlier call counts as that one.
    ///
    /// The cost depends on how many values are due and how many cascade, not on how much time
    /// went by. A value is looked at once per level. Only the values that share a slot of level 0,
    /// 65 us wide, may be looked at more often: each time that the first of them is due.
    pub(crate) fn expire(&mut self, now: u64, expired: &mut Vec<T>) {
        self.elapsed = now.max(self.elapsed);
        let mut due = Vec::new();

        while let Some((level, slot)) = self.first_slot() {
            // Above level 0 a slot is reached as soon as `elapsed` is in it: what is not due then
            // belongs to a lower level. There is none below level 0, so there a slot is reached
            // when its first value is due.
            let least = self.slots[slot].least;
            if least > self.elapsed && highest_differing_level(self.elapsed, least) >= level {
                break;
            }

            // Take the list, and clear the lowest bit that is set: that of the first slot.
            let list = std::mem::replace(&mut self.slots[slot], EMPTY).list;
            self.occupied[level] &= self.occupied[level] - 1;
            self.visited += list.len();

            // What is in the slot is due, or belongs to a lower level.
            for index in list {
                let Entry { deadline, sequence, .. } = self.entries[index as usize];
                if deadline <= self.elapsed {
                    due.push((deadline, sequence, index));
                } else {
                    self.entries[index as usize].place = self.link(index, deadline);
                }
            }
        }

        // By deadline, and then in the order in which they were inserted.
        due.sort_unstable();
        expired.extend(due.iter().map(|entry| self.entries.remove(entry.2 as usize).value));
        self.give_back();
    }

    /// Puts an entry that is in no list into the one that its deadline belongs to. Returns its
    /// place.
    fn link(&mut self, index: u32, deadline: u64) -> (u32, u32) {
        // A deadline that has passed goes into the slot of `elapsed`, where `expire` looks first.
        let time = deadline.max(self.elapsed);
        let level = highest_differing_level(self.elapsed, time);
        let slot = level * SLOTS_PER_LEVEL + digit(time, level);
        self.occupied[level] |= 1 << digit(time, level);

        // `least` may only become less here. It is found anew when the slot is swept.
        let Slot { list, least } = &mut self.slots[slot];
        *least = deadline.min(*least);
        list.push(index);
        (slot as u32, list.len() as u32 - 1)
    }
}

/// The highest level on which the hands of the two times differ, or 0 if none does.
fn highest_differing_level(left: u64, right: u64) -> usize {
    let slots_apart = (left ^ right) >> SLOT_WIDTH_BITS;
    ((slots_apart | 1).ilog2() / LEVEL_BITS) as usize
}

/// Where the hand of `level` points at `time`.
fn digit(time: u64, level: usize) -> usize {
    let shift = SLOT_WIDTH_BITS + LEVEL_BITS * level as u32;
    (time >> shift) as usize % SLOTS_PER_LEVEL
}

#[cfg(test)]
#[path = "hierarchical_wheel/tests.rs"]
mod tests;
