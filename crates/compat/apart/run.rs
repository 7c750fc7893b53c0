//! The tests of arc-compat and of the examples with it, for `cargo test`, with the same arguments.
//!
//! They are no default members of the workspace: cargo adds up the features of all
//! packages that it builds at once, and each example would be built with axum and all of
//! tokio that arc-compat is tested with.

use std::env;
use std::process::{Command, exit};

fn main() {
    let cargo = env::var_os("CARGO").expect("cargo runs the tests");
    let mut command = Command::new(cargo);
    // cargo has started this in a folder of the workspace.
    command.args(["test", "--package", "arc-compat", "--package", "arc-web-examples", "--"]);
    command.args(env::args_os().skip(1));
    let status = command.status().expect("cargo can be started");
    exit(status.code().unwrap_or(1));
}
