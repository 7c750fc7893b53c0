//! Run a future to its end on the calling thread.
//!
//! On a multi-thread runtime the thread polls its own future and parks. It runs no tasks: they
//! belong to the workers. On a current-thread runtime the thread takes the lease, if that is
//! free, and then also runs all tasks (`scheduler/lease.rs`).

use crate::config::UnhandledPanic;
use crate::registry::{Kind, Origin};
use crate::scheduler::context::{self, Guard, Role};
use crate::scheduler::{coop, end, shared::Shared, threads::SignedOn, worker::Worker};
use crate::sync::{Arc, AtomicBool, Ordering, thread};
use std::rc::Rc;
use std::task::{Context, Poll, Wake, Waker};

#[track_caller]
pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    assert!(
        context::may_block(),
        "block_on was called inside a task or another block_on: it would block a worker. \
         Await the future instead, or move the call into `arc::task::spawn_blocking`"
    );
    let (woken, thread) = (AtomicBool::new(true), thread::current());
    let main = Arc::new(Main { woken, thread, shared: shared.clone() });
    let waker = Waker::from(main.clone());
    let mut context = Context::from_waker(&waker);
    let entry = shared.mains.enter_scoped(Origin::new(Kind::Async), waker.clone());
    let _context = context::enter_as(Role::Polling, shared.clone(), None);

    let mut future = Box::pin(future); // it may be large, and the stack of this thread small
    let mut lease = None;
    let is_called = || main.is_woken() || shared.is_ending();
    loop {
        // A wake-up that comes from now on asks for another turn. The end of the runtime sets its
        // flag before it wakes this future, so that this turn or the next one sees it.
        let is_woken = main.woken.swap(false, Ordering::Acquire);
        if shared.is_ending() {
            lease = None;
            assert!(
                shared.config.unhandled_panic != UnhandledPanic::ShutdownRuntime,
                "the runtime has ended (a task panicked?): UnhandledPanic::ShutdownRuntime"
            );
        }

        if is_woken {
            entry.key.count_step();
            shared.monitor.ring(); // it reports a poll that does not return
            let poll = coop::with_budget(|| future.as_mut().poll(&mut context));
            entry.key.count_step();
            if let Poll::Ready(output) = poll {
                return output;
            }
        }

        // This comes after the poll and right before the park. A future may park its thread, and
        // would use up the unpark that tells of a free lease.
        if lease.is_none() && shared.is_current_thread() {
            lease = Lease::take(shared);
        }
        match &lease {
            // At most one task between two polls of this future, and at most one poll between
            // two tasks: neither starves the other.
            Some(lease) => lease.worker.run_one(&is_called),
            None if !main.is_woken() => thread::park(), // a stale unpark comes back here
            None => {}
        }
    }
}

/// The waker of the future in `block_on`.
struct Main {
    woken: AtomicBool,
    thread: thread::Thread,
    shared: Arc<Shared>,
}

impl Main {
    /// SeqCst pairs with `wake`: a thread that runs a worker sets the worker's bit before it loads
    /// this, and `wake` stores this before it claims the worker.
    fn is_woken(&self) -> bool {
        self.woken.load(Ordering::SeqCst)
    }
}

impl Wake for Main {
    /// SeqCst pairs with `is_woken`, and with the Acquire of the thread that polls the future.
    fn wake(self: Arc<Self>) {
        if self.woken.swap(true, Ordering::SeqCst) {
            return;
        }
        self.thread.unpark();

        // A thread with the lease may sleep as the worker does, in the seat. If another thread has
        // the lease, that one takes an empty turn.
        if self.shared.is_current_thread() {
            self.shared.wake_worker(0);
        }
    }
}

/// This thread runs the worker of a current-thread runtime as long as this lives. The end of the
/// runtime waits for it, as it waits for the threads of workers.
struct Lease {
    worker: Rc<Worker>,
    _context: Guard,
    _signed_on: SignedOn,
}

impl Lease {
    /// None: another thread runs it, or the runtime ends.
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        if !shared.lease.take_or_wait() {
            return None;
        }
        let Some(_signed_on) = SignedOn::new(shared.clone()) else {
            end::end_lease(shared);
            return None;
        };

        // The monitor may have fallen asleep while no thread had the lease.
        shared.monitor.ring();
        let worker = Rc::new(Worker::new(shared.clone(), 0));
        let _context = context::enter_as(Role::Polling, shared.clone(), Some(worker.clone()));
        Some(Self { worker, _context, _signed_on })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        end::end_lease(&self.worker.shared);
    }
}
