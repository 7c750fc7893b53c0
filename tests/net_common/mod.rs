//! What the tests share: runtimes within a limit of time, counters and gates, executors that are
//! not arc's, connected sockets, and processes of their own.

#![allow(dead_code, reason = "each test file uses a part of it")]

#[cfg(unix)]
use crate::this_program;
use arc::io::Direction;
use arc::net::{SocketAddr, TcpListener, TcpStream};
use arc::runtime::{Builder, Runtime};
use arc::task::JoinHandle;
use socket2::{Domain, SockRef, Socket, Type};
use std::any::Any;
use std::future::Future;
use std::io::{self, Read as _, Write as _};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Far beyond what any test takes on a loaded machine.
/// An emulator or a sanitizer is many times slower: who builds for one sets the variable.
pub const LIMIT: Duration =
    Duration::from_secs(if option_env!("ARC_TEST_SLOWLY").is_some() { 240 } else { 60 });

/// As good as never, as seen from a test.
pub const HOUR: Duration = Duration::from_secs(3600);

pub const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub const fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

pub fn runtime(workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread().workers(workers).clone();
    builder.build().expect("the runtime is built")
}

/// Runs a test on a thread of its own; one that hangs fails.
#[track_caller]
pub fn within_limit<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || {
        // Nobody hears it when the limit is over.
        let _ = sender.send(test());
    });
    match receiver.recv_timeout(LIMIT) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => panic!("still running after {LIMIT:?}: it hangs"),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Ok(()) => unreachable!("it sends before it ends"),
            Err(payload) => resume_unwind(payload),
        },
    }
}

/// Runs a test with a runtime of each of these numbers of workers, one after the other.
#[track_caller]
pub fn on_each<const N: usize>(sizes: [usize; N], test: impl Fn(Runtime) + Send + Sync + 'static) {
    let test = Arc::new(test);
    for workers in sizes {
        let test = test.clone();
        within_limit(move || test(runtime(workers)));
    }
}

/// Runs a future on a runtime with so many workers, within the limit.
#[track_caller]
pub fn run<F: Future>(workers: usize, test: impl FnOnce() -> F + Send + 'static) -> F::Output
where
    F::Output: Send + 'static,
{
    within_limit(move || runtime(workers).block_on(test()))
}

/// Runs a future on runtimes with 1, 2 and 4 workers and on a current-thread one, one after
/// the other.
#[track_caller]
pub fn run_each<F: Future<Output = ()>>(test: impl Fn() -> F + Clone + Send + 'static) {
    for workers in [1, 2, 4] {
        run(workers, test.clone());
    }
    within_limit(move || {
        let runtime = Builder::new_current_thread().build().expect("the runtime is built");
        runtime.block_on(test());
    });
}

/// Spawns a task for each, and joins them all.
pub async fn join_each<I, F>(items: impl IntoIterator<Item = I>, task: impl Fn(I) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let tasks: Vec<_> = items.into_iter().map(|item| arc::spawn(task(item))).collect();
    join(tasks).await;
}

/// Lets a moment pass.
pub fn spin(rounds: impl TryInto<usize>) {
    for _ in 0..rounds.try_into().unwrap_or(0) {
        std::hint::spin_loop();
    }
}

/// An executor that knows nothing of arc.
pub fn foreign_block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

/// Counts how often it is woken, and waits for it.
#[derive(Default)]
pub struct Wakes {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Wakes {
    pub fn new() -> (Arc<Self>, Waker) {
        let wakes = Arc::new(Self::default());
        (wakes.clone(), Waker::from(wakes))
    }

    pub fn count(&self) -> usize {
        *self.count.lock().unwrap()
    }

    /// Blocks the thread until it was woken so often.
    #[track_caller]
    pub fn wait_for(&self, times: usize) {
        let count = self.count.lock().unwrap();
        let waited = self.changed.wait_timeout_while(count, LIMIT, |count| *count < times);
        let (count, timeout) = waited.unwrap();
        assert!(!timeout.timed_out(), "woken {} times, not {times}", *count);
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        *self.count.lock().unwrap() += 1;
        self.changed.notify_all();
    }
}

/// Polls once.
pub fn poll_once<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Keeps a value until the process ends: each task and each thread may copy the reference.
pub fn kept<T: Send + Sync>(value: T) -> &'static T {
    static ALL: Mutex<Vec<&'static (dyn Any + Send + Sync)>> = Mutex::new(Vec::new());
    let value: &'static T = Box::leak(Box::new(value));
    // For tools that look for leaks, it is in use.
    ALL.lock().unwrap().push(value);
    value
}

/// Counts how often something happened. Each copy is the same counter.
#[derive(Clone, Copy)]
pub struct Counter(&'static AtomicUsize);

impl Counter {
    pub fn new() -> Self {
        Self(kept(AtomicUsize::new(0)))
    }

    pub fn add(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub fn set(&self, count: usize) {
        self.0.store(count, Ordering::SeqCst);
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Blocks this thread until it has grown to `count`.
    #[track_caller]
    pub fn wait_for(&self, count: usize) {
        wait_until("a count", || self.get() >= count);
    }

    /// Something that counts when it is dropped.
    pub fn on_drop(&self) -> Dropped {
        Dropped(*self)
    }

    /// A future that never ends, and counts when it is dropped.
    pub fn never(&self) -> impl Future<Output = ()> + Send + use<> {
        holds(self.on_drop())
    }

    /// Counts how often the future is polled.
    pub async fn polls_of<F: Future>(self, future: F) -> F::Output {
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            self.add();
            future.as_mut().poll(context)
        })
        .await
    }

    /// Lets other tasks run until it has grown to `count`.
    pub async fn reaches(&self, count: usize) {
        let start = Instant::now();
        while self.get() < count {
            assert!(start.elapsed() < LIMIT, "{} of {count}", self.get());
            arc::time::sleep(micros(100)).await;
        }
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

/// Counts when it is dropped.
pub struct Dropped(Counter);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add();
    }
}

/// A future that never ends, and holds something until it is dropped.
pub async fn holds<T>(_held: T) {
    std::future::pending().await
}

/// Waits for a condition that another thread brings about.
#[track_caller]
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    let mut rounds = 0_u32;
    while !condition() {
        assert!(start.elapsed() < LIMIT, "waited in vain: {what}");
        rounds += 1;
        if rounds < 100 {
            thread::yield_now();
        } else {
            thread::sleep(micros(100));
        }
    }
}

/// Spawns it, and returns when it has been polled for the first time.
pub async fn begun<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let polls = Counter::new();
    let task = arc::spawn(polls.polls_of(future));
    polls.reaches(1).await;
    task
}

/// What the tasks give, one after the other.
pub async fn join<T>(tasks: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<T> {
    let mut outputs = Vec::new();
    for task in tasks {
        outputs.push(task.await.unwrap());
    }
    outputs
}

/// A listener on a free port, and its address.
pub async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(([127, 0, 0, 1], 0)).await.expect("bind");
    let address = listener.get_ref().local_addr().expect("local address");
    (listener, address)
}

/// Where nobody listens, and nobody else begins to: it is bound, not listening.
pub fn refusing() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(&any.into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// From now on the drop of this connection is a reset.
pub fn resets_when_dropped(stream: &TcpStream) {
    SockRef::from(stream).set_linger(Some(Duration::ZERO)).expect("set the option");
}

/// Reads without waiting.
pub fn try_read(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    stream.try_with(Direction::Read, |mut io| io.read(buffer))
}

/// Writes without waiting.
pub fn try_write(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    stream.try_with(Direction::Write, |mut io| io.write(bytes))
}

/// The two ends of a connection over the loopback interface.
pub async fn pair() -> (TcpStream, TcpStream) {
    connect_to(&listen().await.0).await
}

pub async fn connect_to(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let address = listener.get_ref().local_addr().expect("local address");
    let client = TcpStream::connect(address).await.expect("connect");
    let (server, from) = listener.accept().await.expect("accept");
    assert_eq!(from, client.get_ref().local_addr().expect("local address"));
    (client, server)
}

/// The same, of std's, blocking.
pub fn std_pair() -> (std::net::TcpStream, std::net::TcpStream) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("local address");
    let client = std::net::TcpStream::connect(address).expect("connect");
    (client, listener.accept().expect("accept").0)
}

/// Waits until the kernel takes no more, and gives how many bytes it took.
pub async fn fill(stream: &TcpStream) -> usize {
    let (mut sent, chunk) = (0, vec![7; 1 << 16]);
    let mut refusals = 0;
    // The receiving end of a loopback connection makes room for a while.
    while refusals < 5 {
        match try_write(stream, &chunk) {
            Ok(bytes) => (sent, refusals) = (sent + bytes, 0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                refusals += 1;
                arc::time::sleep(millis(2)).await;
            }
            Err(error) => panic!("filling the send buffer: {error}"),
        }
    }
    sent
}

/// Bytes that look random and are the same for the same seed.
pub struct Pattern {
    random: fastrand::Rng,
    /// Those that come next. They are made by the block, so that it does not matter how
    /// they are cut up.
    block: Vec<u8>,
    /// How many of the block have been given out.
    given: usize,
}

impl Pattern {
    pub fn new(seed: u64) -> Self {
        const BLOCK: usize = 4096;
        Self { random: fastrand::Rng::with_seed(seed), block: vec![0; BLOCK], given: BLOCK }
    }

    pub fn next(&mut self, bytes: usize) -> Vec<u8> {
        let mut next = Vec::with_capacity(bytes);
        while next.len() < bytes {
            if self.given == self.block.len() {
                self.random.fill(&mut self.block);
                self.given = 0;
            }

            let end = self.block.len().min(self.given + bytes - next.len());
            next.extend_from_slice(&self.block[self.given..end]);
            self.given = end;
        }
        next
    }
}

/// Runs a test in a process of its own, behind a line of shell such as `ulimit
/// -n 64`. `test` is its name.
#[cfg(unix)]
#[track_caller]
pub fn in_child(test: &str, shell: &str, body: impl FnOnce() + Send + 'static) {
    match this_program::own_process(test, shell) {
        None => within_limit(body),
        Some(mut command) => {
            let child = command.spawn().expect("start the child");
            this_program::expect_passed(child, LIMIT + LIMIT);
        }
    }
}
