//! What a feature adds to the tree of crates, and which names of features are accepted.

use std::collections::BTreeSet;
use std::process::{Command, Output};

/// How many crates everything that tokio's `full` has may take, this crate included.
const FULL_CRATES_MAX: usize = 31;

/// Asks cargo for those.
fn tree(features: &str) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--package", "arc-async", "--no-default-features"]);
    cargo.args(["--features", features, "--edges", "normal,build", "--prefix", "none"]);
    cargo.args(["--format", "{p}", "--target", "x86_64-unknown-linux-gnu"]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs")
}

/// The crates that a program compiles with these features and without the default ones: this crate,
/// what it depends on, and what builds that, on Linux.
fn crates(features: &str) -> BTreeSet<String> {
    let output = tree(features);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{features}: {errors}");

    let lines = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    // The rest of a line is a version, a folder, or the mark of a crate that stands further up.
    lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn full_is_a_small_tree() {
    let all = crates("full");
    assert!(all.contains("arc-runtime") && all.contains("bytes"), "{all:?}");
    assert!(all.len() <= FULL_CRATES_MAX, "{} crates: {all:?}", all.len());
}

#[test]
fn an_adapter_brings_what_it_adapts_and_nothing_else() {
    // (tokio is in every tree, for its locks and channels.)
    let families = [("tracing", "tracing"), ("tower", "tower-layer"), ("hyper", "hyper")];
    for (feature, adapted) in families {
        let all = crates(feature);
        assert!(all.contains(adapted), "{feature}: {all:?}");
        for (_, other) in families.iter().filter(|(_, other)| *other != adapted) {
            assert!(!all.contains(*other), "{feature} brings {other}: {all:?}");
        }
    }
}

/// A list of tokio's features stays valid, and so does a feature of the program's own that turns on
/// one of these.
#[test]
fn names_of_tokios_features_are_accepted() {
    let nothing = crates("");
    let names = "fs,io-std,macros,net,parking_lot,rt,rt-multi-thread,signal,time";
    assert_eq!(crates(names), nothing);
    crates("console,io-util,process,sync,tracing");
    let simulates = crates("test-util").contains("arc-sim");
    assert!(simulates, "the clock of a test stops in a simulation alone");
}
