//! Run a future to its end on the calling thread.
//!
//! On a multi-thread runtime the thread polls its own future and parks. It runs no tasks: they
//! belong to the workers. On a current-thread runtime the thread takes the lease, if that is
//! free, and then also runs all tasks (`scheduler/lease.rs`).

use crate::scheduler::context::{self, Guard, Role};
use crate::scheduler::{coop, end, lease::Line, shared::Shared, threads::SignedOn, worker::Worker};
use crate::sync::{Arc, AtomicBool, Ordering, tell, thread};
use crate::{config::RuntimeFlavor, config::UnhandledPanic, registry::Kind, registry::Origin};
use std::{rc::Rc, task::Context, task::Poll, task::Wake, task::Waker};

#[track_caller]
pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    assert!(
        context::may_block(),
        "block_on was called inside a task or another block_on: it would block a worker. \
         Await the future instead, or move the call into `arc::task::spawn_blocking`"
    );
    let woken = AtomicBool::new(true); // the future is polled once without being woken
    let main = Arc::new(Main { woken, thread: thread::current(), shared: shared.clone() });
    let waker = Waker::from(main.clone());
    // The end wakes what is in this list, and the monitor watches it.
    let entry = shared.mains.enter_scoped(Origin::new(Kind::Async), waker.clone());
    let _line = Line(&shared.lease); // takes this thread's name back from those who want the lease
    let _context = context::enter_as(Role::Polling, shared.clone(), None); // another one panics
    tell!(blocks_on(entry.key.id.0));

    let mut future = Box::pin(future); // it may be large, and the stack of this thread small
    let (mut poll, mut lease) = (Poll::Pending, None);
    // SeqCst pairs with `wake`: a worker's bit is set before this is loaded, and `wake` stores this
    // before it asks whether anybody sits.
    let is_called = || main.woken.load(Ordering::SeqCst) || shared.is_ending();
    loop {
        // Cleared before the poll: a wake-up that comes during it asks for another one. (The end
        // wakes this thread, too. If that is cleared here, `is_due` brings another look at it.)
        // Acquire pairs with `wake`: what was done before the wake-up is seen.
        let is_due = main.woken.swap(false, Ordering::Acquire);
        if shared.is_ending() {
            lease = None;
            assert!(
                shared.config.unhandled_panic != UnhandledPanic::ShutdownRuntime,
                "the runtime has ended, by a shutdown or a panic (UnhandledPanic::ShutdownRuntime)"
            );
        } else if shared.config.flavor == RuntimeFlavor::CurrentThread && lease.is_none() {
            lease = LeaseGuard::take(shared);
        }

        // Behind the look for the end: the future may have got its output from an error by that.
        if let Poll::Ready(output) = poll {
            return output;
        }

        if is_due {
            entry.key.count_step();
            shared.monitor.ring(); // it reports a poll that does not return
            poll = coop::with_budget(|| future.as_mut().poll(&mut Context::from_waker(&waker)));
            entry.key.count_step();
        }

        match &lease {
            // At most one task between two polls of this future, and at most one poll between
            // two tasks: neither starves the other.
            Some(lease) if poll.is_pending() => lease.worker.run_one(&is_called),
            // Foreign code may have parked in the poll, and used up the unpark of another thread
            // that ended its lease. So ask for the lease once more before parking.
            _ if is_due => {}
            _ => thread::park(),
        }
    }
}

/// The waker of the future in `block_on`.
struct Main {
    woken: AtomicBool,
    thread: thread::Thread,
    shared: Arc<Shared>,
}

impl Wake for Main {
    /// SeqCst pairs with both accesses in `block_on`.
    fn wake(self: Arc<Self>) {
        if self.woken.swap(true, Ordering::SeqCst) {
            return;
        }
        self.thread.unpark();

        // A thread with the lease sleeps as the only worker does, which always sits. If another
        // thread has the lease, that one takes an empty turn.
        if self.shared.config.flavor == RuntimeFlavor::CurrentThread {
            self.shared.notify_if_seated();
        }
    }
}

/// This thread runs the worker of a current-thread runtime as long as this lives.
struct LeaseGuard {
    worker: Rc<Worker>,
    _context: Guard,
    /// The end waits for this thread to leave, as for a worker's own.
    _signed_on: SignedOn,
}

impl LeaseGuard {
    /// None: another thread runs it, or the runtime ends.
    ///
    /// This thread signs on before it has the lease. Otherwise the end could find the lease taken,
    /// and nobody to wait for, and return while this thread still runs a task.
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        let _signed_on = SignedOn::new(shared.clone())?;
        shared.lease.take_or_wait().then(|| {
            let worker = Rc::new(Worker::new(shared.clone(), 0));
            let _context = context::enter_as(Role::Polling, shared.clone(), Some(worker.clone()));
            Self { worker, _context, _signed_on }
        })
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        // `_context` still names the worker. That does no harm: nothing is woken on this thread
        // before it is dropped, but by `close`, which has a context of its own.
        end::end_lease(&self.worker.shared);
    }
}
