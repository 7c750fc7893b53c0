//! Run a future to its end on the calling thread.
//!
//! On a multi-thread runtime the thread polls its own future and parks. It runs no tasks: they
//! belong to the workers. On a current-thread runtime the thread takes the lease, if that is
//! free, and then also runs all tasks (`scheduler/lease.rs`).

use crate::builder::{RuntimeFlavor, UnhandledPanic};
use crate::hooks::tell;
use crate::registry::info::{Kind, Origin};
use crate::registry::list::{Record, RuntimeId, TaskList};
use crate::scheduler::context::{self, Guard, Role};
use crate::scheduler::shared::Shared;
use crate::scheduler::threads::SignedOn;
use crate::scheduler::worker::Worker;
use crate::scheduler::{budget, end};
use crate::sync::{Arc, AtomicBool, Ordering, thread};
use crate::task::spawn::FUTURE_SIZE_MAX;
use std::panic::Location;
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
    let location = Location::caller();

    // The future may be large, and the stack of this thread small.
    if size_of::<F>() > FUTURE_SIZE_MAX {
        run(shared, location, Box::pin(future))
    } else {
        run(shared, location, future)
    }
}

/// What is dropped here goes in this order: the lease, the future, the context, the entry in the
/// list. So the future's drop may still use the runtime.
fn run<F: Future>(
    shared: &Arc<Shared>,
    location: &'static Location<'static>,
    future: F,
) -> F::Output {
    // The future is polled once without being woken.
    let main = Arc::new(Main {
        woken: AtomicBool::new(true),
        thread: thread::current(),
        runtime: shared.id,
        flavor: shared.config.flavor,
    });

    // The monitor watches what is in this list, and the end wakes it.
    let origin = Origin { name: None, location, kind: Kind::Main };
    let record = Record::new(shared.id, origin, fastrand::usize(..));
    let _listed = Listed::new(&shared.mains, &record, Waker::from(main.clone()));

    // From here on `spawn`, sockets and timers find the runtime, and nothing may block.
    let _context = context::enter_as(Role::Polling, shared.clone(), None);
    tell!(blocks_on(record.id.0));
    let future = pin!(future);
    let mut lease = LeaseGuard { shared, running: None };
    wait_for(future, &main, &record, &mut lease)
}

/// The loop of a thread in `block_on`.
fn wait_for<F: Future>(
    mut future: Pin<&mut F>,
    main: &Arc<Main>,
    record: &Record,
    lease: &mut LeaseGuard<'_>,
) -> F::Output {
    // SeqCst pairs with `wake`: a worker's bit is set before this is loaded, and `wake` stores this
    // before it claims the worker.
    let shared = lease.shared;
    let is_called = || main.woken.load(Ordering::SeqCst) || shared.is_ending();
    loop {
        // 1. Look for the end, or else take the lease if it is free.
        if shared.is_ending() {
            lease.end();
            refuse_after_the_end(shared);
        } else if main.flavor == RuntimeFlavor::CurrentThread {
            lease.take();
        }

        // 2. Poll the future, if it was woken. The flag is cleared before the poll: a wake-up that
        // comes during it asks for another one. Acquire pairs with `wake`: what was done before the
        // wake-up is seen.
        let is_due = main.woken.swap(false, Ordering::Acquire);
        if is_due && let Poll::Ready(output) = poll(future.as_mut(), main, record, shared) {
            // The output may be an error that the end itself caused.
            refuse_after_the_end(shared);
            return output;
        }

        // 3. Run one task, or sleep. At most one task comes between two polls of this future, and
        // at most one poll between two tasks: neither starves the other.
        match &lease.running {
            Some(running) => running.worker.run_one(&is_called),
            // The poll may have parked this thread, and so used up the unpark of a lease that has
            // ended. So ask for the lease once more before parking.
            None if is_due => {}
            None => thread::park(),
        }
    }
}

fn poll<F: Future>(
    future: Pin<&mut F>,
    main: &Arc<Main>,
    record: &Record,
    shared: &Shared,
) -> Poll<F::Output> {
    // The monitor reports a poll that does not return.
    record.begin_main_poll();
    shared.monitor.ring();

    // The waker is the same each time, so that those who keep it see that.
    let waker = Waker::from(main.clone());
    let mut context = Context::from_waker(&waker);
    let poll = budget::with_budget(|| future.poll(&mut context));

    // Whatever it returned: from here on it is no longer in a poll.
    record.end_main_poll();
    poll
}

/// # Panics
///
/// When the runtime ends, and its policy is that every `block_on` panics then.
fn refuse_after_the_end(shared: &Shared) {
    assert!(
        !shared.is_ending() || shared.config.unhandled_panic != UnhandledPanic::ShutdownRuntime,
        "the runtime has ended, by a shutdown or a panic (UnhandledPanic::ShutdownRuntime)"
    );
}

/// The future is in the list as long as this lives.
struct Listed<'a> {
    list: &'a TaskList,
    record: &'a Record,
}

impl<'a> Listed<'a> {
    fn new(list: &'a TaskList, record: &'a Arc<Record>, waker: Waker) -> Self {
        // After the end this thread asks for itself.
        list.enter(record, waker, || false);
        Self { list, record }
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        drop(self.list.remove(self.record));
    }
}

/// The waker of the future in `block_on`.
struct Main {
    /// The future was woken, and has not been polled since.
    woken: AtomicBool,
    thread: thread::Thread,
    runtime: RuntimeId,
    flavor: RuntimeFlavor,
}

impl Wake for Main {
    /// SeqCst pairs with the load in `block_on`.
    fn wake(self: Arc<Self>) {
        if self.woken.swap(true, Ordering::SeqCst) {
            return;
        }
        self.thread.unpark();

        // A thread with the lease sleeps as the only worker does, perhaps in the seat. (If another
        // thread has the lease, that one takes an empty turn.)
        if self.flavor == RuntimeFlavor::CurrentThread {
            context::with_runtime(self.runtime, |runtime, _| runtime.wake_worker(0));
        }
    }
}

/// A thread in `block_on` of a current-thread runtime, which has the lease or would like to.
struct LeaseGuard<'a> {
    shared: &'a Arc<Shared>,
    running: Option<Running>,
}

/// This thread runs the worker.
struct Running {
    worker: Rc<Worker>,
    _context: Guard,
    /// The end waits for this thread to leave, as for a worker's own.
    _signed_on: SignedOn,
}

impl LeaseGuard<'_> {
    /// This thread signs on before it has the lease. Otherwise the end could find the lease taken,
    /// and nobody to wait for, and return while this thread still runs a task.
    fn take(&mut self) {
        if self.running.is_some() {
            return;
        }
        let Ok(signed_on) = SignedOn::new(self.shared.clone()) else { return };

        // If another thread has it, this one is unparked when that one leaves.
        if self.shared.lease.take_or_wait() {
            // There is one worker, and it has the number 0.
            let worker = Rc::new(Worker::new(self.shared.clone(), 0));
            let running = Some(worker.clone());
            let context = context::enter_as(Role::Polling, self.shared.clone(), running);
            self.running = Some(Running { worker, _context: context, _signed_on: signed_on });
        }
    }

    /// Gives the lease up, if this thread has it. What the worker has collected goes into its queue
    /// before. (The context still names the worker meanwhile. That does no harm: nothing else is
    /// woken on this thread before it is dropped, but by `close`, which has a context of its own.)
    fn end(&mut self) {
        if let Some(running) = self.running.take() {
            running.worker.wake_collected();
            end::end_lease(self.shared);
            drop(running);
        }
    }
}

impl Drop for LeaseGuard<'_> {
    fn drop(&mut self) {
        self.end();
        if self.shared.config.flavor == RuntimeFlavor::CurrentThread {
            self.shared.lease.stop_waiting();
        }
    }
}
