//! Fills the code into the pages of the book, and checks these and all other pages.
//!
//! | file | purpose |
//! |---|---|
//! | `main.rs` | the command line, and the pages one after the other |
//! | `page.rs` | read a page: its code, links, headings, lists and words |
//! | `fill.rs` | what belongs into a code block |
//! | `items.rs` | find an item in a source file |
//! | `rules.rs` | what a page must have, and where its links lead |
//! | `commands.rs` | whether a command exists |
//!
//! mdBook makes pages for a browser of it: `docs/book/html`.

mod commands;
mod fill;
mod items;
mod page;
mod rules;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use commands::Workspace;
use fill::Sources;
use page::Page;

const USAGE: &str = "\
usage: cargo xtask book [--check]

Fill the code into docs/book/, and check all pages. With --check, change nothing, and fail if a code
block is stale. docs/book/README.md says what may stand in a page.";

/// The folder of the book, seen from the root.
const FOLDER: &str = "docs/book";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let complaints = match words[..] {
        [] => run(&root(), true),
        ["--check"] => run(&root(), false),
        _ => Err(USAGE.to_owned()),
    };

    let complaints = complaints.unwrap_or_else(|error| vec![error]);
    for complaint in &complaints {
        eprintln!("book: {complaint}");
    }
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The root of the workspace. cargo says at run time where this package is.
fn root() -> PathBuf {
    let folder = env::var("CARGO_MANIFEST_DIR");
    let folder = folder.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&folder).join("../..")
}

/// Checks the pages below `root`. Writes what is stale in the book if `may_write`.
///
/// # Errors
/// A file cannot be read or written.
fn run(root: &Path, may_write: bool) -> Result<Vec<String>, String> {
    let mut sources = Sources::new(root)?;
    let workspace = Workspace::read(root, sources.stages())?;
    let mut complaints = Vec::new();
    let mut pages = Vec::new();
    for name in files(root, "*.md")? {
        pages.push(Page::new(&name, &read(root, &name)?));
    }

    for index in 0..pages.len() {
        if !pages[index].is_of_book() {
            continue;
        }
        let (filled, wrong) = fill::fill(&pages[index], &pages, &mut sources);
        complaints.extend(wrong);
        if filled == pages[index].text {
            continue;
        }
        let name = pages[index].name.clone();
        if may_write {
            fs::write(root.join(&name), &filled).map_err(|error| format!("{name}: {error}"))?;
            pages[index] = Page::new(&name, &filled);
            println!("{name}: filled");
        } else {
            let same = pages[index].text.lines().zip(filled.lines());
            let line = same.take_while(|(one, other)| one == other).count() + 1;
            let what = "this differs from what it is taken from";
            complaints.push(format!("{name}:{line}: {what}; type: cargo xtask book"));
        }
    }

    for page in &pages {
        complaints.extend(rules::check(page, &pages, root, &workspace, &mut sources));
    }
    complaints.extend(rules::pictures(root)?);
    let chapters = pages.iter().filter(|page| page.chapter().is_some()).count();
    println!("{chapters} chapters, {} pages", pages.len());
    Ok(complaints)
}

/// The names of the files that fit a pattern, sorted: what git knows, and what it would add.
fn files(root: &Path, pattern: &str) -> Result<Vec<String>, String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", pattern]);
    let output = git.current_dir(root).output().map_err(|error| format!("git: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut names: Vec<String> = text.split('\0').map(str::to_owned).collect();
    // One that was deleted is known until that is committed.
    names.retain(|name| root.join(name).is_file());
    names.sort();
    Ok(names)
}

fn read(root: &Path, name: &str) -> Result<String, String> {
    let text = fs::read_to_string(root.join(name));
    // Checked out on Windows, lines may end otherwise.
    text.map(|text| text.replace("\r\n", "\n")).map_err(|error| format!("{name}: {error}"))
}
