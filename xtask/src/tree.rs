//! What cargo builds: the crates of a build's dependency tree, and where their
//! sources are.
//!
//! Two of cargo's commands are asked, because neither has the whole answer.
//! `cargo tree` resolves features as a build does: for the package alone, without
//! the workspace's other members and without dev-dependencies. `cargo metadata`
//! knows the folders and licences, but adds up the features of all members.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Failure;

/// The platform whose tree is counted, wherever the command runs, so that the
/// counts are the same everywhere.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Every platform at once.
pub const ALL_TARGETS: &str = "all";

/// The manifest that pins what arc is compared with.
pub const PEERS: &str = "xtask/peers/Cargo.toml";

/// The manifest that pins the crates beside which the air in functions is counted. Their
/// licences and `unsafe` are of no concern: they are read, and never built.
pub const READ: &str = "xtask/read/Cargo.toml";

/// One crate, as cargo knows it.
#[derive(Clone)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub licence: Option<String>,
    /// Where it comes from; none for a folder of the workspace.
    pub source: Option<String>,
    pub folder: PathBuf,
}

/// Every package in the lock file beside `manifest`, for all platforms, features
/// and kinds of dependencies.
///
/// # Errors
/// cargo fails, for example because a package cannot be fetched.
pub fn packages(manifest: &Path) -> Result<Vec<Package>, Failure> {
    let text = cargo(&["metadata", "--format-version", "1", "--locked"], manifest)?;
    let metadata: Value =
        serde_json::from_str(&text).map_err(|error| Failure(format!("cargo metadata: {error}")))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    Ok(packages.map(package).collect())
}

fn package(value: &Value) -> Package {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let manifest = PathBuf::from(text("manifest_path").unwrap_or_default());
    Package {
        name: text("name").unwrap_or_default(),
        version: text("version").unwrap_or_default(),
        licence: text("license"),
        source: text("source"),
        folder: manifest.parent().unwrap_or(&manifest).to_owned(),
    }
}

/// The crates that building `package` alone builds for `target`, proc-macros and
/// build scripts' dependencies included, itself too; sorted by name.
///
/// # Errors
/// cargo fails.
pub fn tree(manifest: &Path, package: &str, target: &str) -> Result<Vec<Package>, Failure> {
    let mut arguments = vec!["tree", "--locked", "--package", package, "--target", target];
    arguments.extend(["--edges", "normal,build", "--prefix", "none"]);
    let built = names(&cargo(&arguments, manifest)?);
    let mut found = packages(manifest)?;
    found.retain(|each| built.contains(&(each.name.clone(), each.version.clone())));
    found.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(found)
}

/// The names and versions in `cargo tree`'s lines: `name v1.2.3 (...)`.
fn names(lines: &str) -> BTreeSet<(String, String)> {
    let name = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        Some((name, words.next()?.strip_prefix('v')?.to_owned()))
    };
    lines.lines().filter_map(name).collect()
}

/// Runs cargo for `manifest`, and gives what it prints.
///
/// # Errors
/// It fails; the error has its words.
pub fn cargo(arguments: &[&str], manifest: &Path) -> Result<String, Failure> {
    cargo_with(arguments, manifest, &[])
}

/// The same with environment variables.
///
/// # Errors
/// It fails; the error has its words.
pub fn cargo_with(
    arguments: &[&str],
    manifest: &Path,
    variables: &[(&str, &str)],
) -> Result<String, Failure> {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let line = format!("cargo {}", arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .arg("--manifest-path")
        .arg(manifest)
        // rustup must use what is installed, and never download.
        .env("RUSTUP_AUTO_INSTALL", "0")
        .envs(variables.iter().copied())
        .output()
        .map_err(|error| Failure(format!("{line}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    Err(Failure(format!("{line}: {}", reason.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace_root;

    #[test]
    fn a_line_of_the_tree_names_a_package() {
        let lines = "arc-macros v0.1.0 (proc-macro) (/a)\nslab v0.4.12\nslab v0.4.12 (*)\n\n";
        let expected = [("arc-macros", "0.1.0"), ("slab", "0.4.12")];
        let expected = expected.map(|(name, version)| (name.to_owned(), version.to_owned()));
        assert_eq!(names(lines), expected.into());
    }

    #[test]
    fn the_tree_leaves_out_what_only_tests_need() {
        let manifest = workspace_root().join("Cargo.toml");
        let crates = tree(&manifest, "arc-runtime", TARGET).unwrap();
        let has = |name: &str| crates.iter().any(|each| each.name == name);
        assert!(has("arc-runtime") && has("arc-macros") && has("async-task"));
        assert!(!has("hyper") && !has("loom") && !has("clap"));
    }
}
