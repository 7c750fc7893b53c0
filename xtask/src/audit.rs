//! What `cargo xtask audit` counts: the lines and their air, `unsafe` in arc and in all that it is
//! built from, and whether `audit.toml` allows them.
//!
//! The number of lines is that of everything of its own that `cargo build -p arc-runtime` compiles,
//! on whatever platform. cargo says which packages that are, so that code is counted wherever it is
//! moved.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use crate::air::{self, Folder};
use crate::limits::{Bound, Budget, Limits, Numbers};
use crate::lines::{self, Lines};
use crate::rust::Rust;
use crate::source::{Source, rust_files};
use crate::table::{Table, number};
use crate::tree::{self, PEERS, Package, TARGET};

/// Everything that is counted.
pub struct Audit {
    pub own: Own,
    /// What `[[air]]` judges, each entry with its folders.
    air: Vec<Vec<Folder>>,
    /// The folders of all libraries, and how often each has the word `unsafe`.
    libraries: Numbers,
    pub arc: Vec<Crate>,
    pub tokio: Vec<Crate>,
}

/// What a build of arc-runtime compiles of arc's own.
pub struct Own {
    /// The folders of the packages, the runtime's first.
    pub folders: Vec<String>,
    pub files: BTreeMap<String, Lines>,
}

/// A crate of a build, and how often its sources have the word `unsafe`.
pub struct Crate {
    pub name: String,
    pub version: String,
    pub unsafes: usize,
}

impl Own {
    fn collect(root: &Path) -> Result<Self> {
        let mut folders = Vec::new();
        let tree = tree::tree(&root.join("Cargo.toml"), "arc-runtime", "all")?;
        for package in tree.iter().filter(|it| it.source.is_none()) {
            folders.push(package.folder_of_sources(root));
        }
        // That of the runtime itself has no other folder around it.
        folders.sort_by_key(|it| it.matches('/').count());
        let names: Vec<&str> = folders.iter().map(String::as_str).collect();
        let files = lines::count(root, &names)?;
        Ok(Own { folders, files })
    }

    pub fn name(&self) -> String {
        self.folders.join(" and ")
    }

    pub fn sum(&self) -> Lines {
        self.files.values().sum()
    }

    fn budget(&self, limits: &Limits) -> Budget {
        let what = format!("lines of code of {}", self.name());
        Budget::new(&what, Bound::Under, limits.lines["code_under"], self.sum().code)
    }
}

impl Audit {
    /// Reads and counts everything.
    pub fn collect(root: &Path, limits: &Limits) -> Result<Self> {
        let manifest = root.join("Cargo.toml");
        let mut libraries = Numbers::new();
        for package in tree::packages(&manifest)?.iter().filter(|it| it.is_published()) {
            let folder = package.folder_of_sources(root);
            let files = rust_files(root, &folder)?;
            libraries.insert(folder, files.iter().map(unsafes).sum());
        }
        let mut air = Vec::new();
        for rule in &limits.air {
            let folders = rule.folders.iter().map(|it| Folder::read(root, it));
            air.push(folders.collect::<Result<_>>().context("[[air]] of audit.toml")?);
        }
        Ok(Audit {
            own: Own::collect(root)?,
            air,
            libraries,
            arc: crates(tree::tree(&manifest, "arc-runtime", TARGET)?)?,
            tokio: crates(tree::tree(&root.join(PEERS), "arc-peers", TARGET)?)?,
        })
    }

    /// The folders of the libraries.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.libraries.keys().map(String::as_str)
    }

    /// What is counted of the runtime and of all that it is built from.
    pub fn budgets(&self, limits: &Limits) -> Vec<Budget> {
        let mut budgets = vec![self.own.budget(limits)];
        for (folder, &unsafes) in &self.libraries {
            let most = limits.unsafes.get(folder).copied().unwrap_or(0);
            if most + unsafes > 0 {
                let what = format!("unsafe in {folder}");
                budgets.push(Budget::new(&what, Bound::Ratchet, most, unsafes));
            }
        }
        let most = limits.tree["crates"];
        budgets.push(Budget::new("crates in the tree", Bound::AtMost, most, self.arc.len()));
        budgets
    }

    /// The air of each folder.
    pub fn air_table(&self) -> Table {
        air::table(self.air.iter().flatten())
    }

    /// Every file of the runtime, with its lines of code and its air.
    pub fn files_table(&self) -> Table {
        let mut table = Table::new(&["file", "code", "blank %", "comment %"]);
        for (name, air) in self.air.iter().flatten().flat_map(|it| &it.files) {
            if let Some(lines) = self.own.files.get(name) {
                let mut cells = vec![name.clone(), number(lines.code)];
                cells.extend(air::cells(*air));
                table.cells(cells);
            }
        }
        table
    }

    /// What audit.toml does not allow.
    pub fn complaints(&self, limits: &Limits) -> Vec<String> {
        let budgets = self.budgets(limits);
        let mut complaints: Vec<_> = budgets.iter().filter_map(Budget::complaint).collect();
        for (rule, folders) in limits.air.iter().zip(&self.air) {
            complaints.extend(folders.iter().flat_map(|it| it.complaints(rule)));
        }
        complaints.extend(changes(&self.arc, &limits.crates));
        complaints
    }
}

/// How often a file has the word `unsafe`.
fn unsafes(file: &Source) -> usize {
    Rust::of(&file.text).words.iter().filter(|it| it.text == "unsafe").count()
}

/// Counts the word in all Rust files of each crate's `src/`: also in what is for other platforms
/// or features, because which file is compiled is not known before it is.
fn crates(packages: Vec<Package>) -> Result<Vec<Crate>> {
    let mut crates = Vec::new();
    // The peers' own manifest is only there to be resolved.
    for package in packages.into_iter().filter(|it| it.name != "arc-peers") {
        let unsafes = rust_files(package.folder(), "src")?.iter().map(unsafes).sum();
        crates.push(Crate { name: package.name, version: package.version, unsafes });
    }
    Ok(crates)
}

pub fn unsafes_of(crates: &[Crate]) -> usize {
    crates.iter().map(|it| it.unsafes).sum()
}

pub fn crates_table(crates: &[Crate]) -> Table {
    let mut table = Table::new(&["crate", "`unsafe`"]);
    for each in crates {
        // A version of arc's own would make the report stale at every release.
        let version = if each.name.starts_with("arc-") { "" } else { &each.version };
        let name = format!("{} {version}", each.name).trim().to_owned();
        table.cells(vec![name, number(each.unsafes)]);
    }
    table.cells(vec!["together".to_owned(), number(unsafes_of(crates))]);
    table
}

pub fn budgets_table(budgets: &[Budget]) -> Table {
    let mut table = Table::new(&["limit", "allowed", "counted"]);
    for budget in budgets {
        budget.row(&mut table, number(budget.counted));
    }
    table
}

/// The complaints about crates that audit.toml does not know as they are: what is new must be read.
fn changes(crates: &[Crate], known: &Numbers) -> Vec<String> {
    let counted: Numbers = crates.iter().map(|it| (it.name.clone(), it.unsafes)).collect();
    let mut complaints = Vec::new();
    for (name, unsafes) in &counted {
        if known.get(name) != Some(unsafes) {
            let line = format!("`{name} = {unsafes}` into [crates] of audit.toml");
            complaints.push(format!("crate {name} is new, or changed: read it, and write {line}"));
        }
    }
    for name in known.keys().filter(|name| !counted.contains_key(*name)) {
        complaints.push(format!("crate {name} is not in the tree: drop it from audit.toml"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tests::limits;

    fn own(code: usize) -> Own {
        let lines = Lines { files: 1, code, ..Lines::default() };
        let files = BTreeMap::from([("src/a.rs".to_owned(), lines)]);
        Own { folders: vec!["src".to_owned()], files }
    }

    #[test]
    fn there_is_less_code_than_the_limit() {
        let told = |code| own(code).budget(&limits()).complaint();
        assert_eq!(told(14), None);
        let expected = "lines of code of src: 15, and audit.toml allows fewer than 15";
        assert_eq!(told(15).unwrap(), expected);
    }

    #[test]
    fn libraries_and_trees_have_budgets() {
        let crates = [("a", 2), ("b", 0), ("new", 0)].map(|(name, unsafes)| Crate {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            unsafes,
        });
        let folders = ["src", "crates/b/src"].map(str::to_owned);
        let audit = Audit {
            own: own(1),
            air: Vec::new(),
            libraries: folders.map(|it| (it, 1)).into(),
            arc: crates.into(),
            tokio: Vec::new(),
        };
        let told = audit.complaints(&limits());
        assert_eq!(told[0], "unsafe in crates/b/src: 1, and audit.toml allows 0");
        assert_eq!(told[1], "crates in the tree: 3, and audit.toml allows 2");
        assert!(told[2].contains("`a = 2`") && told[3].contains("`b = 0`"), "{told:?}");
        assert!(told[4].contains("`new = 0`") && told[5].contains("c is not"), "{told:?}");
    }
}
