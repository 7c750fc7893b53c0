//! `cargo xtask tidy`: the style, as far as it can be read off the source.
//!
//! | file | rules |
//! |---|---|
//! | `text.rs` | lines, files and heads too long, leftovers, `allow` in manifests |
//! | `syntax.rs` | long functions, `unwrap` and public items without a word |
//! | `dense.rs` | text that is packed, in the files of the one count |
//! | `orderings.rs` | orderings stronger than Relaxed that do not say why |
//! | `file.rs` | no rule: a file, and what is found in one |
//! | `paths.rs` | no rule: the paths in a source text |
//! | `items.rs` | no rule: the items of a source text |
//! | `graph.rs` | no rule: what imports what, in each crate |
//! | `repository.rs` | no rule: what the rules need to know beside a file |
//! | `imports.rs` | what imports what, and the tables that show it |
//! | `waits.rs` | who waits, what must stay pure |
//! | `names.rs` | names of files and items, and links, that lead nowhere; lib.rs's table |
//!
//! What the compiler knows better is left to it: links in documentation to items
//! are rustdoc's, and the step `doc` checks them, those of private items too.

mod dense;
mod file;
mod graph;
mod imports;
mod items;
mod names;
mod orderings;
mod paths;
mod repository;
mod syntax;
mod text;
mod waits;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::Args;

use crate::limits::{self, Exception, FILE, Limits, Remark};
use crate::source::files_below;
use crate::{Failure, workspace_root};
use file::File;
use repository::{Check, Repository};

/// What the command line asks for.
#[derive(Args, Debug)]
pub struct Arguments {
    /// List the rules
    #[arg(long)]
    rules: bool,
    /// Write the tables of imports into docs/ARCHITECTURE.md, and check then
    #[arg(long, conflicts_with = "rules")]
    write: bool,
}

/// The files that are read.
const EXTENSIONS: [&str; 4] = ["rs", "md", "toml", "yml"];

/// The files that are only linked to.
const PICTURES: [&str; 1] = ["svg"];

/// Generated, or a picture of what a compiler prints.
const LEFT_OUT: [&str; 2] = ["LOC_REPORT.md", "crates/macros/tests/compile_fail/"];

/// The rules, each a function of a file.
const RULES: [(&str, &str, Check); 22] = [
    ("width", "lines are not too long", text::width),
    ("file-length", "files are not too long", text::file_length),
    ("head", "heads of files are not too long", text::head),
    ("leftovers", "nothing is left to be done", text::leftovers),
    ("length", "functions are not too long", syntax::length),
    ("panics", "unwrap and expect give a reason", syntax::panics),
    ("allows", "a lint that a manifest allows has a reason", text::allows),
    ("docs", "public items are documented", syntax::docs),
    ("conditions", "a condition that decides what is done is an `if`", dense::conditions),
    ("statements", "a statement gives one value", dense::statements),
    ("bools", "a bool is no number", dense::bools),
    ("uses", "one `use` for each module", dense::uses),
    ("orderings", "strong orderings say what they pair with", orderings::orderings),
    ("circles", "neither files nor rooms import each other in a circle", imports::circles),
    ("low", "the driver knows nothing of what runs tasks", imports::low),
    ("drawn", "ARCHITECTURE.md shows the imports as they are", imports::drawn),
    ("waits", "only the seat waits for the kernel", waits::waits),
    ("pure", "the wheel and the policy know no clock and no lock", waits::pure),
    ("map", "lib.rs's table names each file of src once", names::map),
    ("files", "files that are named exist", names::files),
    ("items", "items that pages name, as in `task/mod.rs::spawn`, exist", names::items),
    ("links", "links lead somewhere", names::links),
];

/// Runs `cargo xtask tidy`.
///
/// # Errors
/// A rule is broken.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let root = workspace_root();
    if arguments.rules {
        for (name, what, _) in RULES {
            println!("{name:12} {what}");
        }
        return Ok(());
    }
    if arguments.write {
        write(&root)?;
    }
    check(&root)
}

fn check(root: &Path) -> Result<(), Failure> {
    let limits = Limits::read(root)?;
    let (files, repository) = read(root, &limits)?;
    let remarks = breaches(&files, &repository, &limits.exceptions()?);
    println!("tidy: {} rules, {} files", RULES.len(), files.len());
    limits::settle("tidy", &remarks)
}

/// Reads all files, and what the rules need to know of them together.
fn read(root: &Path, limits: &Limits) -> Result<(Vec<File>, Repository), Failure> {
    let sources = files_below(root, ".", &EXTENSIONS)?;
    let pictures = files_below(root, ".", &PICTURES)?;
    let names = sources.iter().chain(&pictures).map(|it| it.name.clone()).collect();

    let mut files = Vec::new();
    for source in sources {
        if !LEFT_OUT.iter().any(|it| source.name.starts_with(it)) {
            files.push(File::new(source)?);
        }
    }
    let repository = Repository::of(&files, names, limits)?;
    Ok((files, repository))
}

/// Writes the tables of imports into their page, if there is a place for them.
fn write(root: &Path) -> Result<(), Failure> {
    let (files, repository) = read(root, &Limits::read(root)?)?;
    let page = files.iter().find(|it| it.name == imports::DOCUMENT);
    let Some(text) = page.and_then(|it| repository.graphs.runtime().redraw(&it.text)) else {
        return Ok(());
    };
    let fail = |error| Failure(format!("{}: {error}", imports::DOCUMENT));
    fs::write(root.join(imports::DOCUMENT), text).map_err(fail)
}

/// Every breach that no exception excuses, and every exception without a breach.
fn breaches(files: &[File], repository: &Repository, exceptions: &[Exception]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut used = BTreeSet::new();
    for file in files {
        for (rule, _, check) in RULES {
            for found in check(file, repository) {
                let excuse = exceptions.iter().position(|it| {
                    it.rule == rule && it.file == file.name && found.text.contains(&it.text)
                });
                match excuse {
                    Some(index) => drop(used.insert(index)),
                    None => remarks.push(Remark::complaint(format!(
                        "{}:{}: {} ({rule})",
                        file.name, found.line, found.text
                    ))),
                }
            }
        }
    }
    for (index, Exception { rule, file, text }) in exceptions.iter().enumerate() {
        if !used.contains(&index) {
            remarks.push(Remark::complaint(format!(
                "{FILE}: the exception from `{rule}` for `{text}` in {file} is not needed: drop it"
            )));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::repository::tests::repository;
    use super::*;

    fn exception(text: &str) -> Exception {
        Exception {
            rule: "length".to_owned(),
            file: "xtask/a.rs".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn an_exception_excuses_one_breach_and_must_be_needed() {
        let files = [File::of("xtask/a.rs", "fn f() {\n\n\n}\n")];
        assert_eq!(breaches(&files, &repository(), &[]).len(), 1);
        assert_eq!(breaches(&files, &repository(), &[exception("fn f")]), []);
        let two = [exception("fn f"), exception("fn gone")];
        let remarks = breaches(&files, &repository(), &two);
        assert!(remarks[0].text.contains("`fn gone` in xtask/a.rs is not needed"));
    }

    #[test]
    fn names_of_rules_are_unique() {
        let names: BTreeSet<_> = RULES.iter().map(|it| it.0).collect();
        assert_eq!(names.len(), RULES.len());
    }
}
