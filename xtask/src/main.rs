//! What a developer of arc runs. `cargo xtask ci` is what CI runs, step by step;
//! `cargo xtask versus` is the comparison with arc's peers.
//!
//! | file | purpose |
//! |---|---|
//! | `main.rs` | find the subcommand |
//! | `ci.rs` | the steps of CI, and how they are run and reported |
//! | `audit.rs` | `unsafe` in arc and in its dependencies, and the budgets |
//! | `loc.rs` | lines, functions by length, and the air in them |
//! | `report.rs` | both of these as LOC_REPORT.md |
//! | `tidy/` | the style, as far as it can be read off the source |
//! | `supply.rs` | dependencies, packages, oldest versions |
//! | `cross.rs` | clippy for other platforms |
//! | `trust/` | models, sanitizers, platforms, faults, a soak, and the table of them |
//! | `count.rs` | count lines, `unsafe` and function lengths in one source text |
//! | `versus/` | load the same servers on arc and its peers, and draw what came of it |
//! | `limits.rs` | read `audit.toml`, and judge counts by it |
//! | `source.rs` | find and read source files |
//! | `tree.rs` | ask cargo what a build consists of |
//! | `table.rs` | tables for people |

mod audit;
mod ci;
mod count;
mod cross;
mod limits;
mod loc;
mod report;
mod source;
mod supply;
mod table;
mod tidy;
mod tree;
mod trust;
mod versus;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fmt};

const HELP: &str = "\
What a developer of arc runs.

usage: cargo xtask COMMAND [ARGUMENT...]

commands:
  ci        run what CI runs: `cargo xtask ci --help`
  versus    measure arc beside its peers: `cargo xtask versus --help`
  ratios    measure single operations beside its peers: `cargo xtask ratios --help`
  chart     draw what versus or growth measured: `cargo xtask chart FILE.json OUT.svg`
  audit     count `unsafe`, in arc and in its dependencies, and check the budgets
  loc       count lines, and functions by length
  report    write LOC_REPORT.md; --check only says whether it is up to date
  tidy      check the style, as far as it can be read off the source
  supply    check dependencies, packages, oldest versions: `cargo xtask supply --help`
  cross     run clippy for other platforms
  trust     models, sanitizers, platforms, faults, a soak: `cargo xtask trust --help`
  inside    check the stages of inside/: `cargo xtask inside --help`
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
    let arguments: Vec<String> =
        env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(if matches!(failure, Failure::Usage(_)) { 2 } else { 1 })
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
        "ratios" => versus::ratios::run(rest),
        "chart" => versus::chart::run(rest),
        "audit" => audit::run(rest),
        "loc" => loc::run(rest),
        "report" => report::run(rest),
        "tidy" => tidy::run(rest),
        "supply" => supply::run(rest),
        "cross" => cross::run(rest),
        "trust" => trust::run(rest),
        "inside" => ci::run_inside(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        unknown => Err(Failure::Usage(format!("unknown command `{unknown}`\n\n{HELP}"))),
    }
}

/// What a program prints; nothing if it cannot.
fn say(program: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.map_or(Vec::new(), |output| output.stdout);
    String::from_utf8_lossy(&output).trim().to_owned()
}

/// The workspace's root folder. cargo says at run time where xtask's manifest is;
/// the folder it was built in is the fallback for a binary that is started by hand.
fn workspace_root() -> PathBuf {
    let manifest =
        env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&manifest).parent().expect("xtask is a folder of the workspace").to_owned()
}
