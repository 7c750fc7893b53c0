//! What a developer of arc runs. `cargo xtask ci` is what CI runs, step by step;
//! `cargo xtask versus` is the comparison with arc's peers.
//!
//! | file | purpose |
//! |---|---|
//! | `main.rs` | find the subcommand |
//! | `ci.rs` | the steps of CI, and how they are run and reported |
//! | `budget.rs` | the limits on the runtime's size, and the check against them |
//! | `count.rs` | count lines, `unsafe` and function lengths in one source text |
//! | `versus/` | load the same servers on arc and its peers, and draw what came of it |

mod budget;
mod ci;
mod count;
mod versus;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fmt};

const HELP: &str = "\
What a developer of arc runs.

usage: cargo xtask COMMAND [ARGUMENT...]

commands:
  ci        run what CI runs: `cargo xtask ci --help`
  versus    measure arc beside its peers: `cargo xtask versus --help`
  chart     draw what versus measured: `cargo xtask chart FILE.json OUT.svg`
";

/// Why a command did not succeed.
#[derive(Debug, PartialEq)]
enum Failure {
    /// The command line makes no sense: exit code 2.
    Usage(String),
    /// What was checked did not hold: exit code 1.
    Check(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) | Failure::Check(message) => formatter.write_str(message),
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(if matches!(failure, Failure::Usage(_)) {
                2
            } else {
                1
            })
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Failure> {
    let Some((command, rest)) = arguments.split_first() else {
        return Err(Failure::Usage(format!("a command is missing\n\n{HELP}")));
    };
    match command.as_str() {
        "ci" => ci::run(rest),
        "versus" => versus::run(rest),
        "chart" => versus::chart::run(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        unknown => Err(Failure::Usage(format!(
            "unknown command `{unknown}`\n\n{HELP}"
        ))),
    }
}

/// The workspace's root folder. cargo says at run time where xtask's manifest is;
/// the folder it was built in is the fallback for a binary that is started by hand.
fn workspace_root() -> PathBuf {
    let manifest =
        env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&manifest)
        .parent()
        .expect("xtask is a folder of the workspace")
        .to_owned()
}
