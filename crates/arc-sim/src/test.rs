//! A test that runs with many seeds, and says how to repeat the one that fails.

use crate::failure::Failure;
use crate::quiet::quietly;
use crate::seeds::Seeds;
use crate::simulation::{Run, Settings, simulate_with};
use crate::story;
use crate::timeline;
use crate::watchdog::Watchdog;
use arc::time::Duration;
use arc_util::runtime::UnhandledPanic;
use std::fmt::Debug;
use std::mem;
use std::panic::resume_unwind;
use std::time::Instant;

/// How many seeds are tried if the test does not say.
const SEEDS: u64 = 100;

/// After how much real time in one poll a line is printed if the test does not say.
const HANGS_AFTER: Duration = Duration::from_secs(10);

/// What makes two runs of a seed differ.
const LOOK_FOR: &str = "Look for the order of a HashMap, the system's clock (std::time instead of \
                        arc::time), a thread, or a state that the first run left";

/// What a test may return.
pub trait Outcome {
    /// Why the test has failed. `None` if it has not.
    fn error(self) -> Option<String>;
}

impl Outcome for () {
    fn error(self) -> Option<String> {
        None
    }
}

impl<T, E: Debug> Outcome for Result<T, E> {
    fn error(self) -> Option<String> {
        self.err().map(|error| format!("{error:?}"))
    }
}

/// A test of many seeds. [`macro@crate::test`] writes one.
///
/// The environment may set other seeds: `ARC_SEED=17` a single one, `ARC_SEEDS=1000..2000` a range,
/// and `ARC_SEEDS=5000` so many from 0.
///
/// # Examples
///
/// ```
/// arc_sim::Test::new("adds", None).seeds(10).run(|| async {
///     let task = arc::spawn(async { 40 + 2 });
///     assert_eq!(task.await.unwrap(), 42);
/// });
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is tried before `run`"]
pub struct Test {
    name: &'static str,
    package: Option<&'static str>,
    seeds: u64,
    twice: bool,
    is_ignored: bool,
    hangs_after: Duration,
    settings: Settings,
}

impl Test {
    /// Describes a test of this name, and of this package if it is known. Both are needed to say
    /// how to repeat it.
    pub fn new(name: &'static str, package: Option<&'static str>) -> Self {
        let settings =
            Settings { unhandled_panic: UnhandledPanic::ShutdownRuntime, ..Settings::default() };
        Self {
            name,
            package,
            seeds: SEEDS,
            twice: false,
            is_ignored: false,
            hangs_after: HANGS_AFTER,
            settings,
        }
    }

    /// Sets how many seeds are tried, from 0; 100 by default.
    ///
    /// # Panics
    ///
    /// When it is none at all: such a test would pass whatever it does. The attribute refuses it
    /// when it is compiled:
    ///
    /// ```compile_fail
    /// #[arc_sim::test(seeds = 0)]
    /// async fn tries_nothing() {}
    /// ```
    #[track_caller]
    pub fn seeds(self, seeds: u64) -> Self {
        assert!(seeds > 0, "a test of no seeds tries nothing: set at least `seeds = 1`");
        Self { seeds, ..self }
    }

    /// Sets whether each seed is run twice. By default only the first one is. The two runs must
    /// have the same events, unless the program waits for sockets of the kernel: no seed decides
    /// when their bytes come.
    pub fn twice(self, twice: bool) -> Self {
        Self { twice, ..self }
    }

    /// Sets how many polls a simulation may have; 200,000 by default.
    pub fn polls(mut self, polls: u64) -> Self {
        self.settings.polls = polls;
        self
    }

    /// Sets how much simulated time a simulation may take; by default it is any. A task that beats
    /// for ever hides that all others wait for each other: a limit tells that after a few beats.
    ///
    /// # Examples
    ///
    /// ```should_panic
    /// use arc::time::{Duration, sleep};
    ///
    /// arc_sim::Test::new("waits", None).limit(Duration::from_secs(3600)).run(|| async {
    ///     arc::spawn(async {
    ///         loop {
    ///             sleep(Duration::from_secs(60)).await;
    ///         }
    ///     });
    ///     std::future::pending::<()>().await;
    /// });
    /// ```
    pub fn limit(mut self, limit: Duration) -> Self {
        self.settings.limit = limit;
        self
    }

    /// Sets what happens when a task or a job of `spawn_blocking` panics, whether or not anybody
    /// awaits its handle. By default the test fails. `Ignore` is for tests in which tasks panic on
    /// purpose: then nothing is known of a panic but by the task's handle.
    ///
    /// # Examples
    ///
    /// ```
    /// use arc_sim::UnhandledPanic;
    ///
    /// arc_sim::Test::new("panics", None).unhandled_panic(UnhandledPanic::Ignore).run(|| async {
    ///     let error = arc::spawn(async { panic!("on purpose") }).await.unwrap_err();
    ///     assert!(error.is_panic());
    /// });
    /// ```
    pub fn unhandled_panic(mut self, policy: UnhandledPanic) -> Self {
        self.settings.unhandled_panic = policy;
        self
    }

    /// Says that the test has the attribute `#[ignore]`, so that the command that repeats it runs
    /// it all the same.
    pub fn ignored(self) -> Self {
        Self { is_ignored: true, ..self }
    }

    /// Sets after how much real time in one poll standard error tells of it; 10 seconds by
    /// default. A poll that never returns cannot be ended, and no other line would name its seed.
    pub fn hangs_after(self, hangs_after: Duration) -> Self {
        Self { hangs_after, ..self }
    }

    /// Tries the seeds in turn.
    ///
    /// # Panics
    ///
    /// When one fails, or differs from run to run. What is to be known of that is printed to
    /// standard error before.
    #[track_caller]
    pub fn run<F: Future<Output: Outcome>>(&self, body: impl Fn() -> F) {
        let seeds = Seeds::chosen_or(self.seeds);

        // A poll that hangs is told by another thread: this one does not come back from it.
        let mut test = self.clone();
        let watch = test.settings.watch.insert(Default::default()).clone();
        let told = self.clone();
        let _watchdog = Watchdog::begin(watch, self.hangs_after, move |seed, what| {
            let (name, limit) = (told.name, told.hangs_after);
            eprint!("arc-sim: {name}, seed {seed}: {what} for {limit:?}, ");
            eprintln!("and has not returned");
            eprintln!("to repeat it: {}", told.command(seed));
        });

        let start = Instant::now();
        let mut simulated = Duration::ZERO;
        let mut not_compared = "";
        for offset in 0..seeds.count {
            let seed = seeds.first + offset;
            let mut first = test.attempt(seed, &body);

            if let Err(failure) = mem::replace(&mut first.outcome, Ok(())) {
                // Whoever repeats a failure wants to look into a single run.
                let is_compared = !seeds.repeats;
                let again = is_compared.then(|| quietly(|| test.attempt(seed, &body)));
                let doubt = again.and_then(|again| doubt(&first, &again));
                test.fail(seed, failure, &first, doubt);
            }

            // One seed run twice finds most of what no seed decides.
            if test.twice || offset == 0 {
                let mut second = test.attempt(seed, &body);
                if let Err(failure) = mem::replace(&mut second.outcome, Ok(())) {
                    let doubt = "The first run of this seed passed, and this was the second";
                    test.fail(seed, failure, &second, Some(doubt.to_owned()));
                }

                // No seed decides when the kernel has something for a socket.
                if first.log.has_sockets() {
                    not_compared = "; not compared: kernel sockets";
                } else {
                    test.compare(seed, &first, &second);
                }
            }
            simulated = simulated.saturating_add(first.elapsed);
        }

        let (seeds, took) = (seeds.count, start.elapsed());
        println!(
            "arc-sim: {seeds} seeds, {simulated:.0?} of simulated time in {took:.1?}{not_compared}"
        );
    }

    /// Runs a seed once.
    #[track_caller]
    fn attempt<F: Future<Output: Outcome>>(&self, seed: u64, body: impl Fn() -> F) -> Run<()> {
        let run = simulate_with(seed, &self.settings, body());
        let Run { outcome, elapsed, log, recording } = run;

        // An error that is returned fails a test as a panic does.
        let outcome = match outcome.map(Outcome::error) {
            Ok(None) => Ok(()),
            Ok(Some(error)) => Err(Failure::Returned(error)),
            Err(failure) => Err(failure),
        };
        Run { outcome, elapsed, log, recording }
    }

    /// Tells of a run that failed, and panics. `doubt` says why the seed may not repeat it.
    #[track_caller]
    fn fail(&self, seed: u64, failure: Failure, run: &Run<()>, doubt: Option<String>) -> ! {
        let Run { elapsed, log, recording, .. } = run;

        // The longest comes first, so that the seed and the command are seen at the end.
        story::print(log, recording);
        let name = self.name;
        eprint!("arc-sim: {name} fails with seed {seed}, ");
        eprintln!("at {elapsed:.3?} of simulated time");
        timeline::write(name, seed, recording);

        match doubt {
            Some(doubt) => {
                eprint!("arc-sim: the seed does not repeat: something else decides. ");
                eprintln!("{doubt}");
                eprintln!("{LOOK_FOR}");
                eprintln!("to try it again: {}", self.command(seed));
            }
            None => eprintln!("to repeat it: {}", self.command(seed)),
        }

        // A panic goes on as it was: its message has been printed already.
        match failure {
            Failure::Panicked(payload) => resume_unwind(payload),
            failure => panic!("with seed {seed}, {failure}"),
        }
    }

    /// The command that runs this test with one seed.
    fn command(&self, seed: u64) -> String {
        // The first part of the name is the crate, which the test harness leaves out.
        let name = self.name.split_once("::").map_or(self.name, |(_, name)| name);
        let package = self.package.map(|package| format!(" -p {package}"));
        let package = package.unwrap_or_default();
        let ignored = if self.is_ignored { " --include-ignored" } else { "" };

        format!("ARC_SEED={seed} cargo test{package} {name} -- --exact{ignored} --nocapture")
    }

    /// Two runs of the same seed must have the same events.
    #[track_caller]
    fn compare(&self, seed: u64, first: &Run<()>, second: &Run<()>) {
        let Some(position) = first.log.first_difference(&second.log) else { return };

        // What came just before is often where the difference is from.
        for (which, log) in [("first", &first.log), ("second", &second.log)] {
            let from = position.saturating_sub(3);
            eprintln!("arc-sim: event {from} and those behind it, of the {which} run:");
            for event in log.events().iter().skip(from).take(5) {
                eprintln!("  {}", log.describe(event));
            }
        }

        panic!(
            "with seed {seed}, two runs of {} differ from event {position} on: something decides \
             that is not the seed. {LOOK_FOR}",
            self.name
        );
    }
}

/// Why a seed that has failed may not repeat, if it was run again and did something else.
fn doubt(first: &Run<()>, again: &Run<()>) -> Option<String> {
    let has_sockets = first.log.has_sockets() || again.log.has_sockets();
    let sockets = if has_sockets { ", with sockets of the kernel" } else { "" };
    if again.outcome.is_ok() {
        return Some(format!("Run again{sockets}, it passes"));
    }
    // What those do differs from run to run.
    let position = first.log.first_difference(&again.log).filter(|_| !has_sockets)?;
    Some(format!("Run again, it fails as well, but differs from event {position} on"))
}
