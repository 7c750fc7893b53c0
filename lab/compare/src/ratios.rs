//! `cargo xtask ratios`: the micro-benchmarks beside arc's peers, and beside arc of
//! another commit. The work is the program `ratios` of arc-benches; this builds it,
//! twice if need be.

use std::process::Command;

use clap::Args;

use crate::options::Before;
use crate::versus::programs;
use crate::{Failure, before, process, workspace_root};

const PACKAGE: &str = "arc-benches";

/// What the command line asks for.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    before: Before,
    /// Options of the program `ratios`, after those above: `-- --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Runs `cargo xtask ratios`.
///
/// # Errors
/// Something does not build or run.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let root = workspace_root();
    process::build(&root, PACKAGE, None)?;
    let folder = programs("ratios")?;
    let mut command = Command::new(folder.join("ratios"));
    command.args(&arguments.rest);

    if arguments.before.is_given() {
        let target = folder.parent().expect("it is in cargo's target folder");
        let then = before::build(&root, target, &arguments.before, PACKAGE)?;
        command.arg("--before").arg(then.join("ratios"));
    }
    process::run(command)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::Measurement;

    #[test]
    fn what_is_not_for_this_command_is_for_the_program() {
        let line = "x ratios --commit main --rounds 3 --only timer";
        let parsed = Measurement::try_parse_from(line.split(' ')).unwrap();
        let Measurement::Ratios(arguments) = parsed else { panic!("{parsed:?}") };
        assert_eq!(arguments.before.commit.as_deref(), Some("main"));
        assert_eq!(arguments.rest, ["--rounds", "3", "--only", "timer"]);
    }
}
