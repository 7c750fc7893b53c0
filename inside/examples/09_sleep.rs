//! Stage 09: a worker that goes to sleep, and a push that must not miss it.
//!
//! In stage 08 a lock made sure that no push comes between a worker's last look and its sleep. Here
//! is how to do without it. Each worker has a bit in one atomic word, which is set while the worker
//! sleeps. A worker *says that it sleeps, then looks again*. A thread that brings a task does the
//! opposite: it *pushes, then looks who sleeps*.
//!
//! ```text
//!     a worker that runs out of work          a thread that brings work
//!     S1  set my bit                          P1  push into the injector
//!     S2  fence                               P2  fence
//!     S3  look into the injector again        P3  read the bits; if all are set,
//!         found something: clear my bit           clear one and wake its worker
//!         nothing: sleep while it is set
//! ```
//!
//! Why a fence? A processor keeps what it writes in a buffer of its own for a while, and meanwhile
//! reads on. So a thread may read before the others see what it wrote earlier. Not across a
//! *fence*: what was written before it is seen by every thread whose own fence comes later. And two
//! fences always have an order. If P2 is the earlier one, S3 sees the task. If S2 is, P3 sees the
//! bit. At least one side sees the other. The example `09_steps` lets you try to find a way around
//! that. (In this program P1 and S3 take the lock of the injector, and that lock would be enough.
//! The fences are here because arc's injector has none.)
//!
//! The driver's thread is gone, too. One of the workers that sleep does so in the kernel: it has
//! *the seat*, a lock that nobody waits for. It is woken by an event, a deadline, or a
//! notification. The others park, and are woken by an unpark. To wake a worker, a thread clears its
//! bit first: it has *claimed* the worker, and nobody else wakes it as well. This is how arc
//! sleeps: `src/scheduler/sleep.rs`, `worker.rs` and `src/driver/mod.rs`.
//!
//! # Break it
//!
//! ```text
//! no-second-look: the worker has looked, says only now that it sleeps, and does not look again
//!     - if !lock(&self.injector).is_empty() || self.stopping.load(Ordering::SeqCst) {
//!     + if self.stopping.load(Ordering::SeqCst) {
//!     with: ARC_GAP=S1
//!     you see: tasks are queued, and all workers sleep
//!
//! look-then-say: the push comes after the look, and reads the bits before they are set
//!     - self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
//!     +
//!     - gap("S3");
//!     + gap("S3");
//!     + self.asleep.fetch_or(1 << worker, Ordering::SeqCst);
//!     with: ARC_GAP=S3
//!     you see: tasks are queued, and all workers sleep
//!
//! wake-then-push: the worker that was woken looks, finds nothing, and sleeps again
//!     - lock(&self.injector).push_back(runnable);
//!     - gap("P2");
//!     + gap("P2");
//!     - if self.asleep.load(Ordering::Relaxed) == (1 << WORKERS) - 1 {
//!     - self.wake_one();
//!     - }
//!     + if self.asleep.load(Ordering::Relaxed) == (1 << WORKERS) - 1 {
//!     + self.wake_one();
//!     + }
//!     + gap("P3");
//!     + lock(&self.injector).push_back(runnable);
//!     with: ARC_GAP=P3
//!     you see: tasks are queued, and all workers sleep
//!
//! sits-down-claimed: the worker was claimed before it sat down, and sleeps in the kernel anyway
//!     - let timeout = if self.is_asleep(worker) { self.timeout() } else { NOW };
//!     + let timeout = self.timeout();
//!     with: ARC_GAP=S3
//!     you see: tasks are queued, and
//!
//! unpark-the-seat: a worker that sleeps in the kernel is unparked, which does not wake it
//!     - if self.sleeper.load(Ordering::SeqCst) == worker + 1 {
//!     + if self.sleeper.load(Ordering::SeqCst) > WORKERS {
//!     you see: tasks are queued, and
//! ```

#[path = "05_task.rs"]
#[allow(dead_code, reason = "the executor of stage 05")]
mod stage_05;

use async_task::{Runnable, Task};
use inside::kernel::{Event, Events, Poller};
use inside::sync::{Arc, AtomicBool, AtomicUsize, Duration, Instant, Mutex, Ordering};
use inside::sync::{fence, lock, thread};
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

/// Do not wait: look only.
const NOW: Option<Duration> = Some(Duration::ZERO);

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
    /// A bit for each worker, set while it sleeps. To wake one means to clear its bit first.
    asleep: AtomicUsize,
    threads: [Mutex<Option<thread::Thread>>; WORKERS],
    /// Whoever has locked this sits in the seat, and may wait for the kernel.
    seat: Mutex<Events>,
    /// One more than the number of the worker that sleeps in the seat, or 0.
    sleeper: AtomicUsize,
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
        // This worker is awake, and will come to the task itself.
        if let Some(worker) = WORKER.with(Cell::get) {
            return lock(&self.locals[worker]).push_back(runnable);
        }

        // P1
        lock(&self.injector).push_back(runnable);
        gap("P2");

        // P2: pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);

        // P3: if one is awake, it looks again before it sleeps. (Its poll may be a long one. For
        // that arc has a monitor.)
        if self.asleep.load(Ordering::Relaxed) == (1 << WORKERS) - 1 {
            self.wake_one();
        }
    }

    /// Wakes a worker that sleeps, if there is one.
    ///
    /// SeqCst pairs with the store in `sleep`. The worker says that it sits in the seat, and then
    /// looks at its bit. Here its bit is cleared, and then this looks who sits there. So either the
    /// worker sees that it was claimed, or this sees where it sleeps.
    fn wake_one(&self) {
        if let Some(worker) = (0..WORKERS).find(|worker| self.claim(*worker)) {
            if self.sleeper.load(Ordering::SeqCst) == worker + 1 {
                self.poller.notify().expect("the poller is open");
            } else if let Some(thread) = &*lock(&self.threads[worker]) {
                thread.unpark();
            }
        }
    }

    /// Clears the bit of a worker. True: it slept, and nobody else wakes it. SeqCst: as above.
    fn claim(&self, worker: usize) -> bool {
        self.asleep.fetch_and(!(1 << worker), Ordering::SeqCst) & (1 << worker) != 0
    }

    /// Whether nobody has claimed the worker yet. SeqCst: as above.
    fn is_asleep(&self, worker: usize) -> bool {
        self.asleep.load(Ordering::SeqCst) & (1 << worker) != 0
    }

    /// A worker: polls what it finds, and sleeps when there is nothing.
    fn run(&self, worker: usize) {
        WORKER.with(|it| it.set(Some(worker)));
        *lock(&self.threads[worker]) = Some(thread::current());
        let mut turn = 0_usize;
        while !self.stopping.load(Ordering::Relaxed) {
            // A queue that is never empty must hide neither the kernel nor the injector.
            turn += 1;
            let fair = if turn.is_multiple_of(64) { self.look_outside(worker) } else { None };
            let own = fair.or_else(|| lock(&self.locals[worker]).pop_front());
            let found = own.or_else(|| self.take_half(&self.injector, worker));
            let steal = || self.locals.iter().find_map(|it| self.take_half(it, worker));
            let Some(runnable) = found.or_else(steal) else {
                self.sleep(worker);
                continue;
            };

            // There is more to do than one worker can. (When that is worth it: `policy.rs` of arc.)
            if !lock(&self.locals[worker]).is_empty() {
                self.wake_one();
            }
            runnable.run();
        }
    }

    /// Wakes what is ready, without waiting for it, and takes half of the injector.
    fn look_outside(&self, worker: usize) -> Option<Runnable> {
        // If another worker has the seat, it looks. The seat is free again before tasks are woken.
        let look = self.seat.try_lock().map(|mut it| self.wait(&mut it, NOW));
        look.into_iter().flatten().for_each(Waker::wake);
        self.take_half(&self.injector, worker)
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

    fn sleep(&self, worker: usize) {
        // S1
        gap("S1");
        self.asleep.fetch_or(1 << worker, Ordering::SeqCst);

        // S2: pairs with the fence in `push`.
        fence(Ordering::SeqCst);

        // S3: its own queue is empty, and a worker whose queue is not empty is awake. The second
        // SeqCst pairs with the store in `stop`, which claims after it.
        if !lock(&self.injector).is_empty() || self.stopping.load(Ordering::SeqCst) {
            self.claim(worker);
            return;
        }
        gap("S3");

        let mut woken = Vec::new();
        if let Ok(mut events) = self.seat.try_lock() {
            // SeqCst pairs with the load in `wake_one`.
            self.sleeper.store(worker + 1, Ordering::SeqCst);
            let timeout = if self.is_asleep(worker) { self.timeout() } else { NOW };
            woken = self.wait(&mut events, timeout);

            // While it still has the seat: the next worker to take it stores its own number.
            self.sleeper.store(0, Ordering::Relaxed);
            drop(events);
            self.claim(worker);
        }

        // An unpark may be left over from an earlier sleep. Only a cleared bit counts.
        while self.is_asleep(worker) {
            thread::park();
        }
        woken.into_iter().for_each(Waker::wake);
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

    /// Starts the workers.
    fn start(&self) -> Vec<thread::JoinHandle<()>> {
        let start_one = |index| {
            let shared = self.shared.clone();
            thread::spawn(move || shared.run(index))
        };
        (0..WORKERS).map(start_one).collect()
    }

    /// Ends the threads, whatever is in the queues. SeqCst pairs with the load in S3.
    fn stop(&self, threads: Vec<thread::JoinHandle<()>>) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        (0..WORKERS).for_each(|_| self.shared.wake_one());
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
            let who = match shared.asleep.load(Ordering::Relaxed) {
                asleep if asleep == (1 << WORKERS) - 1 => "all workers sleep",
                0 => "no worker says that it sleeps",
                _ => "one worker sleeps",
            };
            format!("{queued} tasks are queued, and {who}")
        })
    }
}

fn main() {
    inside::run(|| {
        println!("main: Two workers say that they sleep, and look again before they do.");
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
