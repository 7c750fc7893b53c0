//! Runs programs of tests, and says which test fails, or hangs, when a statement is left out.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Result};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// How many tests of a program run at once.
const THREADS: usize = 2;

/// How often this looks whether a program has ended without closing its output.
const LOOK: Duration = Duration::from_millis(100);

/// A test that takes so much longer than this many times what it takes with all statements hangs.
const PATIENCE: Duration = Duration::from_secs(20);
const PATIENCE_TIMES: u32 = 4;

/// The same for a first suspicion: whatever is suspected is tried by itself, with more patience.
const IMPATIENCE: Duration = Duration::from_secs(5);
const IMPATIENCE_TIMES: u32 = 2;

/// How many cases of each property are tried: a fraction of what `cargo test` tries, which takes
/// most of the time that the unit tests take.
const CASES: &str = "64";

/// A program of tests.
pub struct Program {
    pub path: PathBuf,
    /// Where cargo would run it.
    pub folder: PathBuf,
    /// A model that becomes slow has caught nothing. A test that hangs has.
    pub is_model: bool,
    /// In the order in which they run.
    tests: Vec<String>,
    /// For how long at the most nothing was told when nothing was left out.
    longest: Duration,
    /// The statements that its tests run.
    runs: BTreeSet<usize>,
}

/// What one run has shown.
struct Run {
    /// How the tests are called that have ended, whether well or not.
    ended: BTreeSet<String>,
    failed: Vec<String>,
    /// How the program ended, or that it had to be ended: it hangs.
    end: End,
    longest: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Well,
    Badly,
    Late,
}

/// Whether a statement is missed.
#[derive(Clone, Debug, PartialEq)]
pub enum Missed {
    No,
    /// By this test, each time.
    By(String),
}

impl Program {
    /// # Errors
    /// It cannot be run, or does not list its tests.
    pub fn new(path: PathBuf, folder: PathBuf, is_model: bool) -> Result<Self> {
        let listed = Command::new(&path).args(["--list", "--format", "terse"]).output()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let tests: Vec<_> = listed
            .lines()
            .filter_map(|line| Some(line.strip_suffix(": test")?.to_owned()))
            .collect();
        if tests.is_empty() {
            return Err(io::Error::other(format!("{} has no tests", path.display())));
        }
        let (longest, runs) = (Duration::ZERO, BTreeSet::new());
        Ok(Self { path, folder, is_model, tests, longest, runs })
    }

    /// Runs all tests with all statements, to see how long that takes now, and which statements
    /// they run.
    ///
    /// # Errors
    /// A test fails, also by itself.
    pub fn measure(&mut self, told: &Path) -> Result<()> {
        let _ = fs::remove_file(told);
        let run = self.run(0, None, Duration::MAX, Some(told))?;
        for test in run.failed {
            if self.run(0, Some(&test), Duration::MAX, None)?.end != End::Well {
                return Err(io::Error::other(format!("{test} fails with all statements")));
            }
        }
        if run.ended.len() < self.tests.len() {
            return Err(io::Error::other(format!("{} broke off", self.path.display())));
        }

        self.longest = run.longest;
        let numbers = fs::read_to_string(told).unwrap_or_default();
        self.runs = numbers.lines().filter_map(|line| line.parse().ok()).collect();
        Ok(())
    }

    /// Whether any of its tests runs the statement.
    pub fn runs(&self, statement: usize) -> bool {
        self.runs.contains(&statement)
    }

    /// Whether a test fails without the statement. A test that fails, or hangs, has to do so by
    /// itself as well: what it does among others may be the machine's fault.
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn misses(&self, statement: usize) -> Result<Missed> {
        // Twice: where a test fails among others alone, it must do so again.
        let mut before = None;
        let impatience = IMPATIENCE + IMPATIENCE_TIMES * self.longest;
        let limit = if self.is_model { patience(self.longest) } else { impatience };
        for limit in [limit, patience(self.longest)] {
            let run = self.run(statement, None, limit, None)?;
            let Some(suspects) = self.suspects(&run) else { return Ok(Missed::No) };
            for test in &suspects {
                if self.is_model || self.fails_alone(statement, test)? {
                    return Ok(Missed::By(test.clone()));
                }
            }
            if before.as_ref().is_some_and(|before| *before == suspects) {
                return Ok(Missed::By(format!("{}, among others", suspects[0])));
            }
            before = Some(suspects);
        }
        Ok(Missed::No)
    }

    /// The tests that may have failed. `None` if it went well.
    fn suspects(&self, run: &Run) -> Option<Vec<String>> {
        if !run.failed.is_empty() {
            return Some(run.failed.clone());
        }
        match run.end {
            End::Well => None,
            End::Late if self.is_model => None,
            // The first ones that have not ended are those that ran.
            End::Badly | End::Late => {
                let rest = self.tests.iter().filter(|test| !run.ended.contains(*test));
                let mut rest: Vec<_> = rest.take(THREADS).cloned().collect();
                if rest.is_empty() {
                    rest.push("the end of the program".to_owned());
                }
                Some(rest)
            }
        }
    }

    /// Whether a test fails by itself, or takes many times as long as it does now with all
    /// statements.
    fn fails_alone(&self, statement: usize, test: &str) -> Result<bool> {
        let start = Instant::now();
        if self.run(0, Some(test), Duration::MAX, None)?.end != End::Well {
            return Ok(false);
        }
        let limit = patience(start.elapsed());
        Ok(self.run(statement, Some(test), limit, None)?.end != End::Well)
    }

    /// Runs all tests, or one, without a statement (0: with all). With all it goes on after a test
    /// that fails. It is ended when nothing was told for as long as `patience`.
    fn run(
        &self,
        without: usize,
        only: Option<&str>,
        patience: Duration,
        told: Option<&Path>,
    ) -> Result<Run> {
        let mut command = Command::new(&self.path);
        command.arg(format!("--test-threads={THREADS}")).current_dir(&self.folder);
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("RUST_BACKTRACE", "0");
        command.env("ARC_WITHOUT", without.to_string()).env("ARC_SCHEDULES", "20");
        command.env("PROPTEST_CASES", CASES);
        if let Some(test) = only {
            command.args(["--exact", test]);
        }
        if let Some(path) = told {
            command.env("ARC_RUN", path);
        }

        let lines = Lines::of(command)?;
        lines.read(patience, without != 0)
    }
}

fn patience(longest: Duration) -> Duration {
    PATIENCE + PATIENCE_TIMES * longest
}

/// What a program prints, line by line.
struct Lines {
    program: Child,
    lines: Receiver<String>,
}

impl Lines {
    /// Starts a program. It and what it starts are a group of processes.
    fn of(mut command: Command) -> Result<Self> {
        let (reader, writer) = io::pipe()?;
        command.stdin(std::process::Stdio::null());
        command.stdout(writer.try_clone()?).stderr(writer).process_group(0);
        let program = command.spawn()?;

        // The writers go with the command, or the output would never end.
        drop(command);
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
                // Nobody hears it once the program was ended.
                let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
        Ok(Self { program, lines })
    }

    fn read(mut self, patience: Duration, stops_at_failure: bool) -> Result<Run> {
        let longest = Duration::ZERO;
        let mut run = Run { ended: BTreeSet::new(), failed: Vec::new(), end: End::Well, longest };
        let mut last = Instant::now();
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => {
                    let Some((test, is_well)) = outcome(&line) else { continue };
                    run.longest = run.longest.max(last.elapsed());
                    last = Instant::now();
                    run.ended.insert(test.to_owned());
                    if !is_well {
                        run.failed.push(test.to_owned());
                        run.end = End::Badly;
                    }
                    if !is_well && stops_at_failure {
                        self.end()?;
                        return Ok(run);
                    }
                }
                // Something that it has started may have its output still.
                Err(RecvTimeoutError::Timeout) if self.program.try_wait()?.is_none() => {
                    if last.elapsed() > patience {
                        run.end = End::Late;
                        self.end()?;
                        return Ok(run);
                    }
                }
                Err(_) => break,
            }
        }
        if !self.program.wait()?.success() {
            run.end = End::Badly;
        }
        Ok(run)
    }

    /// Ends the program, with all that it has started.
    fn end(&mut self) -> Result<()> {
        let group = format!("-{}", self.program.id());
        Command::new("kill").args(["-KILL", "--", &group]).status()?;
        self.program.wait()?;
        Ok(())
    }
}

/// The name of a test that a line tells to have ended, and whether it has passed.
fn outcome(line: &str) -> Option<(&str, bool)> {
    // A model that shuttle runs ends its program.
    if let Some(line) = line.strip_prefix("model ") {
        return Some((line.split_once(" failed (")?.0, false));
    }
    let (test, how) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let name = test.split_once(" - should panic").map_or(test, |(name, _)| name);
    match how {
        "FAILED" => Some((name, false)),
        how if how == "ok" || how.starts_with("ignored") => Some((name, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads what a line of shell prints.
    fn read(script: &str, patience: Duration) -> Run {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Lines::of(command).unwrap().read(patience, true).unwrap()
    }

    #[test]
    fn outcomes_of_tests_are_told() {
        assert_eq!(outcome("test a::b ... ok"), Some(("a::b", true)));
        assert_eq!(outcome("test a::b - should panic ... FAILED"), Some(("a::b", false)));
        assert_eq!(outcome("test a ... ignored, why"), Some(("a", true)));
        assert_eq!(outcome("model a::b failed (see --nocapture): why"), Some(("a::b", false)));
        assert_eq!(outcome("model a::b: 12 schedules"), None);
        assert_eq!(outcome("test a has been running for over 60 seconds"), None);
        assert_eq!(outcome("test result: ok. 3 passed"), None);
    }

    #[test]
    fn a_program_is_ended_at_the_first_failure() {
        let run = read("echo 'test a ... ok'; echo 'test b ... FAILED'; sleep 1000", Duration::MAX);
        assert_eq!((run.failed, run.end), (vec!["b".to_owned()], End::Badly));
        assert!(run.ended.contains("a"));
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_what_it_has_started() {
        let run = read("echo 'test a ... ok'; sleep 1000 & sleep 1000", Duration::from_millis(300));
        assert_eq!((run.end, run.ended.len()), (End::Late, 1));
    }

    #[test]
    fn a_program_may_end_before_what_it_has_started() {
        let run = read("echo 'test a ... ok'; sleep 5 & exit 0", Duration::MAX);
        assert_eq!((run.end, run.ended.len()), (End::Well, 1));
        assert_eq!(read("exit 3", Duration::MAX).end, End::Badly);
    }

    #[test]
    fn those_that_ran_are_suspected() {
        let tests = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let (path, folder) = (PathBuf::new(), PathBuf::new());
        let (longest, runs) = (Duration::ZERO, BTreeSet::new());
        let mut program = Program { path, folder, is_model: false, tests, longest, runs };
        let ended = BTreeSet::from(["b".to_owned()]);
        let mut run = Run { ended, failed: Vec::new(), end: End::Late, longest };
        let suspects = program.suspects(&run);
        assert_eq!(suspects, Some(vec!["a".to_owned(), "c".to_owned()]));

        program.is_model = true;
        assert_eq!(program.suspects(&run), None);
        run.failed.push("d".to_owned());
        assert_eq!(program.suspects(&run), Some(vec!["d".to_owned()]));
    }
}
