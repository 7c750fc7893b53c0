//! The rule against statements that are packed: what can be seen of it without types, in the files
//! of the one count that audit.toml limits.

use super::file::{File, Found, Repository};
use crate::rust::Rust;

/// Finds statements that are packed.
pub fn dense(file: &File, _: &Repository) -> Vec<Found> {
    let mut found = Vec::new();
    let Some(rust) = file.own() else { return found };
    for (at, word) in rust.words.iter().enumerate() {
        if is_condition(rust, at) {
            found.push(Found::new(word.line, "a condition as a statement: write an `if`"));
        }
        if has_several_values(rust, at) {
            found.push(Found::new(word.line, "several values in one statement: one for each"));
        }
        if is_bool_as_number(rust, at) {
            found.push(Found::new(word.line, "a bool as a number: write an `if`"));
        }
    }
    found
}

/// A condition that decides what is done stands in an `if`, and not before a `.then`.
fn is_condition(rust: &Rust, at: usize) -> bool {
    if !rust.has(at, &[".", "then", "("]) && !rust.has(at, &[".", "then_some", "("]) {
        return false;
    }
    let mut end = rust.words[at + 2].close + 1;
    while ["?", ")"].contains(&rust.word(end)) {
        end += 1;
    }
    rust.word(end) == ";" && gives_nothing(rust, at)
}

/// Whether the statement around a place is neither a `let` with a name nor an assignment, and
/// stands in no other group.
fn gives_nothing(rust: &Rust, place: usize) -> bool {
    let mut at = place;
    while at > 0 && ![";", "{", "}", ",", "=>"].contains(&rust.word(at - 1)) {
        at -= 1;
        match rust.word(at) {
            "=" => return rust.has(at - 2, &["let", "_"]),
            "(" | "[" => return false,
            ")" | "]" => at = rust.words.iter().position(|it| it.close == at).unwrap_or(at),
            _ => {}
        }
    }
    !["return", "break"].contains(&rust.word(at))
}

/// `let (a, b) = (x, y)` gives two names their values. What a call returns, and what is tested by
/// `if let` or by an `else`, may be taken apart.
fn has_several_values(rust: &Rust, at: usize) -> bool {
    let is_tested = at > 0 && ["if", "while", "&&"].contains(&rust.word(at - 1));
    if is_tested || !(rust.has(at, &["let", "("]) || rust.has(at, &["let", "["])) {
        return false;
    }
    let equals = rust.words[at + 1].close + 1;
    let is_pack = rust.has(equals, &["=", "("]) || rust.has(equals, &["=", "["]);
    let mut values = equals + 1..rust.words.get(equals + 1).map_or(0, |it| it.close);
    is_pack && rust.word(values.end + 1) == ";" && values.any(|it| rust.word(it) == ",")
}

/// Types are not known here: a value is taken for a bool by its name, or by what makes one.
fn is_bool_as_number(rust: &Rust, at: usize) -> bool {
    const NUMBERS: [&str; 7] = ["u8", "u16", "u32", "u64", "usize", "i32", "i64"];
    const MARKS: [&str; 11] =
        ["!", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "true", "contains"];
    const BEGINNINGS: [&str; 6] = ["is_", "has_", "are_", "was_", "needs_", "can_"];
    if !NUMBERS.contains(&rust.word(at)) || !rust.has(at + 1, &["::", "from", "("]) {
        return false;
    }
    let mut value = rust.words[at + 4..rust.words[at + 3].close].iter().map(|it| it.text.as_str());
    value.any(|it| MARKS.contains(&it) || BEGINNINGS.iter().any(|start| it.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::{NONE, lines_found};
    use super::*;

    #[test]
    fn statements_are_not_packed() {
        let is_found = [
            "x.then(|| act());",
            "let _ = x.then(act);",
            "(!x).then_some(())?;",
            "if x { y.is(z).then(act); }",
            "let (a, b) = (x, y);",
            "let [a, b] = [x, y];",
            "a += usize::from(x < y);",
            "a += u32::from(self.is_long());",
            "a += usize::from(x.contains(y));",
        ];
        let is_allowed = [
            "let done = x.then(|| act());",
            "x.map(|it| it.then(act));",
            "self.a = x.then(act);",
            "then(x);",
            "return x.then(act);",
            "x.then(act)",
            "let (a, b) = f(x, y);",
            "let [a, b] = [x, y].map(f);",
            "let pair = (x, y);",
            "let (Some(a), Some(b)) = (x, y) else { return };",
            "if let (Some(a), Some(b)) = (x, y) {}",
            "a += u64::from(polls);",
            "a += Duration::from(x == y);",
            "a += u8::from(x & 1);",
        ];
        let lines = |text: &str| lines_found(dense, "crates/arc-macros/src/a.rs", text);
        for statement in is_found {
            assert_eq!(lines(&format!("fn f() {{\n{statement}\n}}\n")), [2], "{statement}");
        }
        for statement in is_allowed {
            assert_eq!(lines(&format!("fn f() {{\n{statement}\n}}\n")), NONE, "{statement}");
        }
        assert_eq!(lines_found(dense, "xtask/src/a.rs", "fn f() { x.then(act); }"), NONE);
    }
}
