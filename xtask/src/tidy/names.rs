//! Names of files and items in comments and pages, and links of pages, that lead nowhere;
//! and the table of files in lib.rs.

use std::collections::BTreeSet;

use super::file::{File, Found};
use super::graph::map_of;
use super::repository::Repository;

/// What the name of a file ends in.
const ENDINGS: [&str; 4] = [".rs", ".md", ".toml", ".yml"];

/// The names of files in comments and pages exist. A name may be the end of a path,
/// and words in capitals, such as `tests/NAME.rs`, stand for any name.
pub fn files(file: &File, repository: &Repository) -> Vec<Found> {
    let mut found = Vec::new();
    for (line, name) in prose(file).flat_map(|(line, text)| names(text).map(move |it| (line, it))) {
        let end = format!("/{name}");
        let exists = |it: &String| it == name || it.ends_with(&end);
        if !repository.names.iter().any(exists) {
            found.push(Found::new(line, format!("there is no file `{name}`")));
        }
    }
    found
}

/// The lines of a page, or the comments of a source file.
fn prose(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let is_page = file.name.ends_with(".md");
    file.lines().filter_map(move |(number, line)| {
        let comment = line.trim_start();
        let is_comment = comment.starts_with("//") || comment.starts_with("# ");
        (is_page || is_comment).then_some((number, line))
    })
}

/// The words of a line that look like the name of a file here.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_alphanumeric() || "_./-".contains(letter);
    line.split(move |letter| !is_part(letter))
        .map(|word| word.trim_end_matches('.').trim_start_matches("./").trim_start_matches("../"))
        .filter(|word| {
            let ending = ENDINGS.iter().find(|ending| word.ends_with(**ending));
            let Some(path) = ending.map(|ending| &word[..word.len() - ending.len()]) else {
                return false;
            };
            let stem = path.rsplit('/').next().unwrap_or("");
            let is_any = path.split('/').any(|part| !part.is_empty() && part == "NAME");
            !stem.is_empty() && !is_any && !word.starts_with("//")
        })
}

/// Each file of `src/` but lib.rs stands in lib.rs's table once.
pub fn map(file: &File, repository: &Repository) -> Vec<Found> {
    if file.name != "src/lib.rs" {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (line, name) in map_of(&file.text) {
        let full = format!("src/{name}");
        if !repository.names.contains(&full) {
            found.push(Found::new(line, format!("there is no file `{full}`: drop its row")));
        } else if !seen.insert(full) {
            found.push(Found::new(line, format!("`{name}` has a row already: drop this one")));
        }
    }

    for name in repository.names.iter().filter(|it| it.starts_with("src/")) {
        let is_code = name.ends_with(".rs") && *name != file.name;
        if is_code && !seen.contains(name) {
            let text = format!("`{name}` has no row in the table of files: give it one");
            found.push(Found::new(1, text));
        }
    }
    found
}

/// The items that pages name by file and path, as `task/mod.rs::JoinHandle::abort`, exist. (The
/// book's own command knows more of what the book names.)
pub fn items(file: &File, repository: &Repository) -> Vec<Found> {
    let is_in_book = file.name.starts_with("docs/book/");
    let is_page = file.name.starts_with("docs/") && file.name.ends_with(".md") && !is_in_book;
    if !is_page && !["README.md", "CONTRIBUTING.md"].contains(&file.name.as_str()) {
        return Vec::new();
    }
    let is_part = |letter: char| letter.is_alphanumeric() || "_./:-".contains(letter);
    let mut found = Vec::new();
    for (line, text) in file.lines() {
        for word in text.split(|letter| !is_part(letter)) {
            let Some((path, item)) = word.split_once(".rs::") else { continue };
            let name = format!("src/{path}.rs");
            let item = item.trim_end_matches([':', '.']);
            match repository.items.get(&name) {
                None => found.push(Found::new(line, format!("there is no file `{name}`"))),
                Some(items) if items.contains(item) => {}
                Some(_) => found.push(Found::new(line, format!("`{name}` has no item `{item}`"))),
            }
        }
    }
    found
}

/// The links of pages to files and headings lead somewhere. Links to other hosts are
/// not followed.
pub fn links(file: &File, repository: &Repository) -> Vec<Found> {
    if !file.name.ends_with(".md") {
        return Vec::new();
    }
    let folder = file.name.rsplit_once('/').map_or("", |it| it.0);
    let headings = headings(&file.text);
    let mut found = Vec::new();
    for (line, target) in
        file.lines().flat_map(|(line, text)| targets(text).map(move |it| (line, it)))
    {
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let exists = match path {
            "" => headings.contains(heading),
            path if path.contains("://") => true,
            path => is_there(&resolve(folder, path), repository),
        };
        if !exists {
            found.push(Found::new(line, format!("the link to `{target}` leads nowhere")));
        }
    }
    found
}

/// The targets of the links `[text](target)` of a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|it| it.0)
}

/// A file that was read, or a folder that has one.
fn is_there(path: &str, repository: &Repository) -> bool {
    let path = path.trim_end_matches('/');
    let below = format!("{path}/");
    repository.names.iter().any(|it| it == path || it.starts_with(&below))
}

/// `path` seen from `folder`.
fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a page's headings: lower case, hyphens for spaces, no marks.
fn headings(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept = words.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
            kept.map(|it| if it == ' ' { '-' } else { it }).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::repository::tests::{found_in, lines_found};
    use super::*;

    #[test]
    fn files_that_are_named_exist() {
        let text = "// See `a.rs` and docs/B.md.\n// See gone.rs.\nfn f() { g(\"gone.rs\") }\n";
        assert_eq!(lines_found(files, "src/a.rs", text), [2]);
        let text = "`tests/NAME.rs`, unit/a.rs, https://host/x.md\n`src/gone.rs`\n";
        assert_eq!(lines_found(files, "A.md", text), [2]);
    }

    #[test]
    fn the_map_names_each_file_once() {
        let rows = [
            "//! | file | what one knows then |",
            "//! |---|---|",
            "//! | `b/c.rs` | `a.rs` is for later |",
            "//! | `gone.rs` | |",
            "//! | `b/c.rs` | |",
        ];
        let text = rows.join("\n");
        let found = found_in(map, &[("src/lib.rs", &text), ("src/b/c.rs", "")]);
        let expected = [
            "src/lib.rs:4: there is no file `src/gone.rs`: drop its row",
            "src/lib.rs:5: `b/c.rs` has a row already: drop this one",
            "src/lib.rs:1: `src/a.rs` has no row in the table of files: give it one",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn items_that_pages_name_exist() {
        let source = "\
struct Seat<T>(T);
impl<T> Seat<T> {
    const LIMIT: u8 = 1;
    fn wait(&self) {}
}
impl<T> Drop for Seat<T> {
    fn drop(&mut self) {}
}
impl Foreign {}
trait Guest {
    fn enter();
}
static TABLE: u8 = 0;
";
        let page = "\
`d/mod.rs::Seat` `d/mod.rs::Seat::wait`, `d/mod.rs::Seat::drop`.
`d/mod.rs::Guest::enter` `d/mod.rs::TABLE` `d/mod.rs::Seat::LIMIT`
a span `that is
broken`, `d/mod.rs::Seat::gone`: `d/mod.rs::wait` `e.rs::Seat`
`d/mod.rs::Foreign`
";
        let files = [
            ("src/d/mod.rs", source),
            ("docs/TOUR.md", page),
            ("CHANGELOG.md", page),
            ("docs/book/01-a.md", page),
        ];
        let expected = [
            "docs/TOUR.md:4: `src/d/mod.rs` has no item `Seat::gone`",
            "docs/TOUR.md:4: `src/d/mod.rs` has no item `wait`",
            "docs/TOUR.md:4: there is no file `src/e.rs`",
            "docs/TOUR.md:5: `src/d/mod.rs` has no item `Foreign`",
        ];
        assert_eq!(found_in(items, &files), expected);
    }

    #[test]
    fn links_lead_somewhere() {
        let text = "# The map!\n[a](../src/a.rs) [b](#the-map)\n[c](gone.md)\n[d](#gone)\n\
                    [e](https://host/page) [f](../src/)\n";
        assert_eq!(lines_found(links, "docs/C.md", text), [3, 4]);
    }
}
