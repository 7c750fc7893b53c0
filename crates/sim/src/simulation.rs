//! One simulation, from its seed to its log.

use crate::timeline;
use arc::runtime::{Builder, Handle};
use arc::task::{TaskInfo, with_budget};
use arc::time::Duration;
use arc_sim_core::{self as core, End, Log, What};
use arc_trace::{Recording, ThreadRecorder};
use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::panic::Location;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// How many polls a simulation has at most, unless it is told otherwise: a few seconds of real
/// time.
pub(crate) const POLLS_MAX: u64 = 200_000;

/// What came of a simulation.
#[derive(Debug)]
pub struct Run<T> {
    /// What the future returned, or why it did not.
    pub outcome: Result<T, Failure>,
    /// How much time passed on the simulated clock.
    pub elapsed: Duration,
    /// What happened. Two runs of the same seed have the same log.
    pub log: Log,
    /// What the runtime told of it, by the simulated clock. `arc_trace::Timeline::new` makes a
    /// timeline of that.
    pub recording: Recording,
}

/// Why a simulation gave no output.
pub enum Failure {
    /// The future panicked, with this payload.
    Panicked(Box<dyn Any + Send>),
    /// Every task waits, no timer is armed, and no socket has anything to report. These are the
    /// tasks. The future itself waits as well.
    Deadlock(Vec<TaskInfo>),
    /// The simulation had as many polls as it may have.
    TooManyPolls(u64),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(payload) => {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or(payload.downcast_ref::<&str>().copied());
                write!(formatter, "it panicked: {}", text.unwrap_or("with no text"))
            }
            Self::Deadlock(tasks) => {
                formatter
                    .write_str("every task waits, and no timer is armed:\n    the main future")?;
                tasks.iter().try_for_each(|task| write!(formatter, "\n    {task}"))
            }
            Self::TooManyPolls(polls) => {
                write!(formatter, "it has not ended after {polls} polls: does a loop never end?")
            }
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Runs a future to its end in a simulation, and returns its output.
///
/// If it fails, the timeline of the simulation is written, and standard error says where.
///
/// # Panics
///
/// * When the future panics, or waits for ever, or the simulation has 200,000 polls.
/// * Inside another simulation, a task or `block_on`.
///
/// # Examples
///
/// ```
/// use arc::time::{Duration, sleep};
///
/// /// Which of two tasks is first, if both are woken at the same time?
/// fn winner(seed: u64) -> &'static str {
///     arc_sim::run(seed, async {
///         let (sender, receiver) = std::sync::mpsc::channel();
///         for name in ["ann", "bob"] {
///             let sender = sender.clone();
///             arc::spawn(async move {
///                 sleep(Duration::from_secs(60)).await;
///                 sender.send(name).unwrap();
///             });
///         }
///         sleep(Duration::from_secs(61)).await;
///         receiver.recv().unwrap()
///     })
/// }
/// assert!((0..50).any(|seed| winner(seed) == "ann"));
/// assert!((0..50).any(|seed| winner(seed) == "bob"));
/// assert_eq!(winner(7), winner(7));
/// ```
#[track_caller]
pub fn run<F: Future>(seed: u64, future: F) -> F::Output {
    let Run { outcome, recording, .. } = simulate(seed, future);
    if outcome.is_err() {
        let caller = Location::caller();
        let name = format!("{}-{}", caller.file(), caller.line());
        eprintln!("arc-sim: seed {seed} fails");
        timeline::write(&name, seed, &recording);
    }
    match outcome {
        Ok(output) => output,
        Err(Failure::Panicked(payload)) => resume_unwind(payload),
        Err(failure) => panic!("with seed {seed}, {failure}"),
    }
}

/// Runs a future in a simulation, and returns what came of it, with the log.
///
/// # Panics
///
/// Inside another simulation, a task or `block_on`.
///
/// # Examples
///
/// ```
/// let run = arc_sim::simulate(1, std::future::pending::<()>());
/// assert!(matches!(run.outcome, Err(arc_sim::Failure::Deadlock(_))));
/// ```
#[track_caller]
pub fn simulate<F: Future>(seed: u64, future: F) -> Run<F::Output> {
    simulate_with(seed, POLLS_MAX, future)
}

#[track_caller]
pub(crate) fn simulate_with<F: Future>(seed: u64, polls_max: u64, future: F) -> Run<F::Output> {
    assert!(arc::runtime::may_block(), "a simulation cannot begin inside a task or block_on");
    let entered = core::enter(seed, polls_max);
    let recorder = ThreadRecorder::begin(core::elapsed_nanos).on_block_on(core::blocks_on);
    let built = Builder::new_current_thread().long_poll_limit(Duration::MAX).build();
    let runtime = built.expect("a runtime without threads needs a few descriptors only");
    entered.is_built();
    let handle = runtime.handle().clone();
    entered.describe_by(move |id| describe(&handle, id));

    let output = catch_unwind(AssertUnwindSafe(|| runtime.block_on(main(future))));
    let outcome = match output {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(End::Deadlock)) => Err(Failure::Deadlock(runtime.tasks())),
        Ok(Err(End::TooManyPolls)) => Err(Failure::TooManyPolls(polls_max)),
        Err(payload) => Err(Failure::Panicked(payload)),
    };
    let elapsed = core::elapsed();
    // Before the end of the runtime, which wakes all tasks.
    let mut recording = recorder.recording();
    // The main future is the caller's, whoever polls it.
    let caller = Location::caller();
    let mains = recording.tasks.values_mut().filter(|task| task.location.file() == file!());
    mains.for_each(|main| main.location = caller);
    drop(runtime);
    Run { outcome, elapsed, log: entered.take_log(), recording }
}

/// Tries the seeds in turn, and returns the first one that fails, and why.
///
/// # Panics
///
/// As [`simulate`].
///
/// # Examples
///
/// ```
/// // A bug: it takes for granted which task is first.
/// let failure = arc_sim::find(0..500, || async {
///     let (first, second) = (arc::spawn(async {}), arc::spawn(async {}));
///     first.await.unwrap();
///     assert!(!second.is_finished());
/// });
/// assert!(failure.is_some());
/// ```
#[track_caller]
pub fn find<F: Future>(
    seeds: impl IntoIterator<Item = u64>,
    body: impl Fn() -> F,
) -> Option<(u64, Failure)> {
    let attempt = |seed| Some((seed, simulate(seed, body()).outcome.err()?));
    seeds.into_iter().find_map(attempt)
}

/// Says where the task of this id was spawned, and what its name is.
fn describe(runtime: &Handle, id: u64) -> String {
    let Some(task) = runtime.tasks().into_iter().find(|task| task.id.0 == id) else {
        return String::new();
    };
    let name = task.name.map_or(String::new(), |name| format!(" {name:?}"));
    format!("{name}, spawned at {}", task.location)
}

/// Polls the future whenever it was woken, but not always at once, and runs the jobs of
/// `spawn_blocking`.
async fn main<F: Future>(future: F) -> Result<F::Output, End> {
    let mut future = pin!(future);
    let main = Arc::new(Main { woken: AtomicBool::new(true), turn: Mutex::default() });
    let waker = Waker::from(main.clone());
    poll_fn(|context| {
        if let Some(end) = core::poll_end(context.waker()) {
            return Poll::Ready(Err(end));
        }
        main.set_turn(context.waker());

        // Between two turns one task is polled. So a turn does a few things, or none.
        while core::coin() {
            let is_woken = main.woken.load(Ordering::Relaxed);
            if core::jobs() > 0 && (!is_woken || core::coin()) {
                run_a_job();
            } else if is_woken {
                core::step(|_| What::PolledMain);
                main.woken.store(false, Ordering::Relaxed);
                let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
                if let Poll::Ready(output) = poll {
                    return Poll::Ready(Ok(output));
                }
            }
        }
        if core::jobs() > 0 || main.woken.load(Ordering::Relaxed) {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    })
    .await
}

fn run_a_job() {
    if let Some(job) = core::take_job() {
        core::step(|_| What::RanJob);
        // What it does with arc's futures takes nothing from the budget of the main future.
        with_budget(|| job.run());
    }
}

/// The waker of the future. What wakes it asks for a turn.
struct Main {
    woken: AtomicBool,
    turn: Mutex<Option<Waker>>,
}

impl Main {
    fn set_turn(&self, turn: &Waker) {
        let turn = turn.clone();
        let before = self.turn.lock().unwrap_or_else(PoisonError::into_inner).replace(turn);
        drop(before);
    }
}

impl Wake for Main {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    /// Relaxed is enough, also on another thread: the wake-up of the turn happens before the turn.
    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Relaxed);
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(turn) = turn {
            turn.wake();
        }
    }
}
