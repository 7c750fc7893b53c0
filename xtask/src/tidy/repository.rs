//! No rule: what the rules need to know beside the file that they judge.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{File, Found};
use super::graph::Graphs;
use super::items::items_of;
use crate::Failure;
use crate::limits::Limits;

/// What the rules need to know beside the file itself.
pub struct Repository {
    pub names: BTreeSet<String>,
    pub graphs: Graphs,
    /// The items of each file of `src/`, as pages name them.
    pub items: BTreeMap<String, BTreeSet<String>>,
    pub function_lines: usize,
    pub own_function_lines: usize,
    pub own_head_lines: usize,
    pub file_lines: usize,
    pub columns: usize,
}

impl Repository {
    /// `names` has the files that are read, and those that are only linked to.
    pub fn of(files: &[File], names: BTreeSet<String>, limits: &Limits) -> Result<Self, Failure> {
        let mut items = BTreeMap::new();
        for file in files.iter().filter(|it| it.is_runtime()) {
            if let Some(syntax) = &file.syntax {
                items.insert(file.name.clone(), items_of(syntax));
            }
        }
        Ok(Repository {
            names,
            graphs: Graphs::of(files),
            items,
            function_lines: limits.number("tidy", "function_lines")?,
            own_function_lines: limits.number("tidy", "own_function_lines")?,
            own_head_lines: limits.number("tidy", "own_head_lines")?,
            file_lines: limits.number("tidy", "file_lines")?,
            columns: limits.number("tidy", "columns")?,
        })
    }
}

/// A rule.
pub type Check = fn(&File, &Repository) -> Vec<Found>;

#[cfg(test)]
pub mod tests {
    use super::*;

    const LIMITS: &str = "
[tidy]
function_lines = 3
own_function_lines = 2
own_head_lines = 2
file_lines = 5
columns = 20
";

    /// The repository that the rules' tests see.
    pub fn repository_of(files: &[File]) -> Repository {
        let mut names: BTreeSet<_> = files.iter().map(|it| it.name.clone()).collect();
        names.extend(["src/a.rs", "docs/B.md", "tests/unit/a.rs"].map(str::to_owned));
        let limits = Limits::parse(LIMITS).expect("the limits are TOML");
        Repository::of(files, names, &limits).expect("no limit is missing")
    }

    pub fn repository() -> Repository {
        repository_of(&[])
    }

    /// Files with these names and texts.
    pub fn files_of(files: &[(&str, &str)]) -> Vec<File> {
        files.iter().map(|(name, text)| File::of(name, text)).collect()
    }

    /// What a rule finds in these files, with the places.
    pub fn found_in(check: Check, files: &[(&str, &str)]) -> Vec<String> {
        let files = files_of(files);
        let repository = repository_of(&files);
        let mut found = Vec::new();
        for file in &files {
            for Found { line, text } in check(file, &repository) {
                found.push(format!("{}:{line}: {text}", file.name));
            }
        }
        found
    }

    /// The lines of a text in which there is nothing to find.
    pub const NONE: [usize; 0] = [];

    /// The lines that a rule finds in a text.
    pub fn lines_found(check: Check, name: &str, text: &str) -> Vec<usize> {
        let found = check(&File::of(name, text), &repository());
        found.iter().map(|it| it.line).collect()
    }
}
