//! Which seeds a test tries: its own, or those that the environment sets.

use std::env;
use std::ffi::OsStr;

/// Seeds from a first one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seeds {
    pub(crate) first: u64,
    /// A range without its end could not have the greatest seed, and one with it none at all.
    pub(crate) count: u64,
    /// It is a single one, which repeats a failure.
    pub(crate) repeats: bool,
}

impl Seeds {
    /// What `ARC_SEED` sets or, without it, `ARC_SEEDS` or, without that, so many from 0.
    pub(crate) fn chosen_or(count: u64) -> Self {
        // One seed is what somebody wants to look into, so it comes first.
        if let Some(text) = env::var_os("ARC_SEED") {
            return one(&text);
        }
        if let Some(text) = env::var_os("ARC_SEEDS") {
            return many(&text);
        }
        Self { first: 0, count, repeats: false }
    }
}

fn one(text: &OsStr) -> Seeds {
    let number = text.to_str().and_then(|text| text.parse().ok());
    let Some(first) = number else { panic!("ARC_SEED must be a number from 0, not {text:?}") };
    Seeds { first, count: 1, repeats: true }
}

fn many(text: &OsStr) -> Seeds {
    // A number alone is the end of a range from 0.
    let numbers = text.to_str().and_then(|text| {
        let (first, end) = text.split_once("..").unwrap_or(("0", text));
        Some((first.parse().ok()?, end.parse().ok()?))
    });
    let Some((first, end)) = numbers.filter(|(first, end): &(u64, u64)| first < end) else {
        panic!(
            "ARC_SEEDS must be a number of seeds from 1, or a range of seeds such as 1000..2000, \
             not {text:?}"
        );
    };
    Seeds { first, count: end - first, repeats: false }
}
