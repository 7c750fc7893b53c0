//! `cargo xtask audit` and `loc`: the one count of lines and its air, `unsafe` in arc and in all
//! that it is built from, the words and lines around it, and whether `audit.toml` allows them.
//!
//! The one count is everything of its own that `cargo build -p arc-runtime` compiles, on whatever
//! platform. cargo says which packages that are, so that code is counted wherever it is moved.

use std::path::Path;

use anyhow::Result;

use crate::limits::{self, Bound, Budget, Limits, Numbers};
use crate::rust::{Count, Rust, SHORTEST_WITH_AIR, WIDE};
use crate::source::{self, Source, rust_files};
use crate::table::{Table, number, percent};
use crate::tree::{self, ALL_TARGETS, PEERS, Package, TARGET};
use crate::workspace_root;

/// Everything that is counted.
pub struct Audit {
    pub own: Own,
    /// The words of all pages, and the lines of all Rust files that are not below `src/`.
    house: [usize; 2],
    /// The folders of all libraries, with the places of `unsafe` in each.
    pub libraries: Vec<(String, Vec<String>)>,
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

/// Runs `cargo xtask audit`.
pub fn run() -> Result<()> {
    let root = workspace_root();
    let limits = Limits::read(&root)?;
    let audit = Audit::collect(&root)?;
    let mut budgets = audit.budgets(&limits);
    budgets.extend(audit.house_budgets(&limits));
    println!("{}\n{}", crates_table("arc", &audit.arc), budgets_table(&budgets));
    let mut complaints: Vec<_> = budgets.iter().filter_map(Budget::complaint).collect();
    complaints.extend(changes(&audit.arc, &limits.crates));
    limits::settle("audit", &complaints)
}

/// Runs `cargo xtask loc`: the files of the one count.
pub fn loc() -> Result<()> {
    print!("{}", Own::collect(&workspace_root())?.table());
    Ok(())
}

impl Own {
    fn collect(root: &Path) -> Result<Self> {
        let mut own = Own::default();
        let tree = tree::tree(&root.join("Cargo.toml"), "arc-runtime", ALL_TARGETS)?;
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
        let mut table = Table::new(&["file", "lines", "code", "wide", "blank %", "comment %"]);
        let mut add = |name: &str, count: Count| {
            let mut cells = vec![name.to_owned()];
            cells.extend([count.lines(), count.code, count.wide].map(number));
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
        let mut house = Vec::new();
        for name in source::names(root)? {
            if name.ends_with(".md") || name.ends_with(".rs") {
                house.push(source::read(root, &name)?);
            }
        }
        let manifest = root.join("Cargo.toml");
        let mut libraries = Vec::new();
        for package in tree::packages(&manifest)?.iter().filter(|it| it.is_published()) {
            let folder = package.folder_of_sources(root);
            let files = rust_files(root, &folder)?;
            libraries.push((folder, files.iter().flat_map(places).collect()));
        }
        libraries.sort();
        Ok(Audit {
            own: Own::collect(root)?,
            house: words_and_lines(&house),
            libraries,
            arc: crates(tree::tree(&manifest, "arc-runtime", TARGET)?)?,
            tokio: crates(tree::tree(&root.join(PEERS), "arc-peers", TARGET)?)?,
        })
    }

    /// What is counted of the runtime and of all that it is built from.
    pub fn budgets(&self, limits: &Limits) -> Vec<Budget> {
        let mut budgets = Vec::from(self.own.budgets(limits));
        for (folder, places) in &self.libraries {
            let most = limits.unsafes.get(folder).copied().unwrap_or(0);
            if most + places.len() > 0 {
                let what = format!("unsafe in {folder}");
                budgets.push(Budget::new(&what, Bound::Ratchet, most, places.len()));
            }
        }
        let most = limits.tree["crates"];
        budgets.push(Budget::new("crates in the tree", Bound::AtMost, most, self.arc.len()));
        budgets
    }

    /// What is counted of all that stands around the runtime.
    pub fn house_budgets(&self, limits: &Limits) -> [Budget; 2] {
        let [words, lines] = self.house;
        let most = ["words", "rust_lines"].map(|it| limits.house[it]);
        [
            Budget::new("words of all pages", Bound::Ratchet, most[0], words),
            Budget::new("lines of Rust outside src", Bound::Ratchet, most[1], lines),
        ]
    }
}

/// As `wc` counts them: the words of pages, and the lines of Rust files that are not below `src/`.
fn words_and_lines(files: &[Source]) -> [usize; 2] {
    let mut counts = [0, 0];
    for file in files {
        if file.name.ends_with(".md") {
            counts[0] += file.text.split_ascii_whitespace().count();
        } else if !file.name.starts_with("src/") {
            counts[1] += file.text.lines().count();
        }
    }
    counts
}

/// The places of the word `unsafe` in a file.
fn places(file: &Source) -> Vec<String> {
    let words = Rust::of(&file.text).words;
    let unsafes = words.iter().filter(|it| it.text == "unsafe");
    unsafes.map(|it| format!("{}:{}", file.name, it.line)).collect()
}

/// Counts the word in all Rust files of each crate's `src/`: also in what is for other platforms
/// or features, because which file is compiled is not known before it is.
fn crates(packages: Vec<Package>) -> Result<Vec<Crate>> {
    let mut crates = Vec::new();
    // The peers' own manifest is only there to be resolved.
    for package in packages.into_iter().filter(|it| it.name != "arc-peers") {
        let unsafes = rust_files(package.folder(), "src")?.iter().flat_map(places).count();
        crates.push(Crate { name: package.name, version: package.version, unsafes });
    }
    Ok(crates)
}

pub fn crates_table(title: &str, crates: &[Crate]) -> Table {
    let mut table = Table::new(&[title, "`unsafe`"]);
    for each in crates {
        // A version of arc's own would make the report stale at every release.
        let version = if each.name.starts_with("arc-") { "" } else { &each.version };
        table.row(format!("{} {version}", each.name).trim(), &[each.unsafes]);
    }
    table.row("together", &[crates.iter().map(|it| it.unsafes).sum()]);
    table
}

pub fn budgets_table(budgets: &[Budget]) -> Table {
    let mut table = Table::new(&["limit", "allowed", "counted"]);
    for budget in budgets {
        budget.row(&mut table, number(budget.counted));
    }
    table
}

/// The complaints about crates that are new or have more `unsafe` than audit.toml knows, so that a
/// change is told with the crate's name. What is less is printed.
fn changes(crates: &[Crate], known: &Numbers) -> Vec<String> {
    let mut complaints = Vec::new();
    for Crate { name, unsafes, .. } in crates {
        let line = format!("write `{name} = {unsafes}` into audit.toml");
        match known.get(name) {
            None => {
                complaints.push(format!("crate {name} is new in the tree: read it, and {line}"))
            }
            Some(allowed) if unsafes > allowed => {
                complaints
                    .push(format!("crate {name} has more unsafe: read what is new, and {line}"));
            }
            Some(allowed) if unsafes < allowed => println!("note: {line}, so that it stays so"),
            Some(_) => {}
        }
    }
    for name in known.keys().filter(|name| !crates.iter().any(|it| it.name == **name)) {
        println!("note: crate {name} is not in the tree: drop it from audit.toml");
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

    fn source(name: &str, text: &str) -> Source {
        Source { name: name.to_owned(), text: text.to_owned() }
    }

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
        let has_one = places(&source("a.rs", "unsafe fn f() {}"));
        let audit = Audit {
            own: own(TEXT),
            house: [6, 6],
            libraries: folders.map(|it| (it, has_one.clone())).into(),
            arc: crates.into(),
            tokio: Vec::new(),
        };
        let complaints =
            audit.budgets(&limits()).iter().filter_map(Budget::complaint).collect::<Vec<_>>();
        assert_eq!(complaints[0], "unsafe in crates/b/src: 1, and audit.toml allows 0");
        assert_eq!(complaints[1..], ["crates in the tree: 3, and audit.toml allows 2"]);
        assert_eq!(broken(&audit.house_budgets(&limits())), "words lines ");

        let told = changes(&audit.arc, &limits().crates);
        assert!(told[0].starts_with("crate a has more unsafe") && told[0].contains("`a = 2`"));
        assert!(told[1].starts_with("crate new is new in the tree") && told.len() == 2);
    }

    #[test]
    fn pages_have_words_and_the_rest_has_lines() {
        let files =
            [("docs/A.md", "# A page\nof words\n"), ("tests/a.rs", "\n\n"), ("src/a.rs", "\n")];
        assert_eq!(words_and_lines(&files.map(|it| source(it.0, it.1))), [5, 2]);
    }

    #[test]
    fn own_is_what_a_build_compiles() {
        let own = Own::collect(&workspace_root()).unwrap();
        assert_eq!(own.folders, ["src", "crates/macros/src"]);
        let has = |name: &str| own.files.iter().any(|it| it.0 == name);
        assert!(has("src/lib.rs") && has("crates/macros/src/lib.rs"));
    }
}
