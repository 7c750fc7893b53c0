//! `cargo xtask ci`: the steps of CI, on a developer's machine as on CI's.
//!
//! Every step is one or more command lines, printed as they start, so that any of
//! them can be repeated by hand. The first one that fails ends the run.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, Instant};
use std::{env, fmt, fs};

use crate::{Failure, audit, cross, report, supply, tidy, workspace_root};

const HELP: &str = "\
Run what CI runs, in CI's order, up to the first failure.

usage: cargo xtask ci [--quick | STEP...]

  STEP...   only these steps
  --quick   only fmt, clippy, tidy, audit, inside and test
  --list    list the steps and their commands, and run nothing
  --help    print this text
";

/// The steps of `--quick`.
const QUICK: [&str; 6] = ["fmt", "clippy", "tidy", "audit", "inside", "test"];

struct Step {
    name: &'static str,
    /// Why the step does not run on this platform, if it does not.
    skipped: Option<String>,
    work: Work,
}

/// A command of xtask, which is given its arguments.
type Command = fn(&[String]) -> Result<(), Failure>;

enum Work {
    /// Command lines, run one after the other.
    Cargo(Vec<Cargo>),
    /// A command of xtask, in this process.
    Xtask(Command, &'static str),
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

    fn set_flags(&mut self, variable: &'static str, flags: &str) {
        let inherited = env::var(variable).unwrap_or_default();
        self.variables.push((variable, format!("{inherited} {flags}").trim().to_owned()));
    }

    fn run(&self, root: &Path) -> Result<(), Failure> {
        let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = process::Command::new(program)
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            // rustup must use what is installed, and never download.
            .env("RUSTUP_AUTO_INSTALL", "0")
            .current_dir(root)
            .status()
            .map_err(|error| Failure::Check(format!("cargo cannot be started: {error}")))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::Check(format!("{status}; to repeat it: {self}")))
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
    fn cargo(name: &'static str, commands: impl Into<Vec<Cargo>>) -> Self {
        Step { name, skipped: None, work: Work::Cargo(commands.into()) }
    }

    /// The command line `cargo xtask LINE`, which `command` answers.
    fn xtask(name: &'static str, line: &'static str, command: Command) -> Self {
        Step { name, skipped: None, work: Work::Xtask(command, line) }
    }

    /// Skips the step where `condition` holds.
    fn skip_if(self, condition: bool, reason: &str) -> Self {
        self.skip_for(condition.then(|| reason.to_owned()))
    }

    /// Skips the step where there is a reason to.
    fn skip_for(mut self, reason: Option<String>) -> Self {
        self.skipped = reason;
        self
    }

    fn command_lines(&self) -> Vec<String> {
        match &self.work {
            Work::Cargo(commands) => commands.iter().map(Cargo::to_string).collect(),
            Work::Xtask(_, line) => vec![format!("cargo xtask {line}")],
        }
    }

    fn run(&self, root: &Path) -> Result<(), Failure> {
        match &self.work {
            Work::Cargo(commands) => commands.iter().try_for_each(|command| {
                println!("$ {command}");
                command.run(root)
            }),
            Work::Xtask(command, line) => {
                println!("$ cargo xtask {line}");
                let words = line.split_whitespace().skip(1);
                command(&words.map(str::to_owned).collect::<Vec<_>>())
            }
        }
    }
}

const MODELS_SKIPPED: &str = "the models are the same on every platform, and run on Linux";

/// All steps, in the order in which they run: the quick ones first, so that small
/// mistakes are told soon.
fn steps(root: &Path) -> Vec<Step> {
    let reactor_tests = reactor_tests(root);
    let oneshot = Cargo::new(&reactor_tests).with_flags("--cfg arc_oneshot", "oneshot");
    let portable = Cargo::new(&reactor_tests)
        .with_flags("--cfg arc_portable --cfg polling_test_poll_backend", "portable");
    let models = |name| Cargo::new(&format!("test -p arc-models --release --test {name}"));
    let soak = Cargo::new("run --release -p arc-trials --bin soak -- --seconds 60");
    let mut doc = Cargo::new("doc --workspace --all-features --no-deps");
    doc.set_flags("RUSTDOCFLAGS", "-D warnings");
    // The links in the documentation of what is private.
    let mut private = Cargo::new("doc -p arc-runtime -p arc-compat --all-features --no-deps");
    private.arguments.push("--document-private-items".to_owned());
    private.set_flags("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links");

    vec![
        Step::cargo("fmt", [Cargo::new("fmt --all --check")]),
        Step::cargo("clippy", [Cargo::new("clippy --workspace --all-targets -- -D warnings")]),
        Step::xtask("tidy", "tidy", tidy::run),
        Step::xtask("audit", "audit", audit::run),
        Step::xtask("report", "report --check", report::run),
        Step::xtask("supply", "supply", supply::run),
        Step::cargo("inside", [Cargo::new(&format!("{INSIDE} --quick"))]),
        // The models are run below, optimized.
        Step::cargo("test", [Cargo::new("test --workspace --exclude arc-models")]),
        Step::cargo("oneshot", [oneshot])
            .skip_if(cfg!(windows), "Windows has no other mode, so that `test` has covered it"),
        Step::cargo("portable", [portable])
            .skip_if(!cfg!(target_os = "linux"), "polling's own cfg for poll(2) is for Linux"),
        Step::cargo("loom", [models("loom")]).skip_if(!cfg!(target_os = "linux"), MODELS_SKIPPED),
        Step::cargo("shuttle", [models("shuttle")])
            .skip_if(!cfg!(target_os = "linux"), MODELS_SKIPPED),
        Step::cargo("stages", [Cargo::new(INSIDE)]),
        Step::cargo("soak", [soak])
            .skip_if(!cfg!(target_os = "linux"), "it reads of memory and descriptors in /proc"),
        Step::cargo("doc", [doc, private]),
        Step::cargo(
            "examples",
            [Cargo::new("build --release --examples"), Cargo::new("run --release --example hello")],
        ),
        Step::xtask("minimal", "supply minimal", supply::run),
        Step::xtask("msrv", "supply msrv", supply::run).skip_for(supply::missing_toolchain()),
        Step::xtask("deny", "supply deny", supply::run).skip_for(supply::missing_deny()),
        Step::xtask("cross", "cross", cross::run).skip_for(cross::missing()),
    ]
}

/// What checks the stages of `inside/` stands beside them.
const INSIDE: &str = "run --quiet -p arc-inside --bin check --";

/// Runs `cargo xtask inside` with the arguments that follow these words.
///
/// # Errors
/// A stage does not do what it should.
pub fn run_inside(arguments: &[String]) -> Result<(), Failure> {
    Cargo::new(&format!("{INSIDE} {}", arguments.join(" "))).run(&workspace_root())
}

/// The command that runs the runtime's tests for another reactor: all but those in
/// `APART`, which cargo can only be told by naming the others.
pub fn reactor_tests(root: &Path) -> String {
    const APART: [&str; 2] = [
        "examples",     // It needs the examples' programs, which only a full build makes.
        "compile_fail", // It tests the macros' messages, which know no reactor.
    ];
    let mut command = "test -p arc-runtime --lib".to_owned();
    for name in test_targets(root).iter().filter(|name| !APART.contains(&name.as_str())) {
        command += " --test ";
        command += name;
    }
    command
}

/// The integration tests that cargo finds by itself: `tests/NAME.rs` and
/// `tests/NAME/main.rs`.
fn test_targets(root: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(root.join("tests")).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension().is_some_and(|it| it == "rs") || path.join("main.rs").exists()
        })
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect()
}

/// What the command line asks for.
#[derive(Debug, PartialEq)]
enum Request {
    Help,
    List,
    /// The names of the steps to run; all if empty.
    Run(Vec<String>),
}

fn parse(arguments: &[String], known: &[&str]) -> Result<Request, Failure> {
    let mut quick = false;
    let mut names = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "--help" | "-h" => return Ok(Request::Help),
            "--list" => return Ok(Request::List),
            "--quick" => quick = true,
            name if known.contains(&name) => names.push(name.to_owned()),
            unknown => {
                let kind = if unknown.starts_with('-') { "option" } else { "step" };
                return Err(Failure::Usage(format!(
                    "unknown {kind} `{unknown}`\n\nsteps: {}\n\n{HELP}",
                    known.join(", ")
                )));
            }
        }
    }
    if quick && !names.is_empty() {
        return Err(Failure::Usage(format!("--quick and steps exclude each other\n\n{HELP}")));
    }
    if quick {
        names = QUICK.map(str::to_owned).into();
    }
    Ok(Request::Run(names))
}

/// Runs `cargo xtask ci` with the arguments that follow these words.
///
/// # Errors
/// The arguments are not understood, or a step failed.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let root = workspace_root();
    let mut steps = steps(&root);
    let known: Vec<&str> = steps.iter().map(|step| step.name).collect();
    match parse(arguments, &known)? {
        Request::Help => print!("{HELP}"),
        Request::List => list(&steps),
        Request::Run(names) => {
            steps.retain(|step| names.is_empty() || names.iter().any(|name| name == step.name));
            return run_steps(&steps, &root);
        }
    }
    Ok(())
}

fn list(steps: &[Step]) {
    for step in steps {
        println!("{}{}", step.name, skip_note(step));
        for line in step.command_lines() {
            println!("    {line}");
        }
    }
}

fn skip_note(step: &Step) -> String {
    step.skipped.as_ref().map_or(String::new(), |reason| format!(" (skipped here: {reason})"))
}

fn run_steps(steps: &[Step], root: &Path) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let mut outcome = Ok(());
    for step in steps {
        if outcome.is_err() {
            rows.push((step.name, None, "not run".to_owned()));
            continue;
        }
        println!("\n== {}{}", step.name, skip_note(step));
        if let Some(reason) = &step.skipped {
            rows.push((step.name, None, format!("skipped: {reason}")));
            continue;
        }
        let start = Instant::now();
        outcome = step.run(root);
        let result = if outcome.is_ok() { "ok" } else { "FAILED" };
        rows.push((step.name, Some(start.elapsed()), result.to_owned()));
    }
    print_table(&rows);
    outcome.map_err(|failure| {
        let failed = rows.iter().find(|row| row.2 == "FAILED").map_or("", |row| row.0);
        Failure::Check(format!("step `{failed}` failed: {failure}"))
    })
}

fn print_table(rows: &[(&str, Option<Duration>, String)]) {
    println!("\n{:10} {:>8}  result", "step", "seconds");
    for (name, time, result) in rows {
        let seconds = time.map_or("-".to_owned(), |time| format!("{:.1}", time.as_secs_f64()));
        println!("{name:10} {seconds:>8}  {result}");
    }
    // The message about a failure goes to stderr: keep it below the table.
    let _ = io::stdout().flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Request, Failure> {
        let arguments: Vec<String> = arguments.iter().map(|&each| each.to_owned()).collect();
        parse(&arguments, &["fmt", "clippy", "tidy", "audit", "test", "loom"])
    }

    #[test]
    fn arguments_are_understood() {
        assert_eq!(parsed(&[]), Ok(Request::Run(vec![])));
        assert_eq!(parsed(&["loom", "fmt"]), Ok(Request::Run(vec!["loom".into(), "fmt".into()])));
        assert_eq!(parsed(&["--quick"]), Ok(Request::Run(QUICK.map(String::from).into())));
        assert_eq!(parsed(&["--list"]), Ok(Request::List));
        assert_eq!(parsed(&["fmt", "--help"]), Ok(Request::Help));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (arguments, message) in [
            (&["--fast"][..], "unknown option `--fast`"),
            (&["fmt", "lint"], "unknown step `lint`"),
            (&["--quick", "fmt"], "--quick and steps exclude each other"),
        ] {
            let Err(Failure::Usage(text)) = parsed(arguments) else { panic!("{arguments:?}") };
            assert!(text.starts_with(message), "{text}");
        }
    }

    #[test]
    fn quick_steps_exist_and_names_are_unique() {
        let names: Vec<_> = steps(&workspace_root()).iter().map(|step| step.name).collect();
        assert!(QUICK.iter().all(|quick| names.contains(quick)));
        let unique: BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
    }

    #[test]
    fn tests_are_found_as_cargo_finds_them() {
        let root = env::temp_dir().join(format!("arc-xtask-{}", std::process::id()));
        fs::create_dir_all(root.join("tests/folder")).unwrap();
        fs::create_dir_all(root.join("tests/data")).unwrap();
        for file in ["net.rs", "examples.rs", "compile_fail.rs", "folder/main.rs", "data/a.rs"] {
            fs::write(root.join("tests").join(file), "").unwrap();
        }
        let command = reactor_tests(&root);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(command, "test -p arc-runtime --lib --test folder --test net");
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
