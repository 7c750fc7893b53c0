//! `cargo xtask tidy`: the style, as far as it can be read off the source.
//!
//! | file | rules |
//! |---|---|
//! | `text.rs` | lines too long, files too long, leftovers, `allow` in manifests |
//! | `syntax.rs` | long functions, `unwrap` and public items without a word |
//! | `orderings.rs` | orderings stronger than Relaxed that do not say why |
//! | `paths.rs` | no rule: the paths in a source text |
//! | `imports.rs` | what imports what, and the tables that show it |
//! | `waits.rs` | who waits, what must stay pure |
//! | `names.rs` | names of files and items, and links, that lead nowhere; lib.rs's table |
//!
//! What the compiler knows better is left to it: links in documentation to items
//! are rustdoc's, and the step `doc` checks them, those of private items too.

mod imports;
mod names;
mod orderings;
mod paths;
mod syntax;
mod text;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use clap::Args;

use crate::limits::{self, Exception, FILE, Limits, Remark};
use crate::source::{Source, files_below};
use crate::{Failure, workspace_root};

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

/// A breach of a rule.
#[derive(Debug, PartialEq)]
struct Found {
    line: usize,
    /// What is wrong, and what to do.
    text: String,
}

impl Found {
    fn new(line: usize, text: impl Into<String>) -> Self {
        Found { line, text: text.into() }
    }
}

/// One file, and its syntax tree if it is Rust.
struct File {
    name: String,
    text: String,
    syntax: Option<syn::File>,
}

impl File {
    fn new(source: Source) -> Result<Self, Failure> {
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
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Whether the file is code of a library that users build.
    fn is_library(&self) -> bool {
        let in_crate = self.name.strip_prefix("crates/").and_then(|it| it.split_once('/'));
        self.is_runtime() || in_crate.is_some_and(|(_, file)| file.starts_with("src/"))
    }

    /// Whether the file is code of the runtime.
    fn is_runtime(&self) -> bool {
        self.name.starts_with("src/")
    }

    #[cfg(test)]
    fn of(name: &str, text: &str) -> Self {
        File::new(Source { name: name.to_owned(), text: text.to_owned() })
            .expect("the text of a test is Rust")
    }
}

/// What the rules need to know beside the file itself.
struct Repository {
    names: BTreeSet<String>,
    graphs: imports::Graphs,
    /// The items of each file of `src/`, as pages name them.
    items: BTreeMap<String, BTreeSet<String>>,
    function_lines: usize,
    file_lines: usize,
    columns: usize,
}

impl Repository {
    /// `names` has the files that are read, and those that are only linked to.
    fn of(files: &[File], names: BTreeSet<String>, limits: &Limits) -> Result<Self, Failure> {
        let mut items = BTreeMap::new();
        for file in files.iter().filter(|it| it.is_runtime()) {
            if let Some(syntax) = &file.syntax {
                items.insert(file.name.clone(), names::items_of(syntax));
            }
        }
        Ok(Repository {
            names,
            graphs: imports::Graphs::of(files),
            items,
            function_lines: limits.number("tidy", "function_lines")?,
            file_lines: limits.number("tidy", "file_lines")?,
            columns: limits.number("tidy", "columns")?,
        })
    }
}

type Check = fn(&File, &Repository) -> Vec<Found>;

/// The rules, each a function of a file.
const RULES: [(&str, &str, Check); 17] = [
    ("width", "lines are not too long", text::width),
    ("file-length", "files are not too long", text::file_length),
    ("leftovers", "nothing is left to be done", text::leftovers),
    ("length", "functions are not too long", syntax::length),
    ("panics", "unwrap and expect give a reason", syntax::panics),
    ("allows", "a lint that a manifest allows has a reason", text::allows),
    ("docs", "public items are documented", syntax::docs),
    ("orderings", "strong orderings say what they pair with", orderings::orderings),
    ("circles", "neither files nor rooms import each other in a circle", imports::circles),
    ("low", "the driver knows nothing of what runs tasks", imports::low),
    ("drawn", "ARCHITECTURE.md shows the imports as they are", imports::drawn),
    ("waits", "only the seat waits for the kernel", waits::waits),
    ("pure", "the wheel and the rules of sharing know no clock and no lock", waits::pure),
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
    use super::*;

    const LIMITS: &str = "[tidy]\nfunction_lines = 3\nfile_lines = 5\ncolumns = 20\n";

    /// The repository that the rules' tests see.
    pub fn repository_of(files: &[File]) -> Repository {
        let mut names: BTreeSet<_> = files.iter().map(|it| it.name.clone()).collect();
        names.extend(["src/a.rs", "docs/B.md", "tests/unit/a.rs"].map(str::to_owned));
        let limits = Limits::parse(LIMITS).expect("the limits are TOML");
        Repository::of(files, names, &limits).expect("no limit is missing")
    }

    fn repository() -> Repository {
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
    fn libraries_are_the_runtime_and_the_crates() {
        let is_library = |name| File::of(name, "").is_library();
        assert!(is_library("src/a.rs") && is_library("crates/util/src/a/b.rs"));
        assert!(!is_library("crates/util/tests/a.rs") && !is_library("lab/models/src/lib.rs"));
    }

    #[test]
    fn names_of_rules_are_unique() {
        let names: BTreeSet<_> = RULES.iter().map(|it| it.0).collect();
        assert_eq!(names.len(), RULES.len());
    }
}
