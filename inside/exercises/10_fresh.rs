//! Exercise 10, size M, after stage 07: a value that was computed from what is old by now.
//!
//! A reactor must not wipe out an event that comes between a read and the clearing of "ready". The
//! same question, turned round: a cache holds a value that was computed from a source, and one
//! atomic word says whether the value is *fresh*. Whoever finds that it is not computes it anew,
//! and then says that it is fresh. But the source may have changed while it was computed.
//!
//! Write the four functions, and say what the word means. A thread that computes calls `begin`,
//! reads the source, stores the value, and hands what `begin` gave it to `finish`. A thread that
//! changes the source calls `invalidate` after it. Any number of threads may do either at the same
//! time. If in doubt, the value is not fresh: then somebody computes it once more.
//!
//! `AtomicUsize` is std's, with two additions. The exercise lets another thread act between two of
//! your steps, and it knows what your orderings make certain: what came before `invalidate`, a
//! thread that begins after it must see, and what came before `finish`, whoever finds the value
//! fresh because of it must see.

use inside::exercises::threads::{
    AtomicUsize, Note, Ordering, by_turns, meanwhile, orders, other_thread,
};
use inside::exercises::{expect, set_alarm, solved};

// YOURS: from here
const FRESH: usize = 1;
// to here

/// At first the value is not fresh.
#[derive(Default)]
struct Cache(AtomicUsize);

impl Cache {
    /// A thread is about to compute the value. It hands the result to `finish`.
    fn begin(&self) -> usize {
        // YOURS: from here
        self.0.load(Ordering::Acquire)
        // to here
    }

    /// The value was computed, and is stored.
    fn finish(&self, begun: usize) {
        // YOURS: from here
        let _ = begun;
        self.0.store(FRESH, Ordering::Release);
        // to here
    }

    /// The source has changed.
    fn invalidate(&self) {
        // YOURS: from here
        self.0.store(0, Ordering::Release);
        // to here
    }

    fn is_fresh(&self) -> bool {
        // YOURS: from here
        self.0.load(Ordering::Acquire) & FRESH != 0
        // to here
    }
}

/// A value that was computed and declared fresh, while nothing happened.
fn fresh() -> Cache {
    let cache = Cache::default();
    let begun = cache.begin();
    cache.finish(begun);
    cache
}

fn main() {
    // If it panics or does not come to its end, the exercise says so.
    set_alarm();
    let cache = Cache::default();
    expect(!cache.is_fresh(), "nobody has computed the value, and it counts as fresh");
    for _ in ["at first", "again"] {
        let begun = cache.begin();
        expect(!cache.is_fresh(), "the value is not computed yet, and it counts as fresh");
        cache.finish(begun);
        expect(cache.is_fresh(), "nothing has changed, and the value never counts as fresh");
        cache.invalidate();
        expect(!cache.is_fresh(), "the source has changed, and the value counts as fresh");
        cache.invalidate();
        expect(!cache.is_fresh(), "the source has changed twice, and the value counts as fresh");
    }
    changed_since();
    what_is_seen();
    two_compute();
    changed_meanwhile();
    orders(4).for_each(|turns| all_are_stopped(&turns));
    solved();
}

/// How often the source changes while somebody computes. A thread may be stopped for long.
fn changed_since() {
    let message = "the source has changed since the value was begun, and it counts as fresh";
    for changes in (1..=20).chain([32, 64, 128, 256, 1024, 1 << 16]) {
        let cache = Cache::default();
        let begun = cache.begin();
        (0..changes).for_each(|_| cache.invalidate());
        cache.finish(begun);
        expect(!cache.is_fresh(), message);

        // Somebody has found it fresh, and computes it all the same.
        let cache = fresh();
        let begun = cache.begin();
        (0..changes).for_each(|_| cache.invalidate());
        cache.finish(begun);
        expect(!cache.is_fresh(), message);

        // Each change was followed by somebody who was faster.
        let cache = Cache::default();
        let begun = cache.begin();
        for _ in 0..changes {
            cache.invalidate();
            let faster = cache.begin();
            cache.finish(faster);
        }
        cache.invalidate();
        cache.finish(begun);
        expect(!cache.is_fresh(), message);
    }
}

fn changed_meanwhile() {
    for step in 1..=4 {
        // It changes in the middle of `finish`.
        let cache = Cache::default();
        let begun = cache.begin();
        meanwhile(step, || cache.invalidate(), || cache.finish(begun));
        let message = "the source changes in the middle of `finish`, and the value counts as fresh";
        expect(!cache.is_fresh(), message);

        // Two threads change the source at once. What was begun before the second one is old.
        let cache = Cache::default();
        let note = Note::new();
        let change = || {
            note.write();
            cache.invalidate();
        };
        let change_and_begin = || {
            cache.invalidate();
            (cache.begin(), note.is_seen())
        };
        let ((begun, is_seen), ()) = meanwhile(step, change_and_begin, change);
        cache.finish(begun);
        let message = "two threads change the source at once, and one of them does not count";
        expect(is_seen || !cache.is_fresh(), message);

        // Between the changing and the telling, nobody may find it fresh that was not.
        let cache = Cache::default();
        let begun = cache.begin();
        cache.invalidate();
        let (seen, ()) = meanwhile(step, || cache.is_fresh(), || cache.finish(begun));
        let message = "a value that is old counts as fresh for a moment, and somebody looks then";
        expect(!seen && !cache.is_fresh(), message);
    }
}

/// Two threads do something at once. Each is stopped in the middle, and the other one goes on.
fn all_are_stopped(turns: &[usize]) {
    for is_fresh in [false, true] {
        let new = || if is_fresh { fresh() } else { Cache::default() };

        // One of them has computed from the old source, and comes late.
        let cache = new();
        let begun = cache.begin();
        by_turns(turns, || cache.finish(begun), || cache.invalidate());
        let message = "a thread finishes in the middle of `invalidate`, or the other way round, \
                       and what was begun before the change counts as fresh";
        expect(!cache.is_fresh(), message);

        let cache = new();
        let note = Note::new();
        let compute = || {
            let begun = cache.begin();
            let is_seen = note.is_seen();
            cache.finish(begun);
            is_seen
        };
        let change = || {
            note.write();
            cache.invalidate();
        };
        let (is_seen, ()) = by_turns(turns, compute, change);
        let message = "a thread computes while the source changes, may not see the change, and its \
                       value counts as fresh";
        expect(is_seen || !cache.is_fresh(), message);

        // Nothing changes.
        let cache = new();
        let compute = || cache.finish(cache.begin());
        by_turns(turns, compute, compute);
        let message = "two threads compute the same at once, and it does not count as fresh";
        expect(cache.is_fresh(), message);

        // Both change the source: what was begun before counts for neither.
        let cache = new();
        let begun = cache.begin();
        by_turns(turns, || cache.invalidate(), || cache.invalidate());
        cache.finish(begun);
        let message = "two threads change the source at once, and one of them does not count";
        expect(!cache.is_fresh(), message);
    }
}

/// Two threads compute the value, and one of them is late.
fn two_compute() {
    let cache = Cache::default();
    let (early, late) = (cache.begin(), cache.begin());
    cache.finish(early);
    cache.finish(late);
    let message = "two threads compute the same at once, and it does not count as fresh";
    expect(cache.is_fresh(), message);

    cache.invalidate();
    cache.finish(late);
    expect(!cache.is_fresh(), "the source has changed since the value was begun, and it is fresh");
    let begun = cache.begin();
    cache.finish(begun);
    cache.finish(late);
    let message = "a thread that is late, with an old value, has wiped out that a new one is fresh";
    expect(cache.is_fresh(), message);
}

fn what_is_seen() {
    for old in [Cache::default(), fresh()] {
        let note = Note::new();
        other_thread(|| {
            note.write();
            old.invalidate();
        });
        let begun = old.begin();
        let message = "a thread begins after a change, and may not see it: no Release and Acquire \
                       order the two (chapter 2)";
        expect(note.is_seen(), message);
        old.finish(begun);
        expect(old.is_fresh(), "nothing has changed, and the value does not count as fresh");
    }

    // Two changes, and a thread that begins must see both.
    let cache = Cache::default();
    let notes = [Note::new(), Note::new()];
    for note in notes {
        other_thread(|| {
            note.write();
            cache.invalidate();
        });
    }
    cache.begin();
    let message = "a thread begins after two changes, and may see only the last: a store wipes out \
                   what was published before";
    expect(notes.iter().all(|note| note.is_seen()), message);

    let cache = Cache::default();
    let note = Note::new();
    other_thread(|| {
        let begun = cache.begin();
        note.write();
        cache.finish(begun);
    });
    expect(cache.is_fresh(), "nothing has changed, and the value does not count as fresh");
    let message = "the value is fresh, and whoever finds that may not see it: no Release and \
                   Acquire order the two (chapter 2)";
    expect(note.is_seen(), message);
}

// Hint 1: `finish` must find out whether the source has changed since `begin`, also if it has
// changed and was computed anew in between. What must `invalidate` leave behind for that?
// Hint 2: the word of stage 07 counts events beside its bit "ready". Count the changes.
// Hint 3: `finish` sets the bit only if the count is what it was, and it must find that out in the
// same step: `compare_exchange`.
