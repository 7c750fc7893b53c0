//! `cargo xtask ci`: the steps of `.ci/steps.toml`, on a developer's machine as on CI's.
//!
//! Every step is one or more command lines, printed as they start, so that any of them can be
//! repeated by hand. The first one that fails ends its step, and all other steps are run: one run
//! tells everything that failed.

use std::collections::BTreeMap;
use std::env;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
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

    fn run(&self) -> Result<()> {
        for (command, line) in self.run.iter().zip(self.lines()) {
            println!("$ {line}");
            run_one(command, &self.variables).with_context(|| format!("to repeat it: {line}"))?;
        }
        Ok(())
    }
}

fn run_one(line: &str, variables: &BTreeMap<String, String>) -> Result<()> {
    let words: Vec<_> = line.split_whitespace().collect();
    let mut command = match words[0] {
        "cargo" => cargo(),
        program => Command::new(program),
    };
    finish(command.args(&words[1..]).envs(variables).current_dir(workspace_root()))
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
    let seconds: u64 = steps.iter().filter(|it| it.skipped().is_none()).map(|it| it.seconds).sum();
    let minutes = seconds.div_ceil(60);
    println!("{} steps: {minutes} min on two cores, or twice that from nothing", steps.len());
    run_steps(&steps)
}

fn run_steps(steps: &[Step]) -> Result<()> {
    let mut table = Table::new(&["step", "seconds", "result"]);
    let start = Instant::now();
    let mut failures = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n== {} of {}: {}{}", index + 1, steps.len(), step.name, step.skip_note());
        let (mut seconds, mut result) = ("-".to_owned(), "skipped");
        if step.skipped().is_none() {
            let start = Instant::now();
            let outcome = step.run();
            seconds = format!("{:.1}", start.elapsed().as_secs_f64());
            result = "ok";
            if let Err(error) = outcome {
                result = "FAILED";
                println!("FAILED: {error:#}");
                failures.push(format!("step `{}` failed: {error:#}", step.name));
            }
        }
        table.cells(vec![step.name.clone(), seconds, result.to_owned()]);
    }
    println!("\n{table}{:.1} s together", start.elapsed().as_secs_f64());
    if !failures.is_empty() {
        bail!("{}", failures.join("\nxtask: "));
    }
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
}
