//! Exercise 03, size S, after stage 02: a waker by hand that leaks.
//!
//! Each waker owns one reference to its data. One of the four functions below does not do with that
//! reference what it should. Find it, and mend it; the other three are right. (What each should do
//! stands in stage 02.)

use inside::exercises::{expect, solved};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{RawWaker, RawWakerVTable, Waker};

type Counter = AtomicUsize;

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

fn waker_of(counter: Arc<Counter>) -> Waker {
    // SAFETY: the functions do with the reference what the contract of the table asks for. (As soon
    // as the exercise is solved. Until then one reference too many is left, which is safe.)
    unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(counter).cast(), &TABLE)) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SOLUTION
    // SAFETY: `data` came from `Arc::into_raw`, and the caller's waker keeps it alive.
    unsafe { Arc::increment_strong_count(data.cast::<Counter>()) };
    // INSTEAD
    //~ // SAFETY: `data` came from `Arc::into_raw`, and the caller's waker keeps it alive.
    //~ unsafe { Arc::increment_strong_count(data.cast::<Counter>()) };
    // END
    RawWaker::new(data, &TABLE)
}

unsafe fn wake(data: *const ()) {
    // SOLUTION
    // SAFETY: `data` came from `Arc::into_raw`, and the reference is the waker's own.
    let counter = unsafe { Arc::from_raw(data.cast::<Counter>()) };
    // INSTEAD
    //~ // SAFETY: `data` came from `Arc::into_raw`, and the caller's waker keeps it alive.
    //~ let counter = unsafe { &*data.cast::<Counter>() };
    // END
    counter.fetch_add(1, Ordering::Relaxed);
}

unsafe fn wake_by_ref(data: *const ()) {
    // SOLUTION
    // SAFETY: `data` came from `Arc::into_raw`, and the caller's waker keeps it alive.
    let counter = unsafe { &*data.cast::<Counter>() };
    // INSTEAD
    //~ // SAFETY: `data` came from `Arc::into_raw`, and the caller's waker keeps it alive.
    //~ let counter = unsafe { &*data.cast::<Counter>() };
    // END
    counter.fetch_add(1, Ordering::Relaxed);
}

unsafe fn drop_waker(data: *const ()) {
    // SOLUTION
    // SAFETY: `data` came from `Arc::into_raw`, and the reference is the waker's own.
    drop(unsafe { Arc::from_raw(data.cast::<Counter>()) });
    // INSTEAD
    //~ // SAFETY: `data` came from `Arc::into_raw`, and the reference is the waker's own.
    //~ drop(unsafe { Arc::from_raw(data.cast::<Counter>()) });
    // END
}

fn main() {
    // The counter's own reference is one, and each waker has one more.
    let counter = Arc::new(Counter::new(0));
    let references = |expected: usize| {
        let count = Arc::strong_count(&counter);
        expect(count >= expected, "a waker is still there, and its reference is gone");
        expect(count == expected, "a waker is gone, and its reference is still there");
    };
    let waker = waker_of(counter.clone());
    let same = waker.clone();
    references(3);
    waker.wake_by_ref();
    references(3);
    drop(waker.clone());
    references(3);
    same.wake();
    references(2);
    expect(counter.load(Ordering::Relaxed) == 2, "it was woken twice, and counted otherwise");
    drop(waker);
    references(1);
    solved();
}

// Hint 1: which of the four functions use the waker up, so that it is gone afterwards?
// Hint 2: `drop_waker` is right. So is `wake_by_ref`, which only borrows.
// Hint 3: `Arc::from_raw` takes a reference over, and gives it back when the `Arc` is dropped.

// WRONG
//
// ```text
// mended-elsewhere: `wake_by_ref` gives back what `wake` keeps
//     - let counter = unsafe { Arc::from_raw(data.cast::<Counter>()) };
//     + let counter = unsafe { &*data.cast::<Counter>() };
//     - unsafe fn wake_by_ref(data: *const ()) {
//     - let counter = unsafe { &*data.cast::<Counter>() };
//     + unsafe fn wake_by_ref(data: *const ()) {
//     + let counter = unsafe { Arc::from_raw(data.cast::<Counter>()) };
//     you see: not yet: a waker is still there, and its reference is gone
//
// shared-reference: a clone takes none of its own, so that one too many does not matter
//     - unsafe { Arc::increment_strong_count(data.cast::<Counter>()) };
//     + // It shares the reference of the first.
//     - let counter = unsafe { Arc::from_raw(data.cast::<Counter>()) };
//     + let counter = unsafe { &*data.cast::<Counter>() };
//     you see: not yet: a waker is still there, and its reference is gone
//
// drops-two: each waker that is dropped gives back what another one has kept
//     - drop(unsafe { Arc::from_raw(data.cast::<Counter>()) });
//     + unsafe { Arc::decrement_strong_count(data.cast::<Counter>()) };
//     + unsafe { Arc::decrement_strong_count(data.cast::<Counter>()) };
//     you see: not yet: a waker is still there, and its reference is gone
//
// wakes-nobody: the reference is given back, and that is all
//     - let counter = unsafe { Arc::from_raw(data.cast::<Counter>()) };
//     - counter.fetch_add(1, Ordering::Relaxed);
//     + drop(unsafe { Arc::from_raw(data.cast::<Counter>()) });
//     you see: not yet: it was woken twice, and counted otherwise
// ```
