//! What the models are made of: runtimes without threads, and threads that run their workers.

use crate::runtime::Builder;
use crate::scheduler::context::{self, Role};
use crate::scheduler::queue::Runnable;
use crate::scheduler::shared::{RUNTIMES, Shared};
use crate::scheduler::worker::Worker;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, AtomicBool, Condvar, Duration, Mutex, Ordering, lock};
use crate::task::info::{Kind, Origin};
use crate::task::list::Record;
use std::rc::Rc;
use std::sync::OnceLock;
use std::task::{Wake, Waker};

/// As `Builder::new_multi_thread`, which asks the system for more than a model has time for.
fn builder(is_current_thread: bool, workers: usize) -> Builder {
    static BOTH: OnceLock<[Builder; 2]> = OnceLock::new();
    let new = || [Builder::new_multi_thread(), Builder::new_current_thread()];
    let mut builder = BOTH.get_or_init(new)[usize::from(is_current_thread)].clone();
    builder.workers(workers);
    builder
}

/// The state of a runtime. Nobody runs its workers yet, and no thread finds it by its id.
pub(crate) fn shared(workers: usize) -> Arc<Shared> {
    Arc::new(Shared::new(builder(false, workers)).expect("the model's kernel does not fail"))
}

/// The same of a current-thread runtime.
pub(crate) fn current_thread() -> Arc<Shared> {
    Arc::new(Shared::new(builder(true, 1)).expect("the model's kernel does not fail"))
}

/// Threads find the runtime by its id from now on, as after `Builder::build`.
pub(crate) fn list(shared: &Arc<Shared>) {
    let runtimes = RUNTIMES.write();
    let mut runtimes = runtimes.unwrap_or_else(|_| unreachable!("no lock is poisoned"));
    runtimes.insert(shared.id, shared.clone());
}

/// Its workers know that polls are short. (In a new runtime they count as long.)
pub(crate) fn make_polls_short(shared: &Shared) {
    shared.mean_poll.learn(u32::MAX, Duration::ZERO);
}

/// A task that calls `act` when it is polled. It is in no list.
pub(crate) fn task(shared: &Shared, act: impl FnOnce() + Send + 'static) -> Runnable {
    let record = Record::new(shared.id, Origin::new(Kind::Async), 0);
    let future = async move { act() };
    let (runnable, task) = async_task::Builder::new()
        .metadata(record)
        .spawn(move |_| future, |_| unreachable!("nobody wakes it"));
    task.detach();
    runnable
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
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..shared.workers.len()).map(|worker| {
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
        (0..self.threads.len()).for_each(|worker| self.shared.wake_worker(worker));
        self.threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
    }
}

/// The calling thread runs the worker.
fn run(shared: &Arc<Shared>, worker: usize, stop: &AtomicBool) {
    let worker = Rc::new(Worker::new(shared.clone(), worker));
    let _context = context::enter_as(Role::Polling, shared.clone(), Some(worker.clone()));
    let stop = || stop.load(Ordering::SeqCst);
    while !stop() {
        worker.run_one(&stop);
    }
    worker.wake_collected();
}
