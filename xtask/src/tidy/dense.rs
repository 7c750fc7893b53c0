//! Rules against text that is packed: what can be seen of it without types, in the files of the
//! one count that audit.toml limits.

use super::file::{File, Found, Repository};
use crate::rust::Rust;

/// A condition that decides what is done stands in an `if`.
pub fn conditions(file: &File, _: &Repository) -> Vec<Found> {
    let find = |rust: &Rust, at: usize| {
        if !rust.has(at, &[".", "then", "("]) && !rust.has(at, &[".", "then_some", "("]) {
            return None;
        }
        let mut end = rust.words[at + 2].close + 1;
        while rust.word(end) == "?" || rust.word(end) == ")" {
            end += 1;
        }
        let is_statement = rust.word(end) == ";" && gives_nothing(rust, at);
        is_statement.then_some("a condition as a statement: write an `if`")
    };
    found_by(file, find)
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

/// A statement gives one name its value: `let (a, b) = (x, y)` gives two. What a call returns, and
/// what is tested by `if let` or by an `else`, may be taken apart.
pub fn statements(file: &File, _: &Repository) -> Vec<Found> {
    let find = |rust: &Rust, at: usize| {
        let is_tested = at > 0 && ["if", "while", "&&"].contains(&rust.word(at - 1));
        if is_tested || !(rust.has(at, &["let", "("]) || rust.has(at, &["let", "["])) {
            return None;
        }
        let equals = rust.words[at + 1].close + 1;
        let is_pack = rust.has(equals, &["=", "("]) || rust.has(equals, &["=", "["]);
        let mut values = equals + 1..rust.words.get(equals + 1).map_or(0, |it| it.close);
        let is_whole = is_pack && rust.word(values.end + 1) == ";";
        let is_found = is_whole && values.any(|it| rust.word(it) == ",");
        is_found.then_some("several values in one statement: a statement for each")
    };
    found_by(file, find)
}

const NUMBERS: [&str; 7] = ["u8", "u16", "u32", "u64", "usize", "i32", "i64"];

/// How the names of bools, and of what returns one, begin.
const BEGINNINGS: [&str; 6] = ["is_", "has_", "are_", "was_", "needs_", "can_"];

/// A bool is no number. Types are not known here: a value is taken for a bool by its name, or by
/// what makes one.
pub fn bools(file: &File, _: &Repository) -> Vec<Found> {
    const MARKS: [&str; 11] =
        ["!", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "true", "contains"];
    let find = |rust: &Rust, at: usize| {
        if !NUMBERS.contains(&rust.word(at)) || !rust.has(at + 1, &["::", "from", "("]) {
            return None;
        }
        let is_bool = |at: usize| {
            let word = rust.word(at);
            MARKS.contains(&word) || BEGINNINGS.iter().any(|it| word.starts_with(it))
        };
        let mut value = at + 4..rust.words[at + 3].close;
        value.any(is_bool).then_some("a bool as a number: write an `if`")
    };
    found_by(file, find)
}

/// What is wrong at each place of a file of the one count.
fn found_by(file: &File, find: impl Fn(&Rust, usize) -> Option<&'static str>) -> Vec<Found> {
    let mut found = Vec::new();
    if let Some(rust) = file.own() {
        for (at, word) in rust.words.iter().enumerate() {
            found.extend(find(rust, at).map(|text| Found::new(word.line, text)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::file::Check;
    use super::super::file::tests::{NONE, lines_found};
    use super::*;

    /// The lines that a rule finds in a function with these statements, one a line.
    fn found(check: Check, body: &str) -> Vec<usize> {
        let text = format!("fn f() {{\n{body}}}\n");
        assert_eq!(lines_found(check, "xtask/src/a.rs", &text), NONE);
        lines_found(check, "crates/macros/src/a.rs", &text)
    }

    #[test]
    fn a_condition_stands_in_an_if() {
        let body = "\
x.then(|| act());
let _ = x.then(act);
(!x).then_some(())?;
let done = x.then(|| act());
x.map(|it| it.then(act));
self.a = x.then(act);
then(x);
return x.then(act);
if x { y.is(z).then(act); }
x.then(act)
";
        assert_eq!(found(conditions, body), [2, 3, 4, 10]);
    }

    #[test]
    fn a_statement_gives_one_value() {
        let body = "\
let (a, b) = (x, y);
let (a, b) = f(x, y);
let [a, b] = [x, y];
let [a, b] = [x, y].map(f);
let pair = (x, y);
let (Some(a), Some(b)) = (x, y) else { return };
if let (Some(a), Some(b)) = (x, y) {}
";
        assert_eq!(found(statements, body), [2, 4]);
    }

    #[test]
    fn a_bool_is_no_number() {
        let body = "\
a += usize::from(x < y);
a += u32::from(self.is_long());
a += u64::from(polls);
a += usize::from(x.contains(y));
a += Duration::from(x == y);
a += u8::from(x & 1);
";
        assert_eq!(found(bools, body), [2, 3, 5]);
    }
}
