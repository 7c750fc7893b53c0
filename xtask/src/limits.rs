//! `audit.toml`, the one home of the limits, and what is counted beside what is allowed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::air::Rule;
use crate::table::{Table, number};

pub type Numbers = BTreeMap<String, usize>;
pub type Lists = BTreeMap<String, Vec<String>>;

/// The limits that hold. The file says what each of them means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub lines: Numbers,
    pub air: Vec<Rule>,
    #[serde(rename = "unsafe")]
    pub unsafes: Numbers,
    pub tree: Numbers,
    pub crates: Numbers,
    pub tidy: Numbers,
    pub low: Lists,
    pub waits: Lists,
    pub pure: Lists,
    /// What broke a rule of tidy before the rule came, by the rule.
    pub tidy_later: Lists,
}

impl Limits {
    /// Reads `audit.toml` of the workspace.
    pub fn read(root: &Path) -> Result<Self> {
        toml::from_str(&fs::read_to_string(root.join("audit.toml"))?).context("audit.toml")
    }
}

/// A count beside what is allowed.
pub struct Budget {
    /// What is counted, as in "unsafe in src".
    pub what: String,
    pub allowed: usize,
    pub counted: usize,
    pub bound: Bound,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Bound {
    AtMost,
    Under,
    /// At most so much, and less as soon as there is less.
    Ratchet,
}

impl Budget {
    pub fn new(what: &str, bound: Bound, allowed: usize, counted: usize) -> Self {
        Budget { what: what.to_owned(), allowed, counted, bound }
    }

    /// Adds a row with the allowed and the counted number.
    pub fn row(&self, table: &mut Table, counted: String) {
        let under = if self.bound == Bound::Under { "under " } else { "" };
        let allowed = format!("{under}{}", number(self.allowed));
        table.cells(vec![self.what.clone(), allowed, counted]);
    }

    /// What is broken; and on a ratchet, what can be lowered is printed.
    pub fn complaint(&self) -> Option<String> {
        let Budget { what, allowed, counted, .. } = self;
        if self.bound == Bound::Ratchet && counted < allowed {
            println!("note: {what}: {counted} now. Lower the {allowed}, so that it stays so.");
        }
        let (is_broken, than) = match self.bound {
            Bound::Under => (counted >= allowed, "fewer than "),
            _ => (counted > allowed, ""),
        };
        is_broken.then(|| format!("{what}: {counted}, and audit.toml allows {than}{allowed}"))
    }
}

/// Prints the complaints of the command `name`, and fails if there are any.
pub fn settle(name: &str, complaints: &[String]) -> Result<()> {
    for complaint in complaints {
        println!("{complaint}");
    }
    match complaints.len() {
        0 => Ok(()),
        count => bail!("complaints of {name}: {count}"),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The limits that all tests judge by.
    pub fn limits() -> Limits {
        let text = "
lines = { code_under = 15 }
air = []
unsafe = { src = 1 }
tree = { crates = 2 }
crates = { a = 1, b = 1, c = 1 }
waits = { 'seat.wait' = ['driver/mod.rs'] }
pure = { 'driver/wheel.rs' = ['Instant', 'Acquire'] }
low = { 'driver/' = ['driver/', 'sync.rs'], 'driver/wheel.rs' = [] }
tidy_later = {}
[tidy]
function_lines = 3
own_function_lines = 2
own_head_lines = 2
file_lines = 5
columns = 20
";
        toml::from_str(text).expect("the text has every limit")
    }

    #[test]
    fn a_limit_is_broken_from_above() {
        let told = |bound, counted| Budget::new("lines", bound, 2, counted).complaint();
        for bound in [Bound::AtMost, Bound::Ratchet] {
            assert_eq!(told(bound, 2), None);
        }
        assert_eq!(told(Bound::AtMost, 3).unwrap(), "lines: 3, and audit.toml allows 2");
        assert!(told(Bound::Ratchet, 3).is_some() && told(Bound::Ratchet, 1).is_none());
        assert!(told(Bound::Under, 2).is_some() && told(Bound::Under, 1).is_none());
        assert!(settle("tests", &[]).is_ok() && settle("tests", &["a".to_owned()]).is_err());
    }
}
