//! `cargo xtask cross`: clippy for other platforms, as far as the machine allows.
//!
//! The standard library of another platform is not on a machine that has only its
//! own. Debian's packages of the compiler bring the library's source, so that it
//! can be checked for any target; where they are not installed, this says so, and
//! the hosted workflow is what checks macOS and Windows.

use std::path::Path;
use std::process::Command;

use crate::{Failure, workspace_root};

const HELP: &str = "\
Run clippy on the libraries for other platforms, with Debian's compiler.

usage: cargo xtask cross [TARGET...]
";

/// One platform for each of polling's ways to wait that Linux does not use, and
/// Linux on another processor.
pub const TARGETS: [&str; 4] = [
    "x86_64-pc-windows-msvc",
    "aarch64-apple-darwin",
    "x86_64-unknown-freebsd",
    "aarch64-unknown-linux-gnu",
];

/// What has to be there, and Debian's package that has it.
pub type Needed = (&'static str, &'static str);

const NEEDED: [Needed; 4] = [
    ("/usr/bin/rustc", "rustc-web"),
    ("/usr/bin/cargo", "cargo-web"),
    ("/usr/bin/cargo-clippy", "rust-web-clippy"),
    ("/usr/lib/rustlib/src/rust/library/std/Cargo.toml", "rust-web-src"),
];

/// What is missing for this command, if anything: Debian's packages.
pub fn missing() -> Option<String> {
    missing_of(&[])
}

/// The same, for what needs some more besides.
pub fn missing_of(more: &[Needed]) -> Option<String> {
    let missing = NEEDED.iter().chain(more).filter(|(path, _)| !Path::new(path).exists());
    let packages: Vec<_> = missing.map(|it| it.1).collect();
    (!packages.is_empty())
        .then(|| format!("Debian's packages {} are not installed", packages.join(", ")))
}

/// The environment in which Debian's cargo runs Debian's compiler: the variables that are
/// set, and those that are not.
pub fn environment() -> ([(&'static str, String); 4], [&'static str; 2]) {
    let path = std::env::var("PATH").unwrap_or_default();
    let variables = [
        // Only a compiler that says it is unstable builds the standard library.
        ("RUSTC_BOOTSTRAP", "1".to_owned()),
        ("PATH", format!("/usr/bin:{path}")),
        ("RUSTC", "/usr/bin/rustc".to_owned()),
        ("RUSTDOC", "/usr/bin/rustdoc".to_owned()),
    ];
    (variables, ["RUSTUP_TOOLCHAIN", "CARGO"])
}

/// Runs `cargo xtask cross` with the arguments that follow these words.
///
/// # Errors
/// The packages are not there, or clippy has found something.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    if arguments.iter().any(|it| it.starts_with('-')) {
        print!("{HELP}");
        return Ok(());
    }
    if let Some(missing) = missing() {
        return Err(Failure::Check(missing));
    }
    let targets = match arguments {
        [] => TARGETS.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    targets.iter().try_for_each(|target| clippy(target))
}

fn clippy(target: &str) -> Result<(), Failure> {
    println!("$ cargo clippy -Zbuild-std --target {target} ...");
    let packages = ["arc-runtime", "arc-macros", "arc-tasks", "arc-compat"];
    let (variables, removed) = environment();
    let mut command = Command::new("/usr/bin/cargo");
    for name in removed {
        command.env_remove(name);
    }
    let status = command
        .envs(variables)
        .args(["clippy", "-Zbuild-std", "--target", target])
        .args(packages.iter().flat_map(|name| ["--package", name]))
        .args(["--target-dir", "target/cross", "--", "-D", "warnings"])
        .current_dir(workspace_root())
        .status()
        .map_err(|error| Failure::Check(format!("cargo cannot be started: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::Check(format!(
            "{target}: {status}; to repeat it: cargo xtask cross {target}"
        ))),
    }
}
