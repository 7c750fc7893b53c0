//! A hashed hierarchical timer wheel: what is due when, as a pure data structure.
//!
//! It knows no clock, no thread and no waker. Times are nanoseconds since an epoch
//! of the caller's choice; values go in with a deadline, and come out once the
//! caller says that the deadline has passed. The idea is from Varghese and Lauck,
//! "Hashed and Hierarchical Timing Wheels" (1987).
//!
//! A time is read as a number of nine digits. The lowest has 16 bits and does not
//! matter for finding a slot; each of the others has 6 bits, and is the hand of one
//! level. Below, how wide a slot of each level is:
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
//! A value lives on the level of the highest digit in which its deadline differs
//! from `elapsed`, the last time told, in the slot that this digit names. When time
//! reaches the slot, that digit differs no more, and the values in it that are not
//! due yet cascade to lower levels: at most once per level in a value's life. Eight
//! levels cover all 64 bits, so no hand ever wraps around and nothing overflows.
//!
//! Invariants, between any two calls:
//! - On the levels above 0, only slots after `elapsed`'s digit are occupied; on
//!   level 0, also the slot of `elapsed` itself. It holds the deadlines in the rest
//!   of that slot's time, and those that had passed before they were inserted.
//! - So whatever is on a level comes before all that is on the levels above it, and
//!   the first occupied slot of the lowest occupied level holds the next to expire.
//! - A level's bit in `occupied` is set exactly if the slot's list is not empty.
//! - A slot's `least` is no later than any deadline in the slot. It is exact until
//!   the value it came from is removed, and again when the slot is next swept.
//! - After `expire(now)` every deadline and every `least` is later than `now`.

/// A slot of level 0 is 2^16 ns, about 65 us, wide. It bounds how many values share
/// a list near their deadline, not how exact they expire.
const SLOT_WIDTH_BITS: u32 = 16;
/// 64 slots to a level, so that one word tells which of them are occupied.
const LEVEL_BITS: u32 = 6;
const SLOTS_PER_LEVEL: usize = 1 << LEVEL_BITS;
const LEVELS: usize = ((u64::BITS - SLOT_WIDTH_BITS) / LEVEL_BITS) as usize;

/// Values, each with the time at which it is to be handed back.
pub(crate) struct Wheel<T> {
    /// Nanoseconds: the greatest `now` that `expire` was told.
    elapsed: u64,
    /// Per level, one bit for each slot that is not empty.
    occupied: [u64; LEVELS],
    /// Level after level.
    slots: Box<[Slot]>,
    entries: slab::Slab<Entry<T>>,
    /// The sequence number of the next entry.
    sequence: u64,
    /// Scratch of `expire`: deadline, sequence and index, which sort in this order.
    due: Vec<(u64, u64, u32)>,
    /// How many entries `expire` has looked at, for tests of what it costs.
    visited: usize,
}

/// Names a value in a [`Wheel`]. The key of a value that is gone stays invalid: the
/// index is used again, the sequence number never is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    index: u32,
    sequence: u64,
}

struct Slot {
    /// Indices into `Wheel::entries`, in no order. It gives its memory back when it is
    /// emptied: timers that are always reset pass through every slot of a level.
    list: Vec<u32>,
    /// Nanoseconds: a lower bound of the deadlines.
    least: u64,
}

struct Entry<T> {
    deadline: u64,
    sequence: u64,
    /// Index into `Wheel::slots`, and into the list there.
    place: (u32, u32),
    value: T,
}

impl<T> Wheel<T> {
    pub(crate) fn new() -> Self {
        Wheel {
            elapsed: 0,
            occupied: [0; LEVELS],
            slots: (0..LEVELS * SLOTS_PER_LEVEL)
                .map(|_| Slot { list: Vec::new(), least: u64::MAX })
                .collect(),
            entries: slab::Slab::new(),
            sequence: 0,
            due: Vec::new(),
            visited: 0,
        }
    }

    /// Adds a value that expires at `deadline` nanoseconds, in constant time. If that
    /// has passed already, it expires at the next call of [`expire`](Self::expire).
    ///
    /// # Panics
    ///
    /// With 2^32 values in the wheel.
    pub(crate) fn insert(&mut self, deadline: u64, value: T) -> Key {
        let index = u32::try_from(self.entries.vacant_key()).expect("too many timers");
        let sequence = self.sequence;
        self.sequence += 1;
        self.entries.insert(Entry { deadline, sequence, place: (0, 0), value });
        self.link(index);
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
        let (slot, position) = (place.0 as usize, place.1 as usize);
        let Slot { list, least } = &mut self.slots[slot];
        list.swap_remove(position);
        if let Some(&moved) = list.get(position) {
            self.entries[moved as usize].place = place;
        } else if list.is_empty() {
            *least = u64::MAX;
            list.shrink_to(SLOTS_PER_LEVEL);
            self.occupied[slot / SLOTS_PER_LEVEL] &= !(1 << (slot % SLOTS_PER_LEVEL));
        }
        Some(value)
    }

    /// When to call [`expire`](Self::expire) next, in nanoseconds; `None` if the wheel
    /// is empty.
    ///
    /// Never later than the earliest deadline. Exactly that, unless a value that
    /// shared its slot was removed: then it may be the removed one's deadline. After
    /// `expire(now)` it is later than `now`, so a loop of the two never spins.
    pub(crate) fn next_expiry(&self) -> Option<u64> {
        let first = (0..LEVELS).find_map(|level| self.first(level))?;
        Some(self.slots[first].least)
    }

    /// Where the first occupied slot of a level is in `slots`.
    fn first(&self, level: usize) -> Option<usize> {
        let slot = self.occupied[level].trailing_zeros() as usize;
        (slot < SLOTS_PER_LEVEL).then_some(level * SLOTS_PER_LEVEL + slot)
    }

    /// Moves every value whose deadline is at or before `now` nanoseconds to the end of
    /// `expired`, and no other: in the order of their deadlines, and where these are
    /// equal, in the order in which they were inserted.
    ///
    /// Time does not go back: a `now` below that of an earlier call is taken for the
    /// greatest so far.
    ///
    /// The cost depends on what is due and what cascades, not on how much time went by.
    /// Only values that share the 65 us of a slot on level 0 are looked at more often
    /// than once per level: whenever the first of those left is due.
    pub(crate) fn expire(&mut self, now: u64, expired: &mut Vec<T>) {
        self.elapsed = now.max(self.elapsed);
        while let Some(list) = (0..LEVELS).find_map(|level| self.take_reached(level)) {
            self.visited += list.len();
            for index in list {
                let Entry { deadline, sequence, .. } = self.entries[index as usize];
                if deadline <= self.elapsed {
                    self.due.push((deadline, sequence, index));
                } else {
                    self.link(index);
                }
            }
        }
        self.due.sort_unstable();
        let value = |(_, _, index)| self.entries.remove(index as usize).value;
        expired.extend(self.due.drain(..).map(value));
    }

    /// Empties the first occupied slot of a level if time has reached it, and gives
    /// its list: what is due in it is to go out, the rest where it belongs now.
    /// That is always on a lower level, as only the slot that `elapsed` is in can hold
    /// anything not due. Level 0 has none below it: there a slot waits for its least.
    fn take_reached(&mut self, level: usize) -> Option<Vec<u32>> {
        let first = self.first(level)?;
        let least = self.slots[first].least;
        let reached = least <= self.elapsed || highest_differing_level(self.elapsed, least) < level;
        reached.then(|| {
            self.occupied[level] &= self.occupied[level] - 1;
            let empty = Slot { list: Vec::new(), least: u64::MAX };
            std::mem::replace(&mut self.slots[first], empty).list
        })
    }

    /// Puts an entry that is in no list into the one its deadline belongs to;
    /// what has passed goes where the next `expire` looks first.
    fn link(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let time = entry.deadline.max(self.elapsed);
        let level = highest_differing_level(self.elapsed, time);
        let position = level * SLOTS_PER_LEVEL + digit(time, level);
        let slot = &mut self.slots[position];
        slot.least = slot.least.min(entry.deadline);
        self.occupied[level] |= 1 << digit(time, level);
        entry.place = (position as u32, slot.list.len() as u32);
        slot.list.push(index);
    }
}

/// The level whose hand is the first to differ, from the highest down; 0 if none does.
fn highest_differing_level(left: u64, right: u64) -> usize {
    let slots_apart = (left ^ right) >> SLOT_WIDTH_BITS;
    ((slots_apart | 1).ilog2() / LEVEL_BITS) as usize
}

/// Where the hand of `level` points to at `time`.
fn digit(time: u64, level: usize) -> usize {
    let shift = SLOT_WIDTH_BITS + LEVEL_BITS * level as u32;
    (time >> shift) as usize % SLOTS_PER_LEVEL
}

#[cfg(all(test, not(arc_model)))]
#[path = "../tests/unit/wheel.rs"]
mod tests;
