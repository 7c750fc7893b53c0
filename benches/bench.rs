//! `cargo bench` at the top of the repository has this package, `benches/`, do it.
//!
//! It is not a benchmark of arc-runtime itself: tokio's runtime would be built into every example
//! and test that is built with it.

use std::env;
use std::process::{Command, exit};

fn main() {
    // cargo says `--bench` to a program that is a benchmark, and will say it to that one, too.
    let words = env::args().skip(1).filter(|word| word != "--bench");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["bench", "--package", "arc-benches", "--bench", "operations", "--"]).args(words);
    let status = cargo.status().expect("cargo has started this program");
    exit(status.code().unwrap_or(1));
}
