//! Fills the code into the pages of the book, and checks the pages.
//!
//! | file | purpose |
//! |---|---|
//! | `main.rs` | the command line, and the pages one after the other |
//! | `page.rs` | read a page: its code blocks, links, headings, lists and words |
//! | `fill.rs` | what belongs into a code block |
//! | `items.rs` | find an item in a source file |
//! | `rules.rs` | what a page must have, and where its links lead |
//! | `commands.rs` | whether a command exists |
//! | `html.rs` | the book as a folder for a web server, by mdBook |

mod commands;
mod fill;
mod html;
mod items;
mod page;
mod rules;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use commands::Workspace;
use fill::Sources;
use page::Page;

const HELP: &str = "\
Fill the code into the book, docs/book/, and check its pages.

usage: cargo xtask book [OPTION]

  --check  change nothing, and fail if a code block is stale
  --html   the same, and make the folder target/mdbook of the book: a web server can serve it as it
           is (needs mdBook: cargo install mdbook)
  --help   print this text

docs/book/README.md says what may stand in a page.
";

/// The folder of the book, seen from the root.
const FOLDER: &str = "docs/book";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let complaints = match words[..] {
        [] => run(&root(), true, false),
        ["--check"] => run(&root(), false, false),
        ["--html"] => run(&root(), false, true),
        ["--help"] => {
            print!("{HELP}");
            Ok(Vec::new())
        }
        _ => Ok(vec![format!("these arguments mean nothing\n\n{HELP}")]),
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

/// Checks the book below `root`. Writes what is stale if `may_write`, and makes a folder for a web
/// server if `makes_html`.
///
/// # Errors
/// A file cannot be read or written.
fn run(root: &Path, may_write: bool, makes_html: bool) -> Result<Vec<String>, String> {
    let mut sources = Sources::new(root)?;
    let workspace = Workspace::read(root, sources.stages())?;
    let mut complaints = Vec::new();

    let mut pages = Vec::new();
    for name in page_names(root)? {
        let text = read(root, &name)?;
        pages.push(Page::new(&name, &text));
    }

    for index in 0..pages.len() {
        let (filled, wrong) = fill::fill(&pages[index], &pages, &mut sources);
        complaints.extend(wrong);
        if filled == pages[index].text {
            continue;
        }
        let name = pages[index].name.clone();
        if may_write {
            write(root, &name, &filled)?;
            pages[index] = Page::new(&name, &filled);
            println!("{name}: filled");
        } else {
            let line = first_difference(&pages[index].text, &filled);
            let what = "this differs from what it is taken from";
            complaints.push(format!("{name}:{line}: {what}; type: cargo xtask book"));
        }
    }

    for page in &pages {
        complaints.extend(rules::check(page, &pages, root, &workspace, &mut sources));
    }
    complaints.extend(rules::pictures(&pages, root)?);
    let chapters = pages.iter().filter(|page| page.is_chapter()).count();
    println!("{chapters} chapters, {} pages", pages.len());
    if makes_html {
        complaints.extend(html::make(root, &pages)?);
    }
    Ok(complaints)
}

/// The number of the first line in which two texts differ.
fn first_difference(one: &str, other: &str) -> usize {
    let same = one.lines().zip(other.lines()).take_while(|(one, other)| one == other);
    same.count() + 1
}

/// The Markdown files of the book, in their order.
fn page_names(root: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for folder in [FOLDER.to_owned(), format!("{FOLDER}/answers")] {
        for name in files_in(root, &folder, "md")? {
            names.push(format!("{folder}/{name}"));
        }
    }
    names.sort();
    Ok(names)
}

/// The names of the files in a folder that end in an extension, sorted.
fn files_in(root: &Path, folder: &str, extension: &str) -> Result<Vec<String>, String> {
    let entries = match fs::read_dir(root.join(folder)) {
        Ok(entries) => entries,
        Err(error) => return Err(format!("{folder}: {error}")),
    };
    let mut names = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|it| it == extension)
            && let Some(name) = path.file_name()
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn read(root: &Path, name: &str) -> Result<String, String> {
    let text = fs::read_to_string(root.join(name));
    // Checked out on Windows, lines may end otherwise.
    text.map(|text| text.replace("\r\n", "\n")).map_err(|error| format!("{name}: {error}"))
}

fn write(root: &Path, name: &str, text: &str) -> Result<(), String> {
    fs::write(root.join(name), text).map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told_by_its_line() {
        assert_eq!(first_difference("a\nb\nc\n", "a\nx\nc\n"), 2);
        assert_eq!(first_difference("a\n", "a\nb\n"), 2);
    }

    #[test]
    fn this_repository_has_pages_in_an_order() {
        let names = page_names(&root()).unwrap();
        assert!(names.contains(&"docs/book/README.md".to_owned()), "{names:?}");
        assert!(names.is_sorted() && names.iter().all(|name| name.ends_with(".md")), "{names:?}");
    }
}
