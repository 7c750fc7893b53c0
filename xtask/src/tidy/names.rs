//! Names of files in comments and pages, and the table of files in src. (What else pages name,
//! and where their links lead, `cargo xtask book` checks.)

use std::collections::BTreeSet;

use super::file::{EXTENSIONS, File, Found, Repository};

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
            let stem = EXTENSIONS.iter().find_map(|it| word.strip_suffix(it));
            let is_any = |path: &str| path.split('/').any(|part| part == "NAME");
            let is_name = |it: &str| !it.is_empty() && !it.ends_with('/') && !is_any(it);
            stem.is_some_and(is_name) && !word.starts_with("//")
        })
}

/// Each file of `src/` but lib.rs stands once in the table of its README, and the files that
/// audit.toml names are there.
pub fn map(file: &File, repository: &Repository) -> Vec<Found> {
    if file.name != "src/README.md" {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (line, text) in file.lines() {
        let Some(row) = text.strip_prefix("| ") else { continue };
        let spans = row.split('|').next().unwrap_or_default().split('`').skip(1).step_by(2);
        for name in spans.filter(|it| it.ends_with(".rs")) {
            let name = format!("src/{name}");
            if !seen.insert(name.clone()) {
                found.push(Found::new(line, format!("`{name}` has a row already: drop this one")));
            }
        }
    }

    let is_code =
        |it: &&String| it.starts_with("src/") && it.ends_with(".rs") && *it != "src/lib.rs";
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
        let rows = ["| file | |", "| `b/c.rs` | `a.rs` |", "| `b/c.rs` | |"];
        let text = rows.map(|it| format!("{it}\n")).concat();
        let names = ["src/lib.rs", "src/b/c.rs", "src/driver/mod.rs"].map(|it| (it, ""));
        let files = [&[("src/README.md", text.as_str())], names.as_slice()].concat();
        let expected = [
            "src/README.md:3: `src/b/c.rs` has a row already: drop this one",
            "src/README.md:1: `src/driver/mod.rs` has no row in the table of files: give it one",
            "src/README.md:1: audit.toml names `driver/wheel.rs`, which is not in src",
            "src/README.md:1: audit.toml names `driver/wheel.rs`, which is not in src",
        ];
        assert_eq!(found_in(map, &files), expected);
    }
}
