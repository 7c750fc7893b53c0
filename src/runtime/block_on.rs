//! Run a future to its end on the calling thread.
//!
//! On a multi-thread runtime the thread polls its own future and parks. It runs no tasks: they
//! belong to the workers. On a current-thread runtime the thread takes the lease, if that is
//! free, and then also runs all tasks (`scheduler/callers.rs`).

use crate::config::UnhandledPanic;
use crate::scheduler::context::{self, Guard, Role};
use crate::scheduler::{callers::Caller, coop, end, shared::Shared, worker::Worker};
use crate::sync::{Arc, thread};
use std::task::{Context, Poll, Wake, Waker};
use std::{panic::Location, rc::Rc};

#[track_caller]
pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    assert!(
        context::may_block(),
        "block_on was called inside a task or another block_on: it would block a worker. \
         Await the future instead, or move the call into `arc::task::spawn_blocking`"
    );
    let caller = Arc::new(Caller::new(Location::caller()));
    let _entry = shared.callers.enter(caller.clone());
    let waker = Waker::from(Arc::new(MainWaker { caller: caller.clone(), shared: shared.clone() }));
    let mut context = Context::from_waker(&waker);
    let _context = context::enter_as(Role::Polling, shared.clone(), None);

    // In a box, because the future may be large, and the stack of this thread small.
    let mut future = Box::pin(future);
    let mut lease = None;
    let is_called = || caller.is_woken() || shared.is_ending();
    loop {
        if shared.is_ending() {
            lease = None;
            assert!(
                shared.config.unhandled_panic != UnhandledPanic::ShutdownRuntime,
                "the runtime has ended (a task panicked?): UnhandledPanic::ShutdownRuntime"
            );
        } else if shared.config.is_current_thread() && lease.is_none() {
            lease = Lease::take(shared);
        }

        if caller.take_wake() {
            // The monitor reports a poll that does not return. It may be asleep.
            caller.progress.turn();
            let poll = caller.progress.during(MAIN, || {
                shared.monitor.ring();
                coop::with_budget(|| future.as_mut().poll(&mut context))
            });
            if let Poll::Ready(output) = poll {
                return output;
            }
        }

        match &lease {
            // One task, or one sleep, between two polls of the main future: neither starves the
            // other.
            Some(lease) => lease.worker.run_one(&is_called),
            // An unpark may be left over from an earlier wake-up. Then the loop comes back here.
            None if !caller.is_woken() => thread::park(),
            None => {}
        }
    }
}

/// The future of a `block_on` is no task and has no id. Its progress shows this instead.
const MAIN: u64 = u64::MAX;

/// The waker of the future in `block_on`.
struct MainWaker {
    caller: Arc<Caller>,
    shared: Arc<Shared>,
}

impl Wake for MainWaker {
    fn wake(self: Arc<Self>) {
        // If the thread has the lease, it may sleep as the worker does, in the seat. If another
        // one has the lease, that one takes an empty turn.
        if self.caller.wake() && self.shared.config.is_current_thread() {
            self.shared.wake_worker(0);
        }
    }
}

/// This thread runs the worker of a current-thread runtime, until this is dropped.
struct Lease {
    worker: Rc<Worker>,
    _context: Guard,
}

impl Lease {
    /// None: another thread runs it.
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        if !shared.callers.take_lease() {
            return None;
        }
        let worker = Rc::new(Worker::new(shared.clone(), 0));
        let context = context::enter_as(Role::Polling, shared.clone(), Some(worker.clone()));
        Some(Self { worker, _context: context })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        end::end_lease(&self.worker.shared);
    }
}
