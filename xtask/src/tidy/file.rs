//! No rule: a file, what is found in it, and what the rules need to know beside it.

use std::collections::BTreeSet;

use super::graph::Graphs;
use crate::limits::Limits;
use crate::rust::Rust;
use crate::source::Source;

/// A rule: what it finds in a file.
pub type Check = fn(&File, &Repository) -> Vec<Found>;

/// What the names of the files end in that are read.
pub const EXTENSIONS: [&str; 4] = [".rs", ".md", ".toml", ".yml"];

/// A breach of a rule.
pub struct Found {
    pub line: usize,
    /// What is wrong, and what to do.
    pub text: String,
}

impl Found {
    pub fn new(line: usize, text: impl Into<String>) -> Self {
        Found { line, text: text.into() }
    }
}

/// One file, and its words if it is Rust.
pub struct File {
    pub name: String,
    pub text: String,
    pub rust: Option<Rust>,
}

impl File {
    pub fn new(source: Source) -> Self {
        let rust = source.name.ends_with(".rs").then(|| Rust::of(&source.text));
        File { name: source.name, text: source.text, rust }
    }

    /// The lines with their numbers.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The words of a file of the runtime.
    pub fn runtime(&self) -> Option<&Rust> {
        self.rust.as_ref().filter(|_| self.name.starts_with("src/"))
    }

    /// The words of a file that is part of the one count of lines.
    pub fn own(&self) -> Option<&Rust> {
        let is_macros = self.name.starts_with("crates/arc-macros/src/");
        self.rust.as_ref().filter(|_| is_macros || self.name.starts_with("src/"))
    }
}

/// What the rules need to know beside the file itself.
pub struct Repository {
    /// The names of all files.
    pub names: BTreeSet<String>,
    pub graphs: Graphs,
    pub limits: Limits,
    /// Where it is.
    pub url: String,
}

impl Repository {
    pub fn of(files: &[File], names: BTreeSet<String>, limits: Limits, url: String) -> Self {
        let rust = files.iter().filter_map(|it| Some((it.name.as_str(), it.rust.as_ref()?)));
        let rust: Vec<_> = rust.collect();
        Repository { names, graphs: Graphs::of(&rust), limits, url }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::limits::tests::limits;

    /// Files with these names and texts, in the repository that the rules' tests see.
    pub fn repository_of(files: &[(&str, &str)]) -> (Vec<File>, Repository) {
        let file = |(name, text): &(&str, &str)| {
            File::new(Source { name: (*name).to_owned(), text: (*text).to_owned() })
        };
        let files: Vec<File> = files.iter().map(file).collect();
        let mut names: BTreeSet<_> = files.iter().map(|it| it.name.clone()).collect();
        names.extend(["docs/B.md", "tests/unit/a.rs"].map(str::to_owned));
        let repository = Repository::of(&files, names, limits(), "https://host/a".to_owned());
        (files, repository)
    }

    /// What a rule finds in files, with the places.
    pub fn found_in(check: Check, files: &[(&str, &str)]) -> Vec<String> {
        let (files, repository) = repository_of(files);
        let mut told = Vec::new();
        for file in &files {
            for Found { line, text } in check(file, &repository) {
                told.push(format!("{}:{line}: {text}", file.name));
            }
        }
        told
    }

    /// The lines of a text in which there is nothing to find.
    pub const NONE: [usize; 0] = [];

    /// The lines that a rule finds in a text.
    pub fn lines_found(check: Check, name: &str, text: &str) -> Vec<usize> {
        let (files, repository) = repository_of(&[(name, text)]);
        check(&files[0], &repository).into_iter().map(|it| it.line).collect()
    }
}
