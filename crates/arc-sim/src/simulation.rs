//! One simulation, from its seed to its log.

use crate::failure::{Failure, Unfinished};
use crate::lock::lock;
use crate::timeline;
use arc::task::with_budget;
use arc::time::Duration;
use arc_sim_core::{self as core, End, Entered, Log, Watch, What};
use arc_trace::{Recording, ThreadRecorder, Timeline};
use arc_util::runtime::UnhandledPanic;
use arc_util::runtime::{Builder, Handle};
use arc_util::task::TaskInfo;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::Location;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
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
    /// What the runtime told of it, by the simulated clock, with the tasks' numbers in the log.
    /// `arc_trace::Timeline::new` makes a timeline of that.
    pub recording: Recording,
}

/// How a simulation is made, but for its seed.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// How many polls it may have.
    pub(crate) polls: u64,
    /// How much time may pass on its clock.
    pub(crate) limit: Duration,
    /// Whether it fails if a task panics.
    pub(crate) unhandled_panic: UnhandledPanic,
    /// Whether polls take no time, and tasks come in their order.
    pub(crate) is_steady: bool,
    /// Whom to tell what it does.
    pub(crate) watch: Option<Arc<Watch>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            polls: POLLS_MAX,
            limit: Duration::MAX,
            unhandled_panic: UnhandledPanic::Ignore,
            is_steady: false,
            watch: None,
        }
    }
}

/// Runs a future to its end in a simulation, and returns its output.
///
/// If it fails, and `ARC_TRACE` names a file, the timeline of the simulation is written there.
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
    run_with(seed, &Settings::default(), future)
}

/// Runs a future to its end with a clock that stands still, but jumps to the next deadline whenever
/// nothing can run. Returns the future's output. This is what `#[arc::test(start_paused = true)]`
/// does.
///
/// It is a simulation of one seed, and not one to find bugs with: polls take no time, so that a
/// sleep of a second takes a second to the nanosecond, and the task that was woken first is polled
/// first, as on tokio. To try other orders, use [`run`], or `#[arc_sim::test]`.
///
/// # Panics
///
/// As [`run`], but there may be ten million polls. A future that waits for a thread outside of the
/// simulation, and for nothing else, counts as one that waits for ever: see
/// [`hold_clock`](crate::hold_clock).
///
/// # Examples
///
/// ```
/// use arc::time::{Duration, Instant, sleep};
///
/// let waited = arc_sim::run_paused(async {
///     let start = Instant::now();
///     sleep(Duration::from_secs(3600)).await;
///     start.elapsed()
/// });
/// assert_eq!(waited, Duration::from_secs(3600));
/// ```
#[track_caller]
pub fn run_paused<F: Future>(future: F) -> F::Output {
    let polls = PAUSED_POLLS_MAX;
    run_with(1, &Settings { is_steady: true, polls, ..Settings::default() }, future)
}

/// How many polls there are at most with a paused clock. A loop that polls until a certain time
/// never ends there, and would otherwise hang.
const PAUSED_POLLS_MAX: u64 = 10_000_000;

#[track_caller]
fn run_with<F: Future>(seed: u64, settings: &Settings, future: F) -> F::Output {
    let Run { outcome, recording, .. } = simulate_with(seed, settings, future);
    if outcome.is_err() {
        eprintln!("arc-sim: seed {seed} fails");
        timeline::write_if_asked(&recording);
    }

    match outcome {
        Ok(output) => output,
        // It goes on as it was: its message has been printed already.
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
    simulate_with(seed, &Settings::default(), future)
}

#[track_caller]
pub(crate) fn simulate_with<F: Future>(
    seed: u64,
    settings: &Settings,
    future: F,
) -> Run<F::Output> {
    assert!(arc::runtime::may_block(), "a simulation cannot begin inside a task or block_on");
    let entered = core::enter(seed, settings.polls);
    entered.set_limit(settings.limit);
    if settings.is_steady {
        entered.be_steady();
    }
    if let Some(watch) = &settings.watch {
        watch.begin(seed);
        entered.set_watch(watch.clone());
    }

    // Before the runtime, so that the recording has all that this does.
    let recorder = ThreadRecorder::begin(core::elapsed_nanos);
    let built = Builder::new_current_thread()
        .long_poll_limit(Duration::MAX)
        .unhandled_panic(settings.unhandled_panic)
        .build();
    let runtime = built.expect("a runtime without threads needs a few descriptors only");
    entered.is_built();
    entered.describe_by(describe_tasks_of(runtime.handle().clone()));

    let is_polling = Cell::new(false);
    let main = main(future, &is_polling, &recorder);
    let output = catch_unwind(AssertUnwindSafe(|| runtime.block_on(main)));
    // Before the end of the runtime, which wakes all tasks.
    let mut recording = recorder.recording();

    // The main future is the caller's, whoever polls it.
    let caller = Location::caller();
    let mains = recording.tasks.values_mut().filter(|task| task.location.file() == file!());
    mains.for_each(|main| main.location = caller);
    entered.read_log(|log| number_as(log, &mut recording));

    let outcome = match output {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(ended)) => Err(ended.failure(&entered, settings)),
        // It was `block_on` that panicked, because the runtime has ended.
        Err(_) if !is_polling.get() => Err(Failure::TaskPanicked),
        Err(payload) => Err(Failure::Panicked(payload)),
    };
    let elapsed = core::elapsed();

    // The main future may have been ready, or may have failed for lack of a runtime, in the very
    // turn in which a job panicked. A task that comes after the end has ended at once.
    let ends_by_panic = settings.unhandled_panic == UnhandledPanic::ShutdownRuntime;
    let has_ended = ends_by_panic && runtime.spawn(async {}).is_finished();
    let outcome = if has_ended { Err(Failure::TaskPanicked) } else { outcome };
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

/// Gives the tasks of the recording the numbers that the log has for them. Those that it has none
/// for come behind these: the main future, jobs, and tasks that were never polled.
fn number_as(log: &Log, recording: &mut Recording) {
    let mut numbers = BTreeMap::new();
    let known = recording.tasks.keys().filter_map(|&task| log.number(task));
    let mut next = known.max().unwrap_or(0) as u64;
    for &task in recording.tasks.keys() {
        let number = match log.number(task) {
            Some(number) => number as u64,
            None => {
                next += 1;
                next
            }
        };
        numbers.insert(task, number);
    }

    // Of a task of another runtime that has ended long ago nothing else is known.
    recording.renumber(|task| numbers.get(&task).copied().unwrap_or(next + task));
}

/// Says where the task of an id was spawned, and what its name is.
fn describe_tasks_of(runtime: Handle) -> impl Fn(u64) -> String {
    // A list of all tasks for each one that is new would take long.
    let listed = RefCell::new(BTreeMap::<u64, TaskInfo>::new());
    move |id| {
        let mut listed = listed.borrow_mut();
        if !listed.contains_key(&id) {
            *listed = runtime.tasks().into_iter().map(|task| (task.id.0, task)).collect();
        }
        let Some(task) = listed.get(&id) else { return String::new() };
        let name = task.name.as_ref().map_or(String::new(), |name| format!(" {name:?}"));
        format!("{name}, spawned at {}", task.location)
    }
}

/// A simulation ended before its future.
struct Ended {
    /// Why.
    end: End,
    /// The tasks that had not ended then.
    tasks: Vec<TaskInfo>,
    /// What they waited for then. The drop of the future may wake them.
    recording: Recording,
}

impl Ended {
    fn new(end: End, recorder: &ThreadRecorder) -> Box<Self> {
        let (tasks, recording) = (Handle::current().tasks(), recorder.recording());
        Box::new(Self { end, tasks, recording })
    }

    /// The same for a reader: with what each task waited for.
    fn failure(self, entered: &Entered, settings: &Settings) -> Failure {
        let Self { end, tasks, mut recording } = self;
        // Tasks are named by their numbers in the log, which is what a reader has beside this.
        let unfinished = entered.read_log(|log| {
            number_as(log, &mut recording);
            Unfinished::list(tasks, log, &Timeline::new(&recording))
        });
        let unfinished = unfinished.unwrap_or_default();

        match end {
            End::Deadlock => Failure::Deadlock(unfinished),
            End::TooManyPolls => Failure::TooManyPolls(settings.polls, unfinished),
            End::TooLong => Failure::TooLong(settings.limit, unfinished),
        }
    }
}

/// Polls the future whenever it was woken, but not always at once, and runs the jobs of
/// `spawn_blocking`. Meanwhile `is_polling` is true.
async fn main<F: Future>(
    future: F,
    is_polling: &Cell<bool>,
    recorder: &ThreadRecorder,
) -> Result<F::Output, Box<Ended>> {
    let mut future = pin!(future);
    let main = Arc::new(Main { woken: AtomicBool::new(true), turn: Mutex::default() });
    let waker = Waker::from(main.clone());
    poll_fn(|context| {
        is_polling.set(true);
        let turn = turn(future.as_mut(), &main, &waker, context);

        // Before the future is dropped, which may wake the tasks.
        let turn = turn.map(|output| output.map_err(|end| Ended::new(end, recorder)));
        // If the future panics, this is not reached, and whose panic it was is known.
        is_polling.set(false);
        turn
    })
    .await
}

/// Between two turns one task is polled. So a turn does a few things, or none.
fn turn<F: Future>(
    mut future: Pin<&mut F>,
    main: &Main,
    waker: &Waker,
    context: &Context<'_>,
) -> Poll<Result<F::Output, End>> {
    if let Some(end) = core::poll_end(context.waker()) {
        return Poll::Ready(Err(end));
    }
    main.set_turn(context.waker());

    while core::coin() {
        // The clock may have jumped to the end of the future itself.
        if core::is_late() {
            return Poll::Ready(Err(End::TooLong));
        }

        // On threads a job and the future would go on side by side: either may be first.
        let is_woken = main.woken.load(Ordering::Relaxed);
        if core::jobs() > 0 && (!is_woken || core::coin()) {
            run_a_job();
        } else if is_woken {
            step(What::PolledMain);
            // Before the poll, so that a wake-up in it asks for another one.
            main.woken.store(false, Ordering::Relaxed);
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(Ok(output));
            }
        }
    }

    // What is left waits for the next turn.
    if core::jobs() > 0 || main.woken.load(Ordering::Relaxed) {
        context.waker().wake_by_ref();
    }
    Poll::Pending
}

/// Notes an event, in the log and in the recording.
fn step(what: What) {
    core::step(|_| what);
    arc_trace::tell::marked();
}

fn run_a_job() {
    if let Some(job) = core::take_job() {
        step(What::RanJob);
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
        let before = lock(&self.turn).replace(turn);
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
        let turn = lock(&self.turn).clone();
        if let Some(turn) = turn {
            turn.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arc::task::{spawn_blocking, yield_now};

    /// Also if the main future is ready in the turn in which it panics.
    #[test]
    fn panic_of_a_job_fails_with_each_seed() {
        let settings =
            Settings { unhandled_panic: UnhandledPanic::ShutdownRuntime, ..Settings::default() };
        for seed in 0..100 {
            let run = simulate_with(seed, &settings, async {
                let job = spawn_blocking(|| panic!("on purpose"));
                while !job.is_finished() {
                    yield_now().await;
                }
            });
            assert!(matches!(run.outcome, Err(Failure::TaskPanicked)), "seed {seed}");
        }
    }
}
