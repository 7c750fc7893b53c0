//! `cargo xtask supply`: what comes in from others, and what goes out to them. `msrv` and
//! `deny` need what a machine may not have.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use clap::{Args, ValueEnum};
use spdx::{Expression, ParseMode};
use toml::{Table, Value};

use crate::limits::{self, Limits, Remark};
use crate::tree::{self, PEERS, Package};
use crate::{Failure, finish, workspace_root};

/// What the command line asks for.
#[derive(Args, Debug)]
pub struct Arguments {
    #[arg(value_enum, default_values = ["lock", "package"])]
    checks: Vec<Check>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Check {
    /// Licences, banned crates and sources of all in `Cargo.lock`, by `deny.toml`
    Lock,
    /// What is in the packages that users get, by `audit.toml`
    Package,
    /// The libraries build with the oldest versions that they allow
    Minimal,
    /// The libraries build with the compiler that they state
    Msrv,
    /// The same as `lock` and more, by cargo-deny
    Deny,
}

/// The packages that users get.
const LIBRARIES: [&str; 7] =
    ["arc-runtime", "arc-macros", "arc-trace", "arc-hint", "arc-compat", "arc-util", "arc-async"];

/// Those for tests. They are not built with the others: they turn on a feature of arc-runtime.
const SIMULATION: [&str; 3] = ["arc-sim", "arc-sim-core", "arc-sim-macros"];

/// The library that has the others under one name.
const REEXPORTS: &str = "arc-async";

/// The one of them that has features which bring dependencies.
const FEATURED: &str = "arc-compat";

/// The folders and files that a copy must have in which only these are built.
const COPIED: [&str; 7] =
    ["Cargo.toml", "Cargo.lock", "README.md", "src", "crates", "tests", "examples"];

/// Runs `cargo xtask supply`.
///
/// # Errors
/// A check fails.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let root = workspace_root();
    arguments.checks.iter().try_for_each(|check| match check {
        Check::Lock => lock(&root),
        Check::Package => package(&root),
        Check::Minimal => minimal(&root),
        Check::Msrv => msrv(&root),
        Check::Deny => deny(&root),
    })
}

/// Checks licences, banned crates and sources of everything that is locked.
fn lock(root: &Path) -> Result<(), Failure> {
    let fail = |error: String| Failure(format!("deny.toml: {error}"));
    let text = fs::read_to_string(root.join("deny.toml")).map_err(|it| fail(it.to_string()))?;
    let rules: Table = text.parse().map_err(|it: toml::de::Error| fail(it.to_string()))?;
    let mut packages = tree::packages(&root.join("Cargo.toml"))?;
    packages.extend(tree::packages(&root.join(PEERS))?);
    // A folder of the workspace comes from nobody.
    packages.retain(|it| it.source.is_some());
    let found = packages.iter().flat_map(|it| complaints(it, &rules));
    let found: BTreeSet<String> = found.collect();
    let remarks: Vec<_> = found.into_iter().map(Remark::complaint).collect();
    println!("{} packages are locked", packages.len());
    limits::settle("supply lock", &remarks)
}

/// What `deny.toml` has against a package.
fn complaints(package: &Package, rules: &Table) -> Vec<String> {
    let Package { name, version, .. } = package;
    let texts = |table: &Value, key: &str| -> Vec<String> {
        let list = table.get(key).and_then(Value::as_array);
        let texts = list.into_iter().flatten();
        texts.filter_map(|it| it.as_str().map(str::to_owned)).collect()
    };
    let empty = Value::Table(Table::new());
    let section = |key: &str| rules.get(key).unwrap_or(&empty);
    let mut allowed = texts(section("licenses"), "allow");
    let exceptions = section("licenses").get("exceptions").and_then(Value::as_array);
    for exception in exceptions.into_iter().flatten() {
        if exception.get("crate").and_then(Value::as_str) == Some(name) {
            allowed.extend(texts(exception, "allow"));
        }
    }
    let mut found = Vec::new();
    let licence = package.licence.as_deref().unwrap_or("none");
    if !is_allowed(licence, &allowed) {
        found.push(format!(
            "{name} {version}: its licence, {licence}, is not among those of deny.toml: do \
             without the crate, or allow the licence for it alone"
        ));
    }
    if texts(section("bans"), "deny").contains(name) {
        found.push(format!("{name} {version} is banned by deny.toml: do without it"));
    }
    let source = package.source.as_deref().unwrap_or_default();
    let sources = texts(section("sources"), "allow-registry");
    let is_known = |it: &String| source.strip_prefix("registry+") == Some(it);
    if !sources.iter().any(is_known) {
        found.push(format!(
            "{name} {version} comes from {source}, which is not a source of deny.toml"
        ));
    }
    found
}

/// Whether a licence expression is satisfied by the allowed licences.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    // Lax: a slash is how `OR` was written once.
    Expression::parse_mode(expression, ParseMode::LAX)
        .is_ok_and(|it| it.evaluate(|licence| allowed.contains(&licence.to_string())))
}

/// Compares what is in the packages with what audit.toml says that users need, and
/// packs them.
fn package(root: &Path) -> Result<(), Failure> {
    let expected = Limits::read(root)?.lists("package");
    let mut remarks = Vec::new();
    for name in LIBRARIES.into_iter().chain(SIMULATION) {
        let arguments = ["package", "--list", "--allow-dirty", "--package", name];
        let manifest = root.join("Cargo.toml");
        let contents = tree::cargo(&arguments, &manifest)?.replace('\\', "/");
        let patterns = expected.iter().find(|it| it.0 == name);
        let patterns = patterns.map_or(&[][..], |it| &it.1[..]);
        for text in differences(&contents, patterns) {
            remarks.push(Remark::complaint(format!("package {name}: {text}")));
        }
    }
    let folders = [
        "macros",
        "trace",
        "compat",
        "compat/hint",
        "util",
        "arc",
        "sim",
        "sim/core",
        "sim/macros",
    ];
    let folders = folders.map(|folder| format!("crates/{folder}"));
    let names = ["LICENSE-APACHE", "LICENSE-MIT"];
    for (folder, name) in folders.iter().flat_map(|folder| names.map(|name| (folder, name))) {
        let read = |path: &Path| fs::read(path).ok();
        if read(&root.join(name)) != read(&root.join(folder).join(name)) {
            let text = format!("{folder}/{name} differs from {name}: copy it there");
            remarks.push(Remark::complaint(text));
        }
    }
    limits::settle("supply package", &remarks)?;
    let mut arguments = vec!["package", "--no-verify", "--allow-dirty"];
    arguments.extend(["--target-dir", "target/package"]);
    arguments.extend(LIBRARIES.iter().chain(&SIMULATION).flat_map(|name| ["--package", name]));
    tree::cargo(&arguments, &root.join("Cargo.toml"))?;
    println!("{} can be packaged", LIBRARIES.join(", "));
    Ok(())
}

/// What is in a package and should not be, and the other way round. A pattern that
/// ends in `/` stands for at least one Rust file below that folder.
fn differences(contents: &str, patterns: &[String]) -> Vec<String> {
    let matches = |file: &str, pattern: &str| match pattern.strip_suffix('/') {
        Some(_) => file.starts_with(pattern) && file.ends_with(".rs"),
        None => file == pattern,
    };
    let mut found = Vec::new();
    // Only a package that is made from a clone says which.
    for file in contents.lines().filter(|it| *it != ".cargo_vcs_info.json") {
        if !patterns.iter().any(|pattern| matches(file, pattern)) {
            found.push(format!("{file} is in it, and audit.toml does not say that users need it"));
        }
    }
    for pattern in patterns {
        if !contents.lines().any(|file| matches(file, pattern)) {
            found.push(format!("{pattern} is not in it"));
        }
    }
    found
}

/// Builds the libraries with the oldest versions of what they depend on directly,
/// in a copy, because cargo would write that into the lock file.
///
/// What needs a feature is apart. The oldest version of everything at once cannot be had:
/// what a macro of arc's allows is older than what others want of the same crate.
fn minimal(root: &Path) -> Result<(), Failure> {
    let update = ["update", "-Zdirect-minimal-versions"];
    let copy = copy_with(root, oldest::strip_optional)?;
    // The option is unstable, and all that it is needed for is this lock file.
    tree::cargo_with(&update, &copy, &[("RUSTC_BOOTSTRAP", "1")])?;
    let names: Vec<_> = LIBRARIES.into_iter().filter(|name| *name != REEXPORTS).collect();
    check(root, &copy, &names, &["--locked"])?;
    println!("the libraries build with the oldest versions that they allow");
    let copy = copy_with(root, oldest::pin_optional)?;
    check(root, &copy, &[FEATURED], &["--all-features"])?;
    println!("so do the features of {FEATURED}");
    Ok(())
}

/// Copies the libraries, with another manifest for the one that has the features; gives
/// the workspace's manifest.
fn copy_with(root: &Path, change: fn(&mut Table)) -> Result<PathBuf, Failure> {
    let copy = root.join("target/minimal/copy");
    let fail = |error: std::io::Error| Failure(format!("the copy: {error}"));
    if copy.exists() {
        fs::remove_dir_all(&copy).map_err(fail)?;
    }
    fs::create_dir_all(&copy).map_err(fail)?;
    for name in COPIED {
        copy_all(&root.join(name), &copy.join(name)).map_err(fail)?;
    }
    let featured = copy.join("crates/compat/Cargo.toml");
    let text = fs::read_to_string(&featured).map_err(fail)?;
    let mut table: Table = text.parse().map_err(|it| Failure(format!("{FEATURED}: {it}")))?;
    change(&mut table);
    fs::write(&featured, table.to_string()).map_err(fail)?;
    // The other members' oldest versions are of no concern to users, but for those of arc-async. It
    // asks for features that arc-compat does not have here, and re-exports what is checked.
    let manifest = copy.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(fail)?;
    let mut table: Table = text.parse().map_err(|it| Failure(format!("Cargo.toml: {it}")))?;
    let members = toml::toml! {
        members = ["crates/compat", "crates/compat/hint", "crates/macros", "crates/trace",
            "crates/util"]
    };
    if let Some(Value::Table(workspace)) = table.get_mut("workspace") {
        workspace.extend(members);
        workspace.remove("default-members");
    }
    // It names packages that are not in the copy.
    table.remove("profile");
    let text = table.to_string();
    fs::write(&manifest, text).map_err(fail)?;
    Ok(manifest)
}

fn check(root: &Path, manifest: &Path, names: &[&str], options: &[&str]) -> Result<(), Failure> {
    let target = root.join("target/minimal").to_string_lossy().into_owned();
    let mut arguments = vec!["check", "--target-dir", &target];
    arguments.extend(options);
    arguments.extend(names.iter().flat_map(|name| ["--package", name]));
    tree::cargo(&arguments, manifest).map(drop)
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() != "target" {
            copy_all(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// The compiler's version that the libraries state, as in `1.88`.
fn stated_version(root: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let version = line.map(|version| version.trim_matches('"').to_owned());
    version.ok_or_else(|| Failure("Cargo.toml states no rust-version".to_owned()))
}

/// A program of the compiler's version that the libraries state.
fn of_stated_version(root: &Path, program: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", &stated_version(root).unwrap_or_default(), program]);
    // What the running cargo has set would take its own compiler.
    for variable in ["RUSTUP_TOOLCHAIN", "RUSTC", "CARGO"] {
        command.env_remove(variable);
    }
    // It is not to be downloaded.
    command.env("RUSTUP_AUTO_INSTALL", "0").current_dir(root);
    command
}

/// Why `msrv` cannot run here, if it cannot.
pub fn missing_toolchain() -> Option<String> {
    let root = workspace_root();
    let output = of_stated_version(&root, "rustc").arg("--version").output();
    let is_there = output.is_ok_and(|it| it.status.success());
    let version = stated_version(&root).unwrap_or_default();
    (!is_there).then(|| format!("no toolchain {version} is installed; the hosted workflow has one"))
}

fn msrv(root: &Path) -> Result<(), Failure> {
    if let Some(missing) = missing_toolchain() {
        return Err(Failure(missing));
    }
    let mut command = of_stated_version(root, "cargo");
    command.args(["check", "--locked", "--all-features", "--target-dir", "target/msrv"]);
    finish(command.args(LIBRARIES.iter().flat_map(|name| ["--package", name])))
}

/// Why `deny` cannot run here, if it cannot.
pub fn missing_deny() -> Option<String> {
    let name = format!("cargo-deny{}", env::consts::EXE_SUFFIX);
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = env::split_paths(&path).any(|folder| folder.join(&name).exists());
    (!is_there).then(|| "cargo-deny is not installed: cargo install cargo-deny".to_owned())
}

fn deny(root: &Path) -> Result<(), Failure> {
    if let Some(missing) = missing_deny() {
        return Err(Failure(missing));
    }
    let mut command = Command::new("cargo-deny");
    command.args(["check", "licenses", "bans", "sources"]);
    finish(command.current_dir(root))
}

mod oldest;
#[cfg(test)]
mod tests;
