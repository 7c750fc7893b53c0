//! What the models are made of.

use crate::io::{Async, AsyncReadExt};
use crate::model_kernel;
use crate::panic::contain;
use crate::runtime::{Builder, Handle, Runtime};
use crate::schedule::{self, Recorded};
use crate::scheduler::policy::MeanPoll;
use crate::sync::{Arc, Duration, Mutex, lock, thread};
use crate::task;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::thread::{JoinHandle, spawn};
use shuttle::{Config, MaxSteps, Runner};
use std::env;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Schedules of each kind that a model is tried in.
const SCHEDULES: usize = 3_000;
/// An execution that takes more steps hangs, in a loop.
const STEPS_MAX: usize = 100_000;
/// Where a PCT schedule prefers another thread.
const PREEMPTIONS: usize = 3;

fn number(variable: &str, default: usize) -> usize {
    env::var(variable).map_or(default, |text| text.parse().expect(variable))
}

/// Tries a model in many orders of its steps, and prints how many.
pub(crate) fn model(body: impl Fn() + Send + Sync + 'static) {
    explore(false, Arc::new(body));
}

/// The same, with a monitor that ticks.
pub(crate) fn model_with_monitor(body: impl Fn() + Send + Sync + 'static) {
    explore(true, Arc::new(body));
}

fn explore(with_monitor: bool, body: Arc<dyn Fn() + Send + Sync>) {
    // One model at a time: they share the statics of src/, and where one waits for a lock that
    // another's thread of the system holds, it takes steps that are not its own.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock();
    thread::MONITOR_TICKS.set(with_monitor);
    let (seed, percent) = (number("ARC_SEED", 1), number("ARC_SCHEDULES", 100));
    let schedules = (SCHEDULES * percent / 100).max(1);
    let tried = Arc::new(AtomicUsize::new(0));
    run(RandomScheduler::new_from_seed(seed as u64, schedules), &tried, &body);
    run(PctScheduler::new_from_seed(seed as u64, PREEMPTIONS, schedules), &tried, &body);
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("?");
    println!("model {name}: {} schedules", tried.load(Ordering::Relaxed));
}

/// Spawns jobs from outside of a runtime.
pub(crate) trait SpawnBlocking {
    fn spawn_blocking<R: Send + 'static>(
        &self,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> task::JoinHandle<R>;
}

impl SpawnBlocking for Handle {
    fn spawn_blocking<R: Send + 'static>(
        &self,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> task::JoinHandle<R> {
        let _guard = self.enter();
        task::spawn_blocking(job)
    }
}

fn run(
    scheduler: impl Scheduler + 'static,
    tried: &Arc<AtomicUsize>,
    body: &Arc<dyn Fn() + Send + Sync>,
) {
    let mut config = Config::new();
    config.stack_size = 256 << 10;
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    config.silence_warnings = true;
    let (tried, body) = (tried.clone(), body.clone());
    let runner = Runner::new(Recorded(scheduler), config);
    let run = contain(|| {
        runner.run(move || {
            tried.fetch_add(1, Ordering::Relaxed);
            model_kernel::begin();
            fastrand::seed(shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng()));
            body();
        })
    });
    if let Err(payload) = run {
        // What was left may hold locks that other models need, so the whole program ends here.
        // The text goes around the output that the harness captures.
        let thread = std::thread::current();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("not a text");
        let name = thread.name().unwrap_or("?");
        let mut stderr = std::io::stderr();
        let told = writeln!(stderr, "model {name} failed (see --nocapture): {text}");
        told.expect("stderr can be written to");
        writeln!(stderr, "{}", schedule::write(name)).expect("stderr can be written to");
        std::process::exit(1);
    }
}

/// In half of the schedules its workers know that polls are short: they call each other only if a
/// task waits in a worker's queue, and not for what is injected.
pub(crate) fn runtime(workers: usize) -> Runtime {
    let are_short = shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng());
    if are_short { frugal_runtime(workers) } else { eager_runtime(workers) }
}

/// Its workers know that polls are short.
pub(crate) fn frugal_runtime(workers: usize) -> Runtime {
    let runtime = eager_runtime(workers);
    learn_that_polls_are_short(&runtime.handle().shared.mean_poll);
    runtime
}

/// Nothing is known of polls, so they count as long, and a worker that has nothing to do is called
/// whenever a task waits. The clock stands still, and few polls are made: it stays like that.
pub(crate) fn eager_runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread().workers(workers).build().unwrap()
}

/// The workers that have just started may overwrite what they had not read yet.
fn learn_that_polls_are_short(mean: &MeanPoll) {
    while mean.is_long() {
        mean.learn(u32::MAX, Duration::ZERO);
    }
}

pub(crate) fn current_thread() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// How many tasks are in the list of the runtime.
pub(crate) fn count_tasks(runtime: &Handle) -> usize {
    let mut count = 0;
    runtime.shared.tasks.each(|_, _| count += 1);
    count
}

struct Unparker(thread::Thread);

impl Wake for Unparker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on a thread that belongs to no runtime, or blocks a task with it.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unparker(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Something that tasks and threads wait for. It counts how many times it was sent.
#[derive(Clone, Default)]
pub(crate) struct Signal(Arc<Mutex<(usize, Vec<Waker>)>>);

impl Signal {
    pub(crate) fn send(&self) {
        let mut state = lock(&self.0);
        state.0 += 1;
        let wakers = std::mem::take(&mut state.1);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.0).0
    }

    /// Waits until it has been sent `times` times.
    pub(crate) async fn sent(&self, times: usize) {
        std::future::poll_fn(|context| {
            let waker = context.waker().clone();
            let mut state = lock(&self.0);
            if state.0 >= times {
                return Poll::Ready(());
            }
            state.1.push(waker);
            Poll::Pending
        })
        .await;
    }
}

/// Sends its signal when it is dropped. [`Signal::count`] shows a second drop.
pub(crate) struct OnDrop(pub(crate) Signal);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.send();
    }
}

/// A task that never ends by itself, and holds something.
pub(crate) async fn holds<T>(_held: T) {
    std::future::pending().await
}

/// Tells when the socket is registered, and reads a byte from it.
pub(crate) async fn read_a_byte(near: UnixStream, registered: Signal) -> u8 {
    let mut near = Async::new(near).unwrap();
    registered.send();
    let mut byte = [0];
    near.read_exact(&mut byte).await.unwrap();
    byte[0]
}

/// A thread that writes a 7 to the peer of the first socket, as soon as that is registered.
pub(crate) fn write_a_byte(mut far: UnixStream, registered: Signal) -> JoinHandle<()> {
    spawn(move || {
        wait(registered.sent(1));
        far.write_all(&[7]).unwrap();
        model_kernel::event(0, [true, false], false);
    })
}
