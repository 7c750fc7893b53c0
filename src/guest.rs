//! `block_on`: the calling thread works as a worker while it waits.
//!
//! A thread that enters `block_on` borrows a sleeping worker from that worker's
//! own thread: an accept loop in `main` then costs no hop between threads, and
//! a runtime with one worker is a single-threaded one. When no worker sleeps,
//! the thread only polls its own future, and asks again whenever it was woken, and
//! every 100 ms: nobody unparks it when a worker falls asleep, or the runtime ends.

use crate::context::{self, Role};
use crate::scheduler::{Shared, TICK, Worker};
use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering, lock, thread};
use crate::{builder::UnhandledPanic, coop::with_budget};
use std::rc::Rc;
use std::task::{Context, Poll, Wake, Waker};

/// The waker of the future in `block_on`. SeqCst, wherever `woken` and `worker`
/// are used: either the thread sees `woken` before it sleeps, or the waker sees
/// the worker asleep (or that there is none).
struct Main {
    woken: AtomicBool,
    /// One more than the worker that the thread runs; 0: none.
    worker: AtomicUsize,
    thread: thread::Thread,
    shared: Arc<Shared>,
}

impl Wake for Main {
    fn wake(self: Arc<Self>) {
        if !self.woken.swap(true, Ordering::SeqCst) {
            match self.worker.load(Ordering::SeqCst).checked_sub(1) {
                Some(worker) => self.shared.unpark(self.shared.idle.wake(worker).then_some(worker)),
                None => self.thread.unpark(),
            }
        }
    }
}

/// Runs a future to its end on this thread.
#[track_caller]
pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    assert!(
        context::may_block(),
        "block_on was called inside a task or another block_on: it would block a worker. \
         Await the future instead, or move the call into `arc::task::spawn_blocking`"
    );
    let main = Arc::new(Main {
        woken: AtomicBool::new(true),
        worker: AtomicUsize::new(0),
        thread: thread::current(),
        shared: shared.clone(),
    });
    let waker = Waker::from(main.clone());
    let mut context = Context::from_waker(&waker);
    let _context = context::enter_as(Role::Polls, shared.clone(), None);
    let mut future = Box::pin(future);
    let is_woken = || main.woken.load(Ordering::SeqCst);
    let is_called = || is_woken() || shared.is_shutdown();
    let mut guest = None;
    loop {
        if shared.is_shutdown() {
            guest = None;
            let may_go_on = shared.config.unhandled_panic != UnhandledPanic::ShutdownRuntime;
            assert!(
                may_go_on,
                "the runtime has ended (a task panicked?): UnhandledPanic::ShutdownRuntime"
            );
        } else if guest.is_none() {
            guest = borrow_worker(&main);
        }
        let is_due = is_woken() && main.woken.swap(false, Ordering::SeqCst);
        if is_due && let Poll::Ready(output) = with_budget(|| future.as_mut().poll(&mut context)) {
            return output;
        }
        match &guest {
            // At least one task between two polls of the main future.
            Some((_, Guest(_, worker, _))) => worker.step(&is_called),
            None if is_woken() => {}
            None => thread::park_timeout(20 * TICK),
        }
    }
}

/// A worker, and its own thread, from which it was borrowed.
struct Guest<'a>(&'a Main, Rc<Worker>, Option<thread::Thread>);

/// Borrows a sleeping worker, the one in the seat only when no other sleeps: its
/// thread must leave the seat for this one. The guard comes before the guest, so
/// that this thread is no worker any more when the worker is given back.
fn borrow_worker(main: &Main) -> Option<(context::Guard, Guest<'_>)> {
    let (shared, holder) = (&main.shared, main.shared.driver.holder());
    let parked = shared.idle.sleeping().filter(|&worker| Some(worker) != holder);
    let index = parked.chain(holder).find(|&worker| lend(shared, worker))?;
    let resident = lock(&shared.remotes[index].thread).replace(main.thread.clone());
    if shared.driver.holder() == Some(index) {
        shared.driver.notify();
    }
    main.worker.store(index + 1, Ordering::SeqCst);
    shared.monitor.ring();
    let worker = Rc::new(Worker::new(shared.clone(), index, true));
    let context = context::enter_as(Role::Polls, shared.clone(), Some(worker.clone()));
    Some((context, Guest(main, worker, resident)))
}

/// Makes the caller the owner of a sleeping worker.
///
/// SeqCst: `lent` is set before the bit is cleared. The worker's own thread takes the
/// worker only if it finds the bit cleared while it has set `lent` itself, and so knows
/// that it was not cleared for a guest. If it found `lent` set, and the guest does not
/// get the worker, it must look again; and if it fell asleep meanwhile, it may have left
/// something behind. It ends only if it sees that the runtime does, and then not `lent`:
/// so whether the runtime ends is looked at once more.
fn lend(shared: &Shared, index: usize) -> bool {
    let lent = &shared.remotes[index].lent;
    let free = !lent.swap(true, Ordering::SeqCst);
    let claimed = free && !shared.is_shutdown() && shared.idle.wake(index);
    if free && !claimed {
        lent.store(false, Ordering::SeqCst);
        shared.unpark_thread(index);
        shared.look_after();
    }
    claimed
}

/// The worker goes to sleep, and back to its own thread, which is unparked if
/// the worker was woken meanwhile, and woken if the runtime ended: `shut_down` may have
/// found it awake, and its own thread be on its way into the seat. SeqCst:
/// `lent` is cleared before the look at the bit, see `lend`.
impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let Self(main, worker, resident) = self;
        let (shared, index, remote) = (&main.shared, worker.index, worker.remote());
        worker.active.set(false);
        main.worker.store(0, Ordering::SeqCst);
        *lock(&remote.thread) = resident.take();
        remote.local.spill(&shared.injector);
        shared.idle.fall_asleep(index);
        remote.lent.store(false, Ordering::SeqCst);
        shared.unpark((shared.is_shutdown() && shared.idle.wake(index)).then_some(index));
        if !shared.idle.is_asleep(index) {
            shared.unpark_thread(index);
        }
        shared.look_after();
    }
}
