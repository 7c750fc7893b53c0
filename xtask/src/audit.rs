//! What `cargo xtask audit` counts: the lines and their air, `unsafe` in arc and in all that it is
//! built from, and whether `audit.toml` allows them. (`.ci/house` counts what stands around it.)
//!
//! The one count is everything of its own that `cargo build -p arc-runtime` compiles, on whatever
//! platform. cargo says which packages that are, so that code is counted wherever it is moved.

use std::path::Path;

use anyhow::Result;

use crate::limits::{Bound, Budget, Limits, Numbers};
use crate::rust::{Count, Rust, SHORTEST_WITH_AIR, WIDE};
use crate::source::{Source, rust_files};
use crate::table::{Table, number, percent};
use crate::tree::{self, PEERS, Package, TARGET};

/// Everything that is counted.
pub struct Audit {
    pub own: Own,
    /// The folders of all libraries, and how often each has the word `unsafe`.
    libraries: Numbers,
    pub arc: Vec<Crate>,
    pub tokio: Vec<Crate>,
}

/// What a build of arc-runtime compiles of arc's own.
#[derive(Default)]
pub struct Own {
    /// The folders of the packages, the runtime's first.
    pub folders: Vec<String>,
    files: Vec<(String, Count)>,
}

/// A crate of a build, and how often its sources have the word `unsafe`.
pub struct Crate {
    pub name: String,
    pub version: String,
    pub unsafes: usize,
}

impl Own {
    fn collect(root: &Path) -> Result<Self> {
        let mut own = Own::default();
        let tree = tree::tree(&root.join("Cargo.toml"), "arc-runtime", "all")?;
        for package in tree.iter().filter(|it| it.source.is_none()) {
            own.folders.push(package.folder_of_sources(root));
        }
        // That of the runtime itself has no other folder around it.
        own.folders.sort_by_key(|it| it.matches('/').count());
        for folder in own.folders.clone() {
            for file in rust_files(root, &folder)? {
                own.files.push((file.name, Rust::of(&file.text).count()));
            }
        }
        Ok(own)
    }

    pub fn sum(&self) -> Count {
        let mut sum = Count::default();
        for (_, count) in &self.files {
            sum += *count;
        }
        sum
    }

    fn budgets(&self, limits: &Limits) -> [Budget; 4] {
        let sum = self.sum();
        let least = |name| (sum.air_lines * limits.air[name]).div_ceil(100);
        let longer = format!("in functions of {SHORTEST_WITH_AIR} lines and more");
        let at_least = |what: &str, name, counted| {
            Budget::new(&format!("{what} {longer}"), Bound::AtLeast, least(name), counted)
        };
        let lines = format!("lines of {}", self.folders.join(" and "));
        let wide = format!("lines of code with {WIDE} columns and more");
        let most_wide = sum.code * limits.air["wide_percent"] / 100;
        [
            Budget::new(&lines, Bound::Ratchet, limits.lines["most"], sum.lines()),
            at_least("blank lines", "blanks_percent", sum.air_blanks),
            at_least("comments", "comments_percent", sum.air_comments),
            Budget::new(&wide, Bound::AtMost, most_wide, sum.wide),
        ]
    }

    /// Every file, with its lines and its air.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&["file", "lines", "code", "blank %", "comment %"]);
        let mut add = |name: &str, count: Count| {
            let mut cells = vec![name.to_owned()];
            cells.extend([count.lines(), count.code].map(number));
            let air = [count.air_blanks, count.air_comments];
            cells.extend(air.map(|it| percent(it, count.air_lines)));
            table.cells(cells);
        };
        for (name, count) in &self.files {
            add(name, *count);
        }
        add("together", self.sum());
        table
    }
}

impl Audit {
    /// Reads and counts everything.
    pub fn collect(root: &Path) -> Result<Self> {
        let manifest = root.join("Cargo.toml");
        let mut libraries = Numbers::new();
        for package in tree::packages(&manifest)?.iter().filter(|it| it.is_published()) {
            let folder = package.folder_of_sources(root);
            let files = rust_files(root, &folder)?;
            libraries.insert(folder, files.iter().map(unsafes).sum());
        }
        Ok(Audit {
            own: Own::collect(root)?,
            libraries,
            arc: crates(tree::tree(&manifest, "arc-runtime", TARGET)?)?,
            tokio: crates(tree::tree(&root.join(PEERS), "arc-peers", TARGET)?)?,
        })
    }

    /// What is counted of the runtime and of all that it is built from.
    pub fn budgets(&self, limits: &Limits) -> Vec<Budget> {
        let mut budgets = Vec::from(self.own.budgets(limits));
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

    /// What audit.toml does not allow.
    pub fn complaints(&self, limits: &Limits) -> Vec<String> {
        let budgets = self.budgets(limits);
        let mut complaints: Vec<_> = budgets.iter().filter_map(Budget::complaint).collect();
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

    const TEXT: &str = "\
fn short() {}

fn long() {
    // Why.
    a();
    b();

    // Why.
    c();
    d();
    e();
    f();
    g();
}
";

    fn own(text: &str) -> Own {
        let files = vec![("src/a.rs".to_owned(), Rust::of(text).count())];
        Own { folders: vec!["src".to_owned()], files }
    }

    fn broken(budgets: &[Budget]) -> String {
        let complaints = budgets.iter().filter_map(Budget::complaint);
        complaints.map(|it| it.split(' ').next().unwrap().to_owned() + " ").collect()
    }

    #[test]
    fn each_limit_is_a_budget() {
        let broken = |text: &str| broken(&own(text).budgets(&limits()));
        assert_eq!(broken(TEXT), "");
        assert_eq!(broken(&format!("{TEXT}fn g() {{}}\nfn h() {{}}\n")), "lines ");
        assert_eq!(broken(&TEXT.replace("b();\n\n", "b();\n")), "blank ");
        assert_eq!(broken(&TEXT.replacen("// Why.", "g();", 1)), "comments ");
        let wide = format!("fn short() {{ {} }}", "x".repeat(WIDE));
        assert_eq!(broken(&TEXT.replace("fn short() {}", &wide)), "lines ");
    }

    #[test]
    fn libraries_trees_and_pages_have_budgets() {
        let crates = [("a", 2), ("b", 0), ("new", 0)].map(|(name, unsafes)| Crate {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            unsafes,
        });
        let folders = ["src", "crates/b/src"].map(str::to_owned);
        let audit = Audit {
            own: own(TEXT),
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
