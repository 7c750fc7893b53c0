//! What the scenario tests share: runtimes of several sizes, waiting with a
//! deadline, wakers with hooks, and processes of their own.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod auto_traits;
pub mod basics;
mod kind;
mod runtimes;
mod time_limit;

pub use self::basics::*;
#[allow(unused_imports, reason = "arc-util's tests have its own")]
pub use self::runtimes::{
    builder, builders, current_thread, make_polls_short, on_current_thread, on_each, runtime,
    tasks_behind_a_long_poll_run, with_a_job_about_to_begin, with_each_flavor, with_each_size,
    with_short_polls,
};
#[allow(unused_imports, reason = "arc-util's tests have its own")]
pub use self::time_limit::{Elapsed, Timeout, timeout, timeout_at};
pub use crate::net_common::LIMIT as DEADLINE;
pub use crate::net_common::*;
use crate::this_program;
use arc::runtime::Handle;
use arc::task::JoinHandle;
use std::env;
#[cfg(target_os = "linux")]
use std::fs;
use std::future::Future;
use std::panic;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// Whether races are run for long: the step `races` of CI sets the variable. Without it, a race is
/// as long as waiting for `cargo test` is pleasant.
static IS_LONG: LazyLock<bool> = LazyLock::new(|| env::var_os("ARC_TEST_LONG").is_some());

/// How long each race runs, with each number of workers.
pub static RACE: LazyLock<Duration> =
    LazyLock::new(|| Duration::from_millis(if *IS_LONG { 1200 } else { 100 }));

/// How many rounds a race has, of so many in a long run.
pub fn rounds(many: usize) -> usize {
    if *IS_LONG { many } else { many / 5 }
}

/// Spawns jobs from outside of a runtime.
pub trait SpawnBlocking {
    #[track_caller]
    fn spawn_blocking<R: Send + 'static>(
        &self,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> JoinHandle<R>;
}

impl SpawnBlocking for Handle {
    fn spawn_blocking<R: Send + 'static>(
        &self,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> JoinHandle<R> {
        let _guard = self.enter();
        arc::task::spawn_blocking(job)
    }
}

/// Returns a function that names the threads of a runtime.
pub fn named(name: impl Into<String>) -> impl Fn(&str) -> String + Send + Sync {
    let name = name.into();
    move |purpose| format!("{name}-{purpose}")
}

/// Does this on so many threads at once, and waits for all of them.
pub fn on_threads(count: usize, act: impl Fn(usize) + Sync) {
    let act = &act;
    thread::scope(|scope| {
        for index in 0..count {
            scope.spawn(move || act(index));
        }
    });
}

/// Spawns so many tasks.
pub fn spawn_each<F>(
    handle: &Handle,
    count: usize,
    task: impl Fn(usize) -> F,
) -> Vec<JoinHandle<F::Output>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    (0..count).map(|index| handle.spawn(task(index))).collect()
}

/// Spawns so many jobs.
pub fn spawn_jobs<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
    handle: &Handle,
    count: usize,
    job: impl Fn(usize) -> F,
) -> Vec<JoinHandle<T>> {
    (0..count).map(|index| handle.spawn_blocking(job(index))).collect()
}

/// What the tasks and jobs give, one after the other.
#[track_caller]
pub fn join_all<T>(runtime: &Handle, tasks: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<T> {
    tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).collect()
}

/// Waits until the tasks have ended, without helping them.
#[track_caller]
pub fn wait_for_all<T>(tasks: &[JoinHandle<T>]) {
    wait_until("the tasks have ended", || tasks.iter().all(JoinHandle::is_finished));
}

/// How many tasks and jobs have not ended.
#[cfg(feature = "observe")]
pub fn count_tasks(handle: &Handle) -> usize {
    let mut count = 0;
    handle.each_task(|_, _| count += 1);
    count
}

/// Where they can be counted: with the feature `observe`.
#[track_caller]
pub fn expect_tasks(handle: &Handle, expected: usize) {
    #[cfg(feature = "observe")]
    assert_eq!(count_tasks(handle), expected);
    #[cfg(not(feature = "observe"))]
    let _ = (handle, expected);
}

/// Waits until no task is left, where they can be counted.
#[track_caller]
pub fn wait_for_no_tasks(handle: &Handle) {
    #[cfg(feature = "observe")]
    wait_until("no task is left", || count_tasks(handle) == 0);
    #[cfg(not(feature = "observe"))]
    let _ = handle;
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

/// Waits until the end has begun, for tasks: from then on none is taken in.
#[track_caller]
pub fn wait_for_end(handle: &Handle) {
    let refuses = || handle.spawn(std::future::pending::<()>()).is_finished();
    wait_until("the end of the runtime", refuses);
}

/// Blocks one worker, or the thread that runs the tasks, and returns when it is blocked.
#[track_caller]
pub fn block_worker(handle: &Handle) -> (JoinHandle<()>, Pause) {
    let pause = Pause::new();
    let task = handle.spawn(pause.stops());
    pause.reached();
    (task, pause)
}

/// Spawns a job that blocks its thread, and returns when it has begun.
#[track_caller]
pub fn begun_job(handle: &Handle) -> (JoinHandle<()>, Pause) {
    let pause = Pause::new();
    let job = handle.spawn_blocking(move || pause.here());
    pause.reached();
    (job, pause)
}

/// Where a task leaves its waker.
#[derive(Clone, Default)]
pub struct Slot(Arc<Mutex<Option<Waker>>>);

impl Slot {
    pub fn leave(&self, context: &Context<'_>) {
        *self.0.lock().unwrap() = Some(context.waker().clone());
    }

    /// A future that leaves its waker here in each poll, and never ends.
    pub fn never(&self) -> impl Future<Output = ()> + Send + use<> {
        self.ready_at(usize::MAX)
    }

    /// The same, but the poll of this number is ready.
    pub fn ready_at(&self, last: usize) -> impl Future<Output = ()> + Send + use<> {
        let (slot, mut polls) = (self.clone(), 0);
        std::future::poll_fn(move |context| {
            polls += 1;
            slot.leave(context);
            if polls == last { Poll::Ready(()) } else { Poll::Pending }
        })
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

/// A waker that does this when it wakes.
pub fn waker_that(wake: impl Fn() + Send + Sync + 'static) -> Waker {
    waker_with(Hooks { wake: Box::new(wake), ..Hooks::default() })
}

/// A waker that counts.
pub fn counting_waker() -> (Waker, Counter) {
    let wakes = Counter::new();
    (waker_that(move || _ = wakes.add()), wakes)
}

pub fn panicking_waker() -> Waker {
    waker_that(|| panic!("a waker panics {ON_PURPOSE}"))
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
