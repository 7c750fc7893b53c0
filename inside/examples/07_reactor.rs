//! Stage 07: sockets. The executor sleeps in the kernel.
//!
//! The answers come over sockets now. The sockets do not block: an operation that would have to
//! wait fails at once with the error `WouldBlock`. So a task *tries* first. Only if it would block
//! does the task leave its waker, and ask the kernel to report when it is worth trying again. When
//! the executor has nothing to poll, it waits in the kernel for such reports, at most until the
//! earliest deadline. The part that does so is called the *reactor*. One question gets one report
//! (*one-shot*): to get the next one, the task must ask again.
//!
//! The crate polling asks and waits, in the way that each system has for it (epoll, kqueue, IOCP).
//! Its `Poller` has a method for each step: `add` makes a socket known, with a number by which it
//! is reported, `modify` asks, and `wait` returns what is reported. Its `Event` is such a question
//! or report, and has nothing to do with the `Event` of stage 01.
//!
//! ```text
//!     task:      recv ──► would block ──► leave the waker ──► ask the kernel ──► Pending
//!     executor:  wait ──► report ──► take the waker ──► wake, so push
//! ```
//!
//! If the socket becomes ready between the `recv` and the question, the kernel reports it at once:
//! it looks when it is asked. So only the waker has to be there before the question.
//!
//! A condition variable cannot wake a thread that waits in the kernel. So `push` *notifies* the
//! poller: this ends the current wait or, if nobody waits just now, the next one. Only one thread
//! may wait there, so this stage has one thread again. Stage 09 has several.
//!
//! # Break it
//!
//! ```text
//! no-rearm: the kernel is asked once, and so it reports once, and the second answer is never seen
//!     - unsafe { shared.poller.add(&socket, Event::none(key))? };
//!     + unsafe { shared.poller.add(&socket, Event::readable(key))? };
//!     - let asked = self.shared.poller.modify(&self.socket, Event::readable(self.key));
//!     + let asked = io::Result::Ok(());
//!     you see: hung: the queue is empty, no timer is armed
//!
//! ask-then-leave: the report comes between the question and the waker, and finds nobody
//!     - let _old = lock(&self.shared.state).waiting.insert(self.key, waker);
//!     - gap("ask");
//!     - let asked = self.shared.poller.modify(&self.socket, Event::readable(self.key));
//!     + let asked = self.shared.poller.modify(&self.socket, Event::readable(self.key));
//!     + gap("ask");
//!     + let _old = lock(&self.shared.state).waiting.insert(self.key, waker);
//!     with: ARC_GAP=ask
//!     you see: hung: the queue is empty, no timer is armed
//!
//! no-notify: another thread pushes a task while the executor sleeps in the kernel
//!     - self.poller.notify().expect("the kernel can be notified");
//!     you see: hung: the queue is not empty, no timer is armed
//!
//! no-deadline: the kernel knows nothing of our timers
//!     - let timeout = self.timeout();
//!     + let timeout = None;
//!     you see: the next timer is overdue
//! ```

#[path = "05_task.rs"]
#[allow(dead_code, reason = "the executor of stage 05")]
mod stage_05;

use async_task::{Runnable, Task};
use inside::kernel::{Event, Events, Poller};
use inside::sync::{Arc, AtomicUsize, Duration, Instant, Mutex, Ordering, lock, thread};
use inside::{client, gap, ticker, watchdog};
use stage_05::stage_01::block_on;
use stage_05::{Panic, contain};
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// How many threads poll. Only one can wait in the kernel.
const THREADS: usize = 1;

/// When a timer is due, and a number that tells it from others with the same deadline.
type Key = (Instant, usize);

/// The number of the next timer or socket.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// The queue and what the executor waits for.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    poller: Poller,
}

#[derive(Default)]
struct State {
    runnables: VecDeque<Runnable>,
    /// The armed timers.
    timers: BTreeMap<Key, Waker>,
    /// Who waits for which socket.
    waiting: BTreeMap<usize, Waker>,
    stopping: bool,
}

impl Shared {
    fn push(&self, runnable: Runnable) {
        lock(&self.state).runnables.push_back(runnable);

        // Ends the wait in the kernel: the current one, or else the next.
        self.poller.notify().expect("the kernel can be notified");
    }

    /// Polls whatever is in the queue and wakes what is ready, until the executor stops.
    fn run(&self) {
        let mut events = Events::new();
        loop {
            let mut state = lock(&self.state);
            if state.stopping {
                return;
            }

            // A poll runs code that is not ours, and wakes tasks. That takes this lock.
            let batch = std::mem::take(&mut state.runnables);
            drop(state);
            for runnable in batch {
                runnable.run();
            }

            // Whatever was pushed or armed since the look above has notified: then this returns at
            // once. So tasks that always wake themselves do not keep it from the sockets.
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

    /// Starts the threads that poll.
    fn start(&self) -> Vec<thread::JoinHandle<()>> {
        let start_one = |_| {
            let shared = self.shared.clone();
            thread::spawn(move || shared.run())
        };
        (0..THREADS).map(start_one).collect()
    }

    /// Ends the threads, whatever is in the queue.
    fn stop(&self, threads: Vec<thread::JoinHandle<()>>) {
        lock(&self.shared.state).stopping = true;
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
            let Ok(state) = shared.state.try_lock() else {
                return "the queue is locked, and whoever holds the lock waits for it".into();
            };
            let queued = if state.runnables.is_empty() { "is empty" } else { "is not empty" };
            let timer = match state.timers.keys().next() {
                None => "no timer is armed",
                Some((at, _)) if *at < Instant::now() => "the next timer is overdue",
                Some(_) => "the next timer is not due yet",
            };
            format!("the queue {queued}, {timer}")
        })
    }
}

fn main() {
    inside::run(|| {
        println!("main: The answers come over sockets, and the executor sleeps in the kernel.");
        let executor = Executor { shared: Arc::default() };
        let _watchdog = executor.watch();
        let threads = executor.start();
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

        // All is quiet, and the executor sleeps in the kernel. Now things come from another thread.
        block_on(executor.sleep(10));
        inside::then_rest(|| block_on(executor.clone().ask(10)));
        let last = block_on(executor.spawn(async { 7 }));
        println!("main: A task that another thread pushed while all slept gave {last:?}.");
        executor.stop(threads);
    });
}
