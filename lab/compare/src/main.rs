//! What measures arc beside its peers: `cargo xtask versus` and `ratios`.
//!
//! | file | purpose |
//! |---|---|
//! | `main.rs` | find the command |
//! | `versus.rs` | build, go through workloads and rounds, keep the record |
//! | `options.rs` | the command line, and the servers |
//! | `workload.rs` | what the servers do |
//! | `measure.rs` | one measurement of one server |
//! | `before.rs`, `../before.sh` | arc of another commit, to be measured beside the present one |
//! | `ratios.rs` | the same for single operations |
//! | `load.rs` | the load generators: oha, wrk and those of `lab/versus/` |
//! | `process.rs` | processes that end in any case |
//! | `proc.rs` | what Linux says about CPU, context switches and memory |
//! | `machine.rs` | machine, versions and commit |
//! | `record.rs` | what is kept in a JSON file |
//! | `statistics.rs` | medians, spreads and ratios |
//! | `report.rs` | the tables on the terminal |

mod before;
mod load;
mod machine;
mod measure;
mod options;
mod proc;
mod process;
mod ratios;
mod record;
mod report;
mod statistics;
mod versus;
mod workload;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fmt};

use clap::Parser;

#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
enum Measurement {
    /// Load the same servers on arc and on its peers, and print them side by side
    Versus(options::Options),
    /// Measure single operations on arc and its peers, in interleaved rounds
    Ratios(ratios::Arguments),
}

/// Why something was not measured.
#[derive(Debug, PartialEq)]
struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn main() -> ExitCode {
    let done = match Measurement::parse() {
        Measurement::Versus(options) => versus::run(options),
        Measurement::Ratios(arguments) => ratios::run(arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
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
