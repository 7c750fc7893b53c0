//! Everything that arc does, at random, for a while, with an account of it.

use arc_trials::soak::{Options, run};
use std::process::ExitCode;

const HELP: &str = "\
Runs everything that arc does at random for a while, and keeps an account of it.

usage: soak [--seconds N] [--seed S] [--round R]

  --seconds N   for how long; 60
  --seed S      what is chosen is chosen by it; a new one, which is printed
  --round R     begin with this round of the seed; 0
";

fn main() -> ExitCode {
    let mut options = Options { seconds: 60, seed: fastrand::u64(..1 << 32), first: 0 };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let option = match argument.as_str() {
            "--seconds" => &mut options.seconds,
            "--seed" => &mut options.seed,
            "--round" => &mut options.first,
            _ => return usage(),
        };
        match arguments.next().map(|number| number.parse()) {
            Some(Ok(number)) => *option = number,
            _ => return usage(),
        }
    }
    if run(&options) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    eprint!("{HELP}");
    ExitCode::from(2)
}
