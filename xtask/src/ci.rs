//! `cargo xtask ci`: the steps of `.ci/steps.toml`, on a developer's machine as on CI's.
//!
//! Every step is one or more command lines, printed as they start, so that any of them can be
//! repeated by hand. The first one that fails ends its step, and all other steps are run: one run
//! tells everything that failed.
//!
//! Many steps leave a core idle: they wait, or one crate is compiled while no other can be. So
//! there are two rows of steps, and both go on at once. What the steps of the second row print is
//! kept until the first row is between two steps: so nobody prints into the text of another.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;

use crate::table::Table;
use crate::{cargo, finish, workspace_root};

/// What the command line asks for.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only these steps, in CI's order
    #[arg(value_name = "STEP")]
    steps: Vec<String>,
    /// Only the steps that find most mistakes
    #[arg(long, conflicts_with = "steps")]
    quick: bool,
    /// List the steps and their commands, and run nothing
    #[arg(long)]
    list: bool,
}

const FILE: &str = include_str!("../../.ci/steps.toml");

/// A step, as its file describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    name: String,
    seconds: u64,
    #[serde(default)]
    quick: bool,
    #[serde(default)]
    only_quick: bool,
    #[serde(default)]
    beside: bool,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    needs: String,
    #[serde(default)]
    why: String,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    run: Vec<String>,
}

impl Step {
    /// Why the step is not run here, if it is not.
    fn skipped(&self) -> Option<&str> {
        let is_for_others =
            !self.only.is_empty() && !self.only.iter().any(|it| it == env::consts::OS);
        let lacks = || {
            let words: Vec<_> = self.needs.split_whitespace().collect();
            let [program, arguments @ ..] = words.as_slice() else { return false };
            let mut command = Command::new(program);
            // Nothing is to be downloaded.
            command.args(arguments).env("RUSTUP_AUTO_INSTALL", "0");
            !command.output().is_ok_and(|it| it.status.success())
        };
        (is_for_others || lacks()).then_some(&self.why)
    }

    fn skip_note(&self) -> String {
        self.skipped().map_or(String::new(), |why| format!(" (skipped here: {why})"))
    }

    /// The command lines, as one would type them into a shell.
    fn lines(&self) -> Vec<String> {
        let variables = self.variables.iter().map(|(name, value)| format!("{name}=\"{value}\" "));
        let variables: String = variables.collect();
        let words = self.run.iter().map(|it| it.split_whitespace().collect::<Vec<_>>());
        words.map(|it| format!("{variables}{}", it.join(" "))).collect()
    }

    /// Runs the command lines, each by `finish`.
    fn run(&self, mut finish: impl FnMut(&str, &mut Command) -> Result<()>) -> Result<()> {
        for (command, line) in self.run.iter().zip(self.lines()) {
            finish(&line, &mut self.command(command))
                .with_context(|| format!("to repeat it: {line}"))?;
        }
        Ok(())
    }

    fn command(&self, line: &str) -> Command {
        let words: Vec<_> = line.split_whitespace().collect();
        let mut command = match words[0] {
            "cargo" => cargo(),
            program => Command::new(program),
        };
        command.args(&words[1..]).envs(&self.variables).current_dir(workspace_root());
        command
    }

    /// Runs the step in the first row: what it prints is seen at once.
    fn run_ahead(&self) -> Outcome {
        println!("\n== {}{}", self.name, self.skip_note());
        self.timed(|| {
            self.run(|line, command| {
                println!("$ {line}");
                finish(command)
            })
        })
    }

    /// Runs the step in the second row, and keeps what it prints.
    fn run_beside(&self) -> Outcome {
        let mut text = format!("\n== {}, beside the others{}\n", self.name, self.skip_note());
        let mut outcome = self.timed(|| {
            self.run(|line, command| {
                text += &format!("$ {line}\n");
                finish_and_keep(command, &mut text)
            })
        });
        outcome.text = text;
        outcome
    }

    fn timed(&self, run: impl FnOnce() -> Result<()>) -> Outcome {
        let start = Instant::now();
        let result = if self.skipped().is_some() { None } else { Some(run()) };
        Outcome {
            name: self.name.clone(),
            seconds: start.elapsed().as_secs_f64(),
            result,
            text: String::new(),
        }
    }
}

/// What came of a step.
struct Outcome {
    name: String,
    seconds: f64,
    /// None: it was skipped.
    result: Option<Result<()>>,
    /// What it printed and nobody has seen yet.
    text: String,
}

impl Outcome {
    /// Shows what was not seen yet, and why it failed.
    fn tell(&self) {
        print!("{}", self.text);
        if let Some(Err(error)) = &self.result {
            println!("FAILED: {error:#}");
        }
    }

    /// Its row in the table of all steps.
    fn cells(&self) -> Vec<String> {
        let (seconds, result) = match &self.result {
            None => ("-".to_owned(), "skipped"),
            Some(Ok(())) => (format!("{:.1}", self.seconds), "ok"),
            Some(Err(_)) => (format!("{:.1}", self.seconds), "FAILED"),
        };
        vec![self.name.clone(), seconds, result.to_owned()]
    }

    fn failure(&self) -> Option<String> {
        let error = self.result.as_ref()?.as_ref().err()?;
        Some(format!("step `{}` failed: {error:#}", self.name))
    }
}

/// Runs a program to its end, and adds to `text` what it prints, in the order in which it does.
fn finish_and_keep(command: &mut Command, text: &mut String) -> Result<()> {
    let (mut reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    // Reading ends when nobody can write any more. The command could.
    command.stdout(Stdio::null()).stderr(Stdio::null());

    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    *text += &String::from_utf8_lossy(&bytes);
    let status = child.wait()?;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// All steps, in the order in which they run.
fn steps() -> Vec<Step> {
    #[derive(Deserialize)]
    struct Steps {
        step: Vec<Step>,
    }
    toml::from_str::<Steps>(FILE).expect("a test reads the file").step
}

/// Runs `cargo xtask ci`.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut steps = steps();
    if arguments.list {
        for step in &steps {
            println!("{}{}", step.name, step.skip_note());
            for line in step.lines() {
                println!("    {line}");
            }
        }
        return Ok(());
    }

    for name in &arguments.steps {
        ensure!(steps.iter().any(|it| it.name == *name), "there is no step `{name}`: ci --list");
    }
    steps.retain(|step| match arguments.steps.as_slice() {
        [] if arguments.quick => step.quick,
        [] => !step.only_quick,
        names => names.contains(&step.name),
    });
    if !arguments.steps.is_empty() {
        // Who names a step wants to see what it does.
        steps.iter_mut().for_each(|step| step.beside = false);
    }
    let first_row = steps.iter().filter(|it| !it.beside && it.skipped().is_none());
    let minutes = first_row.map(|it| it.seconds).sum::<u64>().div_ceil(60);
    println!("{} steps: {minutes} min on two cores, or twice that from nothing", steps.len());
    run_steps(&steps)
}

fn run_steps(steps: &[Step]) -> Result<()> {
    let start = Instant::now();
    let (beside, ahead): (Vec<_>, Vec<_>) = steps.iter().partition(|it| it.beside);
    let mut outcomes = Vec::new();
    let mut add = |outcome: Outcome| {
        outcome.tell();
        outcomes.push(outcome);
    };
    thread::scope(|scope| {
        let (ends, ended) = mpsc::channel();
        scope.spawn(move || {
            for step in beside {
                ends.send(step.run_beside()).expect("the first row waits for the second");
            }
        });
        for step in ahead {
            add(step.run_ahead());
            ended.try_iter().for_each(&mut add);
        }
        ended.iter().for_each(&mut add);
    });

    let mut table = Table::new(&["step", "seconds", "result"]);
    outcomes.iter().for_each(|it| table.cells(it.cells()));
    println!("\n{table}{:.1} s together", start.elapsed().as_secs_f64());
    let failures: Vec<_> = outcomes.iter().filter_map(Outcome::failure).collect();
    ensure!(failures.is_empty(), "{}", failures.join("\nxtask: "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use clap::Parser;

    use super::*;
    use crate::Task;

    fn step(text: &str) -> Step {
        toml::from_str(&format!("name = 'a'\nseconds = 1\n{text}\n")).unwrap()
    }

    #[test]
    fn a_step_that_is_not_there_is_told() {
        let task = Task::try_parse_from(["xtask", "ci", "fmt", "lint"]).unwrap();
        assert!(task.run().unwrap_err().to_string().contains("no step `lint`"));
    }

    #[test]
    fn each_step_can_be_named_and_run() {
        let steps = steps();
        let unique: BTreeSet<_> = steps.iter().map(|it| &it.name).collect();
        assert_eq!(unique.len(), steps.len());
        for line in steps.iter().flat_map(|it| &it.run) {
            let words: Vec<_> = line.split_whitespace().collect();
            let is_own = words.starts_with(&["cargo", "xtask"]);
            assert!(!is_own || Task::try_parse_from(&words[1..]).is_ok(), "{line}");
        }
        for step in steps.iter().filter(|it| !it.only.is_empty() || !it.needs.is_empty()) {
            assert!(!step.why.is_empty(), "{} may be skipped and does not say why", step.name);
        }
    }

    #[test]
    fn every_package_that_users_get_is_packed() {
        let steps = steps();
        let step = steps.iter().find(|it| it.name == "supply").unwrap();
        let line = step.lines().pop().unwrap() + " ";
        for folder in fs::read_dir(workspace_root().join("crates")).unwrap() {
            let name = folder.unwrap().file_name().into_string().unwrap();
            assert!(line.contains(&format!(" -p {name} ")), "-p {name} in {line}");
        }
    }

    #[test]
    fn the_oldest_compiler_is_the_one_that_the_libraries_state() {
        let manifest = fs::read_to_string(workspace_root().join("Cargo.toml")).unwrap();
        let version = manifest.lines().find_map(|it| it.strip_prefix("rust-version = \""));
        let line = format!("rustup run {} cargo check", version.unwrap().trim_end_matches('"'));
        assert!(FILE.contains(&line), "{line} in .ci/steps.toml");
    }

    #[test]
    fn a_step_is_skipped_elsewhere_and_without_what_it_needs() {
        assert_eq!(step("run = []").skipped(), None);
        assert_eq!(step("run = []\nonly = ['vms']\nwhy = 'b'").skipped(), Some("b"));
        assert_eq!(step("run = []\nneeds = 'no-such-program'\nwhy = 'c'").skipped(), Some("c"));
        assert_eq!(step("run = []\nneeds = 'git --version'").skipped(), None);
    }

    #[test]
    fn a_command_line_can_be_typed_into_a_shell() {
        let step = step("run = ['cargo  test -p a']\nvariables = { X_FLAGS = '--cfg a' }");
        assert_eq!(step.lines(), ["X_FLAGS=\"--cfg a\" cargo test -p a"]);
    }

    #[test]
    fn a_failure_ends_its_step_and_no_other() {
        let lines = ["'git no-such-command', 'no-such-program'", "'git --version'", "'none'"];
        let steps = lines.map(|it| step(&format!("run = [{it}]")));
        let text = format!("{:#}", run_steps(&steps).unwrap_err());
        let told: Vec<&str> = text.lines().collect();
        assert_eq!(told.len(), 2, "{text}");
        assert!(told[0].contains("to repeat it: git no-such-command"), "{text}");
        assert!(told[1].contains("to repeat it: none"), "{text}");
        assert!(run_steps(&steps[1..2]).is_ok());
    }

    #[test]
    fn what_runs_beside_others_is_shown_and_told() {
        let lines = ["'git --version', 'git no-such-command', 'none'", "'git --version'"];
        let steps = lines.map(|it| step(&format!("run = [{it}]\nbeside = true")));
        let outcome = steps[0].run_beside();
        let told: Vec<&str> = outcome.text.lines().skip(1).collect();
        assert_eq!(told[0], "== a, beside the others");
        assert_eq!(told[1], "$ git --version");
        assert!(told[2].starts_with("git version"), "{}", outcome.text);
        assert_eq!(told[3], "$ git no-such-command");
        assert!(told[4].contains("no-such-command"), "{}", outcome.text);
        assert!(!outcome.text.contains("$ none"), "{}", outcome.text);

        let text = format!("{:#}", run_steps(&steps).unwrap_err());
        assert_eq!(text.matches("step `a` failed").count(), 1, "{text}");
        assert!(run_steps(&steps[1..]).is_ok());
    }

    /// Two builds in one folder wait for each other, and exchange the programs that steps run.
    #[test]
    fn what_runs_beside_others_builds_in_a_folder_of_its_own() {
        for step in steps().iter().filter(|it| it.beside) {
            for line in step.run.iter().filter(|it| it.contains("cargo ")) {
                let is_apart = line.contains(" --release ") || line.contains(" --target-dir ");
                assert!(is_apart, "{}: {line}", step.name);
            }
        }
    }
}
