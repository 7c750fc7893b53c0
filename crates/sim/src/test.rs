//! A test that runs with many seeds, and says how to repeat the one that fails.

use crate::simulation::{Failure, POLLS_MAX, Run, simulate_with};
use crate::timeline;
use arc::time::Duration;
use std::env;
use std::fmt::Debug;
use std::panic::resume_unwind;
use std::time::Instant;

/// How many of the last events are printed when a seed fails.
const EVENTS_SHOWN: usize = 20;

/// How many seeds are tried if the test does not say.
const SEEDS: u64 = 100;

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
/// The variable `ARC_SEED` of the environment sets one seed, which then is the only one.
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
    polls: u64,
}

impl Test {
    /// Describes a test of this name, and of this package if it is known. Both are needed to say
    /// how to repeat it.
    pub fn new(name: &'static str, package: Option<&'static str>) -> Self {
        Self { name, package, seeds: SEEDS, twice: false, polls: POLLS_MAX }
    }

    /// Sets how many seeds are tried, from 0; 100 by default.
    pub fn seeds(self, seeds: u64) -> Self {
        Self { seeds, ..self }
    }

    /// Sets whether each seed is run twice. By default only the first one is. The two runs must
    /// have the same events, unless the program waits for sockets of the kernel: no seed decides
    /// when their bytes come.
    pub fn twice(self, twice: bool) -> Self {
        Self { twice, ..self }
    }

    /// Sets how many polls a simulation may have; 200,000 by default.
    pub fn polls(self, polls: u64) -> Self {
        Self { polls, ..self }
    }

    /// Tries the seeds in turn.
    ///
    /// # Panics
    ///
    /// When one fails, or differs from run to run. What is to be known of that is printed to
    /// standard error before.
    #[track_caller]
    pub fn run<F: Future<Output: Outcome>>(&self, body: impl Fn() -> F) {
        // A range without its end could not have the greatest seed, and one with it none at all.
        let (first_seed, seeds) = match seed_of(env::var("ARC_SEED").ok().as_deref()) {
            Some(seed) => (seed, 1),
            None => (0, self.seeds),
        };
        let start = Instant::now();
        let mut simulated = Duration::ZERO;
        for offset in 0..seeds {
            let seed = first_seed + offset;
            let first = self.run_seed(seed, &body);
            if self.twice || offset == 0 {
                self.compare(seed, &first, &self.run_seed(seed, &body));
            }
            simulated = simulated.saturating_add(first.elapsed);
        }
        let took = start.elapsed();
        println!("arc-sim: {seeds} seeds, {simulated:.0?} of simulated time in {took:.1?}");
    }

    #[track_caller]
    fn run_seed<F: Future<Output: Outcome>>(&self, seed: u64, body: impl Fn() -> F) -> Run<()> {
        let Run { outcome, elapsed, log, recording } = simulate_with(seed, self.polls, body());
        let failure = match outcome.map(Outcome::error) {
            Ok(None) => return Run { outcome: Ok(()), elapsed, log, recording },
            Ok(Some(error)) => Failure::Panicked(Box::new(format!("it returned {error}"))),
            Err(failure) => failure,
        };

        let events = log.events();
        eprintln!("arc-sim: the last of {} events:", log.count());
        for event in &events[events.len().saturating_sub(EVENTS_SHOWN)..] {
            eprintln!("  {}", log.describe(event));
        }
        let name = self.name;
        eprintln!("arc-sim: {name} fails with seed {seed}, at {elapsed:.3?} of simulated time");
        timeline::write(name, seed, &recording);
        eprintln!("to repeat it: {}", self.command(seed));
        match failure {
            Failure::Panicked(payload) => resume_unwind(payload),
            failure => panic!("with seed {seed}, {failure}"),
        }
    }

    /// The command that runs this test with one seed.
    fn command(&self, seed: u64) -> String {
        // The first part of the name is the crate, which the test harness leaves out.
        let name = self.name.split_once("::").map_or(self.name, |(_, name)| name);
        let package = self.package.map_or(String::new(), |package| format!(" -p {package}"));
        format!("ARC_SEED={seed} cargo test{package} {name} -- --exact --nocapture")
    }

    /// Two runs of the same seed must have the same events.
    fn compare(&self, seed: u64, first: &Run<()>, second: &Run<()>) {
        if first.log.has_sockets() {
            return;
        }
        let Some(position) = first.log.first_difference(&second.log) else { return };
        for (which, log) in [("first", &first.log), ("second", &second.log)] {
            let from = position.saturating_sub(3);
            eprintln!("arc-sim: event {from} and those behind it, of the {which} run:");
            for event in log.events().iter().skip(from).take(5) {
                eprintln!("  {}", log.describe(event));
            }
        }
        panic!(
            "with seed {seed}, two runs of {} differ from event {position} on: something decides \
             that is not the seed. Look for the order of a HashMap, the system's clock \
             (std::time instead of arc::time), a thread, or a state that the first run left",
            self.name
        );
    }
}

fn seed_of(variable: Option<&str>) -> Option<u64> {
    let text = variable?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("ARC_SEED must be a number from 0, not {text:?}")))
}
