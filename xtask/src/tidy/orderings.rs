//! Every ordering stronger than Relaxed says what it pairs with.
//!
//! The comment may stand in the function, up to the ordering, or in its documentation.

use super::file::{File, Found, Repository};
use crate::rust::Word;

/// The orderings that promise something.
pub const STRONG: [&str; 4] = ["Acquire", "Release", "AcqRel", "SeqCst"];

/// Finds strong orderings in the runtime that no comment speaks of.
pub fn orderings(file: &File, _: &Repository) -> Vec<Found> {
    let Some(rust) = file.runtime() else { return Vec::new() };
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let functions = rust.functions();
    let mut found = Vec::new();
    for (at, Word { text, line, .. }) in rust.words.iter().enumerate().skip(2) {
        if !STRONG.contains(&text.as_str()) || !rust.has(at - 2, &["Ordering", "::"]) {
            continue;
        }
        let around = functions.iter().filter(|it| (it.line..=it.end).contains(line));
        let start = around.map(|it| top(&lines, it.line)).max().unwrap_or(*line);
        if !(start..=*line).any(|it| speaks(lines[it - 1])) {
            let text = format!("{text} without a comment that says what it pairs with");
            found.push(Found::new(*line, text));
        }
    }
    found
}

/// The first line of the documentation and the attributes above a line.
fn top(lines: &[&str], line: usize) -> usize {
    let is_above = |it: &&&str| it.starts_with("//") || it.starts_with("#[");
    line - lines[..line - 1].iter().rev().take_while(is_above).count()
}

/// Whether a line has a comment, of any kind, about orderings.
fn speaks(line: &str) -> bool {
    let comment = line.find("//").map_or("", |at| &line[at..]);
    comment.contains("pairs with") || STRONG.iter().any(|word| comment.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::{NONE, lines_found};
    use super::*;

    #[test]
    fn a_strong_ordering_needs_a_word() {
        let text = "\
fn a() {
    x.load(Ordering::SeqCst);
    y.load(Ordering::Relaxed);
}
/// Acquire: pairs with the Release in `c`.
fn b() {
    x.load(Ordering::Acquire);
}
fn c() {
    // Pairs with the Acquire in `b`.
    x.store(1, Ordering::Release);
    fence(Ordering::SeqCst); // Pairs with that in `d`: SeqCst.
}
fn e() {
    x.load(atomic::Ordering::Acquire);
    // Too late: Acquire.
}
";
        assert_eq!(lines_found(orderings, "src/a.rs", text), [2, 15]);
        assert_eq!(lines_found(orderings, "tests/a.rs", text), NONE);
    }
}
