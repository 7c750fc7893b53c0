//! Run a future to its end on the calling thread.
//!
//! On a multi-thread runtime the thread polls its own future and parks. It runs no tasks: they
//! belong to the workers. On a current-thread runtime the thread takes the lease, if that is
//! free, and then also runs all tasks (`scheduler/lease.rs`).

use crate::builder::{RuntimeFlavor, UnhandledPanic};
use crate::hooks::tell;
use crate::scheduler::context::{self, Guard, Role};
use crate::scheduler::lease::Main;
use crate::scheduler::shared::Shared;
use crate::scheduler::threads::SignedOn;
use crate::scheduler::worker::Worker;
use crate::scheduler::{budget, end};
use crate::sync::{Arc, Ordering, thread};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Wake, Waker};

#[track_caller]
pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    assert!(
        context::may_block(),
        "block_on was called inside a task or another block_on: it would block a worker. \
         Await the future instead, or move the call into `arc::task::spawn_blocking`"
    );

    // The line of the caller is what a report shows.
    let main = Main::new(shared.id, shared.config.flavor);

    run(shared, &main, future)
}

/// What is dropped here goes in this order: the future, the context, the entry in the list. So the
/// future's drop may still use the runtime.
fn run<F: Future>(shared: &Arc<Shared>, main: &Arc<Main>, future: F) -> F::Output {
    // The monitor watches what is in this list, and the end wakes it.
    let _listed = shared.mains.enter(main);

    // From here on `spawn`, sockets and timers find the runtime, and nothing may block.
    let _context = context::enter_as(Role::Polling, shared.clone(), None);
    tell!(blocks_on(main.id.0));
    wait_for(shared, main, pin!(future))
}

/// The loop of a thread in `block_on`. If the thread has the lease, that goes before the future.
fn wait_for<F: Future>(
    shared: &Arc<Shared>,
    main: &Arc<Main>,
    mut future: Pin<&mut F>,
) -> F::Output {
    // SeqCst pairs with `Main::wake`: a worker's bit is set before this is loaded, and `wake`
    // stores this before it claims the worker.
    let is_called = || main.woken.load(Ordering::SeqCst) || shared.is_ending();
    let mut lease = None;
    loop {
        // 1. Check for the end. If it has not come, take the lease if that is free. At the end, the
        // drop of the lease closes the runtime.
        if shared.is_ending() {
            lease = None;
            refuse_after_the_end(shared);
        } else if main.flavor == RuntimeFlavor::CurrentThread && lease.is_none() {
            lease = Lease::take(shared);
        }

        // 2. Poll the future, if it was woken. The flag is cleared before the poll: a wake-up that
        // comes during it asks for another one. Acquire pairs with `wake`: what was done before the
        // wake-up is seen.
        let is_due = main.woken.swap(false, Ordering::Acquire);
        if is_due && let Poll::Ready(output) = poll(shared, main, future.as_mut()) {
            // The output may be an error that the end itself caused.
            refuse_after_the_end(shared);
            return output;
        }

        // 3. Run one task, or sleep. At most one task comes between two polls of this future, and
        // at most one poll between two tasks: neither starves the other.
        match &lease {
            Some(Lease { worker, .. }) => worker.run_one(&is_called),
            // The poll may have parked this thread, and so used up the unpark of a lease that has
            // ended. So ask for the lease once more before parking.
            None if is_due => {}
            None => thread::park(),
        }
    }
}

fn poll<F: Future>(shared: &Shared, main: &Arc<Main>, future: Pin<&mut F>) -> Poll<F::Output> {
    // The monitor reports a poll that does not return.
    main.step();
    shared.monitor.ring();

    // The waker is the same each time, so that those who keep it see that.
    let waker = Waker::from(main.clone());
    let mut context = Context::from_waker(&waker);
    let poll = budget::with_budget(|| future.poll(&mut context));

    // Whatever it returned: from here on it is no longer in a poll.
    main.step();
    poll
}

/// # Panics
///
/// When the runtime ends, and its policy is that every `block_on` panics then.
fn refuse_after_the_end(shared: &Shared) {
    let ends_by_panic = shared.config.unhandled_panic == UnhandledPanic::ShutdownRuntime;
    assert!(
        !(shared.is_ending() && ends_by_panic),
        "the runtime has ended, by a shutdown or a panic (UnhandledPanic::ShutdownRuntime)"
    );
}

impl Wake for Main {
    /// SeqCst pairs with the load in `wait_for`.
    fn wake(self: Arc<Self>) {
        if self.woken.swap(true, Ordering::SeqCst) {
            return;
        }
        self.thread.unpark();

        // A thread with the lease sleeps as the only worker does, perhaps in the seat. If another
        // thread has the lease, that one wakes up for nothing.
        if self.flavor == RuntimeFlavor::CurrentThread {
            context::with_runtime(self.runtime, |runtime, _| runtime.wake_worker(0));
        }
    }
}

/// The calling thread has the lease of a current-thread runtime, and runs its worker.
struct Lease {
    worker: Rc<Worker>,
    _context: Guard,
    /// The end waits for this thread to leave, as for a worker's own.
    _signed_on: SignedOn,
}

impl Lease {
    /// This thread signs on before it has the lease. Otherwise the end could find the lease taken,
    /// and nobody to wait for, and return while this thread still runs a task.
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        let signed_on = SignedOn::new(shared.clone()).ok()?;

        // If another thread has it, this one is unparked when that one leaves.
        if !shared.mains.take_lease() {
            return None;
        }

        // There is one worker, and it has the number 0.
        let worker = Rc::new(Worker::new(shared.clone(), 0));
        let running = Some(worker.clone());
        let context = context::enter_as(Role::Polling, shared.clone(), running);
        Some(Self { worker, _context: context, _signed_on: signed_on })
    }
}

impl Drop for Lease {
    /// What the worker has collected goes into its queue first. The context still names the worker
    /// until it is dropped. That does no harm: on this thread only `close` wakes tasks before that,
    /// and it has a context of its own.
    fn drop(&mut self) {
        self.worker.wake_collected();
        end::end_lease(&self.worker.shared);
    }
}
