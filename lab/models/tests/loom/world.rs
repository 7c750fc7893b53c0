//! What the models are made of: runtimes without threads, and threads that run their workers.

use crate::driver::reactor::{Direction, Source};
use crate::hooks::{Note, note};
use crate::io::Async;
use crate::runtime::{Builder, Handle};
use crate::scheduler::context::{self, Role};
use crate::scheduler::shared::{Runnable, Shared};
use crate::scheduler::worker::Worker;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, AtomicBool, Condvar, Duration, Mutex, Ordering, lock};
use crate::task::spawn::spawn_on;
use arc_observe::{Observer, attach};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::rc::Rc;
use std::sync::OnceLock;
use std::task::{Context, Poll, Wake, Waker};

/// As `Builder::new_multi_thread`, which asks the system for more than a model has time for.
fn builder(is_current_thread: bool, workers: usize) -> Builder {
    static BOTH: OnceLock<[Builder; 2]> = OnceLock::new();
    let new = || [Builder::new_multi_thread(), Builder::new_current_thread()];
    let mut builder = BOTH.get_or_init(new)[usize::from(is_current_thread)].clone();
    builder.workers(workers).event_interval(1);
    builder
}

/// The state of a runtime. Nobody runs its workers yet.
pub(crate) fn shared(workers: usize) -> Arc<Shared> {
    Arc::new(Shared::new(builder(false, workers)).expect("the model's kernel does not fail"))
}

/// The same. Its workers know that polls are short.
pub(crate) fn frugal(workers: usize) -> Arc<Shared> {
    let shared = shared(workers);
    make_polls_short(&shared);
    shared
}

/// The same of a current-thread runtime.
pub(crate) fn current_thread() -> Arc<Shared> {
    Arc::new(Shared::new(builder(true, 1)).expect("the model's kernel does not fail"))
}

/// Its workers know that polls are short. (In a new runtime they count as long.)
pub(crate) fn make_polls_short(shared: &Shared) {
    shared.mean_poll.learn(u32::MAX, Duration::ZERO);
}

/// What is noted of a task.
pub(crate) fn note() -> Note {
    note!(Task, None)
}

/// The monitor has to look at the runtime again while a future in `block_on` is polled, as long as
/// this lives: arc-util's reports ask for that.
pub(crate) fn watch(shared: &Arc<Shared>) -> impl Drop + use<> {
    static WATCHED: std::sync::Mutex<Option<Arc<Shared>>> = std::sync::Mutex::new(None);

    struct Watches;

    impl Observer for Watches {
        fn tick(&self, _runtime: u64, _since: std::time::Duration) -> bool {
            let watched = WATCHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
            let roots = watched.map_or(Vec::new(), |shared| lock(&shared.roots).clone());
            roots.iter().any(|root| !root.note.steps().is_multiple_of(2))
        }
    }

    struct Unwatch;

    impl Drop for Unwatch {
        fn drop(&mut self) {
            WATCHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        }
    }

    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| attach(Watches));
    *WATCHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(shared.clone());
    Unwatch
}

/// A task that calls `act` when it is polled. No handle and no end finds it.
pub(crate) fn task(shared: &Arc<Shared>, act: impl FnOnce() + Send + 'static) -> Runnable {
    let record = shared.tasks.enter(shared, note(), 0);
    let future = async move { act() };
    let (runnable, task) = async_task::Builder::new()
        .metadata(record)
        .spawn(move |_| future, |_| unreachable!("nobody wakes it"));
    task.detach();
    runnable
}

pub(crate) fn block_on<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    Handle { shared: shared.clone() }.block_on(future)
}

/// Polls the future on this thread, which belongs to no runtime, until it is ready.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    let woken = Gate::default();
    let waker = woken.waker();
    let mut future = pin!(future);
    let mut polls = 0;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        // It is woken once for each poll, at the least.
        polls += 1;
        woken.wait(polls);
    }
}

/// Counts. Threads wait until it has counted far enough.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<usize>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        *lock(&self.0.0) += 1;
        self.0.1.notify_all();
    }

    /// Waits until it has been opened `times` times. If it never is, loom reports a deadlock.
    pub(crate) fn wait(&self, times: usize) {
        let state = lock(&self.0.0);
        drop(self.0.1.wait_timeout_while(state, Duration::MAX, |count| *count < times));
    }

    pub(crate) fn waker(&self) -> Waker {
        Waker::from(Arc::new(Opens(self.clone())))
    }

    pub(crate) fn count(&self) -> usize {
        *lock(&self.0.0)
    }
}

struct Opens(Gate);

impl Wake for Opens {
    fn wake(self: Arc<Self>) {
        self.0.open();
    }
}

/// The threads of all workers, which run until they are told to stop.
pub(crate) struct Crew {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    pub(crate) fn start(shared: &Arc<Shared>) -> Self {
        Self::start_all_but(shared, 0)
    }

    /// The first workers do not run: they are awake, and stuck in a poll.
    pub(crate) fn start_all_but(shared: &Arc<Shared>, stuck: usize) -> Self {
        (0..stuck).for_each(|worker| shared.sleepers.begin(worker));
        Self::start_from(shared, stuck)
    }

    /// The first workers have no threads.
    pub(crate) fn start_from(shared: &Arc<Shared>, first: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (first..shared.workers.len()).map(|worker| {
            let (shared, stop) = (shared.clone(), stop.clone());
            thread::spawn(move || run(&shared, worker, &stop))
        });
        let threads = threads.collect();
        Self { shared: shared.clone(), stop, threads }
    }

    /// Each worker stops when it would sleep or has nothing to do at the moment. This is what
    /// `Worker::run_one` says of its `stop`.
    pub(crate) fn stop(self) {
        self.stop.store(true, Ordering::SeqCst);
        (0..self.shared.workers.len()).for_each(|worker| self.shared.wake_worker(worker));
        self.threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
    }
}

/// The calling thread runs the worker.
fn run(shared: &Arc<Shared>, worker: usize, stop: &AtomicBool) {
    let worker = Rc::new(Worker::new(shared.clone(), worker));
    let _context = context::enter(Role::Polling, shared.clone(), Some(worker.clone()));
    let stop = || stop.load(Ordering::SeqCst);
    while !stop() {
        worker.run_one(&stop);
    }
    worker.wake_collected();
}

/// Counts how often it is dropped. What it holds may be touched by one thread after the other
/// alone: loom panics if two do so without an order.
#[derive(Clone, Default)]
pub(crate) struct Dropped(Arc<Cell>);

struct Cell {
    touched: loom::cell::UnsafeCell<usize>,
    gate: Gate,
}

impl Default for Cell {
    fn default() -> Self {
        Self { touched: loom::cell::UnsafeCell::new(0), gate: Gate::default() }
    }
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Cell {}
// SAFETY: as above.
unsafe impl Send for Cell {}

impl Dropped {
    pub(crate) fn count(&self) -> usize {
        self.0.gate.count()
    }

    /// Waits until it has been dropped.
    pub(crate) fn wait(&self) {
        self.0.gate.wait(1);
    }

    pub(crate) fn touch(&self) {
        // SAFETY: loom checks it.
        self.0.touched.with_mut(|touched| unsafe { *touched += 1 });
    }
}

pub(crate) struct OnDrop(pub(crate) Dropped);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.touch();
        self.0.0.gate.open();
    }
}

/// Spawns a task on the runtime that never ends by itself, from outside.
pub(crate) fn spawn(shared: &Arc<Shared>, dropped: Dropped) {
    let guard = OnDrop(dropped);
    let task = spawn_on(shared, note(), async move {
        guard.0.touch();
        std::future::pending::<()>().await;
        drop(guard);
    });
    drop(task);
}

/// Whether the runtime was closed, and nothing is left in a queue of it.
pub(crate) fn is_closed(shared: &Shared) -> bool {
    let left: usize = shared.workers.iter().map(|worker| worker.queue.len()).sum();
    shared.injector.is_closed() && left == 0 && shared.injector.is_empty()
}

/// A socket that is registered with a runtime. What can be read from it is up to the model.
pub(crate) struct Socket {
    shared: Arc<Shared>,
    pub(crate) io: Arc<Async<UnixStream>>,
    source: Arc<Source>,
}

impl Socket {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self::register(shared, false)
    }

    /// As of TCP, if `short_means_drained`.
    pub(crate) fn register(shared: &Arc<Shared>, short_means_drained: bool) -> Self {
        let _context = context::enter(Role::Outside, shared.clone(), None);
        let (near, _far) = UnixStream::pair().expect("the system has sockets");
        let mut io = Async::new(near).expect("it is no file");
        io.short_means_drained = short_means_drained;
        let sources = lock(&shared.driver.sources);
        let source = sources.slab.iter().next_back().expect("there is one").1.clone();
        drop(sources);
        Self { shared: shared.clone(), io: Arc::new(io), source }
    }

    /// The kernel reports that it can be read.
    pub(crate) fn event(&self, hang_up: bool) {
        self.shared.driver.kernel.event(self.source.key, [true, false], hang_up);
    }

    /// The same, and this thread looks at the kernel. No other one may at the same time.
    pub(crate) fn event_and_look(&self, hang_up: bool) {
        self.event(hang_up);
        let mut wakers = Vec::new();
        self.shared.driver.look(&mut wakers);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Tries to read, and waits as a `poll_` function does.
    pub(crate) fn leave_waker(&self, waker: Waker) {
        let context = Context::from_waker(&waker);
        let nothing = |_: &UnixStream| Err(std::io::ErrorKind::WouldBlock.into());
        let polled = self.io.poll_transfer(Direction::Read, &context, 1, nothing);
        assert!(polled.is_pending());
    }

    /// How many wakers of readers it has.
    pub(crate) fn waiting(&self) -> usize {
        let side = &lock(&self.source.sides)[Direction::Read as usize];
        side.futures.len() + side.polls.len()
    }
}
