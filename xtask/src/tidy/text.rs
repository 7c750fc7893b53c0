//! Rules for the lines of any text file.

use super::file::{File, Found, Repository};

/// Lines are not too long. In Markdown a table's row and a line of code cannot be broken, nor a
/// line without a space to break it at.
pub fn width(file: &File, repository: &Repository) -> Vec<Found> {
    let limit = repository.limits.tidy["columns"];
    let mut is_code = false;
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let is_whole = line.starts_with('|') || is_code || !line.trim().contains(' ');
        let columns = line.chars().count();
        if columns > limit && !(file.name.ends_with(".md") && is_whole) {
            let text = format!("{columns} columns, at most {limit}: break the line");
            found.push(Found::new(number, text));
        }
    }
    found
}

/// A file can be read in one go, its code is not far from its beginning, and a function fits a
/// screen. The head of lib.rs is the first page of the documentation.
pub fn length(file: &File, repository: &Repository) -> Vec<Found> {
    let Some(rust) = &file.rust else { return Vec::new() };
    let limits = &repository.limits.tidy;
    let is_own = file.own().is_some();
    let mut found = Vec::new();

    let (lines, most) = (file.text.lines().count(), limits["file_lines"]);
    if lines > most {
        let text = format!("{lines} lines, at most {most}: make two files of it");
        found.push(Found::new(most + 1, text));
    }

    let head = file.text.lines().take_while(|line| line.starts_with("//!")).count();
    let most = limits["own_head_lines"];
    if is_own && head > most && !file.name.ends_with("/lib.rs") {
        let text = format!("a head of {head} lines, at most {most}: move a proof to a page beside");
        found.push(Found::new(most + 1, text));
    }

    let most = limits[if is_own { "own_function_lines" } else { "function_lines" }];
    // Tests are scenarios, told from the beginning to the end.
    let is_test = file.name.contains("tests/");
    for it in rust.functions().iter().filter(|it| it.length() > most && !is_test) {
        let text = format!("fn {} has {} lines, at most {most}: split it", it.name, it.length());
        found.push(Found::new(it.line, text));
    }
    found
}

/// What is written down to be done is an issue, not a comment. (clippy knows the macros.)
pub fn leftovers(file: &File, _: &Repository) -> Vec<Found> {
    // In two halves, for this file is checked as well.
    const WORDS: [&str; 4] =
        [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X"), concat!("HA", "CK")];
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        for word in WORDS.iter().filter(|word| line.contains(**word)) {
            let text = format!("`{word}` is left: do it, or open an issue");
            found.push(Found::new(number, text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::{NONE, lines_found};
    use super::*;

    #[test]
    fn long_lines_are_found() {
        let long = "// a comment over 20 columns\n// short\n";
        assert_eq!(lines_found(width, "a.rs", long), [1]);
        let text = "| a row | of a long table |\n```\nand code that is long\n```\n\
                    but not a line of prose\n";
        assert_eq!(lines_found(width, "a.md", text), [5]);
    }

    #[test]
    fn what_is_too_long_is_found() {
        assert_eq!(lines_found(length, "a.rs", &"\n".repeat(5)), NONE);
        assert_eq!(lines_found(length, "a.rs", &"\n".repeat(6)), [6]);
        assert_eq!(lines_found(length, "a.md", &"\n".repeat(6)), NONE);
        let text = "//! A.\n//! B.\n//! C.\n";
        assert_eq!(lines_found(length, "src/a.rs", text), [3]);
        assert_eq!(lines_found(length, "src/lib.rs", text), NONE);
        assert_eq!(lines_found(length, "lab/a.rs", text), NONE);
        assert_eq!(lines_found(length, "src/a.rs", "fn a() {\n\n}\n\n"), [1]);
        let text = "fn a() {\n\n\n}\n";
        assert_eq!(lines_found(length, "lab/a.rs", text), [1]);
        assert_eq!(lines_found(length, "tests/a.rs", text), NONE);
    }

    #[test]
    fn leftovers_are_found() {
        assert_eq!(lines_found(leftovers, "a.rs", concat!("// FIX", "ME\n// todo: none\n")), [1]);
    }
}
