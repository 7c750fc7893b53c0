//! Stage 08: several threads, each with a queue of its own.
//!
//! In stage 05 two threads shared one queue. Each push and each pop took the same lock, and a task
//! moved from core to core. Now each thread that polls is a *worker*, and has a queue of its own. A
//! task that is woken on a worker goes into that worker's queue. A task that is woken on any other
//! thread goes into the *injector*, a queue that belongs to all workers. A worker whose queue is
//! empty takes half of the injector, or *steals* half of another worker's queue.
//!
//! ```text
//!     woken on a worker ──► its queue ──half──► other workers
//!                              ▲
//!     on other threads ──► injector
//! ```
//!
//! A thread of its own, the *driver*, waits for the kernel and the clock. The workers sleep by a
//! condition variable. Both are right, and slow: every push takes the lock of the condition
//! variable, even if nobody sleeps, and each event goes from the driver's thread to a worker's.
//! Stage 09 does without the lock and without the thread.
//!
//! # Break it
//!
//! ```text
//! two-locks: a thief holds its own queue and waits for another one, or for its own a second time
//!     - let mut taken = lock(from);
//!     + let mut own = lock(&self.locals[worker]);
//!     + gap("steal");
//!     + let mut taken = lock(from);
//!     - drop(taken);
//!     - gap("steal");
//!     - lock(&self.locals[worker]).append(&mut half);
//!     + own.append(&mut half);
//!     with: ARC_GAP=steal
//!     you see: hung: a queue is locked
//!
//! no-second-look: the push comes between the look and the sleep, and wakes nobody
//!     - if self.has_work() {
//!     + if self.stopping.load(Ordering::Relaxed) {
//!     with: ARC_GAP=sleep
//!     you see: tasks are queued, and the workers sleep
//!
//! no-injector: the second look forgets the injector
//!     - let queues = self.locals.iter().chain([&self.injector]);
//!     + let queues = self.locals.iter();
//!     with: ARC_GAP=sleep
//!     you see: tasks are queued, and the workers sleep
//! ```

#[path = "05_task.rs"]
#[allow(dead_code, reason = "the executor of stage 05")]
mod stage_05;

use async_task::{Runnable, Task};
use inside::kernel::{Event, Events, Poller};
use inside::sync::{Arc, AtomicBool, AtomicUsize, Condvar, Duration, Instant, Mutex, Ordering};
use inside::sync::{lock, thread, wait};
use inside::{client, gap, ticker, watchdog};
use stage_05::stage_01::{block_on, later};
use stage_05::{Panic, contain};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// How many threads poll.
const WORKERS: usize = 2;

inside::thread_local! {
    /// Which worker this thread is. None: it is no worker.
    static WORKER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// When a timer is due, and a number that tells it from others with the same deadline.
type Key = (Instant, usize);

/// The number of the next timer or socket.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// What the threads share.
#[derive(Default)]
struct Shared {
    locals: [Mutex<VecDeque<Runnable>>; WORKERS],
    injector: Mutex<VecDeque<Runnable>>,
    /// Held by a worker from its last look until it sleeps.
    idle: Mutex<()>,
    pushed: Condvar,
    state: Mutex<State>,
    poller: Poller,
    stopping: AtomicBool,
}

#[derive(Default)]
struct State {
    /// The armed timers.
    timers: BTreeMap<Key, Waker>,
    /// Who waits for which socket.
    waiting: BTreeMap<usize, Waker>,
}

impl Shared {
    fn push(&self, runnable: Runnable) {
        match WORKER.with(Cell::get) {
            Some(worker) => lock(&self.locals[worker]).push_back(runnable),
            None => lock(&self.injector).push_back(runnable),
        }

        // A worker may have looked before the push. Then it holds this lock until it sleeps. So it
        // sleeps by the time this thread gets the lock, and does not miss the notification.
        drop(lock(&self.idle));
        self.pushed.notify_one();
    }

    /// A worker: polls what it finds, and sleeps when there is nothing.
    fn run(&self, worker: usize) {
        WORKER.with(|it| it.set(Some(worker)));
        let mut turn = 0_usize;
        while !self.stopping.load(Ordering::Relaxed) {
            // A queue of its own that is never empty must not hide the injector.
            turn += 1;
            let fair = if turn.is_multiple_of(64) { self.look_outside(worker) } else { None };
            let own = fair.or_else(|| lock(&self.locals[worker]).pop_front());
            let found = own.or_else(|| self.take_half(&self.injector, worker));
            let steal = || self.locals.iter().find_map(|it| self.take_half(it, worker));
            match found.or_else(steal) {
                Some(runnable) => drop(runnable.run()),
                None => self.sleep(),
            }
        }
    }

    /// Takes half of a queue. Returns the first task, and puts the others into the worker's own.
    fn take_half(&self, from: &Mutex<VecDeque<Runnable>>, worker: usize) -> Option<Runnable> {
        let mut taken = lock(from);
        let count = taken.len().div_ceil(2);
        let mut half: VecDeque<Runnable> = taken.drain(..count).collect();
        let first = half.pop_front();

        // Never hold two queues at once: another thief may hold them the other way round.
        drop(taken);
        gap("steal");
        lock(&self.locals[worker]).append(&mut half);
        first
    }

    /// Takes half of the injector. (In stage 09 this looks at the kernel, too.)
    fn look_outside(&self, worker: usize) -> Option<Runnable> {
        self.take_half(&self.injector, worker)
    }

    fn sleep(&self) {
        gap("sleep");
        let idle = lock(&self.idle);

        // Look again: something may have come since the last look. From here on, it cannot.
        if self.has_work() {
            return;
        }
        gap("idle");
        drop(wait(&self.pushed, idle, None));
    }

    fn has_work(&self) -> bool {
        let queues = self.locals.iter().chain([&self.injector]);
        let queued: usize = queues.map(|queue| lock(queue).len()).sum();
        queued > 0 || self.stopping.load(Ordering::Relaxed)
    }

    /// The driver: wakes what is ready, until the executor stops.
    fn drive(&self) {
        let mut events = Events::new();
        while !self.stopping.load(Ordering::Relaxed) {
            gap("wait");
            let timeout = self.timeout();
            self.wait(&mut events, timeout).into_iter().for_each(Waker::wake);
        }
    }

    /// How long it is to the earliest deadline. Whoever arms an earlier one notifies the kernel.
    fn timeout(&self) -> Option<Duration> {
        let deadline = lock(&self.state).timers.keys().next().map(|(at, _)| *at);
        deadline.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Waits in the kernel. Returns the wakers of whatever it reports, and of the timers whose
    /// deadline has passed.
    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> Vec<Waker> {
        events.clear();
        self.poller.wait(events, timeout).expect("the kernel lets us wait");

        let mut state = lock(&self.state);
        let later = state.timers.split_off(&(Instant::now(), usize::MAX));
        let due = std::mem::replace(&mut state.timers, later);
        let reported = events.iter().filter_map(|it| state.waiting.remove(&it.key));
        reported.chain(due.into_values()).collect()
    }
}

/// A socket whose readiness the executor watches.
struct Source {
    shared: Arc<Shared>,
    socket: UdpSocket,
    key: usize,
}

impl Source {
    fn new(shared: Arc<Shared>, socket: UdpSocket) -> io::Result<Self> {
        // No key is used twice: a late report must not wake whoever has the key of a closed socket.
        let key = NEXT.fetch_add(1, Ordering::Relaxed);

        // SAFETY: the socket is deleted from the poller before it is closed: `drop` below runs
        // before the fields are dropped, and nobody else has the socket.
        unsafe { shared.poller.add(&socket, Event::none(key))? };
        Ok(Source { shared, socket, key })
    }

    /// Receives a message of one byte.
    async fn recv(&self) -> io::Result<u8> {
        poll_fn(|context| {
            // Try first: it may be there already.
            let mut byte = [0];
            match self.socket.recv(&mut byte) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                received => return Poll::Ready(received.map(|_| byte[0])),
            }

            // First the waker, then the question: the report may come at once.
            let waker = context.waker().clone();
            let _old = lock(&self.shared.state).waiting.insert(self.key, waker);
            gap("ask");
            let asked = self.shared.poller.modify(&self.socket, Event::readable(self.key));
            asked.map_or_else(|error| Poll::Ready(Err(error)), |()| Poll::Pending)
        })
        .await
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _waker = lock(&self.shared.state).waiting.remove(&self.key);
        self.shared.poller.delete(&self.socket).expect("it was added");
    }
}

/// Waits until its deadline has passed.
struct Sleep {
    shared: Arc<Shared>,
    key: Key,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.key.0 {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        let mut state = lock(&self.shared.state);

        // Another task may poll it now than the last time: its waker takes the old one's place.
        let old = state.timers.insert(self.key, waker);
        let is_first = state.timers.keys().next() == Some(&self.key);

        // To drop a waker may run code that is not ours.
        drop(state);
        drop(old);
        if is_first {
            self.shared.poller.notify().expect("the poller is open"); // it sleeps too long
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    /// A time limit is seldom reached: the timer must go when the limit does. (The lock is released
    /// at the end of the line, and the waker is dropped after that, at the end of the function.)
    fn drop(&mut self) {
        let _removed = lock(&self.shared.state).timers.remove(&self.key);
    }
}

#[derive(Clone)]
struct Executor {
    shared: Arc<Shared>,
}

impl Executor {
    /// Makes a task of the future. When the task is woken, it goes into the queue.
    fn spawn<F>(&self, future: F) -> Task<Result<F::Output, Panic>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let shared = self.shared.clone();
        let future = contain(future);
        let schedule = move |runnable| shared.push(runnable);
        let (runnable, task) = async_task::spawn(future, schedule);

        // The first poll is asked for like every other.
        runnable.schedule();
        task
    }

    /// Waits for some milliseconds, from now on.
    fn sleep(&self, milliseconds: u64) -> Sleep {
        let deadline = Instant::now() + Duration::from_millis(milliseconds);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Sleep { shared: self.shared.clone(), key: (deadline, number) }
    }

    /// Asks a server over a new socket, and waits for its answers: 1 and 2.
    async fn ask(self, milliseconds: u64) {
        let socket = inside::ask_server(milliseconds).expect("the system has two more sockets");
        let source = Source::new(self.shared, socket).expect("the poller takes a socket");
        while source.recv().await.expect("the socket is connected") != 2 {}
    }

    /// Starts the workers and the driver.
    fn start(&self) -> Vec<thread::JoinHandle<()>> {
        let start_one = |index| {
            let shared = self.shared.clone();
            thread::spawn(move || if index < WORKERS { shared.run(index) } else { shared.drive() })
        };
        (0..=WORKERS).map(start_one).collect()
    }

    /// Ends the threads, whatever is in the queues.
    fn stop(&self, threads: Vec<thread::JoinHandle<()>>) {
        let idle = lock(&self.shared.idle);
        self.shared.stopping.store(true, Ordering::Relaxed);
        drop(idle);
        self.shared.pushed.notify_all();
        self.shared.poller.notify().expect("the poller is open");
        for thread in threads {
            thread.join().expect("no panic comes as far as the loop");
        }
    }

    /// Turns a hang into a sentence.
    fn watch(&self) -> inside::Watchdog {
        let shared = Arc::downgrade(&self.shared);
        watchdog(move || {
            let shared = shared.upgrade().expect("main has it");
            let mut queued = 0;
            for queue in shared.locals.iter().chain([&shared.injector]) {
                let Ok(queue) = queue.try_lock() else {
                    return "a queue is locked, and whoever holds the lock waits".into();
                };
                queued += queue.len();
            }
            format!("{queued} tasks are queued, and the workers sleep")
        })
    }
}

fn main() {
    inside::run(|| {
        println!("main: Two workers poll, each from its own queue, and steal from each other.");
        let executor = Executor { shared: Arc::default() };
        let _watchdog = executor.watch();
        let threads = executor.start();

        // After this the workers sleep, or are about to. Only this task wakes one of them.
        block_on(later(20));
        block_on(executor.spawn(async {})).expect("nothing can panic in it");
        let [one, two, ticking] = [(); 3].map(|()| executor.clone());
        let tasks = [
            ("client 1", executor.spawn(client(1, || one.ask(20)))),
            ("client 2", executor.spawn(client(2, || two.ask(40)))),
            ("ticker", executor.spawn(ticker(move || ticking.sleep(10)))),
        ];
        for (name, task) in tasks {
            match block_on(task) {
                Ok(output) => println!("main: {name} gave {output}."),
                Err(_) => println!("main: {name} panicked, and the others did not notice."),
            }
        }
        executor.stop(threads);
    });
}
