//! How many lines there are, as tokei counts them. A program of its own has tokei, because that
//! brings a hundred crates: xtask/lines.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::Add;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::{cargo, source};

const MANIFEST: &str = "xtask/lines/Cargo.toml";

/// tokei's row "Rust", of a file or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lines {
    pub files: usize,
    pub code: usize,
    pub comments: usize,
    pub blanks: usize,
}

impl Lines {
    /// tokei's column "Lines".
    pub fn all(self) -> usize {
        self.code + self.comments + self.blanks
    }
}

impl Add for Lines {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Lines {
            files: self.files + other.files,
            code: self.code + other.code,
            comments: self.comments + other.comments,
            blanks: self.blanks + other.blanks,
        }
    }
}

impl<'a> Sum<&'a Lines> for Lines {
    fn sum<I: Iterator<Item = &'a Lines>>(lines: I) -> Self {
        lines.fold(Lines::default(), |sum, it| sum + *it)
    }
}

/// Has tokei count the Rust files in folders below `root`, and gives each file's name below `root`
/// and its lines.
pub fn count(root: &Path, folders: &[&str]) -> Result<BTreeMap<String, Lines>> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--locked", "--target-dir", "target/lines"]);
    command.args(["--manifest-path", MANIFEST, "--"]);
    command.args(folders.iter().map(|it| root.join(it)));
    let output = command.output()?;
    ensure!(output.status.success(), "{MANIFEST}: {}", String::from_utf8_lossy(&output.stderr));
    let rows = String::from_utf8_lossy(&output.stdout).into_owned();
    rows.lines().map(|row| parse(root, row)).collect()
}

/// Reads a row that the program has printed.
fn parse(root: &Path, row: &str) -> Result<(String, Lines)> {
    let cells: Vec<&str> = row.split('\t').collect();
    let [name, numbers @ ..] = cells.as_slice() else { unreachable!("there is a first cell") };
    let numbers: Vec<usize> = numbers.iter().map(|it| it.parse()).collect::<Result<_, _>>()?;
    let [code, comments, blanks] = numbers[..].try_into().context("a row has three numbers")?;
    Ok((source::name(root, Path::new(name)), Lines { files: 1, code, comments, blanks }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::workspace_root;

    #[test]
    fn lines_are_tokeis() {
        let root = workspace_root().join("target/lines-of-tests");
        fs::create_dir_all(root.join("a")).unwrap();
        let text = "/*! A module. */\n\n/// Documentation.\nfn f() {} // code\n// A comment.\n";
        fs::write(root.join("a/b.rs"), text).unwrap();
        fs::write(root.join("a/c.toml"), "code = 1\n").unwrap();
        let counted = count(&root, &["a"]).unwrap();
        let lines = counted["a/b.rs"];
        assert_eq!((counted.len(), lines.files, lines.code), (1, 1, 1));
        assert!(lines.all() > 1 && count(&root, &["none"]).unwrap().is_empty());
        let sum: Lines = [lines, lines].iter().sum();
        assert_eq!((sum.files, sum.all()), (2, 2 * lines.all()));
    }

    #[test]
    fn a_row_has_a_name_and_three_numbers() {
        let root = Path::new("/r");
        let (name, lines) = parse(root, "/r/src/a.rs\t5\t2\t1").unwrap();
        assert_eq!((name.as_str(), lines.all(), lines.code), ("src/a.rs", 8, 5));
        for row in ["", "a.rs\t1\t2", "a.rs\t1\t2\tb"] {
            assert!(parse(root, row).is_err(), "{row}");
        }
    }
}
