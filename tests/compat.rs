//! arc-compat's tests, for `cargo test`, with the same arguments.
//!
//! arc-compat is no default member of the workspace: cargo adds up the features of all
//! packages that it builds at once, and each example would be built with axum and all of
//! tokio that arc-compat is tested with.

use std::env;
use std::process::{Command, exit};

fn main() {
    let cargo = env::var_os("CARGO").expect("cargo runs the tests");
    let manifest = env::var_os("CARGO_MANIFEST_PATH").expect("cargo runs the tests");
    let status = Command::new(cargo)
        .args(["test", "--package", "arc-compat", "--manifest-path"])
        .arg(manifest)
        .arg("--")
        .args(env::args_os().skip(1))
        .status()
        .expect("cargo can be started");
    exit(status.code().unwrap_or(1));
}
