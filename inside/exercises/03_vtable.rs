//! Exercise 03, size M, after stage 02: wakers without an `Arc`.
//!
//! The kernel gives back one number with each event. A program that stores wakers there has no room
//! for an address and a count, so it keeps a table. The two words of its wakers are the number of a
//! place in that table, and the four functions. The count of references is in the place, and is
//! yours to keep: it says how many wakers of this place there are. When the last one is gone, call
//! `free`, once: then the place is given to somebody else. Write what is missing in the four
//! functions.
//!
//! Wakers are cloned, used and dropped by many threads at once. `AtomicUsize` is std's, with two
//! additions. The exercise lets another thread act between two of your steps, and it knows what
//! your orderings make certain: whoever frees a place must see all that was done with its wakers
//! before they were dropped.

use inside::exercises::threads::{
    AtomicUsize, Note, Ordering, by_turns, meanwhile, orders, other_thread,
};
use inside::exercises::{expect, set_alarm, solved};
use std::ptr::without_provenance;
use std::sync::atomic::{self, AtomicBool};
use std::sync::{Mutex, PoisonError};
use std::task::{RawWaker, RawWakerVTable, Waker};

/// A place of the table.
struct Place {
    /// How many wakers of this place there are.
    references: AtomicUsize,
    is_free: AtomicBool,
    wakeups: atomic::AtomicUsize,
    /// What two threads have done with their wakers: `free` must see both.
    notes: [Note; 2],
}

impl Place {
    /// Wakes the task that waits at this place.
    fn wake(&self) {
        let is_free = self.is_free.load(Ordering::Relaxed);
        expect(!is_free, "a place is used after its last waker is gone: it is somebody else's now");
        self.wakeups.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives the place to somebody else.
    fn free(&self) {
        let left = self.references.load(Ordering::Relaxed);
        expect(left == 0, "a place is freed, and a waker of it is still there");
        let was_free = self.is_free.swap(true, Ordering::Relaxed);
        expect(!was_free, "a place is freed twice: it is somebody else's now");
        let message = "a place is freed by a thread that may not see what another one has done \
                       with its waker: no Release and Acquire order the two (chapter 2)";
        expect(self.notes.iter().all(|note| note.is_seen()), message);
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

unsafe fn clone(data: *const ()) -> RawWaker {
    // YOURS: from here
    // to here
    RawWaker::new(data, &TABLE)
}

/// Uses the waker up: it is gone afterwards, and is not dropped.
unsafe fn wake(data: *const ()) {
    // YOURS: from here
    place_of(data).wake();
    // to here
}

unsafe fn wake_by_ref(data: *const ()) {
    // YOURS: from here
    place_of(data).wake();
    // to here
}

unsafe fn drop_waker(data: *const ()) {
    // YOURS: from here
    let place = place_of(data);
    if place.references.load(Ordering::Relaxed) == 0 {
        place.free(); // nobody counts yet
    }
    // to here
}

/// The table: a number is an index into it. (An exercise has no need to use a place twice.)
static PLACES: Mutex<Vec<&'static Place>> = Mutex::new(Vec::new());

fn place_of(data: *const ()) -> &'static Place {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)[data.addr()]
}

/// A place, and its first waker.
fn place_and_waker() -> (&'static Place, Waker) {
    let place: &'static Place = Box::leak(Box::new(Place {
        references: AtomicUsize::new(1),
        is_free: AtomicBool::new(false),
        wakeups: atomic::AtomicUsize::new(0),
        notes: [Note::new(), Note::new()],
    }));
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    places.push(place);
    let data = without_provenance(places.len() - 1);
    // SAFETY: the functions take the number for nothing but an index.
    (place, unsafe { Waker::from_raw(RawWaker::new(data, &TABLE)) })
}

impl Place {
    fn expect_wakers(&self, expected: usize) {
        let count = self.references.load(Ordering::Relaxed);
        expect(count >= expected, "a waker is still there, and its reference is gone");
        expect(count == expected, "a waker is gone, and its reference is still there");
        let message = "the last waker is gone, and its place is not freed";
        expect(expected > 0 || self.is_free.load(Ordering::Relaxed), message);
    }

    fn expect_wakeups(&self, expected: usize) {
        let count = self.wakeups.load(Ordering::Relaxed);
        let message = format!("it was woken {expected} times, and {count} wake-ups arrived");
        expect(count == expected, &message);
    }
}

fn main() {
    // If it panics or does not come to its end, the exercise says so.
    set_alarm();
    let (place, waker) = place_and_waker();
    place.notes.iter().for_each(|note| note.write());
    let same = waker.clone();
    place.expect_wakers(2);
    waker.wake_by_ref();
    place.expect_wakers(2);
    drop(waker.clone());
    place.expect_wakers(2);
    same.wake();
    place.expect_wakers(1);
    place.expect_wakeups(2);
    drop(waker);
    place.expect_wakers(0);

    // The last waker is used up.
    let (place, waker) = place_and_waker();
    place.notes.iter().for_each(|note| note.write());
    waker.wake();
    place.expect_wakeups(1);
    place.expect_wakers(0);

    two_threads();
    both_are_stopped();
    solved();
}

/// Two threads, each with a waker of its own: the second one acts after each step of the first.
fn two_threads() {
    for step in 1..=5 {
        let (place, waker) = place_and_waker();
        place.notes.iter().for_each(|note| note.write());
        let (other, same) = meanwhile(step, || waker.clone(), || waker.clone());
        place.expect_wakers(3);
        drop((waker, same));
        other_thread(|| {
            place.notes.iter().for_each(|note| note.write());
            drop(other);
        });
        place.expect_wakers(0);

        for [first_wakes, second_wakes] in
            [[false, false], [false, true], [true, false], [true, true]]
        {
            let (place, waker) = place_and_waker();
            let other = waker.clone();
            let end = |waker: Waker, note: Note, wakes: bool| {
                note.write();
                if wakes { waker.wake() } else { drop(waker) }
            };
            let second = || end(other, place.notes[1], second_wakes);
            meanwhile(step, second, || end(waker, place.notes[0], first_wakes));
            place.expect_wakeups(usize::from(first_wakes) + usize::from(second_wakes));
            place.expect_wakers(0);
        }
    }
}

/// Each of the two is stopped in the middle, and the other one goes on.
fn both_are_stopped() {
    for turns in orders(3) {
        for [first_wakes, second_wakes] in
            [[false, false], [false, true], [true, false], [true, true]]
        {
            let (place, waker) = place_and_waker();
            let other = waker.clone();
            let use_up = |waker: Waker, note: Note, wakes: bool| {
                note.write();
                waker.wake_by_ref();
                let same = waker.clone();
                drop(waker);
                if wakes { same.wake() } else { drop(same) }
            };
            let second = || use_up(other, place.notes[1], second_wakes);
            by_turns(&turns, || use_up(waker, place.notes[0], first_wakes), second);
            place.expect_wakeups(2 + usize::from(first_wakes) + usize::from(second_wakes));
            place.expect_wakers(0);
        }
    }
}

// Hint 1: which of the four functions use a waker up, so that it is gone afterwards?
// Hint 2: two threads drop the last two wakers at once. `fetch_sub` says to each what the count was
// before, in the same step: so only one of them hears that it was the last.
// Hint 3: as soon as the reference is given back, the place may be somebody else's. So `wake` wakes
// first. And `fetch_sub` with AcqRel orders what was done before it.
