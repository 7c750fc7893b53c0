//! Run a future to its end on the calling thread.
//!
//! On a multi-thread runtime the thread polls its own future and parks. It runs no tasks: they
//! belong to the workers. On a current-thread runtime the thread also runs the worker, and so all
//! tasks, unless another thread in `block_on` does so already (`scheduler/crew.rs`).

use crate::builder::RuntimeFlavor;
use crate::hooks::{note, observed, sim, tell};
use crate::scheduler::budget;
use crate::scheduler::context::{self, Role};
use crate::scheduler::root::{Entered, Root};
use crate::scheduler::shared::Shared;
use crate::scheduler::threads::InLoop;
use crate::scheduler::worker::Worker;
use crate::sync::{Arc, thread};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Wake, Waker};

#[track_caller]
pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    assert!(
        context::may_block(),
        "block_on was called inside a task, a block_on or a runtime's end: it would block that. \
         Await the future instead, or move the call into `arc::task::spawn_blocking`"
    );

    // The line of the caller is what observers are told.
    let root = Arc::new(Root::new(shared.clone(), note!(BlockOn, None)));
    tell!(spawned(root.id.0, shared.id.0, &root.note));

    // What is dropped here goes in this order: the future, the context, the entry in the list of
    // those that the end wakes. So the future's drop may still use the runtime.
    let _entered = Entered::new(&shared.roots, &root);

    // A job of a simulation may not wait for tasks of its own thread.
    sim!(arc_sim_core::blocks_on(shared.id.0), {});

    // From here on `spawn`, sockets and timers find the runtime, and the future may not block.
    let _context = context::enter(Role::Polling, shared.clone(), None);
    wait_for(&root, pin!(future))
}

/// The loop of a thread in `block_on`. If the thread runs the worker, it gives that up before the
/// future is dropped.
fn wait_for<F: Future>(root: &Arc<Root<Shared>>, mut future: Pin<&mut F>) -> F::Output {
    // The waker is the same for each poll, so that those who keep it can tell by
    // `will_wake`.
    let waker = Waker::from(root.clone());

    let shared = &root.runtime;
    let runs_tasks = shared.config.flavor == RuntimeFlavor::CurrentThread;
    let mut in_loop = None;
    loop {
        // 1. If the end has come, leave the worker: that may close the runtime. Otherwise run the
        // worker of a current-thread runtime, if nobody else does.
        if shared.is_ending() {
            in_loop = None;
        } else if runs_tasks && in_loop.is_none() {
            in_loop = InLoop::enter(shared, 0);
        }

        // 2. Poll the future, if it was woken.
        let is_due = root.take_wake_up();
        if is_due && let Poll::Ready(output) = poll(root, &waker, future.as_mut()) {
            return output;
        }

        // 3. Run tasks, or sleep.
        match &in_loop {
            Some(InLoop { worker, .. }) => run_tasks(worker, root, is_due),
            // The poll may have parked this thread, and so used up the unpark of a thread that has
            // left the worker. So ask for the worker once more before parking.
            None if is_due => {}
            None => thread::park(),
        }
    }
}

fn poll<F: Future>(root: &Root<Shared>, waker: &Waker, future: Pin<&mut F>) -> Poll<F::Output> {
    observed!(root.note.step(), {});
    tell!(begins(root.id.0, &root.note));

    // Observers may want to know of a poll that does not return: the monitor has to look.
    root.runtime.monitor.ring();

    let mut context = Context::from_waker(waker);
    let poll = budget::with_budget(|| future.poll(&mut context));

    observed!(root.note.step(), {});
    tell!(ends(root.id.0));
    poll
}

/// The root is its own waker: one allocation is both.
impl Wake for Root<Shared> {
    fn wake(self: Arc<Self>) {
        // A thread that runs the worker sleeps as workers do, perhaps in the kernel
        // (`driver/mod.rs`). If another thread runs it, that one wakes up for nothing.
        let runs_tasks = self.runtime.config.flavor == RuntimeFlavor::CurrentThread;
        if self.wake_thread() && runs_tasks {
            self.runtime.wake_worker(0);
        }
    }
}

/// Runs the tasks that are ready, or sleeps if there are none.
///
/// As on tokio, the future comes again only after these tasks, but after no more than
/// `event_interval` of them. So neither starves the other.
fn run_tasks(worker: &Worker, root: &Root<Shared>, was_polled: bool) {
    // A future that wakes itself for ever must not hide the kernel.
    if was_polled {
        worker.count_poll();
    }

    let shared = &worker.shared;
    let is_called = || root.is_woken() || shared.is_ending();
    for _ in 0..shared.config.event_interval {
        let has_polled = worker.run_one(&is_called);
        // In a simulation the future may come at any time.
        let comes = || sim!(arc_sim_core::coin(), false);
        let is_done = is_called() && (!worker.has_tasks() || comes());
        if !has_polled || is_done || shared.is_ending() {
            return;
        }
    }
}
