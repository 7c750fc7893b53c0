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

use inside::exercises::threads::{AtomicUsize, Note, Ordering, meanwhile, other_thread};
use inside::exercises::{expect, solved};

// SOLUTION
/// The lowest bit: the value is fresh. The others count the changes of the source.
const FRESH: usize = 1;
const ONE_CHANGE: usize = 2;
// INSTEAD
//~ const FRESH: usize = 1;
// END

/// At first the value is not fresh.
#[derive(Default)]
struct Cache(AtomicUsize);

impl Cache {
    /// A thread is about to compute the value. It hands the result to `finish`.
    fn begin(&self) -> usize {
        // SOLUTION
        // Acquire pairs with `invalidate`: the changed source is read.
        self.0.load(Ordering::Acquire)
        // INSTEAD
        //~ self.0.load(Ordering::Acquire)
        // END
    }

    /// The value was computed, and is stored.
    fn finish(&self, begun: usize) {
        // SOLUTION
        // Release pairs with `is_fresh`: the value is seen. If it fails, the source has changed, or
        // somebody else has computed the same.
        let _ = self.0.compare_exchange(
            begun & !FRESH,
            begun | FRESH,
            Ordering::Release,
            Ordering::Relaxed,
        );
        // INSTEAD
        //~ let _ = begun;
        //~ self.0.store(FRESH, Ordering::Release);
        // END
    }

    /// The source has changed.
    fn invalidate(&self) {
        // SOLUTION
        // Release pairs with `begin`.
        let next = |word: usize| Some((word & !FRESH).wrapping_add(ONE_CHANGE));
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, next);
        // INSTEAD
        //~ self.0.store(0, Ordering::Release);
        // END
    }

    fn is_fresh(&self) -> bool {
        // SOLUTION
        // Acquire pairs with `finish`.
        self.0.load(Ordering::Acquire) & FRESH != 0
        // INSTEAD
        //~ self.0.load(Ordering::Acquire) & FRESH != 0
        // END
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
    what_is_seen();
    two_compute();
    changed_meanwhile();
    solved();
}

fn changed_meanwhile() {
    let message = "the source has changed since the value was begun, and it counts as fresh";
    for changes in 1..=4 {
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

// WRONG
//
// ```text
// look-then-store: the change comes between the look and the store
//     - let _ = self.0.compare_exchange(
//     - ...
//     - );
//     + if self.0.load(Ordering::Acquire) == begun {
//     + self.0.store(begun | FRESH, Ordering::Release);
//     + }
//     you see: not yet: the source changes in the middle of `finish`
//
// set-then-look: the bit is taken back, and somebody has seen it
//     - let _ = self.0.compare_exchange(
//     - ...
//     - );
//     + let now = self.0.fetch_or(FRESH, Ordering::AcqRel);
//     + if now & FRESH == 0 && now != begun {
//     + self.0.fetch_and(!FRESH, Ordering::AcqRel);
//     + }
//     you see: not yet: a value that is old counts as fresh for a moment
//
// always-fresh: in one step, and whatever came meanwhile
//     - let _ = self.0.compare_exchange(
//     - ...
//     - );
//     + let _ = begun;
//     + self.0.fetch_or(FRESH, Ordering::AcqRel);
//     you see: not yet: the source has changed since the value was begun
//
// compares-the-bit: it says "not fresh" before and after the change
//     - let _ = self.0.compare_exchange(
//     - ...
//     - );
//     + let next = |word| (word & FRESH == begun & FRESH).then_some(word | FRESH);
//     + let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
//     you see: not yet: the source has changed since the value was begun
//
// compares-with-now: what is compared was read too late
//     - let _ = self.0.compare_exchange(
//     - begun & !FRESH,
//     + let _ = begun;
//     + let begun = self.begin();
//     + let _ = self.0.compare_exchange(
//     + begun & !FRESH,
//     you see: not yet: the source has changed since the value was begun
//
// no-count: a change of a value that is not fresh leaves nothing behind
//     - let next = |word: usize| Some((word & !FRESH).wrapping_add(ONE_CHANGE));
//     + let next = |word: usize| Some(word & !FRESH & !ONE_CHANGE);
//     you see: not yet: the source has changed since the value was begun
//
// one-bit-of-count: after two changes it looks as before
//     - let next = |word: usize| Some((word & !FRESH).wrapping_add(ONE_CHANGE));
//     + let next = |word: usize| Some((word & !FRESH) ^ ONE_CHANGE);
//     you see: not yet: the source has changed since the value was begun
//
// counts-when-fresh: two changes in a row count as one
//     - let next = |word: usize| Some((word & !FRESH).wrapping_add(ONE_CHANGE));
//     + let next = |word: usize| {
//     + (word & FRESH != 0).then_some((word & !FRESH).wrapping_add(ONE_CHANGE))
//     + };
//     you see: not yet: a thread begins after a change, and may not see it
//
// counted-in-two-steps: two changes at once count as one
//     - let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, next);
//     + let word = self.0.load(Ordering::Relaxed);
//     + self.0.swap(next(word).unwrap_or(word), Ordering::AcqRel);
//     you see: not yet: two threads change the source at once
//
// late-wipes-out: a late thread takes the bit away from a value that is fresh
//     - let _ = self.0.compare_exchange(
//     - ...
//     - );
//     + let next = |word: usize| {
//     + let is_same = word & !FRESH == begun & !FRESH;
//     + Some(if is_same { word | FRESH } else { word & !FRESH })
//     + };
//     + let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
//     you see: not yet: a thread that is late
//
// relaxed-change: a thread may compute from the old source, and call it fresh
//     - let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, next);
//     + let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
//     you see: not yet: a thread begins after a change, and may not see it
//
// relaxed-begin: the same, from the other side
//     - self.0.load(Ordering::Acquire)
//     - }
//     + self.0.load(Ordering::Relaxed)
//     + }
//     you see: not yet: a thread begins after a change, and may not see it
//
// relaxed-finish: the bit is seen before the value is
//     - Ordering::Release,
//     - Ordering::Relaxed,
//     + Ordering::Relaxed,
//     + Ordering::Relaxed,
//     you see: not yet: the value is fresh, and whoever finds that may not see it
//
// relaxed-look: the same, from the other side
//     - self.0.load(Ordering::Acquire) & FRESH != 0
//     + self.0.load(Ordering::Relaxed) & FRESH != 0
//     you see: not yet: the value is fresh, and whoever finds that may not see it
//
// never-fresh: nothing is ever wrong, and the value is computed each time
//     - let _ = self.0.compare_exchange(
//     - ...
//     - );
//     + let _ = begun;
//     you see: not yet: nothing has changed, and the value never counts as fresh
// ```

// RIGHT
//
// ```text
// update: the same step, as a closure
//     - let _ = self.0.compare_exchange(
//     - ...
//     - );
//     + let next = |word: usize| (word & !FRESH == begun & !FRESH).then_some(word | FRESH);
//     + let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
//     you see: solved
//
// acq-rel: more than is needed
//     - let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, next);
//     + let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
//     - self.0.load(Ordering::Acquire) & FRESH != 0
//     + self.0.load(Ordering::SeqCst) & FRESH != 0
//     you see: solved
// ```
