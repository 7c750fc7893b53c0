//! Rules for the lines of any text file.

use super::file::{File, Found};
use super::repository::Repository;
use crate::count;

/// Lines are not too long. In Markdown a table's row and a line of code cannot be
/// broken, nor a line without a space to break it at.
pub fn width(file: &File, repository: &Repository) -> Vec<Found> {
    let is_markdown = file.name.ends_with(".md");
    let mut is_code = false;
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let is_whole = line.starts_with('|') || is_code || !line.trim().contains(' ');
        let columns = line.chars().count();
        if columns > repository.columns && !(is_markdown && is_whole) {
            let limit = repository.columns;
            let text = format!("{columns} columns, at most {limit}: break the line");
            found.push(Found::new(number, text));
        }
    }
    found
}

/// A file can be read in one go.
pub fn file_length(file: &File, repository: &Repository) -> Vec<Found> {
    let (lines, limit) = (file.text.lines().count(), repository.file_lines);
    let text = format!("{lines} lines, at most {limit}: make two files of it");
    let is_long = file.name.ends_with(".rs") && lines > limit;
    is_long.then(|| Found::new(limit + 1, text)).into_iter().collect()
}

/// Code is not far from the beginning of its file: what takes longer to tell stands in a page.
pub fn head(file: &File, repository: &Repository) -> Vec<Found> {
    let limit = repository.own_head_lines;
    let lines = count::head(&file.text);
    if !file.is_own() || lines <= limit {
        return Vec::new();
    }
    let text = format!("a head of {lines} lines, at most {limit}: move a proof to a page beside");
    vec![Found::new(limit + 1, text)]
}

/// What is written down to be done is an issue, not a comment or a macro.
pub fn leftovers(file: &File, _: &Repository) -> Vec<Found> {
    // In two halves, for this file is checked as well.
    const WORDS: [&str; 7] = [
        concat!("FIX", "ME"),
        concat!("TO", "DO"),
        concat!("XX", "X"),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("dbg", "!("),
        concat!("HA", "CK"),
    ];
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        for word in WORDS.iter().filter(|word| line.contains(**word)) {
            let text = format!("`{word}` is left: do it, or open an issue");
            found.push(Found::new(number, text));
        }
    }
    found
}

/// What a manifest allows has a comment above. In source texts clippy asks for a reason
/// (`allow_attributes_without_reason`).
pub fn allows(file: &File, _: &Repository) -> Vec<Found> {
    let mut found = Vec::new();
    let mut above = "";
    for (number, line) in file.lines().filter(|_| file.name.ends_with("Cargo.toml")) {
        if line.contains("\"allow\"") && !above.starts_with("# ") {
            found.push(Found::new(number, "a lint is allowed without a reason: give one"));
        }
        above = line;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::repository::tests::{NONE, lines_found};
    use super::*;

    #[test]
    fn long_lines_are_found() {
        let long = "// a comment over 20 columns\n// short\n";
        assert_eq!(lines_found(width, "a.rs", long), [1]);
        assert_eq!(lines_found(width, "a.rs", "// short\n"), NONE);
    }

    #[test]
    fn in_markdown_tables_and_code_may_be_long() {
        let text = "| a row | of a long table |\n```\nand code that is long\n```\n\
                    but not a line of prose\n";
        assert_eq!(lines_found(width, "a.md", text), [5]);
    }

    #[test]
    fn long_files_are_found() {
        assert_eq!(lines_found(file_length, "a.rs", &"\n".repeat(5)), NONE);
        assert_eq!(lines_found(file_length, "a.rs", &"\n".repeat(6)), [6]);
        assert_eq!(lines_found(file_length, "a.md", &"\n".repeat(6)), NONE);
    }

    #[test]
    fn long_heads_are_found() {
        let text = "//! A.\n//! B.\n//! C.\n//! D.\n";
        assert_eq!(lines_found(head, "src/a.rs", text), [3]);
        assert_eq!(lines_found(head, "src/a.rs", &text[..14]), NONE);
        assert_eq!(lines_found(head, "lab/a.rs", text), NONE);
    }

    #[test]
    fn leftovers_are_found() {
        let text = concat!("// FIX", "ME\nfn f() {\n    dbg", "!(1);\n}\n// todo: none\n");
        assert_eq!(lines_found(leftovers, "a.rs", text), [1, 3]);
        assert_eq!(lines_found(leftovers, "a.rs", "// all is done\n"), NONE);
    }

    #[test]
    fn an_allowed_lint_needs_a_reason() {
        let text = "[lints]\na = \"allow\"\n# It is a habit.\nb = \"allow\"\n";
        assert_eq!(lines_found(allows, "x/Cargo.toml", text), [2]);
        assert_eq!(lines_found(allows, "x/audit.toml", text), NONE);
    }
}
