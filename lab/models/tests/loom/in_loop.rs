//! Who runs the worker of a current-thread runtime, and who closes it. And the futures in
//! `block_on`, which are woken on the thread that runs it or on another one.

use crate::scheduler::crew::Crew;
use crate::scheduler::end;
use crate::scheduler::root::{Entered, Root, Roots};
use crate::sync::{lock, thread};
use crate::task::yield_now;
use crate::world::{Dropped, Gate, block_on, current_thread, is_closed, note, shared, spawn};
use crate::{model, model_within, race, race_within};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Poll, Waker};

/// Who runs a worker, and what only the thread that does so may touch.
#[derive(Default)]
struct OneWorker {
    crew: Crew,
    roots: Roots<()>,
    worker: UnsafeCell<usize>,
}

// SAFETY: loom checks the accesses to the cell.
unsafe impl Sync for OneWorker {}
// SAFETY: as above.
unsafe impl Send for OneWorker {}

impl OneWorker {
    /// Runs the worker once.
    fn use_it(&self) {
        let root = std::sync::Arc::new(Root::new(std::sync::Arc::new(()), note()));
        let _entered = Entered::new(&self.roots, &root);
        while !self.crew.enter_loop(1) {
            thread::park();
        }
        // SAFETY: loom checks it.
        self.worker.with_mut(|worker| unsafe { *worker += 1 });
        assert!(!self.crew.leave_loop(), "nobody ends the runtime");
        lock(&self.roots).iter().for_each(|root| root.thread.unpark());
    }
}

/// L2 against V1: two or three threads want to run the worker. One of them does so at a time, and
/// none parks beside a worker that nobody runs, which loom would call a deadlock.
#[test]
fn nobody_parks_beside_a_worker_that_nobody_runs() {
    race(OneWorker::default, OneWorker::use_it, OneWorker::use_it, |_, (), ()| ());
    model_within(3, || {
        let shared = Arc::new(OneWorker::default());
        let others = [0, 1].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || shared.use_it())
        });
        shared.use_it();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// `Crew::begin_end` against `enter_loop`: whoever closes the runtime has the worker for itself, as
/// no thread enters the loop after that.
#[test]
fn nobody_enters_a_loop_after_the_end_has_begun() {
    // SAFETY: loom checks it.
    let touch = |shared: &OneWorker| shared.worker.with_mut(|worker| unsafe { *worker += 1 });
    race(
        OneWorker::default,
        move |shared| {
            if shared.crew.enter_loop(1) {
                touch(shared);
                if shared.crew.leave_loop() {
                    touch(shared);
                }
            }
        },
        move |shared| {
            if shared.crew.begin_end() {
                touch(shared);
            }
        },
        |shared, (), ()| {
            // One of them has closed it.
            assert!(!shared.crew.begin_end());
        },
    );
}

/// `Crew::begin_end` against `enter_loop` and `leave_loop`: a thread enters and leaves `block_on`
/// while the runtime ends.
/// Exactly one thread closes the runtime, after the other one has done with its worker.
#[test]
fn exactly_one_thread_closes_a_current_thread_runtime() {
    race_within(
        2,
        || {
            let shared = current_thread();
            let dropped = Dropped::default();
            spawn(&shared, dropped.clone());
            (shared, dropped)
        },
        // It runs the task, if it enters the loop.
        |(shared, _)| block_on(shared, yield_now()),
        |(shared, _)| end::begin(shared),
        |(shared, dropped), (), ()| {
            assert!(is_closed(shared));
            assert_eq!(dropped.count(), 1);
            // The monitor would watch a worker that nobody runs.
            assert!(!shared.sleepers.is_awake(0));
        },
    );
}

/// The future of a thread that runs the worker is woken from outside, while its thread falls
/// asleep, as a worker does: it is polled again, and sees what was done before.
#[test]
fn future_that_is_woken_beside_its_worker_is_polled() {
    model_within(3, || {
        let shared = current_thread();
        wake_from_outside(&shared);
    });
}

/// The same with a thread that runs none: its runtime has workers of its own.
#[test]
fn future_that_is_woken_without_a_worker_is_polled() {
    model_within(3, || wake_from_outside(&shared(1)));
}

/// A thread from outside writes a number and wakes the future, which reads it.
fn wake_from_outside(shared: &std::sync::Arc<crate::scheduler::shared::Shared>) {
    let number = Arc::new(AtomicUsize::new(0));
    let (has_waker, waits) = (Gate::default(), std::sync::Arc::new(Mutex::new(None::<Waker>)));
    let (seen, takes, written) = (has_waker.clone(), waits.clone(), number.clone());
    let waker = thread::spawn(move || {
        seen.wait(1);
        let waker = takes.lock().unwrap().take().unwrap();
        written.store(7, Ordering::Relaxed);
        waker.wake();
    });
    let mut polls = 0;
    let read = block_on(
        shared,
        poll_fn(|context| {
            polls += 1;
            if polls == 1 {
                *waits.lock().unwrap() = Some(context.waker().clone());
                has_waker.open();
                return Poll::Pending;
            }
            Poll::Ready(number.load(Ordering::Relaxed))
        }),
    );
    assert_eq!(read, 7);
    waker.join().unwrap();
}

/// A thread in `block_on` that runs no worker against the end: it hears of it.
#[test]
fn two_threads_in_block_on_do_not_miss_the_end() {
    model_within(2, || {
        let shared = current_thread();
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                // It is polled again when the runtime ends.
                let ends = shared.clone();
                let until_the_end = poll_fn(move |_| match ends.is_ending() {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                });
                block_on(&shared, until_the_end);
            })
        };
        end::begin(&shared);
        other.join().unwrap();
        assert!(is_closed(&shared));
    });
}
