//! Every ordering stronger than Relaxed says what it pairs with.
//!
//! The comment may stand in the function, up to the ordering; in its documentation; in that of its
//! `impl`; or with the field, as "SeqCst, wherever `field` is used".

use super::file::{File, Found, Repository};

/// The orderings that promise something.
pub const STRONG: [&str; 4] = ["Acquire", "Release", "AcqRel", "SeqCst"];

/// Finds strong orderings in the runtime that no comment speaks of.
pub fn orderings(file: &File, _: &Repository) -> Vec<Found> {
    let Some(rust) = file.runtime() else { return Vec::new() };
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let functions = rust.functions();
    let fields = spoken_of_everywhere(&lines);

    // The `impl` that begins on a line, up to which its documentation speaks.
    let mut outer = 0..0;
    let mut found = Vec::new();
    for (at, word) in rust.words.iter().enumerate() {
        if word.text == "impl" && lines[word.line - 1].starts_with("impl") {
            outer = top(&lines, word.line)..word.line;
        }
        if !STRONG.contains(&word.text.as_str()) || at < 2 || !rust.has(at - 2, &["Ordering", "::"])
        {
            continue;
        }
        let line = word.line;
        let around = functions.iter().filter(|it| (it.line..=it.end).contains(&line));
        let start = around.map(|it| top(&lines, it.line)).max().unwrap_or(line);
        let mut near = (start..=line).chain(outer.clone());
        let is_field = |it: &String| lines[line - 1].contains(&format!("{it}."));
        if !near.any(|it| speaks(lines[it - 1])) && !fields.iter().any(is_field) {
            let text = format!("{} without a comment that says what it pairs with", word.text);
            found.push(Found::new(line, text));
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

/// The names in backticks in comments of the form "SeqCst, wherever `a` and `b`".
fn spoken_of_everywhere(lines: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if speaks(line) && line.contains("wherever") {
            let next = lines.get(index + 1).filter(|it| it.starts_with("//"));
            for text in [line, next.unwrap_or(&"")] {
                names.extend(text.split('`').skip(1).step_by(2).map(str::to_owned));
            }
        }
    }
    names
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

    #[test]
    fn an_impl_or_a_field_may_speak_for_its_functions() {
        let text = "\
/// SeqCst, wherever `woken`
/// and `other` are used: see below.
struct A;
/// SeqCst: see there.
impl Drop for A {
    fn drop(&mut self) {
        x.load(Ordering::SeqCst);
    }
}
impl A {
    fn f(&self) {
        self.woken.load(Ordering::SeqCst);
        self.other.load(Ordering::SeqCst);
        self.third.load(Ordering::SeqCst);
    }
}
";
        assert_eq!(lines_found(orderings, "src/a.rs", text), [14]);
    }
}
