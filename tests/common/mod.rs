//! What the scenario tests share: runtimes of several sizes, waiting with a
//! deadline, wakers with hooks, and processes of their own.

#![allow(dead_code, reason = "each test file uses a part of it")]

use crate::this_program;
use arc::runtime::{Builder, Handle, Runtime};
use arc::task::JoinHandle;
use std::cell::Cell;
use std::env;
#[cfg(target_os = "linux")]
use std::fs;
use std::future::Future;
use std::panic::{self, resume_unwind};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, LazyLock, Mutex, Once};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// What no test may take; far beyond what any of them does on a loaded machine.
/// An emulator or a sanitizer is many times slower: who builds for one sets the variable.
pub const DEADLINE: Duration =
    Duration::from_secs(if option_env!("ARC_TEST_SLOWLY").is_some() { 240 } else { 20 });

/// How long each race runs, with each number of workers. The step `races` of CI sets the
/// variable; without it, a race is as long as waiting for `cargo test` is pleasant.
pub static RACE: LazyLock<Duration> = LazyLock::new(|| {
    let is_long = env::var_os("ARC_TEST_LONG").is_some();
    Duration::from_millis(if is_long { 1200 } else { 200 })
});

/// What a panic says that a test causes on purpose; it is not printed.
pub const ON_PURPOSE: &str = "on purpose";

/// The numbers of workers that the important tests run with.
pub const SIZES: [usize; 3] = [1, 2, 4];

pub fn runtime(workers: usize) -> Runtime {
    builder(workers).build().expect("the runtime is built")
}

pub fn builder(workers: usize) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.workers(workers);
    builder
}

/// A runtime whose tasks run only while some thread is in `block_on`.
pub fn current_thread() -> Runtime {
    Builder::new_current_thread().build().expect("the runtime is built")
}

/// Runs a test on a thread of its own; one that hangs fails.
#[track_caller]
pub fn within_deadline(test: impl FnOnce() + Send + 'static) {
    hush();
    let (done, finished) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let _done = done;
        test();
    });
    if finished.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Timeout) {
        panic!("still running after {DEADLINE:?}: something hangs");
    }
    if let Err(payload) = thread.join() {
        resume_unwind(payload);
    }
}

/// Runs a test with each of [`SIZES`], one after the other.
#[track_caller]
pub fn with_sizes(test: impl Fn(usize) + Send + Sync + 'static) {
    let test = Arc::new(test);
    for workers in SIZES {
        let test = test.clone();
        within_deadline(move || test(workers));
    }
}

/// The same with a runtime of so many workers.
#[track_caller]
pub fn with_each_size(test: impl Fn(Runtime) + Send + Sync + 'static) {
    on_each(SIZES, test);
}

/// The same with other numbers of workers.
#[track_caller]
pub fn on_each<const N: usize>(sizes: [usize; N], test: impl Fn(Runtime) + Send + Sync + 'static) {
    let test = Arc::new(test);
    for workers in sizes {
        let test = test.clone();
        within_deadline(move || test(runtime(workers)));
    }
}

/// A builder for each of [`SIZES`], and one for a current-thread runtime.
pub fn builders() -> impl Iterator<Item = Builder> {
    SIZES.map(builder).into_iter().chain([Builder::new_current_thread()])
}

/// As `with_each_size`, and then with a current-thread runtime: the test may expect nothing
/// of tasks while it is not in `block_on`.
#[track_caller]
pub fn with_each_flavor(test: impl Fn(Runtime) + Send + Sync + 'static) {
    let test = Arc::new(test);
    let again = test.clone();
    with_each_size(move |runtime| test(runtime));
    within_deadline(move || again(current_thread()));
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
        assert!(start.elapsed() < DEADLINE, "waited in vain: {what}");
        rounds += 1;
        if rounds < 100 {
            thread::yield_now();
        } else {
            thread::sleep(Duration::from_micros(100));
        }
    }
}

/// As `wait_until`, but at least as fast as another core can answer.
#[track_caller]
pub fn spin_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..200 {
        if condition() {
            return;
        }
        std::hint::spin_loop();
    }
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < DEADLINE, "waited in vain: {what}");
        thread::yield_now();
    }
}

thread_local!(static EXPECTED: Cell<bool> = const { Cell::new(false) });

/// Keeps panics that are meant to happen out of the output.
pub fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            let expected = EXPECTED.try_with(Cell::get).unwrap_or(false);
            // What carries something else than a text is a test's.
            if !expected && text.is_some_and(|text| !text.contains(ON_PURPOSE)) {
                previous(info);
            }
        }));
    });
}

/// What a panic said.
pub fn message(payload: Box<dyn std::any::Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload
            .downcast::<&str>()
            .map_or_else(|_| "not a text".to_owned(), |text| (*text).to_owned()),
    }
}

/// Runs `function`, which has to panic, and gives what the panic says.
#[track_caller]
pub fn panic_of<R>(function: impl FnOnce() -> R) -> String {
    EXPECTED.set(true);
    let result = panic::catch_unwind(panic::AssertUnwindSafe(function));
    EXPECTED.set(false);
    match result {
        Ok(_) => panic!("it did not panic"),
        Err(payload) => message(payload),
    }
}

/// Waits until the end of the runtime has begun, though workers may still be in
/// the midst of a poll: from then on no job begins.
#[track_caller]
pub fn wait_for_shutdown(handle: &Handle) {
    let has_ended = || {
        let mut job = handle.spawn_blocking(|| ());
        wait_until("the job", || job.is_finished());
        poll_with(Pin::new(&mut job), Waker::noop()).map(|outcome| outcome.is_err())
    };
    wait_until("the end of the runtime", || has_ended() == Poll::Ready(true));
}

/// Blocks threads until it is opened, also inside of polls.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub fn is_open(&self) -> bool {
        *self.0.0.lock().unwrap()
    }

    /// Blocks the thread that polls it.
    pub fn blocks(&self) -> impl Future<Output = ()> + Send + use<> {
        let gate = self.clone();
        async move { gate.wait() }
    }

    /// Blocks this thread.
    #[track_caller]
    pub fn wait(&self) {
        let open = self.0.0.lock().unwrap();
        let waited = self.0.1.wait_timeout_while(open, DEADLINE, |open| !*open);
        let (_open, timeout) = waited.unwrap();
        assert!(!timeout.timed_out(), "the gate was never opened");
    }
}

/// Where a poll or a job stops until it may go on.
#[derive(Clone, Default)]
pub struct Pause {
    reached: Gate,
    passed: Gate,
}

impl Pause {
    /// Stops here.
    #[track_caller]
    pub fn here(&self) {
        self.reached.open();
        self.passed.wait();
    }

    /// Waits until it is reached.
    #[track_caller]
    pub fn reached(&self) {
        self.reached.wait();
    }

    /// Lets it go on.
    pub fn pass(&self) {
        self.passed.open();
    }
}

/// A task that blocks its thread until the gate is opened.
pub struct Blocked {
    pub gate: Gate,
    pub task: JoinHandle<()>,
}

/// Blocks one worker, or the thread that runs the tasks, and returns when it is blocked.
#[track_caller]
pub fn block_worker(handle: &Handle) -> Blocked {
    let (gate, inside) = (Gate::new(), Gate::new());
    let (wait, tell) = (gate.clone(), inside.clone());
    let task = handle.spawn(async move {
        tell.open();
        wait.wait();
    });
    inside.wait();
    Blocked { gate, task }
}

/// Where a task leaves its waker.
#[derive(Clone, Default)]
pub struct Slot(Arc<Mutex<Option<Waker>>>);

impl Slot {
    pub fn leave(&self, context: &Context<'_>) {
        *self.0.lock().unwrap() = Some(context.waker().clone());
    }

    /// Waits until there is one, and copies it.
    #[track_caller]
    pub fn waker(&self) -> Waker {
        wait_until("the waker", || self.0.lock().unwrap().is_some());
        self.0.lock().unwrap().clone().unwrap()
    }

    /// Waits until there is one, and takes it out.
    #[track_caller]
    pub fn take(&self) -> Waker {
        wait_until("the waker", || self.0.lock().unwrap().is_some());
        self.0.lock().unwrap().take().unwrap()
    }
}

/// Counts how often something happened, and waits until it did.
#[derive(Clone, Default)]
pub struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    #[track_caller]
    pub fn wait_for(&self, count: usize) {
        wait_until("a count", || self.get() >= count);
    }

    /// Something that counts when it is dropped.
    pub fn on_drop(&self) -> Dropped {
        Dropped(self.clone())
    }

    /// A future that never ends, and counts when it is dropped.
    pub fn never(&self) -> impl Future<Output = ()> + Send + use<> {
        holds(self.on_drop())
    }
}

pub struct Dropped(Counter);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add();
    }
}

/// Panics when it is dropped, unless it was disarmed.
pub struct PanicOnDrop;

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("dropped {ON_PURPOSE}");
        }
    }
}

type Hook = Box<dyn Fn() + Send + Sync>;

/// What a waker made by `waker_with` does.
pub struct Hooks {
    pub wake: Hook,
    pub clone: Hook,
    pub drop: Hook,
}

impl Default for Hooks {
    fn default() -> Self {
        Self { wake: Box::new(|| {}), clone: Box::new(|| {}), drop: Box::new(|| {}) }
    }
}

/// A waker that calls the hooks.
pub fn waker_with(hooks: Hooks) -> Waker {
    fn raw(hooks: Arc<Hooks>) -> RawWaker {
        RawWaker::new(Arc::into_raw(hooks).cast(), &VTABLE)
    }
    /// Takes over the reference.
    fn take(data: *const ()) -> Arc<Hooks> {
        // SAFETY: every RawWaker of VTABLE comes from `raw`, and owns one
        // reference, which its `wake` or its `drop` takes, once.
        unsafe { Arc::from_raw(data.cast::<Hooks>()) }
    }
    static VTABLE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            let hooks = std::mem::ManuallyDrop::new(take(data));
            (hooks.clone)();
            raw(Arc::clone(&hooks))
        },
        |data| (take(data).wake)(),
        |data| (std::mem::ManuallyDrop::new(take(data)).wake)(),
        |data| (take(data).drop)(),
    );
    // SAFETY: the functions of VTABLE keep the contract, on any thread, as
    // Hooks is Send and Sync.
    unsafe { Waker::from_raw(raw(Arc::new(hooks))) }
}

/// A waker that counts.
pub fn counting_waker() -> (Waker, Counter) {
    let counter = Counter::new();
    let wakes = counter.clone();
    let waker = waker_with(Hooks {
        wake: Box::new(move || {
            wakes.add();
        }),
        ..Hooks::default()
    });
    (waker, counter)
}

pub fn panicking_waker() -> Waker {
    waker_with(Hooks {
        wake: Box::new(|| panic!("a waker panics {ON_PURPOSE}")),
        ..Hooks::default()
    })
}

/// Polls once with this waker.
pub fn poll_with<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// A thread that does something again and again until it is dropped.
pub struct Background {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Background {
    pub fn repeat(mut action: impl FnMut() + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                action();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let ended = self.thread.take().map(thread::JoinHandle::join);
        if !thread::panicking() {
            ended.map(Result::unwrap);
        }
    }
}

/// Connected sockets that block. Where there are Unix sockets they are such: they take no ports.
#[cfg(unix)]
pub use std::os::unix::net::UnixStream as Socket;

#[cfg(unix)]
pub fn sockets() -> (Socket, Socket) {
    Socket::pair().unwrap()
}

#[cfg(not(unix))]
pub use std::net::TcpStream as Socket;

#[cfg(not(unix))]
pub fn sockets() -> (Socket, Socket) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let left = Socket::connect(listener.local_addr().unwrap()).unwrap();
    (left, listener.accept().unwrap().0)
}

/// Runs the test `name` of this binary in a process of its own, so that what it
/// counts or limits is its own. `name` is the test that calls this.
#[track_caller]
pub fn in_own_process(name: &str, test: impl FnOnce() + Send + 'static) {
    in_process_with(name, "", Stdio::piped(), test);
}

/// The same, behind a line of shell such as `ulimit -n 64`, and with this standard error.
#[track_caller]
pub fn in_process_with(
    name: &str,
    shell: &str,
    stderr: Stdio,
    test: impl FnOnce() + Send + 'static,
) {
    match this_program::own_process(name, shell) {
        None => within_deadline(test),
        Some(mut command) => {
            let child = command.stderr(stderr).spawn().unwrap();
            this_program::expect_passed(child, DEADLINE + DEADLINE);
        }
    }
}

/// How often the runtimes' threads have gone to sleep.
#[cfg(target_os = "linux")]
fn switches() -> usize {
    let count = |task: fs::DirEntry| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let line = status.lines().find(|line| line.starts_with("voluntary"))?;
        let count: usize = line.split_whitespace().nth(1)?.parse().ok()?;
        name.starts_with("arc-").then_some(count)
    };
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    tasks.filter_map(|task| count(task.ok()?)).sum()
}

/// Waits until the runtimes' threads are quiet: for a tenth of a second none of them runs.
#[cfg(target_os = "linux")]
#[track_caller]
pub fn expect_rest() {
    let start = Instant::now();
    loop {
        let before = switches();
        thread::sleep(Duration::from_millis(100));
        if switches() == before {
            return;
        }
        assert!(start.elapsed() < DEADLINE / 4, "they never come to rest");
    }
}
