//! `cargo xtask audit`: how much `unsafe` there is, in arc and in all that it is
//! built from, and whether `audit.toml` allows it.
//!
//! Syntax trees are counted, so the word in a comment or a string is not. All of
//! `src/` of a crate counts, also what is for other platforms or features than
//! the build's, because which file is compiled is not known before it is.

use std::path::Path;
use std::thread;

use clap::Args;

use crate::count::{self, KINDS, Tally};
use crate::limits::{self, Bound, Budget, FILE, Limits, Remark};
use crate::loc::{self, LineLimits};
use crate::source::{Source, rust_files};
use crate::table::{Table, number};
use crate::tree::{self, PEERS, Package, TARGET};
use crate::{Failure, compiled, workspace_root};

/// What the command line asks for.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Print a row for every file of the dependencies that has `unsafe`
    #[arg(long)]
    files: bool,
    /// Count what a build compiles instead, and check that (a minute)
    #[arg(long, conflicts_with = "files")]
    compiled: bool,
}

/// Crates that only declare what the system offers, on every platform they know.
const INTERFACES: [&str; 2] = ["libc", "linux-raw-sys"];

/// One `unsafe` of arc's own.
pub struct Own {
    pub file: String,
    pub found: count::Unsafe,
}

/// A crate and the `unsafe` in its sources.
pub struct Crate {
    pub name: String,
    pub version: String,
    /// The files that have any, by name.
    pub files: Vec<(String, Tally)>,
    pub file_count: usize,
    /// The files that syn cannot parse, which are searched for the word instead.
    pub unparsed: Vec<String>,
    pub tally: Tally,
}

/// Everything that is counted.
pub struct Audit {
    /// The folders of arc's own code that have a budget, and what they have.
    pub folders: Vec<(String, Tally)>,
    pub own: Vec<Own>,
    pub arc: Vec<Crate>,
    pub tokio: Vec<Crate>,
    /// The lines of all that a build compiles of arc's own, and the air in them.
    pub lines: loc::Own,
}

/// Runs `cargo xtask audit`.
///
/// # Errors
/// A limit is passed.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let root = workspace_root();
    let limits = Limits::read(&root)?;
    if arguments.compiled {
        return compiled::check(&root, &limits);
    }
    let audit = Audit::collect(&root, &limits)?;
    print!("{}", audit.own_text());
    if arguments.files {
        println!("\n{}", files_table(&audit.arc));
    }
    println!("\n{}", audit.tree_text());
    check(&audit, &limits)
}

impl Audit {
    /// Reads and counts everything.
    ///
    /// # Errors
    /// Something cannot be read, or own code is not Rust.
    pub fn collect(root: &Path, limits: &Limits) -> Result<Self, Failure> {
        let mut folders = Vec::new();
        let mut own = Vec::new();
        for (folder, _) in limits.numbers("unsafe")? {
            let files = rust_files(root, &[&folder])?;
            folders.push((folder, count_own(&files, &mut own)?));
        }
        let crates = tree::tree(&root.join("Cargo.toml"), "arc-runtime", TARGET)?;
        let peers = tree::tree(&root.join(PEERS), "arc-peers", TARGET)?;
        Ok(Audit {
            folders,
            own,
            arc: count_crates(&crates)?,
            tokio: count_crates(&peers)?,
            lines: loc::Own::collect(root)?,
        })
    }

    /// arc's own code: a table of the files that have any, and every reason.
    pub fn own_text(&self) -> String {
        let mut text = kinds_table("own code", self.folders.iter().map(row)).to_string();
        for Own { file, found } in &self.own {
            let reason = found.reason.as_deref().unwrap_or("NO REASON GIVEN");
            text += &format!("\n* {file}:{} ({}): {reason}", found.line, found.kind);
        }
        text + "\n"
    }

    /// The crates of arc's tree and of tokio's.
    pub fn tree_text(&self) -> String {
        let mut text = String::new();
        for (title, crates) in [("arc", &self.arc), ("tokio, features = [\"full\"]", &self.tokio)] {
            let rows = crates.iter().map(|each| (title_of(each), each.tally));
            let rows: Vec<_> = rows.collect();
            let table = kinds_table(title, rows.iter().map(row));
            let files: usize = crates.iter().map(|each| each.file_count).sum();
            let is_interface = |it: &&Crate| INTERFACES.contains(&it.name.as_str());
            let interfaces = crates.iter().filter(is_interface);
            let interfaces: usize = interfaces.map(|it| it.tally.total()).sum();
            let rest = crates.iter().map(|it| it.tally.total()).sum::<usize>() - interfaces;
            text += &format!(
                "{table}\n{title}: {} crates, {} files.{}\n{} `unsafe` are left without {}, which \
                 declare the system's interface\nfor many platforms, most of it \
                 generated.\n\n",
                crates.len(),
                number(files),
                unparsed_note(crates),
                number(rest),
                INTERFACES.join(" and "),
            );
        }
        text.trim_end().to_owned() + "\n"
    }
}

/// What syn could not parse is named, so that nobody takes a search for a count.
fn unparsed_note(crates: &[Crate]) -> String {
    let names: Vec<_> = crates
        .iter()
        .flat_map(|each| each.unparsed.iter().map(|file| format!("{}/{file}", each.name)))
        .collect();
    match names.len() {
        0 => " All of them were parsed.".to_owned(),
        count => format!(
            " {count} of them syn cannot parse; they were only searched for the word: {}.",
            names.join(", ")
        ),
    }
}

fn count_own(files: &[Source], own: &mut Vec<Own>) -> Result<Tally, Failure> {
    let mut sum = Tally::default();
    for file in files {
        let syntax = count::syntax(&file.text)
            .map_err(|reason| Failure(format!("{}: {reason}", file.name)))?;
        sum += Tally::of(&file.text).0;
        own.extend(syntax.unsafes.into_iter().map(|found| Own { file: file.name.clone(), found }));
    }
    Ok(sum)
}

/// Counts every crate, with a thread for each half of them: parsing is what takes
/// the time.
fn count_crates(packages: &[Package]) -> Result<Vec<Crate>, Failure> {
    let every_other = |first: usize| packages.iter().skip(first).step_by(2).map(count_crate);
    let (even, odd) = thread::scope(|scope| {
        let odd = scope.spawn(|| every_other(1).collect::<Result<Vec<_>, _>>());
        let even = every_other(0).collect::<Result<Vec<_>, _>>();
        (even, odd.join().expect("counting does not panic"))
    });
    let mut crates = even?;
    crates.extend(odd?);
    crates.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    // The peers' own manifest is only there to be resolved.
    crates.retain(|each| each.name != "arc-peers");
    Ok(crates)
}

fn count_crate(package: &Package) -> Result<Crate, Failure> {
    let mut counted = Crate {
        name: package.name.clone(),
        version: package.version.clone(),
        files: Vec::new(),
        file_count: 0,
        unparsed: Vec::new(),
        tally: Tally::default(),
    };
    for file in rust_files(&package.folder, &["src"])? {
        counted.file_count += 1;
        let (tally, is_parsed) = Tally::of(&file.text);
        counted.tally += tally;
        if !is_parsed {
            counted.unparsed.push(file.name.clone());
        }
        if tally.total() > 0 {
            counted.files.push((file.name, tally));
        }
    }
    Ok(counted)
}

fn title_of(each: &Crate) -> String {
    // A version of arc's own would make the report stale at every release.
    if each.name.starts_with("arc-") {
        return each.name.clone();
    }
    format!("{} {}", each.name, each.version)
}

fn row(row: &(String, Tally)) -> (&str, Tally) {
    (&row.0, row.1)
}

fn kinds_table<'rows>(title: &str, rows: impl Iterator<Item = (&'rows str, Tally)>) -> Table {
    let mut head = vec![title];
    head.extend(KINDS);
    head.push("total");
    let mut table = Table::new(1, &head);
    let mut sum = Tally::default();
    let mut add = |name: &str, tally: Tally| {
        let mut numbers = tally.0.to_vec();
        numbers.push(tally.total());
        table.row([name], &numbers);
    };
    for (name, tally) in rows {
        add(name, tally);
        sum += tally;
    }
    add("total", sum);
    table
}

fn files_table(crates: &[Crate]) -> Table {
    let name = |each: &Crate, file: &str| format!("{}/{file}", each.name);
    let rows: Vec<_> = crates
        .iter()
        .flat_map(|each| each.files.iter().map(move |it| (name(each, &it.0), it.1)))
        .collect();
    kinds_table("file of a crate", rows.iter().map(row))
}

/// Prints every budget, and fails when one is broken or an `unsafe` has no reason.
fn check(audit: &Audit, limits: &Limits) -> Result<(), Failure> {
    let budgets = budgets(audit, limits)?;
    let mut table = Table::new(1, &["budget", "allowed", "counted"]);
    for budget in &budgets {
        let bound = budget.bound.to_string();
        table.texts(vec![budget.what.clone(), bound, number(budget.counted)]);
    }
    println!("{table}");
    let mut remarks: Vec<Remark> = budgets.iter().filter_map(Budget::remark).collect();
    remarks.extend(crate_remarks(&audit.arc, &limits.numbers("crates")?));
    remarks.extend(audit.own.iter().filter_map(unexplained));
    limits::settle("audit", &remarks)
}

fn unexplained(Own { file, found }: &Own) -> Option<Remark> {
    let place = format!("{file}:{}: unsafe ({})", found.line, found.kind);
    found.reason.is_none().then(|| {
        Remark::complaint(format!(
            "{place} without a SAFETY: comment directly above: say why it holds"
        ))
    })
}

fn budgets(audit: &Audit, limits: &Limits) -> Result<Vec<Budget>, Failure> {
    let mut budgets = audit.lines.budgets(&LineLimits::of(limits)?);
    for (folder, tally) in &audit.folders {
        let own = audit.own.iter();
        let own = own.filter(|it| it.file.starts_with(&format!("{folder}/")));
        let places: Vec<_> = own.map(|it| format!("{}:{}", it.file, it.found.line)).collect();
        budgets.push(Budget {
            what: format!("unsafe in {folder}"),
            bound: Bound::AtMost(limits.number("unsafe", folder)?),
            counted: tally.total(),
            remedy: format!("They are at {}: do without one.", places.join(", ")),
            is_ratchet: true,
        });
    }
    budgets.push(Budget {
        what: "crates in the tree".to_owned(),
        bound: Bound::AtMost(limits.number("tree", "crates")?),
        counted: audit.arc.len(),
        remedy: "`cargo tree -p arc-runtime -e normal,build` tells who needs which: \
                 do without one."
            .to_owned(),
        is_ratchet: false,
    });
    let crates = limits.numbers("crates")?;
    budgets.push(Budget {
        what: "unsafe in the tree".to_owned(),
        bound: Bound::AtMost(crates.iter().map(|it| it.1).sum()),
        counted: audit.arc.iter().map(|each| each.tally.total()).sum(),
        remedy: "It is told by crate below.".to_owned(),
        is_ratchet: false,
    });
    Ok(budgets)
}

/// What differs from the crates and their `unsafe` that audit.toml knows, so that a
/// change is told with the crate's name.
fn crate_remarks(crates: &[Crate], known: &[(String, usize)]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for each in crates {
        let (name, counted) = (&each.name, each.tally.total());
        let line = format!("write `{name} = {counted}` into [crates] of {FILE}");
        match known.iter().find(|it| &it.0 == name).map(|it| it.1) {
            None => remarks.push(Remark::complaint(format!(
                "crate {name} is new in the tree: do without it, or read it, give its reason in \
                 Cargo.toml, and {line}"
            ))),
            Some(allowed) if counted > allowed => remarks.push(Remark::complaint(format!(
                "crate {name} has {counted} unsafe, and {FILE} allows {allowed}: read what is \
                 new (`cargo xtask audit --files` tells the files), and {line}"
            ))),
            Some(allowed) if counted < allowed => remarks.push(Remark::note(format!(
                "crate {name} has {counted} unsafe, less than the {allowed} allowed: {line}, so \
                 that it stays so"
            ))),
            Some(_) => {}
        }
    }
    for (name, _) in known {
        if !crates.iter().any(|each| &each.name == name) {
            remarks.push(Remark::note(format!(
                "crate {name} is no longer in the tree: drop its line from [crates] of {FILE}"
            )));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_with(name: &str, blocks: usize) -> Crate {
        let mut tally = Tally::default();
        tally.0[0] = blocks;
        Crate {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            files: Vec::new(),
            file_count: 1,
            unparsed: Vec::new(),
            tally,
        }
    }

    #[test]
    fn every_change_of_the_tree_is_told_by_name() {
        let known = [("a", 1), ("b", 1), ("c", 1), ("d", 1)];
        let known = known.map(|(name, number)| (name.to_owned(), number));
        let crates = [("a", 1), ("b", 2), ("c", 0), ("e", 0)];
        let crates = crates.map(|(name, blocks)| crate_with(name, blocks));
        let told: Vec<_> = crate_remarks(&crates, &known)
            .into_iter()
            .map(|it| (it.text[..7].to_owned(), it.is_complaint))
            .collect();
        let expected =
            [("crate b", true), ("crate c", false), ("crate e", true), ("crate d", false)];
        assert_eq!(told, expected.map(|(text, it)| (text.to_owned(), it)));
    }

    #[test]
    fn the_one_count_is_a_budget() {
        let text = "[lines]\nmost = 1\n[air]\nblanks_percent = 8\ncomments_percent = 15\n\
                    wide_percent = 2\n[tree]\ncrates = 1\n";
        let file = Source {
            name: "src/a.rs".to_owned(),
            text: "//! A.\nfn a() {}\nfn b() {}\n".to_owned(),
        };
        let audit = Audit {
            folders: Vec::new(),
            own: Vec::new(),
            arc: Vec::new(),
            tokio: Vec::new(),
            lines: loc::Own::of(&[file]),
        };
        let limits = Limits::parse(text).unwrap();
        let broken = budgets(&audit, &limits).unwrap();
        let broken = broken.iter().filter(|it| it.is_broken()).map(|it| it.what.as_str());
        assert_eq!(broken.collect::<Vec<_>>(), ["lines of src"]);
    }

    #[test]
    fn own_unsafe_needs_its_reason() {
        let file = Source {
            name: "a.rs".to_owned(),
            text: "fn f() {\n    unsafe { g() }\n}\n".to_owned(),
        };
        let mut own = Vec::new();
        assert_eq!(count_own(&[file], &mut own).unwrap().total(), 1);
        let text = unexplained(&own[0]).unwrap().text;
        assert!(text.starts_with("a.rs:2: unsafe (block) without a SAFETY:"));
    }

    #[test]
    fn what_cannot_be_parsed_is_named() {
        let mut counted = crate_with("a", 0);
        assert_eq!(unparsed_note(&[]), " All of them were parsed.");
        counted.unparsed.push("src/b.rs".to_owned());
        assert!(unparsed_note(&[counted]).ends_with("the word: a/src/b.rs."));
    }
}
