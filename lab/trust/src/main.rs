//! `cargo xtask trust`: everything that is done to trust arc, in one table.
//!
//! Each trial tries one kind of trouble and says what it tried, how often, and what it
//! found. Unlike the steps of CI they all run, whichever fails; what a machine lacks is
//! named. `--record` writes the lines of what was run into docs/RELIABILITY.md.
//!
//! | file | trials |
//! |---|---|
//! | `models.rs` | loom and shuttle, and the mutations that they must catch |
//! | `sanitizers.rs` | data races, memory errors, leaks |
//! | `platforms.rs` | the tests for other systems and processors, and other ways to wait |
//! | `faults.rs` | system calls that fail or are slow, limits that are reached |
//! | `network.rs` | networks that fail |
//! | `soak.rs` | everything at random for a while, and an account of it |
//! | `properties.rs` | random inputs against references |
//! | `debian.rs` | no trial: Debian's compiler, which builds for any platform |
//! | `tool.rs` | run a program within a limit, and keep what it printed |

mod debian;
mod faults;
mod models;
mod network;
mod platforms;
mod properties;
mod sanitizers;
mod soak;
mod tool;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use std::{env, fs};

use clap::Parser;

/// Model checks, properties, senseless input, a soak, faults, networks that fail, sanitizers
/// and other platforms, in one table
///
/// What the programs print is kept in target/trust/TRIAL.log.
#[derive(Parser)]
#[command(bin_name = "cargo xtask trust")]
struct Arguments {
    /// Only these; without, all those that are not on demand
    #[arg(value_name = "TRIAL", value_parser = names())]
    trials: Vec<String>,
    /// Write the lines of the table into docs/RELIABILITY.md
    #[arg(long)]
    record: bool,
    /// List the trials, and what they lack here, and run nothing
    #[arg(long)]
    list: bool,
}

/// The names of all trials.
fn names() -> Vec<&'static str> {
    trials().iter().map(|trial| trial.name).collect()
}

/// One kind of trouble.
struct Trial {
    name: &'static str,
    /// What is tried, in a few words.
    what: &'static str,
    /// It takes too long to be run without being named.
    on_demand: bool,
    /// What the machine lacks for it, if anything.
    missing: fn() -> Option<String>,
    /// Tries it; an error is a short text that says what was found.
    run: fn() -> Result<Outcome, String>,
}

/// What came of a trial in which nothing new was found.
struct Outcome {
    /// What was tried, and how often.
    tried: String,
    /// What was found; empty is nothing.
    found: String,
}

/// All trials, in the order of the page.
fn trials() -> Vec<Trial> {
    [
        models::trials(),
        properties::trials(),
        soak::trials(),
        faults::trials(),
        sanitizers::trials(),
        platforms::trials(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Where the table stands in docs/RELIABILITY.md.
const PAGE: &str = "docs/RELIABILITY.md";
const BEGIN: &str = "<!-- written by cargo xtask trust --record -->\n";
const END: &str = "<!-- the end of what is written -->\n";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.list {
        for trial in trials() {
            let demand = if trial.on_demand { " (on demand)" } else { "" };
            let missing = (trial.missing)().map_or(String::new(), |it| format!(" (lacks: {it})"));
            println!("{:12} {}{demand}{missing}", trial.name, trial.what);
        }
        return ExitCode::SUCCESS;
    }
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("trust: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what is asked for.
///
/// # Errors
/// A trial has found something, or cannot be run here.
fn run(Arguments { trials: names, record, .. }: &Arguments) -> Result<(), String> {
    let mut trials = trials();
    trials.retain(|trial| match names.as_slice() {
        [] => !trial.on_demand,
        names => names.iter().any(|name| name == trial.name),
    });
    let mut rows: Vec<Row<'_>> = Vec::new();
    let commit = commit();
    for trial in &trials {
        rows.push(try_one(trial, &commit));
        if *record {
            // At once: whoever interrupts a run keeps what it has found.
            write_down(&rows)?;
        }
    }
    println!("\n{}", table(&rows));
    let failed: Vec<_> = rows.iter().filter(|row| row.failed).map(|row| row.trial.name).collect();
    let lacking: Vec<_> = rows.iter().filter(|row| row.is_lacking).map(|row| &*row.found).collect();
    match failed.as_slice() {
        [] if !names.is_empty() && !lacking.is_empty() => {
            Err(format!("not all could be run here: {}", lacking.join("; ")))
        }
        [] => Ok(()),
        failed => Err(format!(
            "something was found by: {}; to repeat it: cargo xtask trust {}",
            failed.join(", "),
            failed.join(" ")
        )),
    }
}

/// A line of the table.
struct Row<'a> {
    trial: &'a Trial,
    tried: String,
    found: String,
    took: Duration,
    /// Of the sources.
    commit: &'a str,
    failed: bool,
    /// It was not run.
    is_lacking: bool,
}

/// The commit that is checked out, shortened; with a `+` when other files than the page
/// have been changed since.
fn commit() -> String {
    let git = |arguments: &[&str]| say("git", arguments, &workspace_root());
    let but_the_page = format!(":!{PAGE}");
    let is_changed = !git(&["status", "--porcelain", "--", ".", &but_the_page]).is_empty();
    git(&["rev-parse", "--short", "HEAD"]) + if is_changed { "+" } else { "" }
}

fn try_one<'a>(trial: &'a Trial, commit: &'a str) -> Row<'a> {
    println!("\n== {}: {}", trial.name, trial.what);
    let start = Instant::now();
    let missing = (trial.missing)();
    let is_lacking = missing.is_some();
    let (tried, found, failed) = match missing {
        Some(missing) => ("not run here".to_owned(), format!("lacks: {missing}"), false),
        None => {
            tool::begin(trial.name);
            match (trial.run)() {
                Ok(Outcome { tried, found }) => (tried, found, false),
                Err(found) => {
                    println!("FAILED: {found}\nSee {}", tool::log(trial.name).display());
                    ("".to_owned(), format!("FAILED: {found}"), true)
                }
            }
        }
    };
    let found = if found.is_empty() { "nothing".to_owned() } else { found };
    println!("{tried}: {found}");
    Row { trial, tried, found, took: start.elapsed(), commit, failed, is_lacking }
}

const HEAD: &str = "| trial | what | tried | found | s | commit |\n|---|---|---|---|--:|---|\n";

fn table(rows: &[Row<'_>]) -> String {
    rows.iter().map(line).fold(HEAD.to_owned(), |table, line| table + &line)
}

fn line(row: &Row<'_>) -> String {
    let cells = [row.trial.name, row.trial.what, &row.tried, &row.found];
    let cells = cells.map(|cell| cell.replace(['|', '\n'], " "));
    format!("| {} | {} | {} |\n", cells.join(" | "), row.took.as_secs(), row.commit)
}

/// Replaces in the page the lines of the trials that were run.
fn write_down(rows: &[Row<'_>]) -> Result<(), String> {
    let path = workspace_root().join(PAGE);
    let failed = |why: String| format!("{PAGE}: {why}");
    let page = fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
    let ran = rows.iter().filter(|row| !row.is_lacking);
    let lines: Vec<_> = ran.map(|row| (row.trial.name, line(row))).collect();
    let Some(page) = replaced(&page, &names(), &lines) else {
        return Err(failed(format!("has no lines {BEGIN:?} and {END:?}")));
    };
    fs::write(&path, page).map_err(|error| failed(error.to_string()))
}

/// The page with these lines in its table, in the order of the names; the others stay.
fn replaced(page: &str, names: &[&str], lines: &[(&str, String)]) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (written, after) = rest.split_once(END)?;
    let mut table = HEAD.to_owned();
    for name in names {
        let begin = format!("| {name} |");
        let old = written.lines().find(|line| line.starts_with(&begin));
        match (lines.iter().find(|line| line.0 == *name), old) {
            (Some((_, new)), _) => table += new,
            (None, Some(old)) => table += &format!("{old}\n"),
            (None, None) => {}
        }
    }
    Some(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

/// What a program prints; nothing if it cannot.
fn say(program: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.map_or(Vec::new(), |output| output.stdout);
    String::from_utf8_lossy(&output).trim().to_owned()
}

/// The workspace's root folder. cargo says at run time where this manifest is; the folder
/// it was built in is the fallback for a program that is started by hand.
fn workspace_root() -> PathBuf {
    let manifest =
        env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let root = Path::new(&manifest).ancestors().nth(2);
    root.expect("the manifest is two folders below the workspace").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_run_keeps_its_line() {
        let page = format!("text\n{BEGIN}\n{HEAD}| b | old |\n| c | old |\n\n{END}more\n");
        let lines = [("a", "| a | new |\n".to_owned()), ("c", "| c | new |\n".to_owned())];
        let page = replaced(&page, &["a", "b", "c", "d"], &lines).unwrap();
        let table = format!("{HEAD}| a | new |\n| b | old |\n| c | new |\n");
        assert_eq!(page, format!("text\n{BEGIN}\n{table}\n{END}more\n"));
        assert_eq!(replaced("text", &["a"], &lines), None);
    }
}
