//! What tokio's public types can do and those of arc-async cannot: methods, constants, variants,
//! fields and traits. (`tests/tokio_paths` of arc-async compares the paths themselves.)
//!
//! docs/tokio-missing.toml has what is missing, with the reasons. It must have all of it, and no
//! more. rustdoc describes both libraries, with all features; `docs.rs` reads what it writes.

mod docs;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::{cargo, finish, workspace_root};
use docs::Docs;

/// The packages that have types at tokio's paths, and tokio.
const PACKAGES: [&str; 5] = ["tokio", "arc-async", "arc-util", "arc-runtime", "arc-sim-core"];

/// How rustdoc names their files: by the libraries.
const LIBRARIES: [&str; 5] = ["tokio", "arc_async", "arc_util", "arc", "arc_sim_core"];

/// tokio's features, but for one that changes nothing of what is public.
const TOKIO_FEATURES: [&str; 10] = [
    "fs",
    "io-std",
    "io-util",
    "macros",
    "net",
    "process",
    "rt-multi-thread",
    "signal",
    "sync",
    "test-util",
];

/// docs/tokio-missing.toml.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    missing: Vec<Missing>,
}

/// What is missing for one reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Missing {
    why: String,
    /// A type and what it lacks; `*` stands for any type.
    what: Vec<String>,
}

pub fn run() -> Result<()> {
    let found = Docs::read(&describe()?, &LIBRARIES)?.missing()?;
    let text = fs::read_to_string(workspace_root().join("docs/tokio-missing.toml"))?;
    let complaints = complaints(&found, &toml::from_str::<List>(&text)?.missing);
    for complaint in &complaints {
        println!("{complaint}");
    }
    ensure!(complaints.is_empty(), "docs/tokio-missing.toml does not say what is missing");
    println!("{} methods, traits and the like are missing, each with a reason", found.len());
    Ok(())
}

/// What is missing without a reason, and which reasons are for nothing.
fn complaints(found: &BTreeSet<String>, known: &[Missing]) -> Vec<String> {
    let is_it = |entry: &str, missing: &str| match entry.strip_prefix('*') {
        Some(what) => missing.ends_with(what),
        None => missing == entry,
    };

    let mut complaints = Vec::new();
    let entries = || known.iter().flat_map(|it| &it.what);
    for missing in found {
        if !entries().any(|entry| is_it(entry, missing)) {
            complaints.push(format!("missing: {missing}"));
        }
    }
    for entry in entries() {
        if !found.iter().any(|missing| is_it(entry, missing)) {
            complaints.push(format!("not missing any more: {entry}"));
        }
    }
    let short = known.iter().filter(|it| it.why.len() < 20);
    complaints.extend(short.map(|it| format!("this is no reason: {:?}", it.why)));
    complaints
}

/// Has rustdoc describe all libraries. Returns the folder with the descriptions.
///
/// A package of its own asks for all features. It has the workspace's lock file, so that tokio is
/// the one that arc is built with.
fn describe() -> Result<PathBuf> {
    let root = workspace_root();
    let folder = root.join("target/compare");
    fs::create_dir_all(&folder)?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    fs::write(folder.join("lib.rs"), "")?;
    fs::write(folder.join("Cargo.toml"), manifest()?)?;

    let mut cargo = cargo();
    cargo.args(["doc", "--quiet", "--no-deps", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(folder.join("target"));
    cargo.args(PACKAGES.iter().flat_map(|package| ["--package", package]));

    // The format is unstable, and a stable rustdoc writes it only with this variable. Of a type
    // that has its public name elsewhere, it says everything only if it describes what is private,
    // and what is hidden: tokio's `UnixDatagram` is in a hidden module.
    let flags = "-Zunstable-options --output-format=json --document-private-items \
                 --document-hidden-items --cap-lints=allow";
    finish(cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTDOCFLAGS", flags))?;
    Ok(folder.join("target/doc"))
}

fn manifest() -> Result<String> {
    let arc = workspace_root().join("crates/arc-async");
    let manifest: toml::Table = fs::read_to_string(arc.join("Cargo.toml"))?.parse()?;
    let features = manifest["features"].as_table().context("arc-async has features")?;
    let features: Vec<_> = features.keys().collect();

    // What Rust prints of texts, and of lists of them, is TOML as well.
    Ok(format!(
        "package = {{ name = 'arc-compared', version = '0.0.0', edition = '2024' }}\n\
         lib.path = 'lib.rs'\n\
         workspace = {{}}\n\
         dependencies.tokio = {{ version = '1', features = {TOKIO_FEATURES:?} }}\n\
         dependencies.arc-async = {{ path = {arc:?}, features = {features:?} }}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_what_is_missing_and_no_more() {
        let found = ["a::B fn c", "a::B impl D", "e::F impl D"].map(str::to_owned).into();
        let known = |what: &[&str]| {
            let what = what.iter().map(|it| (*it).to_owned()).collect();
            [Missing { why: "nobody needs any of these".to_owned(), what }]
        };
        let complaints = |what: &[&str]| complaints(&found, &known(what));
        assert!(complaints(&["a::B fn c", "* impl D"]).is_empty());
        assert_eq!(complaints(&["* impl D"]), ["missing: a::B fn c"]);
        let more = complaints(&["a::B fn c", "* impl D", "* fn cc", "e::F fn c"]);
        assert_eq!(more, ["not missing any more: * fn cc", "not missing any more: e::F fn c"]);
    }
}
