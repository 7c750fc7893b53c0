//! `cargo xtask ratios`: the micro-benchmarks beside arc's peers, and beside arc of
//! another commit. The work is the program `ratios` of arc-benches; this builds it,
//! twice if need be.

use std::path::PathBuf;
use std::process::Command;

use super::options::Before;
use super::{before, build, programs};
use crate::{Failure, workspace_root};

const HELP: &str = "\
Measure single operations on arc and its peers, in interleaved rounds.

usage: cargo xtask ratios [--commit REV | --before FOLDER] [OPTION...]

  --commit REV      arc of another commit as well, as `before`
  --before FOLDER   the same with what another folder has: a checkout of arc

All other options are those of the program `ratios`:
";

const PACKAGE: &str = "arc-benches";

/// Runs `cargo xtask ratios` with the arguments that follow these words.
///
/// # Errors
/// The arguments are not understood, or something does not build or run.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let (before, rest) = split(arguments)?;
    let root = workspace_root();
    build(&root, PACKAGE)?;
    let folder = programs("ratios")?;
    let mut command = Command::new(folder.join("ratios"));
    command.args(&rest);
    if rest.iter().any(|argument| argument == "--help") {
        print!("{HELP}");
    } else if let Some(before) = before {
        let target = folder.parent().expect("it is in cargo's target folder");
        let then = before::build(&root, target, &before, PACKAGE)?;
        command.arg("--before").arg(then.join("ratios"));
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Check(format!("ratios: {status}"))),
        Err(error) => Err(Failure::Check(format!("ratios cannot be started: {error}"))),
    }
}

/// What is for this command, and what is for the program.
fn split(arguments: &[String]) -> Result<(Option<Before>, Vec<String>), Failure> {
    let mut before = None;
    let mut rest = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            let value = arguments.next().cloned();
            value.ok_or_else(|| Failure::Usage(format!("{argument} needs a value\n\n{HELP}")))
        };
        match argument.as_str() {
            "--commit" => before = Some(Before::Commit(value()?)),
            "--before" => before = Some(Before::Folder(PathBuf::from(value()?))),
            _ => rest.push(argument.clone()),
        }
    }
    Ok((before, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_for_this_command_is_for_the_program() {
        let words = ["--rounds", "3", "--commit", "main", "--only", "timer"].map(str::to_owned);
        let (before, rest) = split(&words).unwrap();
        assert_eq!(before, Some(Before::Commit("main".to_owned())));
        assert_eq!(rest, ["--rounds", "3", "--only", "timer"]);
        assert!(split(&words[2..3]).is_err());
    }
}
