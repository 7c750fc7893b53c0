//! A fixed amount of work on arc, for faults to be injected into.

use arc_trials::workload::{HELP, Options, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Some(options) => run(options),
        None => {
            eprint!("{HELP}");
            ExitCode::from(2)
        }
    }
}
