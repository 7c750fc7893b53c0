//! The air in functions, beside what `[[air]]` of `audit.toml` asks for: packing must not pay.

use std::path::Path;

use anyhow::Result;
use serde::Deserialize;

use crate::rust::{Air, Rust, SHORTEST_WITH_AIR, WIDE};
use crate::source::rust_files;
use crate::table::{Table, number, percent};

/// What an entry of `[[air]]` asks of folders.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub folders: Vec<String>,
    blanks_percent: usize,
    comments_percent: usize,
    wide_percent: usize,
    /// Whether each file is judged, or each folder as a whole.
    each_file: bool,
    /// What is not judged yet: files, or folders.
    #[serde(default)]
    later: Vec<String>,
}

impl Rule {
    /// What is broken. Shares are rounded in favour of what is judged, so that a file with one
    /// short function needs no blank line, and any file may have one wide line.
    fn breaches(&self, name: &str, air: Air) -> Vec<String> {
        let mut breaches = Vec::new();
        let at_least = [
            ("are blank", air.blanks, self.blanks_percent),
            ("have a comment", air.comments, self.comments_percent),
        ];
        for (what, counted, percent) in at_least {
            let least = air.lines * percent / 100;
            if counted < least {
                let of = format!("lines in functions of {SHORTEST_WITH_AIR} lines and more");
                let told = format!("{counted} of {} {of} {what}, at least {least}", air.lines);
                breaches.push(format!("{name}: {told} ({percent} %)"));
            }
        }

        let most = (air.code * self.wide_percent).div_ceil(100);
        if air.wide > most {
            let told = format!("{} lines of code have {WIDE} columns and more", air.wide);
            breaches.push(format!("{name}: {told}, at most {most} ({} %)", self.wide_percent));
        }
        breaches
    }
}

/// The air of each file, in the folders of a rule.
pub struct Folder {
    pub name: String,
    pub files: Vec<(String, Air)>,
}

impl Folder {
    pub fn read(root: &Path, name: &str) -> Result<Self> {
        let mut files = Vec::new();
        for file in rust_files(root, name)? {
            files.push((file.name, Rust::of(&file.text).air()));
        }
        Ok(Folder { name: name.to_owned(), files })
    }

    pub fn sum(&self) -> Air {
        let mut sum = Air::default();
        for (_, air) in &self.files {
            sum += *air;
        }
        sum
    }

    /// What a rule does not allow.
    pub fn complaints(&self, rule: &Rule) -> Vec<String> {
        let whole = [(self.name.clone(), self.sum())];
        let judged = if rule.each_file { self.files.as_slice() } else { &whole };
        let mut complaints = Vec::new();
        for (name, air) in judged {
            let breaches = rule.breaches(name, *air);
            if !rule.later.contains(name) {
                complaints.extend(breaches);
            } else if breaches.is_empty() {
                println!("note: {name} has its air now. Drop it from `later` in audit.toml.");
            }
        }
        complaints
    }
}

/// The cells of the two columns about longer functions.
pub fn cells(air: Air) -> [String; 2] {
    [air.blanks, air.comments].map(|it| percent(it, air.lines))
}

/// Each folder, with the air of all its files.
pub fn table<'a>(folders: impl Iterator<Item = &'a Folder>) -> Table {
    let head = ["folder", "lines in longer functions", "blank %", "comment %", "wide %"];
    let mut table = Table::new(&head);
    for folder in folders {
        let air = folder.sum();
        let mut cells = vec![folder.name.clone(), number(air.lines)];
        cells.extend(self::cells(air));
        cells.push(percent(air.wide, air.code));
        table.cells(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(each_file: bool, later: &[&str]) -> Rule {
        Rule {
            folders: vec!["src".to_owned()],
            blanks_percent: 8,
            comments_percent: 15,
            wide_percent: 2,
            each_file,
            later: later.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    fn folder(airs: &[Air]) -> Folder {
        let name = |(index, air): (usize, &Air)| (format!("src/{index}.rs"), *air);
        Folder { name: "src".to_owned(), files: airs.iter().enumerate().map(name).collect() }
    }

    const GOOD: Air = Air { code: 100, wide: 2, lines: 100, blanks: 8, comments: 15 };

    #[test]
    fn each_share_is_judged() {
        let told = |air: Air| folder(&[air]).complaints(&rule(true, &[])).join(", ");
        assert_eq!(told(GOOD), "");
        assert!(told(Air { blanks: 7, ..GOOD }).starts_with("src/0.rs: 7 of 100 lines"));
        assert!(told(Air { comments: 14, ..GOOD }).contains("have a comment, at least 15 (15 %)"));
        assert!(told(Air { wide: 3, ..GOOD }).contains("90 columns and more, at most 2 (2 %)"));
    }

    #[test]
    fn shares_are_rounded_in_favour_of_the_file() {
        let small = Air { code: 10, wide: 1, lines: 12, blanks: 0, comments: 1 };
        assert!(rule(true, &[]).breaches("a", small).is_empty());
        assert_eq!(rule(true, &[]).breaches("a", Air { comments: 0, wide: 2, ..small }).len(), 2);
    }

    #[test]
    fn a_sum_hides_what_each_file_tells() {
        let bad = Air { blanks: 7, ..GOOD };
        let good = Air { blanks: 9, ..GOOD };
        let folder = folder(&[bad, good]);
        assert!(folder.complaints(&rule(false, &[])).is_empty());
        assert_eq!(folder.complaints(&rule(true, &[])).len(), 1);
        assert!(folder.complaints(&rule(true, &["src/0.rs", "src/1.rs"])).is_empty());
        assert_eq!(folder.complaints(&rule(true, &["src"])).len(), 1);
    }
}
