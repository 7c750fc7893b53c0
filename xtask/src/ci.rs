//! `cargo xtask ci`: the steps of CI, on a developer's machine as on CI's.
//!
//! Every step is one or more command lines, printed as they start, so that any of
//! them can be repeated by hand. The first one that fails ends the run.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use std::{env, fmt};

use clap::{Args, Parser};

use crate::{Failure, Task, cargo, finish, supply};

/// What the command line asks for.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only these steps, in CI's order
    #[arg(value_name = "STEP", value_parser = names())]
    steps: Vec<String>,
    /// Only what finds most mistakes: fmt, clippy, tidy, audit, inside, book and test
    #[arg(long, conflicts_with = "steps")]
    quick: bool,
    /// List the steps and their commands, and run nothing
    #[arg(long)]
    list: bool,
}

/// The steps of `--quick`.
const QUICK: [&str; 7] = ["fmt", "clippy", "tidy", "audit", "inside", "book", "test"];

/// The step of `--quick` that another step does, and more.
const CONTAINED: (&str, &str) = ("inside", "stages");

/// The environment variable that has this program stand in for rustc, and has the flags that
/// it adds.
pub const FLAGS: &str = "ARC_RUSTC_FLAGS";

/// Runs `rustc ARGUMENT...`, with more flags.
pub fn stand_in_for_rustc(flags: &str) -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let Some(rustc) = arguments.next() else { return ExitCode::FAILURE };
    match Command::new(rustc).args(arguments).args(flags.split_whitespace()).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

struct Step {
    name: &'static str,
    /// About how long it takes on two cores when it has been built before.
    seconds: u64,
    /// Why the step does not run on this platform, if it does not.
    excluded: Option<&'static str>,
    /// What the machine lacks for it, if anything.
    lacks: fn() -> Option<String>,
    /// Command lines, run one after the other.
    commands: Vec<Cargo>,
}

/// A command line of cargo, and the environment variables it is given.
struct Cargo {
    variables: Vec<(&'static str, String)>,
    arguments: Vec<String>,
}

impl Cargo {
    fn new(arguments: &str) -> Self {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Cargo { variables: Vec::new(), arguments }
    }

    /// Adds compiler flags to those that the caller's environment has. They come
    /// with a target folder of their own, or cargo would build everything anew
    /// each time the flags change.
    fn with_flags(mut self, flags: &str, folder: &str) -> Self {
        self.set_flags("RUSTFLAGS", flags);
        let target = env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
        let target = target.join(folder).to_string_lossy().into_owned();
        // Before a `--`, after which the arguments are the test program's.
        self.arguments.splice(1..1, ["--target-dir".to_owned(), target]);
        self
    }

    /// Adds compiler flags for the workspace's own crates: what they depend on is shared with
    /// the other steps, and not built again.
    fn with_own_flags(mut self, flags: &str) -> Self {
        let this = env::current_exe().unwrap_or_default().to_string_lossy().into_owned();
        self.variables.push(("RUSTC_WORKSPACE_WRAPPER", this));
        self.variables.push((FLAGS, flags.to_owned()));
        self
    }

    fn with_variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    fn set_flags(&mut self, variable: &'static str, flags: &str) {
        let inherited = env::var(variable).unwrap_or_default();
        self.variables.push((variable, format!("{inherited} {flags}").trim().to_owned()));
    }

    fn run(&self) -> Result<(), Failure> {
        println!("$ {self}");
        // This program answers for its own commands.
        if self.arguments[0] == "xtask"
            && let Ok(task) = Task::try_parse_from(&self.arguments)
        {
            return task.run().map_err(|failure| self.with_repetition(&failure));
        }
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        finish(cargo().args(&self.arguments).envs(variables))
            .map_err(|failure| self.with_repetition(&failure))
    }

    /// A failure, and the command line that repeats it.
    fn with_repetition(&self, failure: &Failure) -> Failure {
        Failure(format!("{failure}; to repeat it: {self}"))
    }
}

impl fmt::Display for Cargo {
    /// The command line as one would type it into a shell.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(formatter, "{name}=\"{value}\" ")?;
        }
        write!(formatter, "cargo {}", self.arguments.join(" "))
    }
}

impl Step {
    fn new(name: &'static str, seconds: u64, commands: impl Into<Vec<Cargo>>) -> Self {
        Step { name, seconds, excluded: None, lacks: || None, commands: commands.into() }
    }

    /// A step of one command line.
    fn line(name: &'static str, seconds: u64, line: &str) -> Self {
        Step::new(name, seconds, [Cargo::new(line)])
    }

    /// Skips the step where `condition` holds.
    fn skip_if(self, condition: bool, reason: &'static str) -> Self {
        Step { excluded: condition.then_some(reason), ..self }
    }

    /// Skips the step where something is lacking.
    fn skip_for(self, lacks: fn() -> Option<String>) -> Self {
        Step { lacks, ..self }
    }

    /// Why the step is not run here, if it is not.
    fn skipped(&self) -> Option<String> {
        self.excluded.map(str::to_owned).or_else(self.lacks)
    }
}

/// What `cargo test` tests, the models, which are run optimized, and xtask, whose dependencies
/// would have to be built again with the features that others ask for.
const TESTED: &str = "arc-runtime arc-compat* arc-macros arc-util *-examples arc-models arc-seeds \
                      arc-sim* xtask";

/// The tests of arc-async that need a feature.
const FEATURE_TESTS: &str = "test -p arc-async --features sim,trace --test clock --test flight";

const REACTOR_TESTS: &str = "test -p arc-runtime --lib --tests";

/// What `trust clippy` needs of Debian; it names the packages.
const DEBIAN: [&str; 5] = [
    "/usr/bin/rustc",
    "/usr/bin/cargo",
    "/usr/bin/cargo-clippy",
    "/usr/lib/rustlib/src/rust/library/std/Cargo.toml",
    "/usr/bin/x86_64-w64-mingw32-dlltool",
];

const MODELS_SKIPPED: &str = "the models are the same on every platform, and run on Linux";

/// All steps, in the order in which they run: the quick ones first, so that small
/// mistakes are told soon.
fn steps() -> Vec<Step> {
    let mut rest = "test --workspace".to_owned();
    for package in TESTED.split(' ') {
        rest += " --exclude ";
        rest += package;
    }
    let others = [Cargo::new("test -p xtask"), Cargo::new(&rest), Cargo::new(FEATURE_TESTS)];
    let races = Cargo::new("test --test scenarios -- scheduling:: wakers::");
    let oneshot = Cargo::new(REACTOR_TESTS).with_own_flags("--cfg arc_oneshot");
    let portable = Cargo::new(REACTOR_TESTS)
        .with_flags("--cfg arc_portable --cfg polling_test_poll_backend", "portable");
    // With an example, cargo takes the features that the tests ask for, and so what clippy
    // has checked; it would check all dependencies again.
    let mut public = Cargo::new("doc --workspace --all-features --no-deps --lib --bins");
    public.arguments.extend(["--example", "hello"].map(str::to_owned));
    public.set_flags("RUSTDOCFLAGS", "-D warnings");
    // The links in the documentation of what is private.
    let mut private = Cargo::new("doc -p arc-runtime -p arc-compat --all-features --no-deps");
    private.arguments.push("--document-private-items".to_owned());
    private.set_flags("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links");
    let examples = [
        Cargo::new("build --release -p arc-examples --examples"),
        Cargo::new("run --release -p arc-examples --example hello"),
    ];
    let is_linux = cfg!(target_os = "linux");

    vec![
        Step::line("fmt", 5, "fmt --all --check"),
        Step::line("clippy", 30, "clippy --workspace --all-targets -- -D warnings"),
        Step::line("tidy", 5, "xtask tidy"),
        Step::line("audit", 10, "xtask audit"),
        Step::line("compiled", 60, "xtask audit --compiled").skip_if(
            !is_linux || cfg!(not(target_arch = "x86_64")),
            "what a build on x86_64 Linux compiles is counted",
        ),
        Step::line("report", 10, "xtask report --check"),
        Step::line("supply", 20, "xtask supply"),
        Step::line("inside", 60, "run --quiet -p arc-inside --bin check -- --quick"),
        Step::line("book", 10, "run --quiet -p arc-book -- --check"),
        Step::line("test", 150, "test"),
        Step::new("races", 30, [races.with_variable("ARC_TEST_LONG", "1")]),
        Step::new("others", 60, others),
        Step::line("timeline", 60, "test -p arc-runtime --features trace --test timeline"),
        // Apart: the feature `sim` would be on in all that is built with them.
        Step::line("sim", 30, "test -p arc-sim -p arc-sim-core -p arc-sim-macros -p arc-seeds"),
        Step::new("oneshot", 60, [oneshot])
            .skip_if(cfg!(windows), "Windows has no other mode, so that `test` has covered it"),
        Step::new("portable", 60, [portable])
            .skip_if(!is_linux, "polling's own cfg for poll(2) is for Linux"),
        Step::line("loom", 60, "test -p arc-models --release --test loom")
            .skip_if(!is_linux, MODELS_SKIPPED),
        Step::line("shuttle", 330, "test -p arc-models --release --test shuttle")
            .skip_if(!is_linux, MODELS_SKIPPED),
        Step::line("stages", 120, "run --quiet -p arc-inside --bin check --"),
        Step::line("soak", 65, "run --release -p arc-trials --bin soak -- --seconds 60")
            .skip_if(!is_linux, "it reads of memory and descriptors in /proc"),
        Step::new("doc", 30, [public, private]),
        Step::new("examples", 10, examples),
        Step::line("minimal", 30, "xtask supply minimal"),
        Step::line("msrv", 30, "xtask supply msrv").skip_for(supply::missing_toolchain),
        Step::line("deny", 10, "xtask supply deny").skip_for(supply::missing_deny),
        Step::line("cross", 120, "xtask trust clippy").skip_if(
            !DEBIAN.iter().all(|path| Path::new(path).exists()),
            "not all packages are there that `cargo xtask trust --list` names for `clippy`",
        ),
    ]
}

fn names() -> Vec<&'static str> {
    steps().iter().map(|step| step.name).collect()
}

/// Runs `cargo xtask ci`.
///
/// # Errors
/// A step failed.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut steps = steps();
    if arguments.list {
        for step in &steps {
            println!("{}{}", step.name, skip_note(step));
            for line in &step.commands {
                println!("    {line}");
            }
        }
        return Ok(());
    }
    let names: Vec<&str> = match arguments.quick {
        true => QUICK.into(),
        false => arguments.steps.iter().map(String::as_str).collect(),
    };
    steps.retain(|step| match names.as_slice() {
        [] => step.name != CONTAINED.0,
        names => names.contains(&step.name),
    });
    print!("{}", announcement(&steps));
    run_steps(&steps)
}

/// Says what will be done, and about how long it takes.
fn announcement(steps: &[Step]) -> String {
    let runs = || steps.iter().filter(|step| step.skipped().is_none());
    let mut text = format!("{} steps:", steps.len());
    for step in steps {
        let _ = write!(text, " {}", step.name);
    }
    let minutes = runs().map(|step| step.seconds).sum::<u64>().div_ceil(60);
    text += &format!(
        "\nabout {minutes} min on two cores, and up to twice that when all has to be built\n"
    );
    text
}

fn skip_note(step: &Step) -> String {
    step.skipped().map_or(String::new(), |reason| format!(" (skipped here: {reason})"))
}

fn run_steps(steps: &[Step]) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let mut outcome = Ok(());
    for (index, step) in steps.iter().enumerate() {
        if outcome.is_err() {
            rows.push((step.name, None, "not run".to_owned()));
            continue;
        }
        println!("\n== {} of {}: {}{}", index + 1, steps.len(), step.name, skip_note(step));
        if let Some(reason) = step.skipped() {
            rows.push((step.name, None, format!("skipped: {reason}")));
            continue;
        }
        let start = Instant::now();
        outcome = step.commands.iter().try_for_each(Cargo::run);
        let result = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("== {}: {result}, {:.1} s", step.name, start.elapsed().as_secs_f64());
        rows.push((step.name, Some(start.elapsed()), result.to_owned()));
    }
    print_table(&rows);
    outcome.map_err(|failure| {
        let failed = rows.iter().find(|row| row.2 == "FAILED").map_or("", |row| row.0);
        Failure(format!("step `{failed}` failed: {failure}"))
    })
}

fn print_table(rows: &[(&str, Option<Duration>, String)]) {
    println!("\n{:10} {:>8}  result", "step", "seconds");
    for (name, time, result) in rows {
        let seconds = time.map_or("-".to_owned(), |time| format!("{:.1}", time.as_secs_f64()));
        println!("{name:10} {seconds:>8}  {result}");
    }
    let all: Duration = rows.iter().filter_map(|row| row.1).sum();
    println!("{:10} {:>8.1}", "together", all.as_secs_f64());
    // The message about a failure goes to stderr: keep it below the table.
    let _ = io::stdout().flush();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn arguments_are_understood() {
        let parse = |line: &str| Task::try_parse_from(line.split(' '));
        let Ok(Task::Ci(arguments)) = parse("xtask ci loom fmt") else { panic!("two steps") };
        assert_eq!(arguments.steps, ["loom", "fmt"]);
        for (line, part) in [
            ("xtask ci --fast", "--fast"),
            ("xtask ci lint", "lint"),
            ("xtask ci --quick fmt", "cannot be used with"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn quick_steps_exist_and_names_are_unique() {
        let names = names();
        assert!(QUICK.iter().all(|quick| names.contains(quick)));
        assert!(names.contains(&CONTAINED.0) && names.contains(&CONTAINED.1));
        let unique: BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
    }

    #[test]
    fn commands_of_this_program_are_understood_by_it() {
        for line in steps().iter().flat_map(|step| &step.commands) {
            let is_own = line.arguments[0] == "xtask";
            assert!(!is_own || Task::try_parse_from(&line.arguments).is_ok(), "{line}");
        }
    }

    #[test]
    fn what_will_be_done_is_said_with_its_time() {
        let steps = [
            Step::line("one", 50, "fmt"),
            Step::line("two", 20, "fmt"),
            Step::line("no", 900, "fmt").skip_if(true, "it cannot"),
        ];
        let text = announcement(&steps);
        assert!(text.starts_with("3 steps: one two no\nabout 2 min"), "{text}");
    }

    #[test]
    fn a_command_line_can_be_typed_into_a_shell() {
        let mut command = Cargo::new("test --lib -- --skip slow");
        command.variables.push(("RUSTFLAGS", "--cfg a --cfg b".to_owned()));
        assert_eq!(
            command.to_string(),
            "RUSTFLAGS=\"--cfg a --cfg b\" cargo test --lib -- --skip slow"
        );
    }

    #[test]
    fn flags_come_with_a_target_folder() {
        let command = Cargo::new("test -- --skip slow").with_flags("--cfg a", "a");
        assert_eq!(command.arguments[1], "--target-dir");
        assert!(Path::new(&command.arguments[2]).ends_with("a"));
        assert!(command.variables[0].1.ends_with("--cfg a"));
    }
}
