//! A fixed amount of work on arc, for faults to be injected into.

use arc_trials::workload::{Options, run};
use clap::Parser;

fn main() -> std::process::ExitCode {
    run(Options::parse())
}
