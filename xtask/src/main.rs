//! What a developer of arc runs. `cargo xtask ci` is what CI runs, step by step.
//!
//! | file | purpose |
//! |---|---|
//! | `main.rs` | the commands |
//! | `ci.rs` | the steps of CI, and how they are run and reported |
//! | `audit.rs` | what `audit.toml` limits: lines, air, `unsafe` in arc and in its dependencies |
//! | `report.rs` | the same beside the limits, and as LOC_REPORT.md |
//! | `air.rs` | how much of longer functions is blank or has a comment |
//! | `lines.rs` | has tokei count lines |
//! | `tidy/` | the style, as far as it can be read off the source |
//! | `rust.rs` | cuts one source text into words and functions |
//! | `compare/` | what tokio's types have and arc-async's have not |
//! | `limits.rs` | reads `audit.toml`, and judges counts by it |
//! | `source.rs` | finds and reads source files |
//! | `tree.rs` | asks cargo what a build consists of |
//! | `table.rs` | tables for people |
//!
//! `inside`, `book` and `versus` are programs of their own, and `trust` is a script.

mod air;
mod audit;
mod ci;
mod compare;
mod limits;
mod lines;
mod report;
mod rust;
mod source;
mod table;
mod tidy;
mod tree;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Parser;

/// What a developer of arc runs
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
enum Task {
    /// Run what CI runs, in CI's order, and tell all that failed
    Ci(ci::Arguments),
    /// Check the style, as far as it can be read off the source (some seconds)
    Tidy(tidy::Arguments),
    /// Count lines, air and `unsafe`, and check the limits of audit.toml (10 s; a minute once)
    Audit,
    /// Write LOC_REPORT.md from the same counts, for a release (10 s)
    Report,
    /// Write where the repository is, in all places: its URL
    Repository { url: String },
    /// Models, sanitizers, platforms, faults, a soak (an hour): `trust --help`
    Trust(Arguments),
    /// Compare what tokio's types have with arc's (15 s; half a minute once)
    Compare,
    /// Load servers on arc and on its peers by oha (it says how long): `versus --help`
    Versus(Arguments),
    /// Check the stages and exercises of inside/ (minutes, with `--quick` one): `inside --help`
    Inside(Arguments),
    /// Fill the code into the book, and check all pages (some seconds)
    Book(Arguments),
}

/// What is for another program.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

fn main() -> ExitCode {
    match Task::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Task {
    fn run(self) -> Result<()> {
        match self {
            Task::Ci(arguments) => ci::run(&arguments),
            Task::Tidy(arguments) => tidy::run(&arguments),
            Task::Audit => report::check(),
            Task::Report => report::write(),
            Task::Repository { url } => tidy::fill(&workspace_root(), &url),
            Task::Compare => compare::run(),
            Task::Trust(arguments) => script("lab/trust/run", arguments),
            Task::Inside(arguments) => pass("arc-inside", arguments),
            Task::Book(arguments) => pass("arc-book", arguments),
            Task::Versus(arguments) => {
                let mut cargo = cargo();
                // Optimized, as what it starts: all of it is built once.
                cargo.args([
                    "run",
                    "--release",
                    "--package",
                    "arc-benches",
                    "--bin",
                    "measure",
                    "--",
                ]);
                finish(cargo.args(arguments.words))
            }
        }
    }
}

/// Has another program of the workspace do it.
fn pass(package: &str, arguments: Arguments) -> Result<()> {
    let mut cargo = cargo();
    cargo.args(["run", "--package", package, "--"]).args(arguments.words);
    finish(&mut cargo)
}

/// Has a script do it.
fn script(path: &str, arguments: Arguments) -> Result<()> {
    let mut bash = Command::new("bash");
    finish(bash.arg(path).args(arguments.words).current_dir(workspace_root()))
}

/// cargo, in the workspace's root. rustup must use what is installed, and never download.
fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.env("RUSTUP_AUTO_INSTALL", "0").current_dir(workspace_root());
    cargo
}

/// Runs a program to its end; an error if it cannot be started, or fails.
fn finish(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// The workspace's root folder. cargo says at run time where xtask's manifest is;
/// the folder it was built in is the fallback for a binary that is started by hand.
fn workspace_root() -> PathBuf {
    let manifest =
        env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&manifest).parent().expect("xtask is a folder of the workspace").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_another_program_is_passed_on_as_it_is() {
        let words = ["xtask", "versus", "--rounds", "3", "--help"];
        let task = Task::try_parse_from(words).unwrap();
        let Task::Versus(arguments) = task else { panic!("{task:?}") };
        assert_eq!(arguments.words, words[2..]);
    }
}
