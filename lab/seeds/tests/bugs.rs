//! Bugs, each in a copy of arc-util: some seed finds each of them.
//!
//! The build script makes the copies, and a module for each. The right arc-util passes the same
//! programs with the same seeds (`util.rs`).

#![allow(
    missing_docs,
    unexpected_cfgs,
    unused,
    clippy::all,
    reason = "the copies are used in part, and have no features"
)]

use std::future::Future;

/// How many seeds a bug may take to be found.
const SEEDS_MAX: u64 = 500;

/// Finds the first seed with which a program fails, and sees that it fails again.
fn find<F: Future>(bug: &str, program: impl Fn() -> F) {
    let found = arc_sim::find(0..SEEDS_MAX, &program);
    let (seed, failure) = found.unwrap_or_else(|| panic!("no seed finds {bug}"));
    println!("{bug}: found with seed {seed}: {failure}");
    assert!(arc_sim::simulate(seed, program()).outcome.is_err());
}

include!(concat!(env!("OUT_DIR"), "/bugs.rs"));
