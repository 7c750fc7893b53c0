//! The lease of a current-thread runtime: who runs its worker, and who closes it.

use crate::scheduler::{end, lease::Lease, shared::Shared};
use crate::{model, race};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::Ordering;
use loom::thread;

/// The lease, and what only the thread that has it may touch.
struct Leased {
    lease: Lease,
    worker: UnsafeCell<usize>,
}

// SAFETY: loom checks the accesses to the cell.
unsafe impl Sync for Leased {}
// SAFETY: as above.
unsafe impl Send for Leased {}

impl Leased {
    fn new() -> Self {
        Self { lease: Lease::default(), worker: UnsafeCell::new(0) }
    }

    /// `block_on` of a future that is ready once this thread has run the worker.
    fn block_on(&self) {
        while !self.lease.take_or_wait() {
            thread::park();
        }
        // SAFETY: loom checks it.
        self.worker.with_mut(|worker| unsafe { *worker += 1 });
        self.lease.end();
    }
}

/// (e) L1 against R1: two or three threads want the lease. One of them has it at a time, and none
/// parks beside a free lease, which loom would call a deadlock.
// ~ src/scheduler/lease.rs
// - waiting.iter().for_each(thread::Thread::unpark);
// + drop(waiting);
// ~ src/scheduler/lease.rs
// - let is_mine = !replace(&mut state.is_taken, true);
// - let me = thread::current();
// + let is_mine = !replace(&mut state.is_taken, true);
// + drop(state);
// + let mut state = lock(&self.0);
// + let me = thread::current();
// ~ src/scheduler/lease.rs
// - state.is_taken = false;
// - let waiting = take(&mut state.waiting);
// - drop(state);
// + let waiting = take(&mut state.waiting);
// + drop(state);
// + lock(&self.0).is_taken = false;
// ~ src/scheduler/lease.rs
// - let mut state = lock(&self.0);
// - state.is_taken = false;
// - let waiting = take(&mut state.waiting);
// - drop(state);
// + let mut state = lock(&self.0);
// + state.is_taken = false;
// + drop(state);
// + let mut waiting = take(&mut lock(&self.0).waiting);
// + waiting.truncate(1);
#[test]
fn nobody_parks_beside_a_free_lease() {
    race(Leased::new, Leased::block_on, Leased::block_on, |_, (), ()| ());
    model(|| {
        let leased = Arc::new(Leased::new());
        let others = [0, 1].map(|_| {
            let leased = leased.clone();
            thread::spawn(move || leased.block_on())
        });
        leased.block_on();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// `block_on` on a current-thread runtime: takes the lease unless the runtime ends, runs the
/// worker, and ends the lease.
fn block_on(shared: &std::sync::Arc<Shared>) {
    if !shared.is_ending() && shared.lease.take_or_wait() {
        shared.run(0);
        end::end_lease(shared);
    }
}

/// (e) E1 and E2 against R1 and R2: a thread takes the lease and ends it while the runtime ends.
/// Exactly one thread closes the runtime, and no thread runs the worker meanwhile.
// ~ src/scheduler/end.rs
// - shared.lease.end();
// - if shared.is_ending() && shared.lease.take_to_close() {
// -     close(shared);
// - }
// + shared.lease.end();
// ~ src/scheduler/end.rs
// - shared.lease.end();
// - if shared.is_ending() && shared.lease.take_to_close() {
// + shared.lease.end();
// + if shared.is_ending() {
// ~ src/scheduler/end.rs
// - shared.notify_if_seated();
// - if shared.config.flavor == RuntimeFlavor::CurrentThread && shared.lease.take_to_close() {
// -     close(shared);
// - }
// + shared.notify_if_seated();
// ~ src/scheduler/end.rs
// - shared.notify_if_seated();
// - if shared.config.flavor == RuntimeFlavor::CurrentThread && shared.lease.take_to_close() {
// + shared.notify_if_seated();
// + if shared.config.flavor == RuntimeFlavor::CurrentThread {
// ~ src/scheduler/end.rs
// - shared.lease.end();
// - if shared.is_ending() && shared.lease.take_to_close() {
// + let is_ending = shared.is_ending();
// + shared.lease.end();
// + if is_ending && shared.lease.take_to_close() {
#[test]
fn exactly_one_thread_closes_a_current_thread_runtime() {
    race(
        || Shared::new(0, 1),
        block_on,
        end::begin,
        |shared, (), ()| {
            assert_eq!(shared.closed(), 1);
            assert_eq!(shared.registry.0[0].dropped(), 1);
        },
    );
}

/// (e) The same with a second thread, which takes the lease over.
// ~ src/scheduler/end.rs
// - shared.lease.end();
// - if shared.is_ending() && shared.lease.take_to_close() {
// + let is_ending = shared.is_ending();
// + shared.lease.end();
// + if is_ending && shared.lease.take_to_close() {
#[test]
fn exactly_one_of_three_threads_closes_a_current_thread_runtime() {
    model(|| {
        let shared = Shared::new(0, 0);
        let others = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || block_on(&shared))
        });
        end::begin(&shared);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.closed(), 1);
    });
}
