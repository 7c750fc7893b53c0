//! Run a future to its end on the calling thread.
//!
//! On a multi-thread runtime the thread polls its own future and parks. It runs no tasks: they
//! belong to the workers. On a current-thread runtime the thread takes the lease, if that is
//! free, and then also runs all tasks (`scheduler/callers.rs`).

use crate::config::UnhandledPanic;
use crate::scheduler::callers::Caller;
use crate::scheduler::context::{self, Guard, Role};
use crate::scheduler::shared::Shared;
use crate::scheduler::worker::Worker;
use crate::scheduler::{coop, end};
use crate::sync::{Arc, Ordering, thread};
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Wake, Waker};

#[track_caller]
pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    assert!(
        context::may_block(),
        "block_on was called inside a task or another block_on: it would block a worker. \
         Await the future instead, or move the call into `arc::task::spawn_blocking`"
    );
    let entry = Entry::new(shared, Location::caller());
    let caller = &*entry.caller;
    let waker =
        Waker::from(Arc::new(MainWaker { caller: entry.caller.clone(), shared: shared.clone() }));
    let mut context = Context::from_waker(&waker);
    let _context = context::enter_as(Role::Polling, shared.clone(), None);

    // In a box, because the future may be large, and the stack of this thread small.
    let mut future = Box::pin(future);
    let mut lease = None;
    let is_called = || caller.is_woken() || shared.is_ending();
    loop {
        if shared.is_ending() {
            lease = None;
            refuse_after_panic(shared);
        } else if shared.config.is_current_thread() && lease.is_none() {
            lease = Lease::take(shared);
        }

        if caller.take_wake()
            && let Poll::Ready(output) = poll_main(shared, caller, future.as_mut(), &mut context)
        {
            return output;
        }

        match &lease {
            // One task, or one sleep, between two polls of the main future: neither starves the
            // other.
            Some(lease) => lease.worker.run_one(&is_called),
            // An unpark may be left over from an earlier wake-up. Then this returns at once, and
            // the loop comes back.
            None if !caller.is_woken() => thread::park(),
            None => {}
        }
    }
}

/// # Panics
///
/// When the runtime has ended, and ends whenever a task panics.
#[track_caller]
fn refuse_after_panic(shared: &Shared) {
    assert!(
        shared.config.unhandled_panic != UnhandledPanic::ShutdownRuntime,
        "the runtime has ended (a task panicked?): UnhandledPanic::ShutdownRuntime"
    );
}

fn poll_main<F: Future>(
    shared: &Shared,
    caller: &Caller,
    future: Pin<&mut F>,
    context: &mut Context<'_>,
) -> Poll<F::Output> {
    let polls = caller.polls.load(Ordering::Relaxed);
    caller.polls.store(polls + 1, Ordering::Relaxed);

    // The monitor reports a poll that does not return. It may be asleep.
    caller.progress.turn();
    caller.progress.begin_poll(1);
    shared.monitor.ring();
    let poll = coop::with_budget(|| future.poll(context));
    caller.progress.end_poll();
    poll
}

/// The thread is in the list of those that are in `block_on`, until this is dropped.
struct Entry<'a> {
    shared: &'a Shared,
    caller: Arc<Caller>,
    key: usize,
}

impl<'a> Entry<'a> {
    fn new(shared: &'a Shared, location: &'static Location<'static>) -> Self {
        let caller = Arc::new(Caller::new(thread::current(), location));
        let key = shared.callers.enter(caller.clone());
        Self { shared, caller, key }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.shared.callers.leave(self.key);
    }
}

/// The waker of the future in `block_on`.
struct MainWaker {
    caller: Arc<Caller>,
    shared: Arc<Shared>,
}

impl Wake for MainWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // If the thread has the lease, it may sleep as the worker does, in the seat. If another
        // one has the lease, that one takes an empty turn.
        if self.caller.wake() && self.shared.config.is_current_thread() {
            self.shared.wake_worker(0);
        }
    }
}

/// The thread runs the worker of a current-thread runtime, until this is dropped.
struct Lease {
    worker: Rc<Worker>,
    // The fields are dropped in this order: the thread is no worker any more when another one
    // becomes it.
    _context: Guard,
    _end: EndLease,
}

struct EndLease(Arc<Shared>);

impl Lease {
    /// None: another thread has the lease.
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        if !shared.callers.take_lease() {
            return None;
        }
        let end = EndLease(shared.clone());
        let worker = Rc::new(Worker::new(shared.clone(), 0));
        let context = context::enter_as(Role::Polling, shared.clone(), Some(worker.clone()));
        Some(Self { worker, _context: context, _end: end })
    }
}

impl Drop for EndLease {
    fn drop(&mut self) {
        end::end_lease(&self.0);
    }
}
