//! Everything that arc does, at random, for a while, with an account of it.

use arc_trials::soak::{Options, run};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    if run(&Options::parse()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
