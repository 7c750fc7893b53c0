//! What cargo builds: the crates of a build's dependency tree, and where their sources are.
//!
//! Two of cargo's commands are asked, because neither has the whole answer. `cargo tree` resolves
//! features as a build does: for the package alone, without the workspace's other members and
//! without dev-dependencies. `cargo metadata` knows the folders, but adds up the features of all.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::{cargo, source};

/// The platform whose tree is counted, wherever the command runs, so that the counts are the same.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The manifest that pins what arc is compared with.
pub const PEERS: &str = "xtask/peers/Cargo.toml";

/// One crate, as cargo knows it.
#[derive(Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// Where it comes from; none for a folder of the workspace.
    pub source: Option<String>,
    /// The registries that it may go to, if not to all.
    publish: Option<Vec<String>>,
    manifest_path: PathBuf,
}

impl Package {
    pub fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    /// Where the sources of a package of the workspace are, below its root.
    pub fn folder_of_sources(&self, root: &Path) -> String {
        source::name(root, &self.folder().join("src"))
    }

    /// Whether users get it from this repository.
    pub fn is_published(&self) -> bool {
        self.source.is_none() && self.publish.is_none()
    }
}

/// Every package in the lock file beside `manifest`, for all platforms, features and kinds of
/// dependencies.
pub fn packages(manifest: &Path) -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let text = ask(&["metadata", "--format-version", "1", "--locked"], manifest)?;
    let metadata: Metadata = serde_json::from_str(&text).context("cargo metadata")?;
    Ok(metadata.packages)
}

/// The crates that building `package` alone builds for `target`, proc-macros and build scripts'
/// dependencies included, itself too; sorted by name.
pub fn tree(manifest: &Path, package: &str, target: &str) -> Result<Vec<Package>> {
    let mut arguments = vec!["tree", "--locked", "--package", package, "--target", target];
    arguments.extend(["--edges", "normal,build", "--prefix", "none"]);
    let lines = ask(&arguments, manifest)?;
    let mut found = packages(manifest)?;
    // A line is `name v1.2.3 (...)`.
    found.retain(|it| {
        let words = format!("{} v{} ", it.name, it.version);
        lines.lines().any(|line| format!("{line} ").starts_with(&words))
    });
    found.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(found)
}

/// Runs cargo for `manifest`, and gives what it prints.
fn ask(arguments: &[&str], manifest: &Path) -> Result<String> {
    let output = cargo().args(arguments).arg("--manifest-path").arg(manifest).output()?;
    let line = arguments.join(" ");
    ensure!(output.status.success(), "cargo {line}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
