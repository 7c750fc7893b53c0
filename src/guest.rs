//! `block_on`: the calling thread works as a worker while it waits.
//!
//! A thread that enters `block_on` borrows a sleeping worker from that worker's
//! own thread: an accept loop in `main` then costs no hop between threads, and
//! a runtime with one worker is a single-threaded one. When no worker sleeps,
//! the thread only polls its own future, and asks again later.

use crate::context;
use crate::coop;
use crate::scheduler::Shared;
use crate::sync::lock;
use crate::task::FUTURE_MAX_BYTES;
use crate::worker::Worker;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// The waker of the future in `block_on`.
struct Main {
    woken: AtomicBool,
    /// The worker that the thread runs, or `NONE`.
    worker: AtomicUsize,
    thread: Thread,
    shared: Arc<Shared>,
}

const NONE: usize = usize::MAX;

impl Main {
    // All SeqCst, so that either the thread sees `woken` before it sleeps, or
    // the waker sees the worker asleep (or that there is none).
    fn is_woken(&self) -> bool {
        self.woken.load(Ordering::SeqCst)
    }
}

impl Wake for Main {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // SeqCst: see `is_woken`.
        if self.woken.swap(true, Ordering::SeqCst) {
            return;
        }
        match self.worker.load(Ordering::SeqCst) {
            NONE => self.thread.unpark(),
            worker => drop(self.shared.wake(worker)),
        }
    }
}

/// Runs a future to its end on this thread.
#[track_caller]
pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    assert!(
        !context::is_asynchronous(),
        "block_on was called inside a task or another block_on: it would block a worker. \
         Await the future instead, or move the call into `arc::task::spawn_blocking`"
    );
    if size_of::<F>() > FUTURE_MAX_BYTES {
        run(shared, Box::pin(future).as_mut())
    } else {
        run(shared, pin!(future))
    }
}

fn run<F: Future>(shared: &Arc<Shared>, mut future: Pin<&mut F>) -> F::Output {
    let main = Arc::new(Main {
        woken: AtomicBool::new(true),
        worker: AtomicUsize::new(NONE),
        thread: thread::current(),
        shared: shared.clone(),
    });
    let waker = Waker::from(main.clone());
    let mut context = Context::from_waker(&waker);
    let _context = context::enter_worker(shared.clone(), None);
    let mut guest = Guest::claim(shared, &main);
    loop {
        // SeqCst: see `is_woken`.
        if main.woken.swap(false, Ordering::SeqCst) {
            if let Some(guest) = &guest {
                guest.worker.count_poll();
            }
            let poll = coop::budget(|| future.as_mut().poll(&mut context));
            if let Poll::Ready(output) = poll {
                return output;
            }
        }
        if shared.is_shutdown() {
            guest = None;
        } else if guest.is_none() {
            guest = Guest::claim(shared, &main);
        }
        match &guest {
            // At least one task between two polls of the main future.
            Some(guest) => loop {
                guest
                    .worker
                    .step(&|| main.is_woken() || shared.is_shutdown());
                if main.is_woken() || shared.is_shutdown() {
                    break;
                }
            },
            None if main.is_woken() => {}
            None => shared.wait_for_worker(),
        }
    }
}

/// A worker that was borrowed from its own thread.
struct Guest<'a> {
    main: &'a Main,
    worker: Rc<Worker>,
    resident: Option<Thread>,
    context: Option<context::Guard>,
}

impl<'a> Guest<'a> {
    /// Borrows a sleeping worker, the one in the seat only when no other sleeps.
    fn claim(shared: &Arc<Shared>, main: &'a Main) -> Option<Self> {
        let holder = shared.driver.holder();
        let parked = shared
            .idle
            .sleeping()
            .filter(|&worker| Some(worker) != holder);
        let index = parked.chain(holder).find(|&worker| shared.lend(worker))?;
        let resident = shared.remotes[index].set_thread(Some(main.thread.clone()));
        // Its thread must leave the seat for this one.
        if shared.driver.holder() == Some(index) {
            shared.driver.notify();
        }
        main.worker.store(index, Ordering::SeqCst);
        let worker = Rc::new(Worker::new(shared.clone(), index, true));
        let context = Some(context::enter_worker(shared.clone(), Some(worker.clone())));
        shared.monitor.ring();
        Some(Self {
            main,
            worker,
            resident,
            context,
        })
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.main.worker.store(NONE, Ordering::SeqCst);
        self.context = None;
        let shared = &self.main.shared;
        let index = self.worker.index();
        shared.remotes[index].set_thread(self.resident.take());
        shared.return_worker(index);
    }
}

impl Shared {
    /// Makes the caller the owner of a sleeping worker.
    fn lend(&self, worker: usize) -> bool {
        let lent = &self.remotes[worker].lent;
        // SeqCst: `lent` is set before the bit is cleared, so that the worker's
        // own thread, once it sees the bit cleared, sees for whom.
        if lent
            .compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst)
            .is_err()
        {
            return false;
        }
        let claimed = self.idle.wake(worker);
        if !claimed {
            // It was woken for its own thread, which may have seen `lent`.
            lent.store(false, Ordering::SeqCst);
            self.unpark_thread(worker);
        }
        claimed
    }

    /// The borrowed worker goes to sleep, and back to its own thread.
    fn return_worker(&self, worker: usize) {
        let remote = &self.remotes[worker];
        remote.local.spill(&self.injector);
        self.idle.fall_asleep(worker);
        // SeqCst: before the look at the bit, see `lend`.
        remote.lent.store(false, Ordering::SeqCst);
        // It may have been woken, or the runtime ended, while it was still lent.
        if !self.idle.is_asleep(worker) || self.is_shutdown() {
            self.unpark_thread(worker);
        }
        if !self.injector.is_empty() {
            self.work_was_injected();
        }
        self.watch();
    }

    /// Sleeps until the future of this `block_on` is woken or a worker sleeps.
    fn wait_for_worker(&self) {
        lock(&self.guests).push(thread::current());
        thread::park();
        lock(&self.guests).retain(|guest| guest.id() != thread::current().id());
    }

    /// A worker falls asleep: a thread in `block_on` may run it instead.
    pub(crate) fn invite_guest(&self) {
        let guest = lock(&self.guests).pop();
        if let Some(guest) = guest {
            guest.unpark();
        }
    }
}
