//! `cargo xtask tidy`: the style, as far as it can be read off the source.
//!
//! | file | rules |
//! |---|---|
//! | `text.rs` | lines, files, heads and functions too long, leftovers |
//! | `dense.rs` | statements that are packed, in the files of the one count |
//! | `orderings.rs` | orderings stronger than Relaxed that do not say why |
//! | `imports.rs` | who may import whom, and the table that shows it |
//! | `file.rs` | no rule: a file, what is found in it, and what there is beside it |
//! | `graph.rs` | no rule: what imports what, in each crate |
//! | `waits.rs` | who waits, what must stay pure |
//! | `repository.rs` | where the repository is |
//! | `names.rs` | names of files that do not exist; the table in src/README.md |
//!
//! What the compiler, clippy and rustdoc know better is left to them, and what pages name and where
//! their links lead to `cargo xtask book`.

mod dense;
mod file;
mod graph;
mod imports;
mod names;
mod orderings;
mod repository;
mod text;
mod waits;

use std::path::Path;

use anyhow::Result;
use clap::Args;

use crate::limits::{self, Limits};
use crate::source;
use crate::workspace_root;
pub use repository::fill;

use file::{Check, EXTENSIONS, File, Found, Repository};

/// What the command line asks for.
#[derive(Args, Debug)]
pub struct Arguments {
    /// List the rules
    #[arg(long)]
    rules: bool,
}

/// Generated, or a picture of what a compiler prints.
const LEFT_OUT: [&str; 2] = ["LOC_REPORT.md", "lab/refused/tests/macros/"];

const RULES: [(&str, &str, Check); 13] = [
    ("width", "lines are not too long", text::width),
    ("length", "files, heads and functions are not too long", text::length),
    ("leftovers", "nothing is left to be done", text::leftovers),
    (
        "dense",
        "a statement gives one value, a condition is an `if`, a bool no number",
        dense::dense,
    ),
    ("orderings", "strong orderings say what they pair with", orderings::orderings),
    ("circles", "neither files nor rooms import each other in a circle", imports::circles),
    ("low", "what is low imports only what [low] allows", imports::low),
    ("shown", "ARCHITECTURE.md shows the imports as they are", imports::shown),
    ("waits", "only the files of [waits] wait", waits::waits),
    ("pure", "the files of [pure] know no clock and no lock", waits::pure),
    ("map", "src/README.md names each file of src once", names::map),
    ("files", "files that are named exist", names::files),
    ("repository", "all places name the same repository", repository::repository),
];

/// Runs `cargo xtask tidy`.
pub fn run(arguments: &Arguments) -> Result<()> {
    let root = workspace_root();
    if arguments.rules {
        for (name, what, _) in RULES {
            println!("{name:12} {what}");
        }
        return Ok(());
    }
    let (files, repository) = read(&root)?;
    println!("tidy: {} rules, {} files", RULES.len(), files.len());
    limits::settle("tidy", &breaches(&files, &repository))
}

/// Reads all files, and what the rules need to know of them together.
fn read(root: &Path) -> Result<(Vec<File>, Repository)> {
    let names = source::names(root)?;
    let mut files = Vec::new();
    for name in &names {
        let is_read = EXTENSIONS.iter().any(|it| name.ends_with(it));
        if is_read && !LEFT_OUT.iter().any(|it| name.starts_with(it)) {
            files.push(File::new(source::read(root, name)?));
        }
    }
    let url = repository::url_of(&source::read(root, "Cargo.toml")?.text)?;
    let names = names.into_iter().collect();
    let repository = Repository::of(&files, names, Limits::read(root)?, url);
    Ok((files, repository))
}

/// Every breach of a rule.
fn breaches(files: &[File], repository: &Repository) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for (rule, _, check) in RULES {
            // Known, and to be mended: see [tidy_later] of audit.toml.
            let later = repository.limits.tidy_later.get(rule);
            if later.is_some_and(|files| files.contains(&file.name)) {
                continue;
            }
            for Found { line, text } in check(file, repository) {
                complaints.push(format!("{}:{line}: {text} ({rule})", file.name));
            }
        }
    }
    complaints
}
