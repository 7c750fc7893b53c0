//! Names of files and items in comments and pages, and links of pages, that lead nowhere; and the
//! table of files in lib.rs.

use std::collections::BTreeSet;

use super::file::{File, Found, Repository};

/// What the name of a file ends in.
const ENDINGS: [&str; 4] = [".rs", ".md", ".toml", ".yml"];

/// The names of files in comments and pages exist. A name may be the end of a path, and words in
/// capitals, such as `tests/NAME.rs`, stand for any name.
pub fn files(file: &File, repository: &Repository) -> Vec<Found> {
    let mut found = Vec::new();
    for (line, text) in file.lines() {
        let start = text.trim_start();
        let is_comment = start.starts_with("//") || start.starts_with("# ");
        if !is_comment && !file.name.ends_with(".md") {
            continue;
        }
        for name in names(text) {
            let end = format!("/{name}");
            if !repository.names.iter().any(|it| it == name || it.ends_with(&end)) {
                found.push(Found::new(line, format!("there is no file `{name}`")));
            }
        }
    }
    found
}

/// The words of a line that look like the name of a file here.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_alphanumeric() || "_./-".contains(letter);
    line.split(move |letter| !is_part(letter))
        .map(|word| word.trim_end_matches('.').trim_start_matches("./").trim_start_matches("../"))
        .filter(|word| {
            let stem = ENDINGS.iter().find_map(|it| word.strip_suffix(it));
            let is_any = |path: &str| path.split('/').any(|part| part == "NAME");
            let is_name = |it: &str| !it.is_empty() && !it.ends_with('/') && !is_any(it);
            stem.is_some_and(is_name) && !word.starts_with("//")
        })
}

/// Each file of `src/` but lib.rs stands in lib.rs's table once, and the files that audit.toml
/// names are there.
pub fn map(file: &File, repository: &Repository) -> Vec<Found> {
    if file.name != "src/lib.rs" {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (line, text) in file.lines() {
        let Some(row) = text.strip_prefix("//! |") else { continue };
        let spans = row.split('|').next().unwrap_or_default().split('`').skip(1).step_by(2);
        for name in spans.filter(|it| it.ends_with(".rs")) {
            let name = format!("src/{name}");
            if !repository.names.contains(&name) {
                found.push(Found::new(line, format!("there is no file `{name}`: drop its row")));
            } else if !seen.insert(name.clone()) {
                found.push(Found::new(line, format!("`{name}` has a row already: drop this one")));
            }
        }
    }

    let is_code = |it: &&String| it.starts_with("src/") && it.ends_with(".rs") && **it != file.name;
    for name in repository.names.iter().filter(is_code).filter(|it| !seen.contains(*it)) {
        let text = format!("`{name}` has no row in the table of files: give it one");
        found.push(Found::new(1, text));
    }

    let limits = &repository.limits;
    let files = limits.low.iter().chain(&limits.pure).map(|it| it.0);
    for name in files.chain(limits.waits.values().flatten()) {
        if !repository.names.iter().any(|it| it.starts_with(&format!("src/{name}"))) {
            found.push(Found::new(1, format!("audit.toml names `{name}`, which is not in src")));
        }
    }
    found
}

/// The items that pages name by file and path, as `task/mod.rs::JoinHandle::abort`, exist. (The
/// book's own command knows more of what the book names.)
pub fn items(file: &File, repository: &Repository) -> Vec<Found> {
    let is_page = file.name.starts_with("docs/") && !file.name.starts_with("docs/book/");
    if !file.name.ends_with(".md")
        || file.name.contains('/') && !is_page
        || file.name == "CHANGELOG.md"
    {
        return Vec::new();
    }
    let is_part = |letter: char| letter.is_alphanumeric() || "_./:-".contains(letter);
    let mut found = Vec::new();
    for (line, text) in file.lines() {
        for word in text.split(|letter| !is_part(letter)) {
            let Some((path, item)) = word.split_once(".rs::") else { continue };
            let name = format!("src/{path}.rs");
            let mut steps = item.trim_end_matches([':', '.']).split("::");
            let items = repository.items.get(&name);
            if !items.is_some_and(|it| steps.all(|step| it.contains(step))) {
                found.push(Found::new(line, format!("`{name}` has no `{item}`")));
            }
        }
    }
    found
}

/// The links of pages to files and headings lead somewhere. Links to other hosts are not followed.
pub fn links(file: &File, repository: &Repository) -> Vec<Found> {
    if !file.name.ends_with(".md") {
        return Vec::new();
    }
    let folder = file.name.rsplit_once('/').map_or("", |it| it.0);
    let headings: BTreeSet<String> = file.text.lines().filter_map(heading).collect();
    let mut found = Vec::new();
    for (line, text) in file.lines() {
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        for (target, _) in targets {
            let exists = match target.split_once('#').unwrap_or((target, "")) {
                ("", heading) => headings.contains(heading),
                (path, _) => path.contains("://") || is_there(&resolve(folder, path), repository),
            };
            if !exists {
                found.push(Found::new(line, format!("the link to `{target}` leads nowhere")));
            }
        }
    }
    found
}

/// A file, or a folder that has one.
fn is_there(path: &str, repository: &Repository) -> bool {
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

/// The anchor of a heading: lower case, hyphens for spaces, no marks.
fn heading(line: &str) -> Option<String> {
    let words = line.strip_prefix('#')?.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    Some(kept.map(|it| if it == ' ' { '-' } else { it }).collect())
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::{found_in, lines_found};
    use super::*;

    #[test]
    fn files_that_are_named_exist() {
        let text = "let x = \"gone.rs\"; // gone.rs\n// See src/gone.rs and unit/a.rs.\n";
        assert_eq!(lines_found(files, "a.rs", text), [2]);
        let text = "`tests/NAME.rs`, unit/a.rs, https://host/x.md\n`src/gone.rs`\n";
        assert_eq!(lines_found(files, "A.md", text), [2]);
    }

    #[test]
    fn the_map_names_each_file_once() {
        let rows = ["| file | |", "| `b/c.rs` | `a.rs` |", "| `gone.rs` | |", "| `b/c.rs` | |"];
        let text = rows.map(|it| format!("//! {it}\n")).concat();
        let files = [("src/lib.rs", text.as_str()), ("src/b/c.rs", ""), ("src/driver/mod.rs", "")];
        let expected = [
            "src/lib.rs:3: there is no file `src/gone.rs`: drop its row",
            "src/lib.rs:4: `src/b/c.rs` has a row already: drop this one",
            "src/lib.rs:1: `src/driver/mod.rs` has no row in the table of files: give it one",
            "src/lib.rs:1: audit.toml names `driver/wheel.rs`, which is not in src",
            "src/lib.rs:1: audit.toml names `driver/wheel.rs`, which is not in src",
        ];
        assert_eq!(found_in(map, &files), expected);
    }

    #[test]
    fn items_that_pages_name_exist() {
        let source = "enum Seat { Free }\nimpl Seat {\n    fn wait(&self) { gone() }\n}\n";
        let page = "`d/mod.rs::Seat` `d/mod.rs::Seat::wait`, `d/mod.rs::Seat::Free`.\n\
                    a span `that is\nbroken`, `d/mod.rs::Seat::gone`: `e.rs::Seat`\n";
        let files = [("src/d/mod.rs", source), ("docs/TOUR.md", page), ("CHANGELOG.md", page)];
        let expected = [
            "docs/TOUR.md:3: `src/d/mod.rs` has no `Seat::gone`",
            "docs/TOUR.md:3: `src/e.rs` has no `Seat`",
        ];
        assert_eq!(found_in(items, &files), expected);
    }

    #[test]
    fn links_lead_somewhere() {
        let text = "# The map!\n[a](B.md) [b](#the-map)\n[c](gone.md)\n[d](#gone)\n\
                    [e](https://host/page) [f](../tests/)\n";
        assert_eq!(lines_found(links, "docs/C.md", text), [3, 4]);
    }
}
