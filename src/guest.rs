//! `block_on`: the calling thread works as a worker while it waits.
//!
//! A thread that enters `block_on` borrows a sleeping worker from that worker's
//! own thread: an accept loop in `main` then costs no hop between threads, and
//! a runtime with one worker is a single-threaded one. When no worker sleeps,
//! the thread only polls its own future, and asks again whenever it was woken.

use crate::context;
use crate::coop;
use crate::scheduler::{Shared, Worker};
use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering, lock};
use crate::task::FUTURE_MAX_BYTES;
use std::pin::{Pin, pin};
use std::rc::Rc;
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
    /// Whether there is a reason to leave the worker's loop.
    fn is_called(&self) -> bool {
        // SeqCst, here and below: either the thread sees `woken` before it
        // sleeps, or the waker sees the worker asleep (or that there is none).
        self.woken.load(Ordering::SeqCst) || self.shared.is_shutdown()
    }
}

impl Wake for Main {
    fn wake(self: Arc<Self>) {
        // SeqCst: see `is_called`.
        if !self.woken.swap(true, Ordering::SeqCst) {
            match self.worker.load(Ordering::SeqCst) {
                NONE => self.thread.unpark(),
                worker => drop(self.shared.wake(worker)),
            }
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
    let (thread, shared) = (thread::current(), shared.clone());
    let (woken, worker) = (AtomicBool::new(true), AtomicUsize::new(NONE));
    let main = Arc::new(Main {
        woken,
        worker,
        thread,
        shared,
    });
    let shared = &main.shared;
    let waker = Waker::from(main.clone());
    let mut context = Context::from_waker(&waker);
    let _context = context::enter_worker(shared.clone(), None);
    let mut guest = None;
    loop {
        if shared.is_shutdown() {
            guest = None;
        } else if guest.is_none() {
            guest = Guest::borrow_worker(&main);
        }
        // SeqCst: see `is_called`.
        if main.woken.swap(false, Ordering::SeqCst) {
            let poll = coop::budget(|| future.as_mut().poll(&mut context));
            if let Poll::Ready(output) = poll {
                return output;
            }
        }
        match &guest {
            // At least one task between two polls of the main future.
            Some(Guest { worker, .. }) => loop {
                worker.step(&|| main.is_called());
                if main.is_called() {
                    worker.count_poll();
                    break;
                }
            },
            None if main.woken.load(Ordering::SeqCst) => {}
            None => thread::park(),
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
    fn borrow_worker(main: &'a Main) -> Option<Self> {
        let (shared, holder) = (&main.shared, main.shared.driver.holder());
        let sleeping = shared.idle.sleeping();
        let parked = sleeping.filter(|&worker| Some(worker) != holder);
        let index = parked.chain(holder).find(|&worker| shared.lend(worker))?;
        let resident = lock(&shared.remotes[index].thread).replace(main.thread.clone());
        if shared.driver.holder() == Some(index) {
            // Its thread must leave the seat for this one.
            shared.driver.notify();
        }
        main.worker.store(index, Ordering::SeqCst);
        shared.monitor.ring();
        let worker = Rc::new(Worker::new(shared.clone(), index, true));
        let context = Some(context::enter_worker(shared.clone(), Some(worker.clone())));
        Some(Self {
            main,
            worker,
            resident,
            context,
        })
    }
}

/// The worker goes to sleep, and back to its own thread.
impl Drop for Guest<'_> {
    fn drop(&mut self) {
        // SeqCst: see `is_called`.
        self.main.worker.store(NONE, Ordering::SeqCst);
        self.context = None;
        let (shared, index) = (&self.main.shared, self.worker.index);
        let remote = self.worker.remote();
        *lock(&remote.thread) = self.resident.take();
        remote.local.spill(&shared.injector);
        shared.idle.fall_asleep(index);
        // SeqCst: before the look at the bit, see `lend`.
        remote.lent.store(false, Ordering::SeqCst);
        if !shared.idle.is_asleep(index) || shared.is_shutdown() {
            // It was woken, or the runtime ended, while it was still lent.
            shared.unpark_thread(index);
        }
        if !shared.injector.is_empty() {
            shared.work_was_injected();
        }
        shared.watch();
    }
}

impl Shared {
    /// Makes the caller the owner of a sleeping worker.
    fn lend(&self, worker: usize) -> bool {
        let lent = &self.remotes[worker].lent;
        // SeqCst: `lent` is set before the bit is cleared, so that the worker's
        // own thread, once it sees the bit cleared, sees for whom.
        let free = !lent.swap(true, Ordering::SeqCst);
        let claimed = free && self.idle.wake(worker);
        if free && !claimed {
            // It was woken for its own thread, which may have seen `lent`.
            lent.store(false, Ordering::SeqCst);
            self.unpark_thread(worker);
        }
        claimed
    }
}
