//! A package with one dependency builds and runs. It is made outside of the workspace, from
//! `program.rs`, and cargo may not use the network.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const PROGRAM: &str = include_str!("program.rs");

/// What the program prints.
const OUTPUT: &str = "\
udp: hello
squares: 385
lines: [\"first\", \"second\", \"third\"]
select: done
channels: 3
";

/// Writes the package, and returns its manifest.
fn write_package(folder: &Path) -> PathBuf {
    let arc = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = format!(
        "[package]\n\
         name = \"one-name\"\n\
         version = \"0.1.0\"\n\
         edition = \"2024\"\n\
         \n\
         [dependencies]\n\
         arc = {{ package = \"arc-async\", path = {arc:?} }}\n\
         \n\
         [workspace]\n"
    );
    fs::create_dir_all(folder.join("src")).expect("the folder can be made");
    fs::write(folder.join("Cargo.toml"), manifest).expect("the manifest can be written");
    fs::write(folder.join("src/main.rs"), PROGRAM).expect("the program can be written");

    // With the workspace's versions, all of which are on this machine.
    let lock = arc.join("../../Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).expect("the lock file can be copied");
    folder.join("Cargo.toml")
}

#[test]
fn a_program_needs_one_dependency() {
    assert!(!PROGRAM.contains("arc_"), "the program uses one name");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one_name");
    let manifest = write_package(&folder);

    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo runs the tests"));
    cargo.args(["run", "--quiet", "--offline", "--manifest-path"]).arg(manifest);
    cargo.arg("--target-dir").arg(folder.join("target"));
    let output = cargo.output().expect("cargo runs");

    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), OUTPUT);
    assert_eq!(errors, "", "the program builds without a warning");
}
