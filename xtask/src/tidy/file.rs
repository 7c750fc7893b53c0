//! No rule: a file, and what is found in one.

use crate::Failure;
use crate::source::Source;

/// A breach of a rule.
#[derive(Debug, PartialEq)]
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

/// One file, and its syntax tree if it is Rust.
pub struct File {
    pub name: String,
    pub text: String,
    pub syntax: Option<syn::File>,
}

impl File {
    pub fn new(source: Source) -> Result<Self, Failure> {
        let parse = |text: &str| {
            let place = |error: syn::Error| (error.span().start().line, error);
            syn::parse_file(text).map_err(place)
        };
        let syntax = match source.name.ends_with(".rs") {
            true => Some(
                parse(&source.text)
                    .map_err(|(line, error)| Failure(format!("{}:{line}: {error}", source.name)))?,
            ),
            false => None,
        };
        Ok(File { name: source.name, text: source.text, syntax })
    }

    /// The lines with their numbers.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Whether the file is code of a library that users build.
    pub fn is_library(&self) -> bool {
        let in_crate = self.name.strip_prefix("crates/").and_then(|it| it.split_once('/'));
        self.is_runtime() || in_crate.is_some_and(|(_, file)| file.starts_with("src/"))
    }

    /// Whether the file is code of the runtime.
    pub fn is_runtime(&self) -> bool {
        self.name.starts_with("src/")
    }

    /// Whether the file is part of the one count of lines that audit.toml limits.
    pub fn is_own(&self) -> bool {
        self.is_runtime() || self.name.starts_with("crates/macros/src/")
    }

    #[cfg(test)]
    pub fn of(name: &str, text: &str) -> Self {
        File::new(Source { name: name.to_owned(), text: text.to_owned() })
            .expect("the text of a test is Rust")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_the_runtime_and_the_crates() {
        let is_library = |name| File::of(name, "").is_library();
        assert!(is_library("src/a.rs") && is_library("crates/util/src/a/b.rs"));
        assert!(!is_library("crates/util/tests/a.rs") && !is_library("lab/models/src/lib.rs"));
    }
}
