//! `cargo xtask tidy`: the style, as far as it can be read off the source.
//!
//! | file | rules |
//! |---|---|
//! | `text.rs` | lines, files, heads and functions too long, leftovers |
//! | `dense.rs` | text that is packed, in the files of the one count |
//! | `orderings.rs` | orderings stronger than Relaxed that do not say why |
//! | `imports.rs` | who may import whom, and the tables that show it |
//! | `file.rs` | no rule: a file, what is found in it, and what there is beside it |
//! | `graph.rs` | no rule: what imports what, in each crate |
//! | `waits.rs` | who waits, what must stay pure |
//! | `names.rs` | names of files and items, and links, that lead nowhere; lib.rs's table |
//!
//! What the compiler, clippy and rustdoc know better is left to them.

mod dense;
mod file;
mod graph;
mod imports;
mod names;
mod orderings;
mod text;
mod waits;

use std::fs;
use std::path::Path;

use anyhow::Result;
use clap::Args;

use crate::limits::{self, Limits};
use crate::source;
use crate::workspace_root;
use file::{Check, File, Found, Repository};

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
const EXTENSIONS: [&str; 4] = [".rs", ".md", ".toml", ".yml"];

/// Generated, or a picture of what a compiler prints.
const LEFT_OUT: [&str; 2] = ["LOC_REPORT.md", "crates/macros/tests/compile_fail/"];

const RULES: [(&str, &str, Check); 16] = [
    ("width", "lines are not too long", text::width),
    ("length", "files, heads and functions are not too long", text::length),
    ("leftovers", "nothing is left to be done", text::leftovers),
    ("conditions", "a condition that decides what is done is an `if`", dense::conditions),
    ("statements", "a statement gives one value", dense::statements),
    ("bools", "a bool is no number", dense::bools),
    ("orderings", "strong orderings say what they pair with", orderings::orderings),
    ("circles", "neither files nor rooms import each other in a circle", imports::circles),
    ("low", "what is low imports only what [low] allows", imports::low),
    ("drawn", "ARCHITECTURE.md shows the imports as they are", imports::drawn),
    ("waits", "only the files of [waits] wait", waits::waits),
    ("pure", "the files of [pure] know no clock and no lock", waits::pure),
    ("map", "lib.rs's table names each file of src once", names::map),
    ("files", "files that are named exist", names::files),
    ("items", "items that pages name, as in `task/mod.rs::spawn`, exist", names::items),
    ("links", "links lead somewhere", names::links),
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
    let (mut files, repository) = read(&root)?;
    if arguments.write
        && let Some(page) = files.iter_mut().find(|it| it.name == imports::DOCUMENT)
        && let Some(text) = repository.graphs.runtime().redraw(&page.text)
    {
        fs::write(root.join(imports::DOCUMENT), &text)?;
        page.text = text;
    }
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
    let repository = Repository::of(&files, names.into_iter().collect(), Limits::read(root)?);
    Ok((files, repository))
}

/// Every breach of a rule.
fn breaches(files: &[File], repository: &Repository) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for (rule, _, check) in RULES {
            for Found { line, text } in check(file, repository) {
                complaints.push(format!("{}:{line}: {text} ({rule})", file.name));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::file::tests::repository_of;
    use super::*;

    #[test]
    fn each_breach_is_told_with_its_place_and_rule() {
        let (files, repository) = repository_of(&[("lab/a.rs", "fn f() {\n\n\n}\n")]);
        let told = breaches(&files, &repository);
        assert_eq!(told, ["lab/a.rs:1: fn f has 4 lines, at most 3: split it (length)"]);
    }
}
